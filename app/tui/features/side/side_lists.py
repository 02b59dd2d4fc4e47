"""The side panel of a wide page: changed files, todos, jobs, and what the session used. It appears with the first
prompt; switched off it computes nothing."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from app.engine.files.session_files import SessionDiff
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session
from app.tui.features.context.context_groups import CONTEXT_GROUPS
from app.tui.features.todos.todo_list import GLYPHS, TONES, TodoListUpdater, todo_state
from app.tui.page_protocols import ShowMessage, SpawnTask
from app.tui.prompt.project_history import ProjectHistory
from app.undo.file_history import has_changes
from app.values.events import AgentSettled, CompactionEnd, EntryAppended, Event, SessionReplaced
from app.values.todos import count_closed
from app.values.usage import format_dollars
from app.values.user_errors import UserError
from tools.amounts import MINUS, changed_files, elapsed, percentage, tokens
from widgets.status.side_panel import SidePanel, SideRow, SideSection, SideTone

if TYPE_CHECKING:
    from app.engine.context_breakdown import ContextBreakdown
    from app.undo.change_lists import Differences, FileDifference

AUTO_PANEL_WIDTH = 120
"""Columns from which the side panel is shown by itself."""
MIN_PANEL_WIDTH = 100
"""Columns from which it is shown to those who asked for it; a narrower page needs them for the transcript."""
NOTHING_TO_SHOW_TEXT = "The side panel appears with the first prompt."
_MAX_PANEL_WIDTH = 60
_NOTICE_SECONDS = 3.0
_JOB_MARKS: dict[str, tuple[str, SideTone]] = {"running": ("●", "accent"), "done": ("✓", "success")}


class SidePanelUpdater:
    """Fills the side panel with the lists of one session."""

    def __init__(
        self,
        session: Session,
        panel: SidePanel,
        todo_list: TodoListUpdater,
        *,
        say: ShowMessage,
        tell: Callable[[str, float], None],
        spawn: SpawnTask,
        remembered: ProjectHistory,
        stands_elsewhere: Callable[[bool], None],
    ) -> None:
        """`tell`: shows a text above the editor for some seconds; `stands_elsewhere`: called with whether
        the panel shows the context."""
        self._session = session
        self._panel = panel
        self._todo_list = todo_list
        self._show_message = say
        self._show_temporary_text = tell
        self._spawn = spawn
        self._project_history = remembered
        self._leave_context = stands_elsewhere
        self._setting: bool | Literal["auto"] | None = None
        self._choice = remembered.read_side_panel()
        """What was chosen in this folder; None: the setting applies."""
        self._width = 0
        self._files: SideSection | None = None
        self._breakdown: ContextBreakdown | None = None
        self._is_comparing = self._is_outdated = False

    @property
    def is_enabled(self) -> bool:
        """Whether the side panel is shown as soon as it has content."""
        is_auto = self._choice is None and self._setting == "auto"
        return self._is_shown_by_choice and self._width >= (AUTO_PANEL_WIDTH if is_auto else MIN_PANEL_WIDTH)

    @property
    def _is_shown_by_choice(self) -> bool:
        return bool(self._setting if self._choice is None else self._choice)

    def apply_setting(self, is_wished: bool | Literal["auto"]) -> None:
        """Applies the side panel's setting at once; a folder's own choice overrides the setting again in
        the next session."""
        if self._setting not in (None, is_wished):
            self._choice = None
        self._setting = is_wished
        self._update_visibility()

    async def enter_folder(self) -> None:
        """Shows or hides the panel as it was chosen in another working folder."""
        self._choice = self._project_history.read_side_panel()
        self._update_visibility()

    def fit_to_width(self, width: int) -> None:
        """Shows or hides the panel by the width of the page."""
        self._width = width
        self._update_visibility()

    def toggle(self) -> None:
        """Shows or hides the panel, also in later sessions of this folder."""
        if self._width < MIN_PANEL_WIDTH:
            self._show_message(
                f"The side panel needs {MIN_PANEL_WIDTH} columns; this terminal has {self._width}."
            )
        else:
            self._choice = not self._is_shown_by_choice
            self._project_history.save_side_panel_choice(self._choice)
            self._update_visibility()
            if self._is_shown_by_choice and not self._sections():
                self._show_temporary_text(NOTHING_TO_SHOW_TEXT, _NOTICE_SECONDS)

    def handle_event(self, event: Event) -> None:
        if not self.is_enabled:
            return
        if isinstance(event, SessionReplaced):
            self._breakdown = None
        if isinstance(event, SessionReplaced | AgentSettled | CompactionEnd):
            self._count_context()
        if isinstance(event, SessionReplaced) or (
            isinstance(event, EntryAppended) and has_changes(event.entry)
        ):
            self._show_and_compare()
        else:
            self._show_sections()

    def _count_context(self) -> None:
        """Counts what fills the context, after a run and not during it: it takes some milliseconds."""
        if self._session.messages:
            from app.engine.context_breakdown import context_breakdown  # noqa: PLC0415  (seldom at the start)

            self._breakdown = context_breakdown(self._session)

    def _update_visibility(self) -> None:
        if not self.is_enabled:
            self._set_displayed(False)
        elif self._panel.display:
            self._panel.styles.width = min(self._width // 3, _MAX_PANEL_WIDTH)
        else:
            self._show_and_compare()

    def _set_displayed(self, is_shown: bool) -> None:
        if is_shown:
            self._panel.styles.width = min(self._width // 3, _MAX_PANEL_WIDTH)
        if is_shown != self._panel.display:
            self._panel.display = is_shown
            self._todo_list.hide_for_side_panel(is_shown)
            self._leave_context(is_shown)

    def _show_and_compare(self) -> None:
        if self._breakdown is None and not self._session.is_running:
            self._count_context()
        self._show_sections()
        self._is_outdated = True
        if not self._is_comparing and any(map(has_changes, self._session.log.entries)):
            self._is_comparing = True
            self._spawn(self._compare_files())

    async def _compare_files(self) -> None:
        """Compares the session's files in the background, again if they change meanwhile."""
        try:
            while self._is_outdated:
                self._is_outdated = False
                try:
                    found: Differences | None = await self._session.files.differences(SessionDiff())
                except UserError:
                    found = None
                self._files = _file_sections(found) if found is not None and found.files else None
                self._show_sections()
        finally:
            self._is_comparing = False

    def _show_sections(self) -> None:
        if not self.is_enabled:
            return
        sections = self._sections()
        self._panel.show(sections)
        self._set_displayed(bool(sections))

    def _sections(self) -> list[SideSection]:
        sections = (self._files, _todo_sections(self._session), _job_sections(self._session.jobs.all()))
        shown = [section for section in sections if section is not None]
        has_begun = shown or self._session.messages
        return (
            [*shown, *_context_sections(self._session, self._breakdown), *_usage_sections(self._session)]
            if has_begun
            else []
        )


