"""The side panel of a wide page: changed files, todos, jobs. Without content it is not shown; switched off it computes
nothing."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from app.engine.files.session_files import SessionDiff
from app.engine.jobs.background_jobs import BackgroundJob
from app.engine.session import Session
from app.tui.features.todos.todo_list import GLYPHS, TONES, TodoList, state_of
from app.tui.page_protocols import ShowMessage, Spawn
from app.tui.prompt.project_history import ProjectHistory
from app.undo.file_history import has_changes
from app.values.events import EntryAppended, Event, JobChanged, SessionReplaced, TodosChanged
from app.values.todos import count_closed
from app.values.user_errors import UserError
from tools.amounts import MINUS, changed_files
from widgets.status.side_panel import SidePanel, SideRow, SideSection, SideTone

if TYPE_CHECKING:
    from app.undo.change_lists import Differences, FileDifference

MIN_PANEL_WIDTH = 120
"""Columns from which the side panel is shown; a narrower page needs them for the transcript."""
NOTHING = "The side panel appears with the first changed file, todo or job."
_TOLD_SECONDS = 3.0
_JOBS: dict[str, tuple[str, SideTone]] = {"running": ("●", "accent"), "done": ("✓", "success")}


class SideLists:
    """Fills the side panel with the lists of one session."""

    def __init__(
        self,
        session: Session,
        panel: SidePanel,
        todo_list: TodoList,
        *,
        say: ShowMessage,
        tell: Callable[[str, float], None],
        spawn: Spawn,
        remembered: ProjectHistory,
    ) -> None:
        """`tell`: shows a text above the editor for some seconds."""
        self._session = session
        self._panel = panel
        self._todo_list = todo_list
        self._say = say
        self._tell = tell
        self._spawn = spawn
        self._remembered = remembered
        self._setting: bool | None = None
        self._choice = remembered.read_side_panel()
        """What was chosen in this folder; None: the setting applies."""
        self._width = 0
        self._files: SideSection | None = None
        self._is_looking = self._is_old = False

    @property
    def is_wanted(self) -> bool:
        """Whether the panel is shown as soon as it has something to show."""
        return self._is_wished and self._width >= MIN_PANEL_WIDTH

    @property
    def _is_wished(self) -> bool:
        return bool(self._setting if self._choice is None else self._choice)

    def wish(self, is_wished: bool) -> None:
        """Shows or hides the panel by the setting, which is the default of folders; a change of it applies at once,
        and the choice again in the next session."""
        if self._setting not in (None, is_wished):
            self._choice = None
        self._setting = is_wished
        self._fit()

    async def enter_folder(self) -> None:
        """Shows or hides the panel as it was chosen in another working folder."""
        self._choice = self._remembered.read_side_panel()
        self._fit()

    def fit(self, width: int) -> None:
        """Shows or hides the panel by the width of the page."""
        self._width = width
        self._fit()

    def toggle(self) -> None:
        """Shows or hides the panel, also in later sessions of this folder."""
        if self._width < MIN_PANEL_WIDTH:
            self._say(f"The side panel needs {MIN_PANEL_WIDTH} columns; this terminal has {self._width}.")
        else:
            self._choice = not self._is_wished
            self._remembered.choose_side_panel(self._choice)
            self._fit()
            if self._is_wished and not self._sections():
                self._tell(NOTHING, _TOLD_SECONDS)

    def note(self, event: Event) -> None:
        if not self.is_wanted:
            return
        if isinstance(event, SessionReplaced) or (
            isinstance(event, EntryAppended) and has_changes(event.entry)
        ):
            self._show_all()
        elif isinstance(event, JobChanged | TodosChanged):
            self._show()

    def _fit(self) -> None:
        if not self.is_wanted:
            self._display(False)
        elif self._panel.display:
            self._panel.styles.width = self._width // 3
        else:
            self._show_all()

    def _display(self, is_shown: bool) -> None:
        if is_shown:
            self._panel.styles.width = self._width // 3
        if is_shown != self._panel.display:
            self._panel.display = is_shown
            self._todo_list.stand_elsewhere(is_shown)

    def _show_all(self) -> None:
        self._show()
        self._is_old = True
        if not self._is_looking:
            self._is_looking = True
            self._spawn(self._look())

    async def _look(self) -> None:
        """Compares the session's files in the background, again if they change meanwhile."""
        try:
            while self._is_old:
                self._is_old = False
                try:
                    found: Differences | None = await self._session.files.differences(SessionDiff())
                except UserError:
                    found = None
                self._files = _files(found) if found is not None and found.files else None
                self._show()
        finally:
            self._is_looking = False

    def _show(self) -> None:
        if not self.is_wanted:
            return
        sections = self._sections()
        self._panel.show(sections)
        self._display(bool(sections))

    def _sections(self) -> list[SideSection]:
        sections = (self._files, _todos(self._session), _jobs(self._session.jobs.all()))
        return [section for section in sections if section is not None]


def _files(found: "Differences") -> SideSection:
    total = changed_files(len(found.files), found.added, found.removed)
    return SideSection(title="Changed", note=total, rows=tuple(map(_file, found.files)))


def _file(file: "FileDifference") -> SideRow:
    figures: list[tuple[str, SideTone]] = []
    if file.added:
        figures.append((f"+{file.added:,}", "success"))
    if file.removed:
        figures.append((f"{MINUS}{file.removed:,}", "error"))
    tone: SideTone = "muted" if file.deed == "removed" else "text"
    return SideRow(text=file.path, is_path=True, tone=tone, figures=tuple(figures))


def _todos(session: Session) -> SideSection | None:
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
            state = state_of(item)
            at = len(rows) if state == "current" else at
            rows.append(SideRow(text=item.content, mark=GLYPHS[state], tone=TONES[state]))
    return SideSection(title="Todos", note=f"{closed}/{total}", rows=tuple(rows), at=at)


def _jobs(jobs: Iterable[BackgroundJob]) -> SideSection | None:
    rows = []
    for job in jobs:
        mark, tone = _JOBS.get(job.state, ("✗", "error"))
        rows.append(SideRow(text=job.title, mark=mark, tone=tone, figures=((job.id, "dim"),)))
    running = sum(row.mark == "●" for row in rows)
    note = f"{running} running" if running else ""
    return SideSection(title="Jobs", note=note, rows=tuple(reversed(rows))) if rows else None
