"""The message by which a screen that stays open asks the code that opened it to do something."""

from typing import Any, Generic, TypeVar

from textual.message import Message
from textual.screen import Screen

S = TypeVar("S", bound=Screen[Any])


class ScreenRequest(Message, Generic[S]):
    """Message from an open screen to the code that opened it. Each screen defines its requests and how they are
    answered."""

    def __init__(self, screen: S) -> None:
        super().__init__()
        self.screen = screen
