"""What loaded extensions add to the page: how things look, keys, widgets of their own on screens of their own."""

from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from app.assembly.extending import Extended

if TYPE_CHECKING:
    from app.tui.app import BayouApp


def adopt(app: "BayouApp", extended: Extended) -> None:
    """After extensions were loaded, the first time and after every reload."""
    app.extended = extended
    app.presenter.show_renderers(extended.wiring.catalogue)
    _bind_shortcuts(app, extended)


def _bind_shortcuts(app: "BayouApp", extended: Extended) -> None:
    """Keys that nothing of bayou's has; those of extensions that are gone are taken back."""
    bound = app._bindings.key_to_bindings
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith("extension_key(") for binding in bindings):
            del bound[key]
    taken = [key for own in (app, app.editor, app.transcript) for key in own._bindings.key_to_bindings]
    for key, shortcut in extended.wiring.catalogue.shortcuts(taken).items():
        app.bind(key, f"extension_key({key!r})", description=shortcut.description or shortcut.key)


class OverlayScreen(ModalScreen[Any]):
    """A widget of an extension's own over the page. Escape takes it away."""

    DEFAULT_CSS = """
    OverlayScreen { align: center middle; background: $background 60%; }
    OverlayScreen > * { max-width: 90%; max-height: 90%; }
    """
    BINDINGS = (Binding("escape", "dismiss", "Close", show=False),)

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self._widget = widget

    def compose(self) -> ComposeResult:
        yield self._widget

    def on_mount(self) -> None:
        if self._widget.can_focus:
            self._widget.focus()


async def show_widget_of(app: "BayouApp", block_id: str) -> bool:
    """The extension's widget for a block, full screen; False when the block has none."""
    log = app.session.log
    made = app.presenter.drawing.widget(log.entry(block_id)) if block_id in log else None
    if isinstance(made, Screen):
        await app.choosing.ask(made)
    elif isinstance(made, Widget):
        await app.choosing.ask(OverlayScreen(made))
    return isinstance(made, Widget)
