"""The feature for transcript blocks: moving between them, searching, opening one on a separate screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.tui.feature import FeatureServices, FeatureSubscription, TuiFeature
from app.tui.features.helpers.feature import HELPERS_FEATURE
from widgets.transcript.view import Transcript

if TYPE_CHECKING:
    from app.tui.features.blocks.page import TranscriptBlockPage


class BlocksFeature(TuiFeature["TranscriptBlockPage"]):
    subscriptions: Sequence[FeatureSubscription["TranscriptBlockPage"]] = (
        FeatureSubscription(
            (Transcript.FullScreenRequested,), lambda page, message: page.open(message.block_id)
        ),
        FeatureSubscription(
            (Transcript.SymbolChosen,),
            lambda page, message: page.write_read_lines_prompt(
                message.path, message.first_line, message.last_line
            ),
        ),
        FeatureSubscription(
            (Transcript.SymbolsRequested,), lambda page, message: page.choose_symbol(message.block)
        ),
    )

    def page(self, screen: FeatureServices) -> "TranscriptBlockPage":
        from app.tui.features.blocks.overlay import show_block_widget  # noqa: PLC0415  (when it is first used)
        from app.tui.features.blocks.page import TranscriptBlockPage  # noqa: PLC0415  (when it is first used)

        session, renderers = screen.session, screen.presenter.renderers

        async def show_widget(block_id: str) -> bool:
            return await screen.page(HELPERS_FEATURE).open_helper_of_card(
                block_id
            ) or await show_block_widget(block_id, session.log, renderers, screen.ask)

        return TranscriptBlockPage(
            screen.transcript,
            screen.ask,
            screen.write_to_editor,
            screen.copy,
            cwd=session.cwd,
            show_widget=show_widget,
        )


BLOCKS_FEATURE = BlocksFeature()
TUI_FEATURES = (BLOCKS_FEATURE,)
