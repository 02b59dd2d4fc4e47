"""Sets the terminal's title and progress indicator."""

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
from widgets.terminal.terminal_control import progress_sequence, title_sequence

_ANSWERED = (ToolExecutionUpdate, ToolExecutionEnd, MessageStart)
"""Events after which the agent continues, so that no answer is needed."""


class TerminalTitle:
    """Sets the title by one session's events."""

    EVENT_TYPES = (AgentStart, AgentSettled, SessionInfoChanged, SessionReplaced, *_ANSWERED)

    def __init__(
        self, session: Session, write: Callable[[str], None], settings: Callable[[], Settings]
    ) -> None:
        """`write`: sends a sequence to the terminal without disturbing the screen."""
        self._session = session
        self._write = write
        self._settings = settings
        self._asks = False

    def show(self, state: str = "") -> None:
        if self._settings().terminal.title:
            name = self._session.state.name or self._session.cwd.name
            self._write(title_sequence(f"bayou · {name}{' · ' + state if state else ''}"))

    def note(self, event: Event) -> None:
        if isinstance(event, AgentStart):
            self.show("working")
            self._progress(is_busy=True)
        elif isinstance(event, AgentSettled):
            self._asks = False
            self.show()
            self._progress(is_busy=False)
        elif self._asks and isinstance(event, _ANSWERED):
            self._asks = False
            self.show("working")
        elif isinstance(event, SessionInfoChanged | SessionReplaced):
            self.show()

    def ask(self) -> None:
        """Shows in the title that an answer is needed."""
        self._asks = True
        self.show("waits for your answer")

    def _progress(self, *, is_busy: bool) -> None:
        if self._settings().terminal.progress:
            self._write(progress_sequence("busy" if is_busy else "none"))
