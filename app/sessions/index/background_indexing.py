"""Makes the texts of all sessions searchable in the background."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tools.files.path_existence import is_dir

_INDEX_BATCHES_BEFORE_COMPACTING = 20
"""The number of indexed batches after which the database is compacted."""


class BackgroundSessionIndexer:
    """Makes the texts of all sessions below one root searchable."""

    def __init__(self, root: Callable[[], Path]) -> None:
        self._root = root
        self._reading = threading.Thread()

    def index_new_texts(self) -> None:
        """Starts indexing session texts that are new since the last call; one call runs at a time."""
        if not self._reading.is_alive():
            self._reading = index_sessions_in_background(self._root())


def index_sessions_in_background(root: Path) -> threading.Thread:
    """Indexes new and changed sessions in batches, and pauses after each as long as it took, so that
    typing is not delayed."""
    thread = threading.Thread(target=_index_root, args=(root,), name="session index", daemon=True)
    thread.start()
    return thread


def _index_root(root: Path) -> None:
    if not is_dir(root):
        return
    from app.sessions.index.session_index import SessionIndex  # noqa: PLC0415  (its database is read in here, beside the page)

    index = SessionIndex(root)
    try:
        index.refresh()
        started, rounds = time.monotonic(), 0
        while index.index_text_batch():
            rounds += 1
            time.sleep(time.monotonic() - started)
            started = time.monotonic()
        if rounds >= _INDEX_BATCHES_BEFORE_COMPACTING:
            index.compact_database()
    finally:
        index.close()
