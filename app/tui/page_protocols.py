"""What pages are handed: how each asks the person, tells them something, and changes what stands on the page."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from textual.screen import Screen

from widgets.transcript.blocks import NoteKind

OnRequest = Callable[[Any], Awaitable[None] | None]
"""Answers what is asked for in a screen while it stays open: one of its kinds of `ScreenRequest`."""


class AskPerson(Protocol):
    """Shows a screen over the page and waits for its answer; None when there was none."""

    async def __call__(self, screen: Screen[Any], *, on_request: OnRequest | None = None) -> Any: ...


class ShowMessage(Protocol):
    """A line of bayou's own in the transcript."""

    def __call__(self, text: str, kind: NoteKind = NoteKind.INFO) -> object: ...


class NotifyWaiting(Protocol):
    """Notifies a person who looks elsewhere that an answer is waited for. `answer`: as long as it is not done."""

    def __call__(self, question: str, answer: "asyncio.Future[Any] | None" = None) -> None: ...


class Write(Protocol):
    """Puts a text into the editor; `focus` gives it the keyboard too."""

    def __call__(self, text: str, *, focus: bool = False) -> None: ...


class Copy(Protocol):
    """Into the clipboard. `what` it is, in words."""

    def __call__(self, text: str, what: str) -> None: ...


class SaveDefault(Protocol):
    """Makes a value the default, in the person's own settings; None gives the built-in one back."""

    def __call__(self, name: str, value: Any) -> None: ...


class OpenInEditor(Protocol):
    """Opens a file at a line in the person's own editor; everything waits. What went wrong, or nothing."""

    def __call__(self, path: Path, line: int) -> str: ...


Spawn = Callable[[Awaitable[Any]], None]
"""Does something beside everything else."""
KeyLabel = Callable[[str, str], str]
"""The key of an action, given its usual name in the text; nothing when the person took the key away."""
FindProgram = Callable[[str], str | None]
"""Where a program of the machine is, by its name; never one of the folder's."""
ShowProgress = Callable[[str], None]
"""Says what is under way; nothing when it is over."""
