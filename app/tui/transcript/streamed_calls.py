"""Draws tool calls while their arguments stream: partial arguments now and then, and the resulting diff at the end."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.tui.transcript.shown_call import ShownCall
from tools.results import ToolResult

MIN_SECONDS = 0.15
"""Minimum seconds between two drawings of a call whose arguments stream."""


class ArrivingCalls(msgspec.Struct, frozen=True):
    """Draws tool calls whose arguments stream."""

    has_preview: Callable[[str], bool]
    preview: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult | None]]
    draw: Callable[[ShownCall], None]
    spawn: Callable[[Awaitable[None]], object]
    clock: Callable[[], float]

    def extend(self, known: ShownCall, delta: str) -> None:
        known.heard.append(delta)
        now = self.clock()
        if now - known.drawn < MIN_SECONDS:
            return
        known.drawn = now
        heard, known.heard = known.heard, []
        known.arguments.feed("".join(heard))
        known.call = msgspec.structs.replace(known.call, arguments=dict(known.arguments.partial_members()))
        self.draw(known)

    def end(self, known: ShownCall) -> None:
        """Draws a call whose arguments are complete, and starts its preview."""
        self.draw(known)
        if self.has_preview(known.call.name):
            self.spawn(self._show_preview(known))

    async def _show_preview(self, known: ShownCall) -> None:
        preview = await self.preview(known.call.name, known.call.arguments)
        if preview is not None and not known.is_over:
            known.preview = preview
            self.draw(known)
