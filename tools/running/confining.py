"""Which box a process of a call runs in is said by whoever set `Workspace.confine`; here is what that is."""

from typing import Protocol

from tools.box.policy import Box


class Confine(Protocol):
    async def __call__(self, call_id: str, *, lasts: bool = False) -> Box | None:
        """Asked before a process starts: the call that it belongs to, and whether it serves later ones, too. None: it
        runs as the person's own would. Raises `ToolError` if it must not run at all."""
        ...
