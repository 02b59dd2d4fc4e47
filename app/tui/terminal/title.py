"""What the terminal shows beside the page: its title, and that something is under way."""

from app.tui.stage import Stage
from app.values.events import AgentSettled, AgentStart, Event, SessionInfoChanged, SessionReplaced
from widgets.terminal_manners import progress_sequence, title_sequence, write_to


class TerminalTitle:
    """Follows one session's events."""

    def __init__(self, app: Stage) -> None:
        self._app = app

    def show(self, state: str = "") -> None:
        if not self._app.assembled.settings.terminal.title:
            return
        name = self._app.session.log.name or self._app.session.cwd.name
        write_to(self._app, title_sequence(f"bayou · {name}{' · ' + state if state else ''}"))

    def note(self, event: Event) -> None:
        match event:
            case AgentStart():
                self.show("working")
                self._progress(is_busy=True)
            case AgentSettled():
                self.show()
                self._progress(is_busy=False)
            case SessionInfoChanged() | SessionReplaced():
                self.show()
            case _:
                pass

    def _progress(self, *, is_busy: bool) -> None:
        if self._app.assembled.settings.terminal.progress:
            write_to(self._app, progress_sequence("busy" if is_busy else "none"))
