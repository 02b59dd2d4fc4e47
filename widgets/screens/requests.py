"""Requests that screens send while they stay open."""

from typing import Any, Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

S = TypeVar("S", bound=Screen[Any])


class ScreenRequest(Message, Generic[S]):
    """Handled by the code that opened the screen. Each screen defines its requests and how they are answered."""

    def __init__(self, screen: S) -> None:
        super().__init__()
        self.screen = screen
