"""A provider's rate limit, shared by several bayou processes: a 429 that one of them gets makes all of them wait.

Each provider has a small file in a common folder, with the time before which it is not asked again."""

import asyncio
import random
import time
from collections.abc import Mapping
from pathlib import Path

from app.providers.errors import read_retry_after_ms
from tools.files.atomic_replacement import replace_file_atomically

RATE_LIMIT_FOLDER_VARIABLE = "BAYOU_RATE_LIMIT_DIR"
"""The environment variable by which a batch tells its processes the common folder."""
_MAX_RATE_LIMIT_PAUSE_SECONDS = 600.0
"""The maximum number of seconds of a shared pause; a longer wait means a used-up quota, which each process reports
by itself."""
_RATE_LIMIT_PAUSE_CHECK_SECONDS = 1.0
_RATE_LIMIT_PAUSE_JITTER_SHARE = 0.1
"""The share of the pause over which the processes spread their next requests, at most one second."""


class SharedRateLimit:
    """Reads and writes the pauses of rate-limited providers in files that several bayou processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "SharedRateLimit | None":
        """Returns the shared limits in the folder that the environment names; None if it names none."""
        folder = env.get(RATE_LIMIT_FOLDER_VARIABLE)
        return cls(Path(folder)) if folder else None

    async def wait_for_pause_end(self, provider: str) -> None:
        """Waits until the provider may be asked; another process may make the wait longer meanwhile."""
        waited = 0.0
        while (seconds := self._paused_until(provider) - time.time()) > 0:
            step = min(seconds, _RATE_LIMIT_PAUSE_CHECK_SECONDS)
            await asyncio.sleep(step)
            waited += step
        if waited:
            await asyncio.sleep(random.random() * min(1.0, waited * _RATE_LIMIT_PAUSE_JITTER_SHARE))

    def record_response(self, provider: str, status: int, headers: Mapping[str, str]) -> None:
        """Records the response of a request: a 429 with a retry time makes the other processes wait too."""
        milliseconds = read_retry_after_ms(headers) if status == 429 else None
        if milliseconds is None or milliseconds / 1000 > _MAX_RATE_LIMIT_PAUSE_SECONDS:
            return
        try:
            self.pause_provider(provider, milliseconds / 1000)
        except OSError:
            pass  # this process waits all the same, by its own retry

    def pause_provider(self, provider: str, seconds: float) -> None:
        """Makes all processes wait some seconds before they ask the provider, or longer if a longer pause is
        stored. Raises `OSError`."""
        until = time.time() + seconds
        if until > self._paused_until(provider):
            replace_file_atomically(self._pause_file_path(provider), f"{until:.6f}".encode(), durable=False)

    def paused_providers(self) -> dict[str, float]:
        """Returns the paused providers with the seconds that are left of each pause."""
        names = (
            bytes.fromhex(file.name).decode() for file in self._folder.glob("*") if _is_hex_name(file.name)
        )
        left = {name: self._paused_until(name) - time.time() for name in names}
        return {name: seconds for name, seconds in left.items() if seconds > 0}

    def _paused_until(self, provider: str) -> float:
        try:
            until = float(self._pause_file_path(provider).read_bytes())
        except (OSError, ValueError):
            return 0.0
        return until if until - time.time() <= _MAX_RATE_LIMIT_PAUSE_SECONDS else 0.0

    def _pause_file_path(self, provider: str) -> Path:
        return self._folder / provider.encode().hex()[:200]


def _is_hex_name(name: str) -> bool:
    return name.isalnum() and len(name) % 2 == 0 and set(name) <= set("0123456789abcdef")
