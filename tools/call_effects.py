"""Describes what a call touches: the value that the permission gate, rules, sandbox, masks and call order read.

A tool states its effects once, from the arguments, when a call is prepared (`Tool.effects`). bayou guesses
nothing from a tool's name: a call without stated effects is `opaque` and may do anything."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec


class ProgramOfCall(msgspec.Struct, frozen=True, kw_only=True):
    """A program that a tool call runs: a shell command or Python code, where it runs, and what it may do outside
    the sandbox."""

    language: Literal["shell", "python"]
    code: str
    folder: str
    """The absolute working directory in which the code starts."""
    is_folder_known: bool = True
    """Whether `folder` is certain; False in a persistent shell, where an earlier command may have changed the
    directory."""
    environment: Mapping[str, str] = {}
    """Environment variables that the call sets."""
    outside: str | None = None
    """The reason for running outside the sandbox (may be empty); None if the call does not ask for that."""
    requests: tuple[str, ...] = ()
    """Sandbox permissions (places, hosts) that the call requests for its program, as
    `tools.box.sandbox_permission_requests` parses them."""
    reason: str = ""
    """The model's reason for requesting sandbox permissions."""
    named: frozenset[str] = frozenset()
    """Paths named in the program's command, which it may read or change; they decide which calls must wait for each
    other."""
    written: frozenset[str] = frozenset()
    """Paths that the command redirects its output into; they decide which calls must wait for each other."""


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a tool call touches: files, programs, hosts. Paths are absolute, as the tool understands its
    arguments; links are not followed."""

    reads: tuple[str, ...] = ()
    """Files, and folders with all files in them, whose content the tool call shows."""
    globs: tuple[str, ...] = ()
    """Absolute glob patterns of the files whose content the tool call shows."""
    lists: tuple[str, ...] = ()
    """Folders of which the tool call shows only the names of their entries."""
    writes: tuple[str, ...] = ()
    """Files that the tool call creates, changes or removes."""
    stages: tuple[str, ...] = ()
    """Files for which the tool call prepares a change that a later call writes."""
    runs: ProgramOfCall | None = None
    hosts: tuple[str, ...] = ()
    """The hosts that the tool call connects to, each as `host:port`."""
    server: str = ""
    """The name prefix of an MCP server's tools; a call of such a tool acts in that server, outside bayou's
    sandbox.
    """
    opaque: bool = False
    """Whether the tool call's effects are unknown, so that it may do anything."""
    state: str = ""
    """The name of a state that outlasts the tool call (a Python kernel, a shell); calls with the same state run in
    their order."""
    keeps_state: bool = False
    """Whether the tool call only reads the state that outlasts it (a kernel, a shell); such calls may run in
    parallel."""
    acts_as: str = ""
    """The name of another tool whose permission rules apply, for a tool that offers that tool's calls in another
    form."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Returns all files and folders that a tool call touches, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.lists, *self.writes, *self.stages)))

    @property
    def contents(self) -> tuple[str, ...]:
        """Returns the files and folders whose content may appear in the result of a tool call."""
        return tuple(dict.fromkeys((*self.reads, *self.writes, *self.stages)))


class FilesOfRecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a recorded tool call, as people read them: relative to the working directory if they are inside."""

    reads: tuple[str, ...] = ()
    """Files whose content the tool call showed."""
    writes: tuple[str, ...] = ()


NO_CALL_EFFECTS: Final = Effects()
UNKNOWN_CALL_EFFECTS: Final = Effects(opaque=True)
