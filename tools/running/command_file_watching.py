"""Defines the types for watching which files commands change; `Workspace.watch_command` is set by the watcher."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from tools.file_and_process_operations import CommandLine
from tools.number_formatting import format_changed_files
from tools.text_sanitizing import escape_controls, one_line


class FilesChangedByCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of files and lines that a command changed, and what cannot be undone."""

    changed: int = 0
    added: int = 0
    """The number of lines that the command added."""
    removed: int = 0
    not_undoable: tuple[str, ...] = ()
    """Possible changes that cannot be undone, with the reason: `build/ (its contents are not stored)`."""


GetFilesChangedByCommand = Callable[[], Awaitable[FilesChangedByCommand | None]]
"""A function that is called once after the command has ended, and returns the files that it changed; None means
none."""
WatchFilesOfCommand = Callable[[str, str, CommandLine], Awaitable[GetFilesChangedByCommand | None]]
"""A function that is called before a command starts, with its call, tool and command line; it returns the function
to call at the end, or None if the command is not watched."""


def format_changed_files_summary(details: Mapping[str, Any] | None) -> str:
    """Returns a summary of the files that a command changed: `± 3 files +12 -4, 1 not undoable: build/`."""
    try:
        files = msgspec.convert((details or {}).get("files"), FilesChangedByCommand)
    except msgspec.ValidationError:
        return ""
    parts: list[str] = []
    if files.changed:
        parts.append(f"± {format_changed_files(files.changed, files.added, files.removed)}")
    if files.not_undoable:
        first, *others = files.not_undoable
        more = f" and {len(others)} more" if others else ""
        parts.append(f"not undoable: {one_line(escape_controls(first))}{more}")
    return ", ".join(parts)
