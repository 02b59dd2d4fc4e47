"""The completion protocol: request, suggestions, and sources. Extensions' completion providers implement it too."""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

CompletionSuggestionKind = Literal["command", "argument", "file", "folder", "symbol", "path", "other"]


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for completions: the cursor's line and position, and whether Tab was pressed."""

    line: str
    """The cursor's line."""
    column: int
    row: int = 0
    is_forced: bool = False
    """Requested with Tab, not by typing."""

    @property
    def before(self) -> str:
        return self.line[: self.column]


class CompletionSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A completion that the user can choose: the text to insert, and how the list shows it."""

    text: str
    """The text that is inserted."""
    label: str = ""
    """The text that is shown; `text` if empty."""
    detail: str = ""
    right_text: str = ""
    kind: CompletionSuggestionKind = "other"
    text_after: str = " "
    """Inserted after the text; empty for folders, so that typing continues in the path."""
    sends_prompt: bool = False
    """Whether Enter inserts the suggestion and sends the prompt."""
    is_guess: bool = False
    """The typed text is only similar: Enter inserts it only if the user moved to it; otherwise the typed text
    counts."""


class CompletionResult(msgspec.Struct, frozen=True, kw_only=True):
    """A source's answer to a completion request: suggestions, best first, and the part of the line that they replace. A
    source may answer several times; the last answer counts."""

    start: int
    end: int
    items: tuple[CompletionSuggestion, ...] = ()
    query: str = ""
    """The text that is highlighted in the labels."""


class CompletionSource(Protocol):
    """The protocol of completion sources: objects that say which requests they handle and yield suggestions for
    them."""

    def accepts(self, request: CompletionRequest) -> bool:
        """Returns whether this completion source handles the request. It is called at every key, so it must be
        cheap."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncIterator[CompletionResult]: ...
