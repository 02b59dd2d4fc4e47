"""The feature for reviewing file changes: the commands `/review-changes` and `/diff`, and their key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand

if TYPE_CHECKING:
    from app.tui.features.review.page import ReviewPage


class ReviewFeature(Feature["ReviewPage"]):
    slash_commands: Sequence[SlashCommand["ReviewPage"]] = (
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
    keys: Sequence[PageKey["ReviewPage"]] = (
        PageKey(
            id="app.review.show",
            keys="alt+g",
            help="Review what the last prompt changed in files",
            run_key=lambda page: page.open("prompt"),
        ),
    )

    def page(self, screen: FeatureServices) -> "ReviewPage":
        from app.tui.features.review.page import ReviewPage  # noqa: PLC0415  (when it is first used)

        return ReviewPage(
            screen.session, screen.ask, screen.show_message, screen.copy, open_in_editor=screen.edit_file
        )


REVIEW = ReviewFeature()
FEATURES = (REVIEW,)
