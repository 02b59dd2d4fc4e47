"""What is asked for in screens while they stay open."""

from typing import Any

from textual.message import Message
from textual.screen import Screen


class ScreenRequest(Message):
    """Whoever opened the screen answers. Each screen says what it asks for, and how it wants the answer."""

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self.opened = screen
