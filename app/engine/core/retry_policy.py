"""Decides when a failed request is retried, and waits before the retry with a delay that can be cut short."""

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
    """The random share of the delay, so that many clients do not retry at the same moment."""

    def delay_ms(self, attempt: int, server_hint_ms: int | None = None) -> int | None:
        """Returns the delay before retry attempt 1, 2, …; None when the server asks for more than the maximum."""
        if server_hint_ms is not None:
            return server_hint_ms if server_hint_ms <= self.max_delay_ms else None
        delay = min(self.base_delay_ms * 2 ** (attempt - 1), self.max_delay_ms)
        return round(delay * (1 + self.jitter * random.random()))


RetryDelayOutcome = Literal["waited", "now", "cancelled"]


class RetryDelay:
    """A delay before a retry, which the user can cancel or end early from the moment it is announced."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[RetryDelayOutcome] | None = None

    @property
    def is_running(self) -> bool:
        return self._answer is not None

    @contextmanager
    def accept_early_end(self) -> Generator[None]:
        """Lets the user cancel or end the announced retry delay before the delay itself has begun."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            self._answer = None

    async def wait(self, delay_ms: int) -> RetryDelayOutcome:
        assert self._answer is not None, "a wait is announced first"
        try:
            return await asyncio.wait_for(self._answer, delay_ms / 1000)
        except TimeoutError:
            return "waited"

    def cancel(self) -> None:
        self._end_delay("cancelled")

    def retry_now(self) -> None:
        self._end_delay("now")

    def _end_delay(self, how: RetryDelayOutcome) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(how)
