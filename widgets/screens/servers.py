"""MCP servers: how each stands, what it offers and costs, and the keys that change that."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from widgets.lists.rows import ListRow
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import PreviewText


class ServersScreen(PickerScreen):
    """Enter opens a server's tools; the application answers each key with `show_servers`."""

    ACTIONS = (
        PickerAction(id="app.mcp.test", keys="t", label="test", closes=False, importance=7),
        PickerAction(id="app.mcp.switch", keys="e", label="on/off", closes=False, importance=7),
        PickerAction(id="app.mcp.exposure", keys="x", label="exposure", closes=False, importance=5),
        PickerAction(id="app.mcp.restart", keys="r", label="restart", closes=False, importance=5),
        PickerAction(id="app.mcp.sign", keys="l", label="sign in/out", importance=6),
        PickerAction(id="app.mcp.open", keys="o", label="open its file", importance=4),
        PickerAction(id="app.mcp.remove", keys="d", label="remove", importance=4),
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ACTIONS)
    IS_SEARCHED: ClassVar[bool] = False  # keys are letters

    def __init__(
        self, rows: Sequence[ListRow], about: Callable[[ListRow], PreviewText], *, current: str = ""
    ) -> None:
        """`about`: what is to be known of a server."""
        super().__init__(
            "MCP servers",
            rows,
            order="given",
            choose="its tools",
            current=current,
            empty="no servers",
            preview=about,
        )

    def show_servers(self, rows: Sequence[ListRow], note: str | None = None) -> None:
        """As they stand now; nothing is drawn when nothing changed."""
        if tuple(rows) != self._rows or note is not None:
            self.show_rows(rows, note=note)
        self.refresh_preview()

    def _fit(self) -> None:
        super()._fit()
        is_below = not self.has_class("beside") and self.app.size.height >= 20
        self.set_class(is_below, "below")
        if is_below or self.has_class("beside"):
            around = 9 if is_below else 12
            self.query_one("#body").styles.height = min(
                len(self._rows) + around, self.app.size.height * 3 // 5
            )
