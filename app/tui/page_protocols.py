"""The protocols of what the pages of features receive: asking the user, showing messages, changing the page."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from textual.screen import Screen

from widgets.transcript.transcript_blocks import AppNoteKind

HandleRequest = Callable[[Any], Awaitable[None] | None]
"""Handles a screen's `ScreenRequest` while the screen stays open."""


class AskOnScreen(Protocol):
    """The protocol of a function that shows a screen over the page and waits for its answer; None if there is none."""

    async def __call__(self, screen: Screen[Any], *, on_request: HandleRequest | None = None) -> Any: ...


class ShowMessage(Protocol):
    """The protocol of a function that adds a message of bayou to the transcript."""

    def __call__(self, text: str, kind: AppNoteKind = AppNoteKind.INFO) -> object: ...


class NotifyWaiting(Protocol):
    """The protocol of a function that notifies the user that an answer is needed, again until the future `answer` is
    done."""

    def __call__(self, question: str, answer: "asyncio.Future[Any] | None" = None) -> None: ...


class WriteToEditor(Protocol):
    """The protocol of a function that writes a text into the editor; `focus` also moves the keyboard focus there."""

    def __call__(self, text: str, *, focus: bool = False) -> None: ...


class CopyText(Protocol):
    """The protocol of a function that copies a text to the clipboard; `what` describes the text for the
    confirmation."""

    def __call__(self, text: str, what: str) -> None: ...


class SaveDefault(Protocol):
    """The protocol of a function that saves a value as the default in the user's settings; None restores the built-in
    default."""

    def __call__(self, name: str, value: Any) -> None: ...


class OpenInEditor(Protocol):
    """The protocol of a function that opens a file at a line in the user's editor and waits; returns an error message
    or an empty text."""

    def __call__(self, path: Path, line: int) -> str: ...


SpawnTask = Callable[[Awaitable[Any]], None]
"""Runs an awaitable as a background task."""
KeyLabel = Callable[[str, str], str]
"""Returns the label of an action's key, given its default; empty if the key is unbound."""
FindProgram = Callable[[str], str | None]
"""Returns the path of a program of the machine by name; never one in the project folder."""
ShowProgress = Callable[[str], None]
"""Shows the current activity; an empty text hides it."""
