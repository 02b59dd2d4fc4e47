"""Makes the texts of all sessions searchable in the background."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tools.files.presence import is_dir

_ROUNDS_BEFORE_TIDY = 20
"""After so many batches the index is compacted."""


class SessionTexts:
    """Indexes the texts of all sessions below one root."""

    def __init__(self, root: Callable[[], Path]) -> None:
        self._root = root
        self._reading = threading.Thread()

    def read(self) -> None:
        """Indexes what is new since the last call; one call runs at a time."""
        if not self._reading.is_alive():
            self._reading = read_in_background(self._root())


def read_in_background(root: Path) -> threading.Thread:
    """Indexes new and changed sessions in batches, and pauses after each as long as it took, so that
    typing is not delayed."""
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
