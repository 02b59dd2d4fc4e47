"""What the lines around the page say while things happen: header, footer, and the word in the editor's border."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from app.assembly.build import Assembled
from app.engine.session import Session
from app.tui.handed import KeyTold, stoppable
from app.tui.status import bars
from app.tui.status.git_state import git_state
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerInterrupted,
    AutoRetryEnd,
    AutoRetryStart,
    BashExecutionUpdate,
    CompactionEnd,
    CompactionProgress,
    CompactionStart,
    EntryAppended,
    Event,
    ExtensionError,
    FileChanged,
    JobChanged,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelChanged,
    Notice,
    PendingChanged,
    PlanModeChanged,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    ProviderWaiting,
    QuestionAsked,
    QueueUpdate,
    SessionInfoChanged,
    SessionReplaced,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    ThinkingLevelChanged,
    TodoAutoClear,
    TodoReminder,
    TodosChanged,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from widgets.editor.prompt import PromptEditor
from widgets.status.footer import StatusFooter
from widgets.status.header import StatusHeader
from widgets.status.segments import Segment


class StatusLines:
    """Header, footer and border of one application."""

    def __init__(
        self,
        assembled: Assembled,
        *,
        header: StatusHeader,
        footer: StatusFooter,
        editor: PromptEditor,
        home: Path,
        tick: Callable[[], bool],
        key_told: KeyTold,
    ) -> None:
        """`tick`: draws elapsed times anew; false when nothing has one."""
        self._assembled = assembled
        self._session: Session = assembled.session
        self._header = header
        self._footer = footer
        self._editor = editor
        self._home = home
        self._tick = tick
        self._key_told = key_told
        self._maps = assembled.session.repository
        self._indexing: tuple[int, int] | None = None
        self._activity = ""
        self._retry = ""
        self._silence = ""
        self._git = ""
        self._extensions: dict[str, Segment] = {}
        self.is_ticking = False

    def note(self, event: Event) -> None:
        match event:
            case AgentStart():
                self._go_on()
            case AutoRetryStart():
                self._count_down(event.attempt, event.max_attempts, event.delay_ms / 1000)
            case ProviderWaiting(state="flowing") | ProviderRequestPrepared():
                self._go_on()
            case ProviderWaiting():
                self._silence = _brief_silence(event)
                self.say_stoppable(_silence(event))
            case CompactionStart():
                self.say_stoppable("Compacting")
            case CompactionEnd():
                self._retry = self._silence = ""
                self.say_what_runs()
            case AgentSettled():
                self._go_on("")
            case ToolExecutionStart():
                self._start_ticking()
            case ThinkingLevelChanged():
                self.say(self._activity)
            case QueueUpdate() | ModelChanged() | SessionReplaced() | MessageEnd() | JobChanged():
                pass
            case (
                MessageUpdate()
                | AgentEnd()
                | AnswerInterrupted()
                | TurnStart()
                | TurnEnd()
                | MessageStart()
                | ToolExecutionUpdate()
                | ToolExecutionEnd()
                | EntryAppended()
                | SessionInfoChanged()
                | CompactionProgress()
                | AutoRetryEnd()
                | SummarizationRetryScheduled()
                | SummarizationRetryAttemptStart()
                | SummarizationRetryFinished()
                | BashExecutionUpdate()
                | ProviderRequestDelivered()
                | ProviderRequestFailed()
                | FileChanged()
                | TodosChanged()
                | TodoReminder()
                | TodoAutoClear()
                | PendingChanged()
                | PlanModeChanged()
                | Notice()
                | ExtensionError()
                | QuestionAsked()
            ):
                return
            case _:
                assert_never(event)
        self.refresh()

    def say(self, text: str) -> None:
        """What is under way, in the editor's border; nothing when it is idle."""
        self._activity = text
        session, editor = self._session, self._editor
        editor.follows_up = session.is_running
        editor.surface.set_border_state(thinking_level=session.state.thinking, status=text)

    def say_stoppable(self, text: str) -> None:
        """With the key that stops it."""
        self.say(stoppable(text, self._key_told))

    def say_what_runs(self) -> None:
        """Something else has ended; the agent may be at work still."""
        self.say("Working" if self._session.is_running else "")

    def say_again(self) -> None:
        """What is under way, after something else was told in its place."""
        self.say(self._activity)

    def tell(self, text: str, seconds: float = 0.0) -> None:
        """Something for a moment, in place of what is under way: so long, or until `say_again`."""
        self._editor.surface.set_border_state(thinking_level=self._session.state.thinking, status=text)
        if seconds:
            self._editor.set_timer(seconds, self.say_again)

    def show_extension(self, segment: Segment) -> None:
        """What an extension tells in the footer; an empty text takes it away."""
        self._extensions[segment.id] = segment
        self.refresh()

    def refresh(self) -> None:
        wanted = self._assembled.settings.footer
        around = bars.Surroundings(
            home=self._home,
            git=self._git,
            retry=self._retry,
            silence=self._silence,
            now=time.strftime("%H:%M"),
            indexing=self._indexing,
            host=socket.gethostname().partition(".")[0] if "host" in wanted.segments else "",
            width=self._footer.size.width,
        )
        own = bars.footer(self._session, around, wanted.segments, wanted.looks)
        self._footer.show([*own, *(segment for segment in self._extensions.values() if segment.text)])
        self._header.show(bars.header(self._session))

    def refresh_all(self) -> None:
        """The border too: model or thinking level may be others."""
        self.say(self._activity)
        self.refresh()

    def _go_on(self, doing: str = "Working") -> None:
        self._retry = self._silence = ""
        self.say(doing)

    def _count_down(self, attempt: int, most: int, seconds: float) -> None:
        """Once a second until the next attempt begins."""
        self._retry = f"retry {attempt}/{most} in {seconds:.0f}s"
        self.say_stoppable(f"Retrying ({attempt}/{most}) in {seconds:.0f}s")
        self.refresh()

        def again() -> None:
            if self._retry and seconds > 1:
                self._count_down(attempt, most, seconds - 1)

        self._editor.set_timer(1.0, again)

    def follow_maps(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on the footer tells how far the map of the repository is."""

        def heard() -> None:
            with contextlib.suppress(RuntimeError):  # the end of the program: nobody looks any more
                loop.call_soon_threadsafe(self._map_is_further)

        self._maps.watch(heard)

    def _map_is_further(self) -> None:
        building = self._maps.building
        if self._footer.is_attached and building != self._indexing:
            self._indexing = building
            self.refresh()

    async def look_at_git(self) -> None:
        """At the start, after each run, and when the terminal comes to the front."""
        git = await git_state(
            self._session.cwd, home=self._home, is_vouched=self._assembled.project.seems_to_count
        )
        if git != self._git:
            self._git = git
            self.refresh()

    def _start_ticking(self) -> None:
        """Elapsed times move once a second while a tool runs, and nothing moves otherwise."""
        if self.is_ticking:
            return
        self.is_ticking = True

        def tick() -> None:
            if self._tick():
                self._editor.set_timer(1.0, tick)
            else:
                self.is_ticking = False

        self._editor.set_timer(1.0, tick)


def _silence(event: ProviderWaiting) -> str:
    what = "Waiting for the model" if event.state == "waiting" else "The model has gone silent"
    end = f" · gives up in {event.seconds:.0f} s" if event.seconds else ""
    return f"{what}{end}"


def _brief_silence(event: ProviderWaiting) -> str:
    return f"silent, ends in {event.seconds:.0f}s" if event.seconds else "silent"
