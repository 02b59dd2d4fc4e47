"""What the terminal is told beside the page: title, progress, a word when the agent is done and nobody looks."""

import time
from collections.abc import Callable

from app.tui.stage import Stage
from app.values.events import (
    AgentSettled,
    AgentStart,
    Event,
    SessionInfoChanged,
    SessionReplaced,
)
from widgets.terminal_manners import Notifier, progress_sequence, title_sequence, write_to


class Manners:
    """Follows one session's events."""

    def __init__(self, app: Stage, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._began = 0.0
        self._notifier = Notifier(lambda sequence: write_to(app, sequence), clock=clock, env=app.env)

    def focus(self, is_focused: bool) -> None:
        self._notifier.is_focused = is_focused

    def show_title(self, state: str = "") -> None:
        if not self._app.assembled.settings.terminal.title:
            return
        name = self._app.session.log.name or self._app.session.cwd.name
        write_to(self._app, title_sequence(f"bayou · {name}{' · ' + state if state else ''}"))

    def note(self, event: Event) -> None:
        settings = self._app.assembled.settings
        match event:
            case AgentStart():
                self._began = self._clock()
                self.show_title("working")
                self._progress("busy")
            case AgentSettled():
                self.show_title()
                self._progress("none")
                if settings.notifications.on_done:
                    took = self._clock() - self._began
                    word = "stopped" if event.aborted else "done"
                    self._notify(f"The agent is {word}", took)
            case SessionInfoChanged() | SessionReplaced():
                self.show_title()

    def asked(self, question: str) -> None:
        """Somebody waits for the person."""
        if self._app.assembled.settings.notifications.on_question:
            self._notify(question or "Something has to be decided")

    def _notify(self, text: str, took: float | None = None) -> None:
        chosen, notifier = self._app.assembled.settings.notifications, self._notifier
        notifier.method = chosen.method
        notifier.only_unfocused = chosen.only_unfocused
        notifier.min_seconds = chosen.min_seconds
        notifier.notify("bayou", text, took=took)

    def _progress(self, state: str) -> None:
        if self._app.assembled.settings.terminal.progress:
            write_to(self._app, progress_sequence("busy" if state == "busy" else "none"))
