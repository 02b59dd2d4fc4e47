"""Updates header, footer and the text above the editor, and asks git for the branch."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

from textual.timer import Timer

from app.assembly.assembled_session import AssembledSession
from app.engine.session import Session
from app.tui.page_protocols import KeyLabel
from app.tui.status import header_and_footer as bars
from app.tui.status.activity import ActivityTracker
from app.values.content import ToolCall
from app.values.events import (
    AgentSettled,
    AnswerInterrupted,
    AutoRetryEnd,
    BashExecutionUpdate,
    CompactionEnd,
    CompactionProgress,
    EntryAppended,
    Event,
    ExtensionError,
    FileChanged,
    MessageStart,
    MessageUpdate,
    Notice,
    PendingChanged,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderWaiting,
    QuestionAsked,
    SessionInfoChanged,
    SessionReplaced,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
    TodoAutoClear,
    TodoReminder,
    TodosChanged,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from tools.git.git_command import ReadOnlyGitCommand, make_read_only_git_command
from tools.git.git_repository import find_repository
from tools.number_formatting import format_elapsed
from widgets.editor.editor_painting import EditorBorderText
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.status_footer import StatusFooter
from widgets.status.status_header import StatusHeader
from widgets.status.status_segments import StatusSegment

STATUS_UPDATES_PER_SECOND = 4
UPDATE_SECONDS, ELAPSED_UPDATE_SECONDS = 1 / STATUS_UPDATES_PER_SECOND, 1.0
"""Seconds between two updates: with an animated indicator, and with elapsed times only."""
_EVENTS_WITHOUT_STATUS_CHANGE = (
    AnswerInterrupted,
    TurnStart,
    TurnEnd,
    MessageStart,
    ToolExecutionUpdate,
    CompactionProgress,
    AutoRetryEnd,
    SummarizationRetryScheduled,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    BashExecutionUpdate,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    FileChanged,
    TodosChanged,
    TodoReminder,
    TodoAutoClear,
    PendingChanged,
    Notice,
    ExtensionError,
)
"""Events that do not change header and footer."""
ACTIVITY_FRAMES = "◐◓◑◒"
"""The frames of the activity indicator."""
UNANIMATED_ACTIVITY_MARK = "●"
WAITING_FOR_USER_MARK = "?"
_FOOTER_SEGMENTS_SHOWN_IN_HEADER = {"path", "session", "cost"}
_FOOTER_SEGMENTS_SHOWN_IN_SIDE_PANEL = {"context", "jobs", "tokens", "cacheRead", "cacheHit"}
_STATUS_SEGMENTS_BELOW_EDITOR = ("permissions", "model", "thinking")
"""Segments that stand below the text that they apply to."""


_QUEUE_HINT = "enter queue · the question is above"
"""What Enter does with a text in the editor while a question is open."""


class StatusLines:
    """Updates the header, the footer and the text above the editor of one application."""

    def __init__(
        self,
        assembled: AssembledSession,
        *,
        header: StatusHeader,
        footer: StatusFooter,
        editor: PromptEditor,
        home: Path,
        tick: Callable[[], bool],
        key_label: KeyLabel,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates the updater. `tick`: redraws elapsed times in the transcript; returns False if there are none."""
        self._assembled = assembled
        self._session: Session = assembled.session
        self._header = header
        self._footer = footer
        self._editor = editor
        self._home = home
        self._tick = tick
        self._maps = assembled.session.repository
        self._indexing: tuple[int, int] | None = None
        self._clock = clock
        self._activity = ActivityTracker(
            clock=clock, provider=self._provider_name, call=self._call_title, key_label=key_label
        )
        self._frame_timer: Timer | None = None
        self._frame_number = 0
        editor.should_follow_up = lambda: (
            self._session.is_running
        )  # read when the key is pressed, because a run ends after its last event
        self._temporary_text: EditorBorderText | None = None
        """A temporary text shown in place of the activity."""
        self._git = ""
        self._branch = ""
        self._prompts: tuple[str, ...] = ()
        self._extensions: dict[str, StatusSegment] = {}
        self._is_context_elsewhere = False
        self._has_typed_prompt = False

    @property
    def is_elapsed_timer_running(self) -> bool:
        """Whether the timer for elapsed times runs; it never does while nothing is active."""
        return self._frame_timer is not None

    def handle_event(self, event: Event) -> None:
        has_changed = self._activity.handle_event(event)
        if isinstance(event, MessageUpdate):  # there are thousands of these events
            if has_changed:
                self._update_editor_border()
            return
        if isinstance(event, EntryAppended | SessionReplaced | SessionInfoChanged):
            self._branch = bars.current_branch_label(self._session)
        elif isinstance(event, AgentSettled | CompactionEnd) and not self._session.is_running:
            self._activity.reset()
        elif isinstance(event, QuestionAsked):
            self._update_editor_border()
            return
        elif not has_changed and isinstance(event, _EVENTS_WITHOUT_STATUS_CHANGE):
            return
        self.refresh_all()

    def show_activity(self, text: str) -> None:
        """Shows an activity besides the agent's work above the editor; an empty text hides it."""
        self._activity.show_activity(text)
        self._update_editor_border()

    def show_stoppable_activity(self, text: str) -> None:
        """Shows an activity above the editor with the key that stops it; an empty text hides it."""
        self._activity.show_activity(text, is_stoppable=True)
        self._update_editor_border()

    def show_agent_activity(self) -> None:
        """Shows the agent's activity again after another activity ended."""
        self.show_activity("")

    def restore_activity(self) -> None:
        """Removes a temporary text above the editor, so that the current activity is shown again."""
        self._temporary_text = None
        self._update_editor_border()

    def show_temporary_status(self, text: str, seconds: float = 0.0, *, is_hints: bool = False) -> None:
        """Shows a temporary text in place of the activity, for some seconds or until `restore_activity`."""
        self._temporary_text = EditorBorderText(main_text=text, is_main_text_key_hints=is_hints)
        self._update_editor_border()
        if seconds:
            self._editor.set_timer(seconds, self.restore_activity)

    def note_typed_prompt(self, has_prompt: bool) -> None:
        """Sets whether the editor has a text that Enter would send to the agent, which is said while a question is
        open."""
        if has_prompt != self._has_typed_prompt:
            self._has_typed_prompt = has_prompt
            if self._activity.is_active:
                self._update_editor_border()

    def set_context_usage_in_side_panel(self, is_elsewhere: bool) -> None:
        """Sets whether the footer leaves out the context usage, because the side panel shows it."""
        self._is_context_elsewhere = is_elsewhere
        self.refresh()

    def show_extension_segment(self, segment: StatusSegment) -> None:
        """Shows an extension's text in the footer; an empty text removes it."""
        self._extensions[segment.id] = segment
        self.refresh()

    def refresh(self) -> None:
        wanted, activity = self._assembled.effective_settings.settings.footer, self._activity
        around = bars.FooterContext(
            home=self._home,
            git=self._git,
            retry=activity.current_status().text_with_figures.lower() if activity.is_retrying else "",
            silence_text=_silence_text(activity.provider_wait) if activity.provider_wait is not None else "",
            activity_text=time.strftime("%H:%M"),
            indexing=self._indexing,
            host=socket.gethostname().partition(".")[0] if "host" in wanted.segments else "",
            width=self._footer.size.width,
            branch=self._branch,
            prompts=self._prompts,
        )
        names: tuple[str, ...] = wanted.segments
        if self._header.display:
            names = tuple(name for name in names if name not in _FOOTER_SEGMENTS_SHOWN_IN_HEADER)
        own = bars.footer_segments(self._session, around, names, wanted.looks)
        if self._is_context_elsewhere:
            own = [one for one in own if one.id not in _FOOTER_SEGMENTS_SHOWN_IN_SIDE_PANEL]
        self._editor.surface.show_mode_and_model(
            [one for one in own if one.id in _STATUS_SEGMENTS_BELOW_EDITOR]
        )
        own = [one for one in own if one.id not in _STATUS_SEGMENTS_BELOW_EDITOR]
        self._footer.show([*own, *(segment for segment in self._extensions.values() if segment.text)])
        self._header.show(bars.header_segments(self._session, around))

    def update_visible_prompts(self, prompts: tuple[str, ...]) -> None:
        """Updates the header when other prompts become visible: it does not repeat a visible one as the topic."""
        self._prompts = prompts
        self.refresh()

    def refresh_all(self) -> None:
        """Redraws header, footer and the editor's rules, which show the thinking level."""
        self._editor.surface.show_thinking_level(self._session.state.thinking)
        self._update_editor_border()
        self.refresh()

    def show_map_building_progress(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts to show the progress of the repository map in the footer."""

        def heard() -> None:
            with contextlib.suppress(RuntimeError):  # at the end of the program the loop is closed
                loop.call_soon_threadsafe(self._on_map_progress)

        self._maps.watch_progress(heard)

    def _on_map_progress(self) -> None:
        building = self._maps.indexing_progress
        if self._footer.is_attached and building != self._indexing:
            self._indexing = building
            self.refresh()

    async def update_git_state(self) -> None:
        """Asks git for the branch and shows it: at the start, after each run, and when the terminal gets the focus."""
        git = await query_git_state(
            self._session.cwd,
            home=self._home,
            is_vouched=self._assembled.project_trust.recheck_without_notice,
        )
        if git != self._git:
            self._git = git
            self.refresh()

    # -- the line above the editor -------------------------------------------------------------------------

    def _update_editor_border(self) -> None:
        self._editor.surface.show_border_text(self._editor_border_text())
        self._update_timer()

    def _editor_border_text(self) -> EditorBorderText:
        if self._temporary_text is not None:
            return self._temporary_text
        told = self._activity.current_status()
        if not told.text:
            return EditorBorderText()
        moves = self._is_animated
        mark = (
            WAITING_FOR_USER_MARK
            if told.is_waiting_for_person
            else ACTIVITY_FRAMES[self._frame_number % len(ACTIVITY_FRAMES)]
            if moves
            else UNANIMATED_ACTIVITY_MARK
        )
        is_queued = told.is_waiting_for_person and self._has_typed_prompt
        hints = _QUEUE_HINT if is_queued else told.hints
        return EditorBorderText(told.text, " · ".join(told.figures), mark, hints)

    @property
    def _is_animated(self) -> bool:
        return self._editor.app.animation_level == "full"

    def _update_timer(self) -> None:
        """Starts or stops the timer that redraws the activity: four times a second with animation, else once a
        second."""
        if not self._activity.is_active:
            if self._frame_timer is not None:
                self._frame_timer.stop()
                self._frame_timer = None
        elif self._frame_timer is None:
            self._frame_timer = self._editor.set_interval(
                UPDATE_SECONDS if self._is_animated else ELAPSED_UPDATE_SECONDS, self._show_next_frame
            )

    def _show_next_frame(self) -> None:
        """Redraws the editor's border, and once a second the elapsed times in the transcript."""
        self._frame_number += 1
        if not self._is_animated or self._frame_number % STATUS_UPDATES_PER_SECOND == 0:
            self._tick()
        self._editor.surface.show_border_text(self._editor_border_text())
        if not self._activity.is_active:
            self._update_timer()  # a question was answered and nothing else runs

    def _provider_name(self) -> str:
        model = self._session.state.model
        return model.provider if model is not None else "the model"

    def _call_title(self, tool: str, arguments: object) -> str:
        known = arguments if isinstance(arguments, dict) else {}
        card = self._session.tools.draw_call_card(ToolCall(id="", name=tool, arguments=known))
        return card.title  # its card shows the rest


def _silence_text(event: ProviderWaiting) -> str:
    return f"no output, stopped in {format_elapsed(event.seconds)}" if event.seconds else "silent"


GIT_STATUS_TIMEOUT = 5.0
_GIT_STATUS_ARGUMENTS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "--untracked-files=normal",
    "--ignore-submodules=all",
)


