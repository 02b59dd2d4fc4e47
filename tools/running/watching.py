"""What commands do to files is found out by whoever set `Workspace.watch_command`; here is what that is."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from tools.amounts import changed_files
from tools.operations import CommandLine
from tools.text import escape_controls, one_line


class CommandFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did to files."""

    changed: int = 0
    added: int = 0
    """Lines."""
    removed: int = 0
    uncovered: tuple[str, ...] = ()
    """What it may have changed and nobody can put back, with the reason: `build/ (what is in it is not held)`."""


FilesAfterCommand = Callable[[], Awaitable[CommandFiles | None]]
"""Asked once, when the command has ended. None: nothing was changed."""
WatchCommand = Callable[[str, str, CommandLine], Awaitable[FilesAfterCommand | None]]
"""Asked before a command starts: the call that it belongs to, the tool, what is run. None: nobody watches."""


def files_summary(details: Mapping[str, Any] | None) -> str:
    """`± 3 files +12 -4, 1 not undoable: build/`."""
    try:
        files = msgspec.convert((details or {}).get("files"), CommandFiles)
    except msgspec.ValidationError:
        return ""
    parts: list[str] = []
    if files.changed:
        parts.append(f"± {changed_files(files.changed, files.added, files.removed)}")
    if files.uncovered:
        first, *others = files.uncovered
        more = f" and {len(others)} more" if others else ""
        parts.append(f"not undoable: {one_line(escape_controls(first))}{more}")
    return ", ".join(parts)
