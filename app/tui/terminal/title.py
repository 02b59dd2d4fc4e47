"""Sets the terminal's title and its progress indicator."""

from collections.abc import Callable

from app.engine.session import Session
from app.resources.settings.settings import Settings
from app.values.events import (
    AgentSettled,
    AgentStart,
    Event,
    MessageStart,
    SessionInfoChanged,
    SessionReplaced,
    ToolExecutionEnd,
    ToolExecutionUpdate,
)
from widgets.terminal.terminal_control import terminal_progress_sequence, terminal_title_sequence

_EVENTS_ENDING_WAITING_STATE = (ToolExecutionUpdate, ToolExecutionEnd, MessageStart)
"""Events after which the agent continues, so that no answer is needed."""


class TerminalTitle:
    """Updates the terminal's title and progress indicator by one session's events."""

    EVENT_TYPES = (
        AgentStart,
        AgentSettled,
        SessionInfoChanged,
        SessionReplaced,
        *_EVENTS_ENDING_WAITING_STATE,
    )

    def __init__(
        self, session: Session, write: Callable[[str], None], settings: Callable[[], Settings]
    ) -> None:
        """Creates the title of a session. `write`: sends a sequence to the terminal without disturbing the screen."""
        self._session = session
        self._write = write
        self._settings = settings
        self._is_asking = False

    def show_title_state(self, state: str = "") -> None:
        if self._settings().terminal.title:
            name = self._session.state.name or self._session.cwd.name
            self._write(terminal_title_sequence(f"bayou · {name}{' · ' + state if state else ''}"))

    def handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            self.show_title_state("working")
            self._write_progress(is_busy=True)
        elif isinstance(event, AgentSettled):
            self._is_asking = False
            self.show_title_state()
            self._write_progress(is_busy=False)
        elif self._is_asking and isinstance(event, _EVENTS_ENDING_WAITING_STATE):
            self._is_asking = False
            self.show_title_state("working")
        elif isinstance(event, SessionInfoChanged | SessionReplaced):
            self.show_title_state()

    def show_waiting(self) -> None:
        """Shows in the terminal's title that an answer of the user is needed."""
        self._is_asking = True
        self.show_title_state("waiting for your answer")

    def _write_progress(self, *, is_busy: bool) -> None:
        if self._settings().terminal.progress:
            self._write(terminal_progress_sequence("busy" if is_busy else "none"))
