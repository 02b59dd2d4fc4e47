"""The feature for the session tree: its command, its keys and the actions on entries."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import Feature, FeatureServices, Subscription
from app.tui.features.review.feature import REVIEW
from app.tui.features.undo.feature import UNDO
from app.tui.keys.keymap import NO_KEY
from app.tui.keys.page_keys import PageKey
from app.tui.slash_commands import SlashCommand
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.features.tree.page import TreePage


class TreeFeature(Feature["TreePage"]):
    slash_commands: Sequence[SlashCommand["TreePage"]] = (
        SlashCommand(name="tree", help="the session tree", run=lambda page, _: page.open()),
    )
    keys: Sequence[PageKey["TreePage"]] = (
        PageKey(
            id="app.session.tree",
            keys=NO_KEY,
            help="The session tree",
            run_key=lambda page: page.open(),
        ),
    )
    subscriptions: Sequence[Subscription["TreePage"]] = (
        Subscription((Transcript.BranchRequested,), lambda page, message: page.go_to_block(message.block_id)),
    )

    def page(self, screen: FeatureServices) -> "TreePage":
        from app.tui.features.tree.page import TreePage  # noqa: PLC0415  (when it is first used)

        return TreePage(
            screen.session,
            screen.ask,
            screen.show_message,
            screen.write_to_editor,
            screen.copy,
            files=screen.page(UNDO),
            review=lambda entry_id: screen.page(REVIEW).open(entry_id),
            show_progress=screen.show_progress,
            settings=lambda: screen.assembled.effective_settings.settings,
            clock=screen.clock,
        )


TREE = TreeFeature()
FEATURES = (TREE,)