async def query_git_state(cwd: Path, *, home: Path, is_vouched: Callable[[], bool]) -> str:
    """Returns the git state of a folder: `main`, `main*` with changes, or a short commit without a branch; empty
    outside of a repository.

    If the repository's configuration could start programs and the user does not trust it (`is_vouched`), git is not run
    and changes are not shown."""
    head, command = await asyncio.to_thread(_git_query, cwd, home, is_vouched)
    told = await _run_git(command) if command is not None else None
    return head if told is None else parse_git_status(told)


def _git_query(
    cwd: Path, home: Path, is_vouched: Callable[[], bool]
) -> tuple[str, ReadOnlyGitCommand | None]:
    repository = find_repository(cwd)
    if repository is None:
        return "", None
    head = repository.branch_or_commit_name()
    if repository.is_bare or (repository.risky_settings(home) and not is_vouched()):
        return head, None
    configuration = repository.configuration(home)
    return head, make_read_only_git_command(
        repository.work_tree, *_GIT_STATUS_ARGUMENTS, repository=configuration, home=home
    )


async def _run_git(command: ReadOnlyGitCommand) -> str | None:
    try:
        code, told = await command.run_async(GIT_STATUS_TIMEOUT)
    except OSError:
        return None  # too late, for example in a huge repository: the footer shows nothing
    return told.decode("utf-8", "replace") if code == 0 else None


def parse_git_status(told: str) -> str:
    branch = commit = ""
    is_changed = False
    for line in told.splitlines():
        if line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line.startswith("# branch.oid "):
            commit = line.removeprefix("# branch.oid ")[:7]
        elif line and not line.startswith("#"):
            is_changed = True
    if branch == "(detached)":
        branch = commit
    return f"{branch}*" if is_changed and branch else branch
