"""Notifies the user when the agent is done or asks something and the terminal is not focused."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from app.resources.settings.settings import Settings
from app.values.events import AgentSettled, AgentStart, Event, JobChanged
from widgets.terminal.terminal_control import DesktopNotifier


class DesktopNotifications:
    """Sends desktop notifications by one session's events, only in terminals that report their focus."""

    EVENT_TYPES = (AgentStart, AgentSettled, JobChanged)

    def __init__(
        self,
        write: Callable[[str], None],
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], float] = time.monotonic,
        env: Mapping[str, str],
    ) -> None:
        """Creates the notifications of a session. `write`: sends a sequence to the terminal without disturbing the
        screen."""
        self._settings = settings
        self._clock = clock
        self._run_started_at = 0.0
        self._jobs: set[str] = set()
        """Background jobs that continue while the agent is idle."""
        self._is_continued_run = False
        """Whether the next run continues the previous one with the result of a job."""
        self._question = ""
        self._answer: asyncio.Future[Any] | None = None
        self._repeat_timer: asyncio.TimerHandle | None = None
        self._notifier = DesktopNotifier(write, clock=clock, env=env)

    def set_focused(self, is_focused: bool) -> None:
        self._notifier.is_focused = is_focused
        if self._repeat_timer is not None:
            self._repeat_timer.cancel()
            self._repeat_timer = None
        if not is_focused and self._is_asking:
            seconds = self._settings().notifications.min_seconds
            self._repeat_timer = asyncio.get_running_loop().call_later(seconds, self._repeat_notification)

    def handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            if not self._is_continued_run:
                self._run_started_at = self._clock()
            self._is_continued_run = False
        elif isinstance(event, JobChanged):
            (self._jobs.add if event.state == "running" else self._jobs.discard)(event.job_id)
        elif isinstance(event, AgentSettled):
            self._is_continued_run = bool(self._jobs)
            if self._settings().notifications.on_done:
                word = "stopped" if event.aborted else "done"
                self._notify_if_due(f"The agent is {word}", self._clock() - self._run_started_at)

    def notify_question(self, question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        """Notifies the user about a question; again when the terminal loses the focus before the answer."""
        if answer is not None:
            self._question, self._answer = question, answer
        if self._settings().notifications.on_question:
            self._notify_if_due(question or "bayou needs your answer")

    @property
    def _is_asking(self) -> bool:
        """Whether a question to the user is still unanswered."""
        return self._answer is not None and not self._answer.done()

    def _repeat_notification(self) -> None:
        self._repeat_timer = None
        if self._is_asking:
            self.notify_question(self._question)

    def _notify_if_due(self, text: str, took: float | None = None) -> None:
        chosen, notifier = self._settings().notifications, self._notifier
        notifier.method = chosen.method
        notifier.only_when_unfocused = chosen.only_unfocused
        notifier.min_seconds = chosen.min_seconds
        notifier.notify("bayou", text, took=took)
