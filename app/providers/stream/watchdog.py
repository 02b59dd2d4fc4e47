"""Watches a response for silence: reports it while it lasts, and calls `on_timeout` when it lasts too long."""

import asyncio
from collections.abc import Callable

StateCallback = Callable[[str, float], None]

_REPORT_INTERVAL = 1.0
_REPORT_DELAY = 2.0
"""Shorter silences are not reported."""


class Watchdog:
    """Reports `waiting` before the first event, `stalled` in a silence between events, and `flowing` when
    events arrive again."""

    def __init__(
        self,
        *,
        first_event_seconds: float,
        idle_seconds: float,
        on_state: StateCallback | None,
        on_timeout: Callable[[str], None],
    ) -> None:
        self._first_event_seconds = first_event_seconds
        self._idle_seconds = idle_seconds
        self._on_state = on_state
        self._on_timeout = on_timeout
        self._loop = asyncio.get_running_loop()
        self._last_event_at = self._loop.time()
        self._has_begun = False
        self._has_reported = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._schedule(self._loop.time())

    def record_event(self) -> None:
        """Records that an event has arrived; keep-alives do not count."""
        self._has_begun = True
        self._last_event_at = self._loop.time()
        if self._has_reported:
            self._report_silence(0.0, self._timeout)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _timeout(self) -> float:
        """The current timeout; zero or less means no limit."""
        return self._idle_seconds if self._has_begun else self._first_event_seconds

    def _schedule(self, now: float) -> None:
        limit = self._timeout
        pause = _REPORT_INTERVAL
        if limit > 0:
            pause = min(pause, max(self._last_event_at + limit - now, 0.001), max(limit / 4, 0.001))
        self._timer = self._loop.call_later(pause, self._check_silence)

    def _check_silence(self) -> None:
        now = self._loop.time()
        silence, limit = now - self._last_event_at, self._timeout
        if limit > 0 and silence >= limit:
            self._timer = None
            self._on_timeout(self._timeout_sentence(limit))
            return
        self._report_silence(silence, limit)
        self._schedule(now)

    def _report_silence(self, silence: float, limit: float) -> None:
        is_silent = silence >= min(_REPORT_DELAY, limit / 4 if limit > 0 else _REPORT_DELAY)
        if self._on_state is None or not (is_silent or self._has_reported):
            return
        if not is_silent:
            self._has_reported = False
            self._on_state("flowing", 0.0)
            return
        self._has_reported = True
        state = "stalled" if self._has_begun else "waiting"
        self._on_state(state, round(max(limit - silence, 0.0), 1) if limit > 0 else 0.0)

    def _timeout_sentence(self, limit: float) -> str:
        seconds = f"{limit:g} s"
        if self._has_begun:
            return f"Request timed out: the response stalled, nothing came for {seconds}."
        return f"Request timed out: no answer within {seconds}."
