"""The texts of all sessions, made searchable beside everything else."""

import threading
from collections.abc import Callable
from pathlib import Path

from app.sessions.reading_all import read_in_background


class SessionTexts:
    """What was said in the sessions of one folder of them."""

    def __init__(self, root: Callable[[], Path]) -> None:
        self._root = root
        self._reading = threading.Thread()

    def read(self) -> None:
        """What is new since the last time; once at a time."""
        if not self._reading.is_alive():
            self._reading = read_in_background(self._root())
