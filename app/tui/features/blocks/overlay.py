"""Shows a widget of an extension on a separate screen."""

from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from app.sessions.session_log import SessionLog
from app.tui.page_protocols import AskOnScreen
from app.tui.transcript.renderers import EntryRenderers


class OverlayScreen(ModalScreen[Any]):
    """A screen over the page with an extension's widget; Escape closes it."""

    BINDINGS = (Binding("escape", "dismiss", "Close", show=False),)

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self._widget = widget

    def compose(self) -> ComposeResult:
        yield self._widget

    def on_mount(self) -> None:
        if self._widget.can_focus:
            self._widget.focus()


async def show_block_widget(
    block_id: str, log: SessionLog, renderers: EntryRenderers, ask: AskOnScreen
) -> bool:
    """Shows the extension's widget for a block in full screen; returns False if the block has none."""
    made = renderers.make_entry_widget(log.entry(block_id)) if block_id in log else None
    if isinstance(made, Screen):
        await ask(made)
    elif isinstance(made, Widget):
        await ask(OverlayScreen(made))
    return isinstance(made, Widget)
