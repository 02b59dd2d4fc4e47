"""The feature for the session tree: its command, its keys and the actions on entries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.review.feature import REVIEW_FEATURE
from app.tui.features.undo.feature import UNDO_FEATURE
from app.tui.keys.keymap import UNBOUND_KEY_LABEL
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.features.tree.page import SessionTreePage


class SessionTreeFeature(TuiFeature["SessionTreePage"]):
    slash_commands: Sequence[SlashCommand["SessionTreePage"]] = (
        SlashCommand(name="tree", help="the session tree", run=lambda page, _: page.open()),
    )
    keys: Sequence[PageKey["SessionTreePage"]] = (
        PageKey(
            id="app.session.tree",
            slash_command="tree",
            keys=UNBOUND_KEY_LABEL,
            help="The session tree",
            run_key_action=lambda page: page.open(),
        ),
    )
    subscriptions: Sequence[FeatureSubscription["SessionTreePage"]] = (
        FeatureSubscription(
            (Transcript.BranchRequested,), lambda page, message: page.go_to_entry_of_block(message.block_id)
        ),
    )

    def page(self, screen: FeatureServices) -> "SessionTreePage":
        from app.tui.features.tree.page import SessionTreePage  # noqa: PLC0415  (when it is first used)

        return SessionTreePage(
            screen.session,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.copy,
            files=screen.page(UNDO_FEATURE),
            review=lambda entry_id: screen.page(REVIEW_FEATURE).open(entry_id),
            show_progress=screen.show_progress,
            settings=lambda: screen.assembled.effective_settings.settings,
            clock=screen.clock,
        )


SESSION_TREE_FEATURE = SessionTreeFeature()
TUI_FEATURES = (SESSION_TREE_FEATURE,)
