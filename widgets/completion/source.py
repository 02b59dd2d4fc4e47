"""What completes: the question, the answers, and the protocol of those who answer. Extensions' providers fit it too."""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

Kind = Literal["command", "argument", "file", "folder", "symbol", "path", "other"]


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    line: str
    """The cursor's line."""
    column: int
    row: int = 0
    is_forced: bool = False
    """Asked for with Tab, not just typed."""

    @property
    def before(self) -> str:
        return self.line[: self.column]


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """What is put in."""
    label: str = ""
    """What is shown; the text if empty."""
    detail: str = ""
    right: str = ""
    kind: Kind = "other"
    tail: str = " "
    """Put in behind; a folder has none, so that one goes on typing."""
    sends: bool = False
    """Enter not only completes it but sends."""
    is_guess: bool = False
    """What was typed only resembles it: Enter takes it when one has moved to it, else what is written counts."""


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """Suggestions for a part of the line, best first. A source may answer several times; the last answer counts."""

    start: int
    end: int
    items: tuple[Suggestion, ...] = ()
    query: str = ""
    """What is marked in the labels."""


class CompletionSource(Protocol):
    def accepts(self, request: CompletionRequest) -> bool:
        """Whether this source is to be asked. Cheap: called at every key."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncIterator[Completions]: ...
