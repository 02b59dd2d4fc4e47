"""A word from the terminal when the agent is done, or asks something, and nobody looks."""

import time
from collections.abc import Callable, Mapping

from app.resources.settings import Settings
from app.values.events import AgentSettled, AgentStart, Event
from widgets.terminal_manners import Notifier


class Notifications:
    """Follows one session's events."""

    def __init__(
        self,
        write: Callable[[str], None],
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], float] = time.monotonic,
        env: Mapping[str, str],
    ) -> None:
        """`write`: to the terminal, beside the picture."""
        self._settings = settings
        self._clock = clock
        self._began = 0.0
        self._notifier = Notifier(write, clock=clock, env=env)

    def focus(self, is_focused: bool) -> None:
        self._notifier.is_focused = is_focused

    def note(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            self._began = self._clock()
        elif isinstance(event, AgentSettled) and self._settings().notifications.on_done:
            took = self._clock() - self._began
            word = "stopped" if event.aborted else "done"
            self._notify(f"The agent is {word}", took)

    def asked(self, question: str) -> None:
        """Somebody waits for the person."""
        if self._settings().notifications.on_question:
            self._notify(question or "Something has to be decided")

    def _notify(self, text: str, took: float | None = None) -> None:
        chosen, notifier = self._settings().notifications, self._notifier
        notifier.method = chosen.method
        notifier.only_unfocused = chosen.only_unfocused
        notifier.min_seconds = chosen.min_seconds
        notifier.notify("bayou", text, took=took)
