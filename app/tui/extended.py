"""What loaded extensions add to the page: how things look, keys, widgets of their own on screens of their own."""

from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from app.assembly.extending import Extended
from app.extensions.registrations import Status
from app.tui.asking import ask, pick
from app.tui.stage import Stage
from widgets.lists.rows import Badge, ListRow
from widgets.screens.preview import PreviewPart, PreviewText


def adopt(app: Stage, extended: Extended) -> None:
    """After extensions were loaded, the first time and after every reload."""
    app.extended = extended
    app.presenter.show_renderers(extended.wiring.catalogue)
    _bind_shortcuts(app, extended)


def _bind_shortcuts(app: Stage, extended: Extended) -> None:
    """Keys that nothing of bayou's has; those of extensions that are gone are taken back."""
    bound = app._bindings.key_to_bindings
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith("extension_key(") for binding in bindings):
            del bound[key]
    taken = [key for own in (app, app.editor, app.transcript) for key in own._bindings.key_to_bindings]
    for key, shortcut in extended.wiring.catalogue.shortcuts(taken).items():
        app.bind(key, f"extension_key({key!r})", description=shortcut.description or shortcut.key)


async def show_extensions(app: Stage) -> None:
    """What is loaded and from where, what each has registered, and what went wrong with it."""
    status = app.extended.extensions.status() if app.extended is not None else ()
    by_path = {each.path: each for each in status}
    await pick(
        app,
        "Extensions",
        [_status_row(each) for each in status],
        empty="none is loaded",
        choose="close",
        note="/reload reads them again",
        preview=lambda row: _status_text(by_path[row.id]),
        is_full_height=True,
    )


def _status_row(status: Status) -> ListRow:
    problems = len(status.problems)
    badge = Badge(text=f"{problems} {'problem' if problems == 1 else 'problems'}", tone="error")
    return ListRow(
        id=status.path,
        title=status.name.rsplit("/", 1)[-1],
        detail=", ".join(
            f"{count} {what if count > 1 else what.rstrip('s')}" for what, count in status.counts.items()
        ),
        right=status.origin,
        badges=(badge,) if problems else (),
    )


def _status_text(status: Status) -> PreviewText:
    parts = [PreviewPart(text=status.path, tone="muted")]
    parts += [PreviewPart(text=f"{what}: {count}") for what, count in status.counts.items()]
    parts += [PreviewPart(text=f"{each.event}: {each.text}", tone="error") for each in status.problems]
    return PreviewText(title=status.name, parts=tuple(parts))


class OverlayScreen(ModalScreen[Any]):
    """A widget of an extension's own over the page. Escape takes it away."""

    BINDINGS = (Binding("escape", "dismiss", "Close", show=False),)

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self._widget = widget

    def compose(self) -> ComposeResult:
        yield self._widget

    def on_mount(self) -> None:
        if self._widget.can_focus:
            self._widget.focus()


async def show_widget_of(app: Stage, block_id: str) -> bool:
    """The extension's widget for a block, full screen; False when the block has none."""
    log = app.session.log
    made = app.presenter.drawing.widget(log.entry(block_id)) if block_id in log else None
    if isinstance(made, Screen):
        await ask(app, made)
    elif isinstance(made, Widget):
        await ask(app, OverlayScreen(made))
    return isinstance(made, Widget)
