"""Which paths a call reads and changes, as its arguments tell before it runs, and which call waits for which.

Arguments that know say so by a method `touches`; the order of calls stands on that (`app.agent.order`). No two calls
change one file at the same time in any case: that is `tools.files.mutations`' business.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from tools.base import ToolContext
from tools.operations import FileOperations

Key = str
"""An absolute path, which stands for all that is below it too, or a file by whatever name it goes."""


class Touches(msgspec.Struct, frozen=True, kw_only=True):
    """What a call touches."""

    reads: frozenset[Key] = frozenset()
    changes: frozenset[Key] = frozenset()
    names: frozenset[Key] = frozenset()
    """Named in a command, which may read them or change them."""
    works_in: Key | None = None
    """Of a command, its folder. It may read whatever there is, besides."""

    @property
    def is_command(self) -> bool:
        return self.works_in is not None


NOTHING = Touches()
TERMINAL: Key = "\0terminal"
"""Among the changes of a call that is shown in the one terminal: such calls are answered in their order."""


@runtime_checkable
class TouchesFiles(Protocol):
    """Arguments that know what their call touches."""

    def touches(self, context: ToolContext) -> Touches:
        """May look at files, so it is asked off the event loop."""
        ...


def waits(later: Touches, earlier: Touches) -> bool:
    """Whether the later of two calls begins only when the earlier one has ended.

    Reads wait for changes and changes for both. A command waits for every change of a tool before it; tools wait for a
    command that names their file, and commands for one that writes into a file that they name.
    """
    if later.is_command and earlier.is_command:
        return _meet(earlier.changes, later.names | later.changes)
    if later.is_command:
        return bool(earlier.changes) or _meet(earlier.reads, later.names | later.changes)
    own = later.reads | later.changes
    if earlier.works_in is not None:
        # Every word is a name in its folder: whoever looks at all of that is not meant.
        own -= _above(earlier.works_in)
    return _meet(earlier.changes | earlier.names, own) or _meet(earlier.reads, later.changes)


def keys(files: FileOperations, paths: Iterable[str]) -> frozenset[Key]:
    """The paths as they really are, and the files that they are links to."""
    found: set[Key] = set()
    for path in paths:
        try:
            found.add(files.real_path(path))
            stat = files.stat(path)
        except (OSError, ValueError):
            continue
        if stat.kind == "file" and stat.inode:
            found.add(f"inode {stat.device}:{stat.inode}")
    return frozenset(found)


def _meet(some: frozenset[Key], others: frozenset[Key]) -> bool:
    """Whether one of these is one of those, or lies in it."""
    if not some or not others:
        return False
    return any(_above(path) & others for path in some) or any(_above(path) & some for path in others)


def _above(path: Key) -> set[Key]:
    return {path, *map(str, Path(path).parents)}
