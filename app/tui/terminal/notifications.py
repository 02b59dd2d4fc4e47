"""Notifies the user when the agent is done or asks something and the terminal is not focused."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from app.resources.settings.settings import Settings
from app.values.events import AgentSettled, AgentStart, Event, JobChanged
from widgets.terminal.terminal_control import Notifier


class Notifications:
    """Follows one session's events. It notifies only in terminals that report their focus."""

    EVENT_TYPES = (AgentStart, AgentSettled, JobChanged)

    def __init__(
        self,
        write: Callable[[str], None],
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], float] = time.monotonic,
        env: Mapping[str, str],
    ) -> None:
        """`write`: sends a sequence to the terminal without disturbing the screen."""
        self._settings = settings
        self._clock = clock
        self._began = 0.0
        self._jobs: set[str] = set()
        """Background jobs that continue while the agent is idle."""
        self._continues = False
        """Whether the next run continues the previous one with the result of a job."""
        self._question = ""
        self._answer: asyncio.Future[Any] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._notifier = Notifier(write, clock=clock, env=env)

    def focus(self, is_focused: bool) -> None:
        self._notifier.is_focused = is_focused
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not is_focused and self._is_asking:
            seconds = self._settings().notifications.min_seconds
            self._later = asyncio.get_running_loop().call_later(seconds, self._ask_again)

    def note(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            if not self._continues:
                self._began = self._clock()
            self._continues = False
        elif isinstance(event, JobChanged):
            (self._jobs.add if event.state == "running" else self._jobs.discard)(event.job_id)
        elif isinstance(event, AgentSettled):
            self._continues = bool(self._jobs)
            if self._settings().notifications.on_done:
                word = "stopped" if event.aborted else "done"
                self._notify(f"The agent is {word}", self._clock() - self._began)

    def asked(self, question: str, answer: "asyncio.Future[Any] | None" = None) -> None:
        """Notifies about a question; again when the terminal loses the focus before the answer."""
        if answer is not None:
            self._question, self._answer = question, answer
        if self._settings().notifications.on_question:
            self._notify(question or "bayou needs an answer")

    @property
    def _is_asking(self) -> bool:
        """Whether a question is still unanswered."""
        return self._answer is not None and not self._answer.done()

    def _ask_again(self) -> None:
        self._later = None
        if self._is_asking:
            self.asked(self._question)

    def _notify(self, text: str, took: float | None = None) -> None:
        chosen, notifier = self._settings().notifications, self._notifier
        notifier.method = chosen.method
        notifier.only_unfocused = chosen.only_unfocused
        notifier.min_seconds = chosen.min_seconds
        notifier.notify("bayou", text, took=took)
