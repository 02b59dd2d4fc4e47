"""Defines the three risk classes of a call, and the verdict on a call with all its parts.

`safe` only reads, in a form that is fully understood. `contained` is everything else: it runs in the sandbox, or
the user is asked. `forbidden` is what a sandbox cannot limit: it runs only after the user types a word.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

Risk = Literal["safe", "contained", "forbidden"]

RISK_SEVERITY: Final[dict[Risk, int]] = {"safe": 0, "contained": 1, "forbidden": 2}
RISK_DESCRIPTIONS: Final[dict[Risk, str]] = {
    "safe": "only reads",
    "contained": "may change files or run code",
    "forbidden": "dangerous command",
}
_RISKS_BY_OLD_LETTER: Final[dict[str, Risk]] = {
    "R": "safe",
    "E": "contained",
    "X": "contained",
    "N": "contained",
    "U": "contained",
    "F": "forbidden",
}


class FilesLostByCommand(msgspec.Struct, frozen=True, kw_only=True):
    """Files that a command deletes or overwrites, which undo must save first."""

    path: str
    """The absolute path of the removed files; `*` and `?` are wildcards, `**` means everything below."""
    takes_ignored: bool = True
    """Whether files that git ignores are removed too."""


class ToolCallPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a tool call that is judged: a command of a command line, or a file of another tool."""

    text: str
    risk: Risk
    why: str
    command_words: tuple[str, ...] | None = None
    """The words of the command without wrappers, assignments and redirections; None if some are unknown."""
    named_hosts: tuple[str, ...] = ()
    """The hosts that the command's words name, each as `host:port`."""
    uses_network: bool = False
    """Whether the part is a known network command, or a tool that acts outside bayou's sandbox."""
    removals: tuple[FilesLostByCommand, ...] = ()
    is_plain: bool = True
    """Whether an allow rule can match the part: it runs in the workspace, unchanged by assignments or redirections."""
    is_plain_network_request: bool = False
    """Whether the part is a network command that only reaches the hosts that it names."""
    kind: Literal["command", "file", "code", "tool", "host"] = "command"
    """The kind of the part: a shell command, a file, code in another language, a whole call or a host."""
    path: str | None = None
    """The path of the file that is read or changed; None for other parts."""
    changes_file: bool = False
    """Whether the file of the part is changed and not only read."""
    program_family: str = ""
    """The prefix of the tool names of the MCP server that the part calls; empty for other parts."""
    needs_sandbox: bool = True
    """Whether the part must run in the sandbox; False if bayou does the work itself and keeps it in the workspace."""

    @property
    def can_be_allowed(self) -> bool:
        """Whether an allow rule can match this part of a call."""
        return self.risk != "forbidden" and self.is_plain

    @property
    def risk_description(self) -> str:
        """The risk class of the part in words."""
        return (
            "uses the network"
            if self.uses_network and self.risk == "contained"
            else RISK_DESCRIPTIONS[self.risk]
        )


class ToolCallJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a tool call: its parts, and the highest risk among them."""

    risk: Risk
    parts: tuple[ToolCallPart, ...]

    @property
    def why(self) -> str:
        return self.decisive_part.why

    @property
    def uses_network(self) -> bool:
        return any(part.uses_network for part in self.parts)

    @property
    def decisive_part(self) -> ToolCallPart:
        """The first part whose risk is that of the whole call."""
        return next(part for part in self.parts if part.risk == self.risk)


def judgement_of_parts(parts: Iterable[ToolCallPart]) -> ToolCallJudgement:
    """Combines parts of a call into a verdict."""
    parts = tuple(parts) or (
        ToolCallPart(text="", risk="safe", why="there is no command to run", command_words=()),
    )
    return ToolCallJudgement(
        risk=max((part.risk for part in parts), key=RISK_SEVERITY.__getitem__), parts=parts
    )


def risk_from_session_entry(recorded: str) -> Risk | None:
    """Returns the risk class that a session entry recorded; older sessions have one of six letters."""
    return next((one for one in RISK_SEVERITY if one == recorded), None) or _RISKS_BY_OLD_LETTER.get(recorded)
