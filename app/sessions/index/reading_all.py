"""Making everything that was ever said searchable, beside a running bayou."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tools.files.presence import is_dir

_ROUNDS_BEFORE_TIDY = 20
"""Of some sessions each: worth making the index smaller."""


class SessionTexts:
    """What was said in the sessions of one folder of them."""

    def __init__(self, root: Callable[[], Path]) -> None:
        self._root = root
        self._reading = threading.Thread()

    def read(self) -> None:
        """What is new since the last time; once at a time."""
        if not self._reading.is_alive():
            self._reading = read_in_background(self._root())


def read_in_background(root: Path) -> threading.Thread:
    """Reads new and changed sessions a few at a time, and rests as long as it has worked: typing comes first."""
    thread = threading.Thread(target=_read, args=(root,), name="session index", daemon=True)
    thread.start()
    return thread


def _read(root: Path) -> None:
    if not is_dir(root):
        return
    from app.sessions.index.session_index import SessionIndex  # noqa: PLC0415  (its database is read in here, beside the page)

    index = SessionIndex(root)
    try:
        index.refresh()
        started, rounds = time.monotonic(), 0
        while index.read_some_texts():
            rounds += 1
            time.sleep(time.monotonic() - started)
            started = time.monotonic()
        if rounds >= _ROUNDS_BEFORE_TIDY:
            index.tidy()
    finally:
        index.close()
