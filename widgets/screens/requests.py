"""What is asked for in screens while they stay open."""

from typing import Any, Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

S = TypeVar("S", bound=Screen[Any])


class ScreenRequest(Message, Generic[S]):
    """Whoever opened the screen answers. Each screen says what it asks for, and how it wants the answer."""

    def __init__(self, screen: S) -> None:
        super().__init__()
        self.screen = screen
