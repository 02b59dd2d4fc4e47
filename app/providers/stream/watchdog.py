"""Watches a response for silence: reports it while it lasts, and calls `on_timeout` when it lasts too long."""

import asyncio
from collections.abc import Callable

FlowStateCallback = Callable[[str, float], None]

_SILENCE_REPORT_INTERVAL_SECONDS = 1.0
_MIN_REPORTED_SILENCE_SECONDS = 2.0
"""The minimum duration in seconds of a silence that is reported."""


class ResponseSilenceWatchdog:
    """Reports `waiting` before the first event, `stalled` in a silence between events, and `flowing` when
    events arrive again."""

    def __init__(
        self,
        *,
        first_event_seconds: float,
        idle_seconds: float,
        on_state: FlowStateCallback | None,
        on_timeout: Callable[[str], None],
    ) -> None:
        self._first_event_seconds = first_event_seconds
        self._idle_seconds = idle_seconds
        self._on_state = on_state
        self._on_timeout = on_timeout
        self._loop = asyncio.get_running_loop()
        self._last_event_at = self._loop.time()
        self._has_received_event = False
        self._has_reported_silence = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._schedule_check(self._loop.time())

    def record_event(self) -> None:
        """Records that an event has arrived; keep-alives do not count."""
        self._has_received_event = True
        self._last_event_at = self._loop.time()
        if self._has_reported_silence:
            self._report_silence(0.0, self._current_timeout_seconds)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _current_timeout_seconds(self) -> float:
        """The timeout in seconds that applies now, before or after the first event; zero or less means no limit."""
        return self._idle_seconds if self._has_received_event else self._first_event_seconds

    def _schedule_check(self, now: float) -> None:
        limit = self._current_timeout_seconds
        pause = _SILENCE_REPORT_INTERVAL_SECONDS
        if limit > 0:
            pause = min(pause, max(self._last_event_at + limit - now, 0.001), max(limit / 4, 0.001))
        self._timer = self._loop.call_later(pause, self._check_silence)

    def _check_silence(self) -> None:
        now = self._loop.time()
        silence, limit = now - self._last_event_at, self._current_timeout_seconds
        if limit > 0 and silence >= limit:
            self._timer = None
            self._on_timeout(self._timeout_sentence(limit))
            return
        self._report_silence(silence, limit)
        self._schedule_check(now)

    def _report_silence(self, silence: float, limit: float) -> None:
        is_silent = silence >= min(
            _MIN_REPORTED_SILENCE_SECONDS, limit / 4 if limit > 0 else _MIN_REPORTED_SILENCE_SECONDS
        )
        if self._on_state is None or not (is_silent or self._has_reported_silence):
            return
        if not is_silent:
            self._has_reported_silence = False
            self._on_state("flowing", 0.0)
            return
        self._has_reported_silence = True
        state = "stalled" if self._has_received_event else "waiting"
        self._on_state(state, round(max(limit - silence, 0.0), 1) if limit > 0 else 0.0)

    def _timeout_sentence(self, limit: float) -> str:
        seconds = f"{limit:g} s"
        if self._has_received_event:
            return f"Request timed out: the response stalled, nothing came for {seconds}."
        return f"Request timed out: no answer within {seconds}."
