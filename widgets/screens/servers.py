"""MCP servers: how each stands, what it offers and costs, and the keys that change that."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from textual.binding import BindingType

from widgets.lists.rows import Badge, ListRow, Tone
from widgets.screens.picker import PickerAction, PickerScreen, bindings_of
from widgets.screens.preview import Preview, PreviewPart, PreviewText, facts

ServerStanding = Literal[
    "off", "untrusted", "error", "new", "known", "starting", "ready", "sign-in", "failed"
]
_TONES: dict[ServerStanding, Tone] = {
    **dict.fromkeys(("off", "new", "known"), "muted"),
    **dict.fromkeys(("untrusted", "sign-in"), "warning"),
    **dict.fromkeys(("error", "failed"), "error"),
    "starting": "accent",
    "ready": "success",
}


class ServerRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    standing: ServerStanding
    offers: str = ""
    """`12 tools`."""
    reach: str = ""
    """`direct 1.1k`, `search`."""
    origin: str = ""
    about: tuple[tuple[str, str], ...] = ()
    """What the preview tells, by what it is."""
    reason: str = ""
    said: str = ""
    """The last lines that it wrote."""


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

    def __init__(self, servers: Sequence[ServerRow], *, current: str = "") -> None:
        self._servers = {server.name: server for server in servers}
        super().__init__(
            "MCP servers",
            _rows(servers),
            order="given",
            choose="its tools",
            current=current,
            empty="no servers",
            preview=self._told,
        )

    def show_servers(self, servers: Sequence[ServerRow], note: str | None = None) -> None:
        """As they stand now; nothing is drawn when nothing changed."""
        found = {server.name: server for server in servers}
        if found == self._servers and note is None:
            return
        self._servers = found
        self.show_rows(_rows(servers), note=note)
        if self.is_there and self.row is not None:
            self.query_one("#preview", Preview).show(self._told(self.row))

    def _fit(self) -> None:
        super()._fit()
        is_below = not self.has_class("beside") and self.app.size.height >= 20
        self.set_class(is_below, "below")
        if is_below or self.has_class("beside"):
            around = 9 if is_below else 12
            self.query_one("#body").styles.height = min(
                len(self._servers) + around, self.app.size.height * 3 // 5
            )

    def _told(self, row: ListRow) -> PreviewText:
        server = self._servers.get(row.id)
        if server is None:
            return PreviewText()
        parts = facts(server.about)
        if server.reason:
            parts.insert(0, PreviewPart(text=server.reason, tone=_TONES[server.standing]))
        if server.said:
            parts.append(PreviewPart(text="What it wrote last", is_heading=True))
            parts.append(PreviewPart(text=server.said, tone="dim"))
        return PreviewText(title=server.name, parts=tuple(parts))


def _rows(servers: Sequence[ServerRow]) -> list[ListRow]:
    return [
        ListRow(
            id=server.name,
            title=server.name,
            badges=(Badge(text=server.standing, tone=_TONES[server.standing]),),
            detail="  ".join(filter(None, (server.offers, server.reach))),
            right=server.origin,
        )
        for server in servers
    ]
