"""What commands do to files is found out by whoever set `Workspace.watch_command`; here is what that is."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from tools.operations import CommandLine


class CommandFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did to files."""

    changed: int = 0
    added: int = 0
    """Lines."""
    removed: int = 0
    uncovered: tuple[str, ...] = ()
    """What it may have changed and nobody can put back, with the reason: `build/ (what is in it is not held)`."""


class WatchedCommand(Protocol):
    async def ended(self) -> CommandFiles | None:
        """Asked once, when the command has ended. None: nothing was changed."""
        ...


WatchCommand = Callable[[str, str, CommandLine], Awaitable[WatchedCommand | None]]
"""Asked before a command starts: the call that it belongs to, the tool, what is run. None: nobody watches."""
