"""A provider's rate limit, shared by several bayou processes: a 429 that one of them gets makes all of them wait.

Each provider has a small file in a common folder, with the time before which it is not asked again."""

import asyncio
import random
import time
from collections.abc import Mapping
from pathlib import Path

from app.providers.errors import retry_after_ms
from tools.files.replacing import replace_atomically

FOLDER_VARIABLE = "BAYOU_RATE_LIMIT_DIR"
"""Names the common folder to the processes of a batch."""
_MAX_SECONDS = 600.0
"""A longer wait is a quota, which each process reports by itself."""
_LOOK_SECONDS = 1.0
_JITTER = 0.1
"""Share of the wait over which the processes spread when it ends, at most one second."""


class SharedRateLimit:
    """What this process knows of the limits, and tells the others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "SharedRateLimit | None":
        """Returns None where there are no other processes."""
        folder = env.get(FOLDER_VARIABLE)
        return cls(Path(folder)) if folder else None

    async def wait(self, provider: str) -> None:
        """Waits until the provider may be asked; another process may make the wait longer meanwhile."""
        waited = 0.0
        while (seconds := self._until(provider) - time.time()) > 0:
            step = min(seconds, _LOOK_SECONDS)
            await asyncio.sleep(step)
            waited += step
        if waited:
            await asyncio.sleep(random.random() * min(1.0, waited * _JITTER))

    def note(self, provider: str, status: int, headers: Mapping[str, str]) -> None:
        """Takes in a response: a 429 that says when to come again is told to the others."""
        milliseconds = retry_after_ms(headers) if status == 429 else None
        if milliseconds is None or milliseconds / 1000 > _MAX_SECONDS:
            return
        until = time.time() + milliseconds / 1000
        if until <= self._until(provider):
            return
        try:
            replace_atomically(self._file(provider), f"{until:.6f}".encode(), durable=False)
        except OSError:
            pass  # this process waits all the same, by its own retry

    def _until(self, provider: str) -> float:
        try:
            until = float(self._file(provider).read_bytes())
        except (OSError, ValueError):
            return 0.0
        return until if until - time.time() <= _MAX_SECONDS else 0.0

    def _file(self, provider: str) -> Path:
        return self._folder / provider.encode().hex()[:200]
