"""What a call touches: the one value that the gate, rules, the sandbox, masks and the order of calls read.

A tool says it once, from its arguments, when a call is prepared (`Tool.effects`). What a tool does not say, bayou does
not guess from its name: such a call is `opaque`, and may do anything.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """Code that a call runs."""

    language: Literal["shell", "python"]
    code: str
    folder: str
    """Where it begins, absolute."""
    is_folder_known: bool = True
    """False in a shell that lasts: an earlier command may have gone elsewhere."""
    environment: Mapping[str, str] = {}
    """Variables that the call sets."""
    outside: str | None = None
    """It asks to run outside the sandbox, for this reason (which may be empty)."""
    requests: tuple[str, ...] = ()
    """What it asks of the sandbox, each in a form of `tools.box.requests`."""
    reason: str = ""
    """Why it asks for that."""
    named: frozenset[str] = frozenset()
    """Paths that its words name, which it may read or change. For the order of calls."""
    written: frozenset[str] = frozenset()
    """Paths that its output is redirected into. For the order of calls."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """Paths are absolute, as the tool understands its arguments; links are not followed."""

    reads: tuple[str, ...] = ()
    """Files whose content it shows, and folders of which it shows the content of files below."""
    globs: tuple[str, ...] = ()
    """Patterns of paths whose content it shows, absolute."""
    lists: tuple[str, ...] = ()
    """Folders of which it shows the names below, and no content."""
    writes: tuple[str, ...] = ()
    """Files that it makes, changes or removes."""
    stages: tuple[str, ...] = ()
    """Files for which it prepares a change that a later call writes."""
    runs: Program | None = None
    hosts: tuple[str, ...] = ()
    """`host:port` of those it connects to."""
    server: str = ""
    """What the names of tools of this server begin with: it acts in a server, beyond any sandbox of bayou's."""
    opaque: bool = False
    """It may do anything."""
    state: str = ""
    """A state that outlasts the call (a kernel, a shell), by a name: calls that share it keep their order."""
    keeps_state: bool = False
    """It only looks at that state: such calls may run side by side."""
    acts_as: str = ""
    """The tool whose rules count for the call, where it only writes that tool's calls in another way."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All files and folders, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.lists, *self.writes, *self.stages)))

    @property
    def contents(self) -> tuple[str, ...]:
        """Those whose content may be in its result."""
        return tuple(dict.fromkeys((*self.reads, *self.writes, *self.stages)))


class CallFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a stored call, as people read them: relative to the working directory if they are inside."""

    reads: tuple[str, ...] = ()
    """Those whose content it showed."""
    writes: tuple[str, ...] = ()


NO_EFFECTS: Final = Effects()
OPAQUE_EFFECTS: Final = Effects(opaque=True)
