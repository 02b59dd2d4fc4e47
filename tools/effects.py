"""Describes what a call touches: the value that the permission gate, rules, sandbox, masks and call order read.

A tool states its effects once, from the arguments, when a call is prepared (`Tool.effects`). bayou guesses
nothing from a tool's name: a call without stated effects is `opaque` and may do anything."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that a tool call runs: a shell command or Python code."""

    language: Literal["shell", "python"]
    code: str
    folder: str
    """The absolute working directory in which the code starts."""
    is_folder_known: bool = True
    """False in a persistent shell, where an earlier command may have changed the directory."""
    environment: Mapping[str, str] = {}
    """Environment variables that the call sets."""
    outside: str | None = None
    """The reason for running outside the sandbox (may be empty); None if the call does not ask for that."""
    requests: tuple[str, ...] = ()
    """Sandbox permissions that the call requests, in the forms of `tools.box.requests`."""
    reason: str = ""
    """The reason for the requests."""
    named: frozenset[str] = frozenset()
    """Paths named in the command that it may read or change. Used to order calls."""
    written: frozenset[str] = frozenset()
    """Paths that the output is redirected into. Used to order calls."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a tool call touches: files, programs, hosts. Paths are absolute, as the tool understands its
    arguments; links are not followed."""

    reads: tuple[str, ...] = ()
    """Files whose content the call shows, and folders whose files' content it shows."""
    globs: tuple[str, ...] = ()
    """Absolute patterns of paths whose content the call shows."""
    lists: tuple[str, ...] = ()
    """Folders of which the call shows names only."""
    writes: tuple[str, ...] = ()
    """Files that the call creates, changes or removes."""
    stages: tuple[str, ...] = ()
    """Files for which the call prepares a change that a later call writes."""
    runs: Program | None = None
    hosts: tuple[str, ...] = ()
    """`host:port` of the hosts that the call connects to."""
    server: str = ""
    """Name prefix of the MCP server's tools; the call acts in that server, outside of bayou's sandbox."""
    opaque: bool = False
    """Whether the call may do anything."""
    state: str = ""
    """Name of a state that outlasts the call (a kernel, a shell); calls with the same state keep their order."""
    keeps_state: bool = False
    """Whether the call only inspects that state; such calls may run in parallel."""
    acts_as: str = ""
    """The tool whose permission rules apply, for a tool that only offers another form of that tool's calls."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Returns all files and folders that a tool call touches, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.lists, *self.writes, *self.stages)))

    @property
    def contents(self) -> tuple[str, ...]:
        """Returns the files and folders whose content may appear in the result of a tool call."""
        return tuple(dict.fromkeys((*self.reads, *self.writes, *self.stages)))


class CallFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a recorded tool call, as people read them: relative to the working directory if they are inside."""

    reads: tuple[str, ...] = ()
    """Those whose content it showed."""
    writes: tuple[str, ...] = ()


NO_EFFECTS: Final = Effects()
OPAQUE_EFFECTS: Final = Effects(opaque=True)
