"""What a call may do, in three classes, and the verdict on a whole call with all of its parts.

`safe` only reads, in a form that is fully understood. `contained` is everything else: it runs in the sandbox, or the
person is asked. `forbidden` is what a sandbox cannot hold: it never runs without a typed word.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

Risk = Literal["safe", "contained", "forbidden"]

SEVERITY: Final[dict[Risk, int]] = {"safe": 0, "contained": 1, "forbidden": 2}
RISK_MEANINGS: Final[dict[Risk, str]] = {
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


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """Files that a command deletes or overwrites, which undo has to hold."""

    path: str
    """Absolute; `*` and `?` stand for what a pattern leaves open, `**` for all that is below."""
    takes_ignored: bool = True
    """Files that git ignores go too."""


class CallPart(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a command line, or one file of another tool's call."""

    text: str
    risk: Risk
    why: str
    words: tuple[str, ...] | None = None
    """Its words without wrappers, assignments and redirections; None if not all of them are known."""
    hosts: tuple[str, ...] = ()
    """Each `host:port` that its words name."""
    network: bool = False
    """It is a known network command, or another tool that acts where no sandbox of bayou's reaches."""
    removals: tuple[Removal, ...] = ()
    is_plain: bool = True
    """It runs in the workspace, no assignment changes what it does, no redirection writes: a rule can allow it."""
    kind: Literal["command", "file", "code", "tool", "host"] = "command"
    """What it is about: a command of the shell, a file, code in another language, a whole call, or a host."""
    path: str | None = None
    """Of a part about a file whose content is read or changed."""
    changes: bool = False
    """It changes that file."""
    family: str = ""
    """What the names of the tools of its server begin with."""
    needs_sandbox: bool = True
    """False where bayou itself does the work, and so holds it in the workspace without a sandbox."""

    @property
    def can_be_allowed(self) -> bool:
        """Whether an allow rule can answer it."""
        return self.risk != "forbidden" and self.is_plain

    @property
    def does(self) -> str:
        """Its class in words."""
        return "uses the network" if self.network and self.risk == "contained" else RISK_MEANINGS[self.risk]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a call: the strictest class among its parts."""

    risk: Risk
    parts: tuple[CallPart, ...]

    @property
    def why(self) -> str:
        return self.decisive.why

    @property
    def uses_network(self) -> bool:
        return any(part.network for part in self.parts)

    @property
    def decisive(self) -> CallPart:
        """The first part that has the class of the whole."""
        return next(part for part in self.parts if part.risk == self.risk)


def verdict_of(parts: Iterable[CallPart]) -> Judgement:
    parts = tuple(parts) or (CallPart(text="", risk="safe", why="there is nothing to run", words=()),)
    return Judgement(risk=max((part.risk for part in parts), key=SEVERITY.__getitem__), parts=parts)


def risk_of(recorded: str) -> Risk | None:
    """The class that an entry of a session names; older sessions have one of six letters there."""
    return next((one for one in SEVERITY if one == recorded), None) or _RISKS_BY_OLD_LETTER.get(recorded)
