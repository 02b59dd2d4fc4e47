"""The feature for reviewing file changes: the commands `/review-changes` and `/diff`, and their key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, TuiFeature
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.review.page import ChangeReviewPage


class ReviewFeature(TuiFeature["ChangeReviewPage"]):
    slash_commands: Sequence[SlashCommand["ChangeReviewPage"]] = (
        SlashCommand(
            name="review-changes",
            hint="[prompt|session|git|entry]",
            session_command="review_changes",
            run=lambda page, text: page.open(text or "prompt"),
        ),
        SlashCommand(
            name="diff",
            hint="[session|prompt|git]",
            session_command="get_diff",
            run=lambda page, text: page.open(text or "session"),
        ),
    )
    keys: Sequence[PageKey["ChangeReviewPage"]] = (
        PageKey(
            id="app.review.show",
            slash_command="review-changes",
            keys="alt+g",
            help="Review what the last prompt changed in files",
            run_key_action=lambda page: page.open("prompt"),
        ),
    )

    def page(self, screen: FeatureServices) -> "ChangeReviewPage":
        from app.tui.features.review.page import ChangeReviewPage  # noqa: PLC0415  (when it is first used)

        return ChangeReviewPage(
            screen.session, screen.ask, screen.show_message, screen.copy, open_in_editor=screen.edit_file
        )


REVIEW_FEATURE = ReviewFeature()
TUI_FEATURES = (REVIEW_FEATURE,)
