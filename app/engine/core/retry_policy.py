"""When a failed request is tried again, and how long to wait before: a policy and a wait that can be cut short."""

import asyncio
import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    is_enabled: bool = True
    max_attempts: int = 3
    base_delay_ms: int = 2_000
    max_delay_ms: int = 60_000
    jitter: float = 0.0
    """Share of the delay that is random, so that many clients do not come back at once."""

    def delay_ms(self, attempt: int, server_hint_ms: int | None = None) -> int | None:
        """Before attempt 1, 2, …; None when the server asks for longer than anyone should wait."""
        if server_hint_ms is not None:
            return server_hint_ms if server_hint_ms <= self.max_delay_ms else None
        delay = min(self.base_delay_ms * 2 ** (attempt - 1), self.max_delay_ms)
        return round(delay * (1 + self.jitter * random.random()))


WaitOutcome = Literal["waited", "now", "cancelled"]


class Countdown:
    """A wait that a person can cancel or end early, from the moment it is announced."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[WaitOutcome] | None = None

    @property
    def is_running(self) -> bool:
        return self._answer is not None

    @contextmanager
    def announced(self) -> Generator[None]:
        """Whoever is told of the wait inside may answer before it has begun."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            self._answer = None

    async def wait(self, delay_ms: int) -> WaitOutcome:
        assert self._answer is not None, "a wait is announced first"
        try:
            return await asyncio.wait_for(self._answer, delay_ms / 1000)
        except TimeoutError:
            return "waited"

    def cancel(self) -> None:
        self._end("cancelled")

    def retry_now(self) -> None:
        self._end("now")

    def _end(self, how: WaitOutcome) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(how)
