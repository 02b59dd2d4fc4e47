"""The side panel of a wide page: changed files, todos, jobs, and what the session used. It appears with the first
prompt; switched off it computes nothing."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from app.engine.files.session_files import SessionDiffRequest
from app.engine.session import Session
from app.tui.features.side.side_panel_sections import (
    changed_files_side_section,
    context_side_sections,
    helpers_side_section,
    jobs_side_section,
    keys_side_section,
    prompts_side_section,
    todo_side_section,
    usage_side_sections,
)
from app.tui.features.todos.todo_list import TodoListUpdater
from app.tui.page_protocols import KeyLabel, ShowMessage, SpawnTask
from app.tui.prompt.project_history import ProjectPromptHistory
from app.undo.file_history import entry_has_file_changes
from app.values.events import AgentSettled, CompactionEnd, EntryAppended, Event, MessageEnd, SessionReplaced
from app.values.messages import UserMessage
from app.values.user_errors import UserError
from widgets.status.side_panel import SidePanel, SidePanelSection, SidePanelTone

if TYPE_CHECKING:
    from app.engine.context_breakdown import ContextBreakdown
    from app.undo.change_lists import ChangedFileList

MIN_COLUMNS_FOR_AUTOMATIC_SIDE_PANEL = 120
"""Columns from which the side panel is shown by itself."""
MIN_COLUMNS_FOR_SIDE_PANEL = 100
"""Columns from which it is shown to those who asked for it; a narrower page needs them for the transcript."""
EMPTY_SIDE_PANEL_TEXT = "The side panel appears with the first prompt."
_MAX_SIDE_PANEL_WIDTH = 60
_SIDE_PANEL_NOTICE_SECONDS = 3.0
_JOB_STATE_MARKS: dict[str, tuple[str, SidePanelTone]] = {
    "running": ("●", "accent"),
    "done": ("✓", "success"),
}


class SidePanelUpdater:
    """Fills the side panel of a wide page with the lists of one session, and decides whether it is shown."""

    def __init__(
        self,
        session: Session,
        panel: SidePanel,
        todo_list: TodoListUpdater,
        *,
        say: ShowMessage,
        tell: Callable[[str, float], None],
        spawn: SpawnTask,
        key_label: KeyLabel,
        remembered: ProjectPromptHistory,
        stands_elsewhere: Callable[[bool], None],
    ) -> None:
        """Creates the updater. `tell`: shows a text above the editor for some seconds; `stands_elsewhere`: called with
        whether the panel shows the context."""
        self._session = session
        self._panel = panel
        self._todo_list = todo_list
        self._show_message = say
        self._show_temporary_text = tell
        self._spawn = spawn
        self._key_label = key_label
        self._project_history = remembered
        self._leave_context = stands_elsewhere
        self._setting: bool | Literal["auto"] | None = None
        self._choice = remembered.read_side_panel_choice()
        """What was chosen in this folder; None: the setting applies."""
        self._width = 0
        self._files: SidePanelSection | None = None
        self._prompts: SidePanelSection | None = None
        self._is_outline_outdated = True
        self._breakdown: ContextBreakdown | None = None
        self._is_comparing = self._is_outdated = False

    @property
    def is_enabled(self) -> bool:
        """Whether the side panel is shown once it has content: by setting, the user's choice, and the page's width."""
        is_auto = self._choice is None and self._setting == "auto"
        return self._is_shown_by_choice and self._width >= (
            MIN_COLUMNS_FOR_AUTOMATIC_SIDE_PANEL if is_auto else MIN_COLUMNS_FOR_SIDE_PANEL
        )

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
        self._choice = self._project_history.read_side_panel_choice()
        self._update_visibility()

    def fit_to_page_width(self, width: int) -> None:
        """Shows or hides the panel by the width of the page."""
        self._width = width
        self._update_visibility()

    def toggle(self) -> None:
        """Shows or hides the panel, also in later sessions of this folder."""
        if self._width < MIN_COLUMNS_FOR_SIDE_PANEL:
            self._show_message(
                f"The side panel needs {MIN_COLUMNS_FOR_SIDE_PANEL} columns; this terminal has {self._width}."
            )
        else:
            self._choice = not self._is_shown_by_choice
            self._project_history.save_side_panel_choice(self._choice)
            self._update_visibility()
            if self._is_shown_by_choice and not self._sections():
                self._show_temporary_text(EMPTY_SIDE_PANEL_TEXT, _SIDE_PANEL_NOTICE_SECONDS)

    def handle_event(self, event: Event) -> None:
        if not self.is_enabled:
            self._is_outline_outdated = True
            return
        if isinstance(event, SessionReplaced):
            self._breakdown, self._is_outline_outdated = None, True
        elif isinstance(event, EntryAppended):
            self._is_outline_outdated |= entry_has_file_changes(event.entry)
        elif isinstance(event, MessageEnd):
            self._is_outline_outdated |= isinstance(event.message, UserMessage)
        if isinstance(event, SessionReplaced | AgentSettled | CompactionEnd):
            self._count_context()
        if isinstance(event, SessionReplaced) or (
            isinstance(event, EntryAppended) and entry_has_file_changes(event.entry)
        ):
            self._show_and_compare()
        else:
            self._show_sections()

    def _count_context(self) -> None:
        """Computes what fills the context for the panel. It runs after a run and not during it, because it takes some
        milliseconds."""
        if self._session.messages:
            from app.engine.context_breakdown import break_down_context  # noqa: PLC0415  (seldom at the start)

            self._breakdown = break_down_context(self._session)

    def _update_visibility(self) -> None:
        if not self.is_enabled:
            self._set_displayed(False)
        elif self._panel.display:
            self._panel.styles.width = min(self._width // 3, _MAX_SIDE_PANEL_WIDTH)
        else:
            self._show_and_compare()

    def _set_displayed(self, is_shown: bool) -> None:
        if is_shown:
            self._panel.styles.width = min(self._width // 3, _MAX_SIDE_PANEL_WIDTH)
        if is_shown != self._panel.display:
            self._panel.display = is_shown
            self._todo_list.hide_while_in_side_panel(is_shown)
            self._leave_context(is_shown)

    def _show_and_compare(self) -> None:
        if self._breakdown is None and not self._session.is_running:
            self._count_context()
        self._show_sections()
        self._is_outdated = True
        if not self._is_comparing and any(map(entry_has_file_changes, self._session.log.entries)):
            self._is_comparing = True
            self._spawn(self._compare_files())

    async def _compare_files(self) -> None:
        """Computes in the background which files the session changed and shows them; again if they change meanwhile."""
        try:
            while self._is_outdated:
                self._is_outdated = False
                try:
                    found: ChangedFileList | None = await self._session.files.changes_since(
                        SessionDiffRequest()
                    )
                except UserError:
                    found = None
                self._files = changed_files_side_section(found) if found is not None and found.files else None
                self._show_sections()
        finally:
            self._is_comparing = False

    def _show_sections(self) -> None:
        if not self.is_enabled:
            return
        sections = self._sections()
        self._panel.show(sections)
        self._set_displayed(bool(sections))

    def _sections(self) -> list[SidePanelSection]:
        if self._is_outline_outdated:
            self._is_outline_outdated = False
            self._prompts = prompts_side_section(self._session.log.path_to())
        helpers = self._session.helpers.known_helpers()
        sections = (
            self._files,
            todo_side_section(self._session),
            helpers_side_section(helpers),
            jobs_side_section(self._session.jobs.all(), helpers),
            self._prompts,
        )
        shown = [section for section in sections if section is not None]
        keys = keys_side_section(self._key_label)
        has_begun = shown or self._session.messages
        return (
            [
                *shown,
                *context_side_sections(self._session, self._breakdown),
                *usage_side_sections(self._session),
                *([keys] if keys else []),
            ]
            if has_begun
            else []
        )