def _file_sections(found: "Differences") -> SideSection:
    total = changed_files(len(found.files), found.added, found.removed)
    return SideSection(title="Changed", note=total, rows=tuple(map(_file_row, found.files)))


def _file_row(file: "FileDifference") -> SideRow:
    figures: list[tuple[str, SideTone]] = []
    if file.added:
        figures.append((f"+{file.added:,}", "success"))
    if file.removed:
        figures.append((f"{MINUS}{file.removed:,}", "error"))
    tone: SideTone = "muted" if file.deed == "removed" else "text"
    return SideRow(text=file.path, is_path=True, tone=tone, figures=tuple(figures))


def _context_sections(session: Session, breakdown: "ContextBreakdown | None") -> list[SideSection]:
    context = session.context_usage()
    if context is None or not context.tokens:
        return []
    percent = context.percent or 0
    note = f"{tokens(context.tokens)} of {tokens(context.context_window)} · {percentage(percent)}"
    tone: SideTone = "error" if percent > 90 else "warning" if percent > 70 else "accent"
    groups: list[tuple[str, SideTone, int]] = [
        (name, group_tone, count)
        for group, (name, group_tone) in CONTEXT_GROUPS.items()
        if breakdown is not None and (count := breakdown.item_count(group))
    ]
    bar: list[tuple[float, SideTone]] = [
        (count / max(1, context.context_window), group_tone) for _, group_tone, count in groups
    ]
    rows = [SideRow(text="", bar=tuple(bar) or ((percent / 100, tone),))]
    rows += [
        SideRow(text=name, mark="■", mark_tone=group_tone, tone="muted", figures=((tokens(count), "text"),))
        for name, group_tone, count in groups
    ]
    return [SideSection(title="Context", note=note, rows=tuple(rows), is_below=True)]


def _usage_sections(session: Session) -> list[SideSection]:
    """Returns what the session used: the agent's time, the cost, and the tokens."""
    stats = session.stats
    usage = stats.usage
    prompt_tokens = usage.input + usage.cache_read + usage.cache_write
    facts = (
        ("time", elapsed(stats.worked_ms / 1000) if stats.worked_ms >= 1000 else ""),
        ("cost", format_dollars(usage.cost.total) if usage.cost.total else ""),
        ("input tokens", tokens(prompt_tokens) if prompt_tokens else ""),
        ("from the cache", percentage(100 * usage.cache_read / prompt_tokens) if usage.cache_read else ""),
        ("output tokens", tokens(usage.output) if usage.output else ""),
    )
    rows = tuple(
        SideRow(text=label, tone="muted", figures=((figure, "text"),)) for label, figure in facts if figure
    )
    return [SideSection(title="Session", rows=rows, is_below=True)] if rows else []


def _todo_sections(session: Session) -> SideSection | None:
    phases = session.todos.phases
    closed, total = count_closed(phases)
    if not total:
        return None
    rows: list[SideRow] = []
    at = 0
    for phase in phases:
        if len(phases) > 1 and phase.tasks:
            rows.append(SideRow(text=phase.name, tone="muted"))
        for item in phase.tasks:
            state = todo_state(item)
            at = len(rows) if state == "current" else at
            rows.append(SideRow(text=item.content, mark=GLYPHS[state], tone=TONES[state]))
    return SideSection(title="Todos", note=f"{closed}/{total}", rows=tuple(rows), important_row=at)


def _job_sections(jobs: Iterable[BackgroundJob]) -> SideSection | None:
    rows = []
    for job in jobs:
        mark, tone = _JOB_MARKS.get(job.state, ("✗", "error"))
        rows.append(SideRow(text=job.title, mark=mark, tone=tone, figures=((job.id, "dim"),)))
    running = sum(row.mark == "●" for row in rows)
    note = f"{running} running" if running else ""
    return SideSection(title="Jobs", note=note, rows=tuple(reversed(rows))) if rows else None
