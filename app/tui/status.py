"""What the lines around the page say while things happen: header, footer, and the word in the editor's border."""

from typing import TYPE_CHECKING

from app.tui import bars
from app.values.events import (
    AgentSettled,
    AgentStart,
    AutoRetryStart,
    CompactionStart,
    Event,
    MessageEnd,
    ModelChanged,
    ProviderWaiting,
    QueueUpdate,
    SessionReplaced,
    ToolExecutionStart,
)
from widgets.status.segments import Segment

if TYPE_CHECKING:
    from app.tui.app import BayouApp


class Status:
    """Header, footer and border of one application."""

    def __init__(self, app: "BayouApp") -> None:
        self._app = app
        self._activity = ""
        self._extensions: dict[str, Segment] = {}
        self.is_ticking = False

    def note(self, event: Event) -> None:
        match event:
            case AgentStart():
                self.say("Working")
            case AutoRetryStart():
                self.say(f"Retrying ({event.attempt}/{event.max_attempts}) · Esc stops")
            case CompactionStart():
                self.say("Compacting · Esc stops")
            case ProviderWaiting(state="flowing"):
                self.say("Working")
            case ProviderWaiting():
                self.say(_silence(event))
            case AgentSettled():
                self.say("")
            case ToolExecutionStart():
                self._start_ticking()
            case QueueUpdate() | ModelChanged() | SessionReplaced() | MessageEnd():
                pass
            case _:
                return
        self.refresh()

    def say(self, text: str) -> None:
        """What is under way, in the editor's border; nothing when it is idle."""
        self._activity = text
        session, editor = self._app.session, self._app.editor
        editor.follows_up = session.is_running
        editor.set_border_state(thinking_level=session.choice.thinking, status=text)

    def say_again(self) -> None:
        """What is under way, after something else was told in its place."""
        self.say(self._activity)

    def tell(self, text: str) -> None:
        """Something for a moment, in place of what is under way."""
        self._app.editor.set_border_state(thinking_level=self._app.session.choice.thinking, status=text)

    def show_extension(self, segment: Segment) -> None:
        """What an extension tells in the footer; an empty text takes it away."""
        self._extensions[segment.id] = segment
        self.refresh()

    def refresh(self) -> None:
        app = self._app
        own = bars.footer(app.session, app.home)
        app.footer.show([*own, *(segment for segment in self._extensions.values() if segment.text)])
        app.header.show(bars.header(app.session))

    def refresh_all(self) -> None:
        """The border too: model or thinking level may be others."""
        self.say(self._activity)
        self.refresh()

    def _start_ticking(self) -> None:
        """Elapsed times move once a second while a tool runs, and nothing moves otherwise."""
        if self.is_ticking:
            return
        self.is_ticking = True

        def tick() -> None:
            if self._app.presenter.tick():
                self._app.set_timer(1.0, tick)
            else:
                self.is_ticking = False

        self._app.set_timer(1.0, tick)


def _silence(event: ProviderWaiting) -> str:
    what = "Waiting for the model" if event.state == "waiting" else "The model has gone silent"
    end = f" · gives up in {event.seconds:.0f} s" if event.seconds else ""
    return f"{what}{end} · Esc stops"
