"""The main page of the full screen: transcript, queued messages, editor and status lines; handles the messages of its
widgets.

Requests from blocks and editors of any screen are handled by the application."""

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.screen import Screen

from app.tui.feature_register import FeatureRegister
from app.tui.features.permissions.feature import APPROVALS_FEATURE
from app.tui.features.screen.feature import APP_ACTIONS_FEATURE, MESSAGE_QUEUE_FEATURE
from app.tui.features.side.feature import SIDE_PANEL_FEATURE
from app.tui.keys.key_hints import KeyHintUpdater
from app.tui.page_protocols import SpawnTask
from app.tui.prompt.project_history import ProjectPromptHistory
from app.tui.prompt.prompt_sender import PromptSender
from app.tui.prompt.unsent_draft import UnsentDraft
from app.tui.status.status_lines import StatusLines
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.approval import ApprovalBar
from widgets.status.queue import QueueView
from widgets.textual_internals import paint_changed_widgets
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

MIN_PAGE_ROWS_FOR_MARGINS = 16
"""Rows of the terminal from which margins are shown."""
_SHORT_CLASS, _TALL_CLASS = "-short", "-tall"
_MIN_TERMINAL_ROWS_OF_TALL_PAGE = 7


class MainScreen(Screen[None]):
    """The main page, over which all other screens open."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """No automatic focus: the editor has the focus from the start, and a change would style two
    widgets again."""
    VERTICAL_BREAKPOINTS = [(0, _SHORT_CLASS), (_MIN_TERMINAL_ROWS_OF_TALL_PAGE, _TALL_CLASS)]  # noqa: RUF012  (declared so by Screen)

    def __init__(
        self,
        *,
        editor: PromptEditor,
        transcript: Transcript,
        search_bar: SearchBar,
        sending: PromptSender,
        remembered: ProjectPromptHistory,
        unsent: UnsentDraft,
        register: FeatureRegister,
        status: StatusLines,
        key_texts: KeyHintUpdater,
        spawn: SpawnTask,
        update_welcome_page: Callable[[], None],
        lift_transcript_above_sheet: Callable[[], None],
    ) -> None:
        # Set before the first resize, which would style and paint the page a second time.
        super().__init__(
            id="_default",
            classes=_TALL_CLASS if self.app.size.height >= _MIN_TERMINAL_ROWS_OF_TALL_PAGE else _SHORT_CLASS,
        )
        paint_changed_widgets(self)
        self._editor = editor
        self._transcript = transcript
        self._search_bar = search_bar
        self._prompt_sender = sending
        self._project_history = remembered
        self._unsent_draft = unsent
        self._register = register
        self._queued = register.page(MESSAGE_QUEUE_FEATURE)
        self._approvals = register.page(APPROVALS_FEATURE)
        self._status = status
        self._side_lists = register.page(SIDE_PANEL_FEATURE)
        self._key_texts = key_texts
        self._spawn = spawn
        self._update_first_page = update_welcome_page
        self._lift_transcript = lift_transcript_above_sheet

    @on(events.ScreenResume)
    def _skip_first_style_update(self, event: events.ScreenResume) -> None:
        """Skips the style update of the first resize, because everything has just been styled."""
        if not self.outer_size:
            event.refresh_styles = False

    @on(events.Mount)
    @on(events.Resize)
    def _fit_page(self) -> None:
        """Fits the page to the terminal's size before the first paint: margins if there are enough rows, the side panel
        if there are enough columns."""
        self._side_lists.fit_to_page_width(self.app.size.width)
        margin = int(self.app.size.height >= MIN_PAGE_ROWS_FOR_MARGINS)
        if self._transcript.styles.margin.top != margin:
            self._transcript.styles.margin = (margin, 0)
        self._approvals.screen_resized()
        self._update_first_page()
        if self.app.screen is not self:
            self.call_after_refresh(self._lift_transcript)

    # Messages of the editor

    @on(PromptEditor.Submitted)
    @on(PromptEditor.FollowUp)
    def _send_prompt(self, message: PromptEditor.Submitted | PromptEditor.FollowUp) -> None:
        if self._approvals.answers_open_question(message.text):
            return
        how = "follow_up" if isinstance(message, PromptEditor.FollowUp) else "steer"
        self._project_history.add_prompt(message.draft)
        self._transcript.viewport.follow_end()
        self._spawn(self._prompt_sender.send(message.draft, message.text, message.attachments, how))

    @on(PromptEditor.Changed)
    def _draft_changed(self, message: PromptEditor.Changed) -> None:
        self._unsent_draft.editor_changed(message.draft)
        self._approvals.editor_changed()
        self._status.note_typed_prompt(self._approvals.leaves_text_to_the_agent())
        self._register.page(APP_ACTIONS_FEATURE).stop_or_leave.reset_double_press()

    # Messages of the queue

    @on(QueueView.EditRequested)
    def _edit_queued(self, message: QueueView.EditRequested) -> None:
        match message:
            case QueueView.RemoveRequested():
                self._queued.session.queues.remove_message(message.row_id)
            case QueueView.SwitchRequested():
                self._queued.session.queues.move_to_other_queue(message.row_id)
            case _:
                self._queued.edit_queued_message(message.row_id)

    @on(QueueView.MoveRequested)
    def _move_queued(self, message: QueueView.MoveRequested) -> None:
        self._queued.move_queued_message(message.row_id, message.delta)

    # Messages of the approval bar

    @on(ApprovalBar.Answered)
    def _approval_answered(self, message: ApprovalBar.Answered) -> None:
        self._approvals.handle_answer(message)

    @on(ApprovalBar.DetailsRequested)
    def _show_approval_details(self) -> None:
        self._spawn(self._approvals.show_details())

    @on(ApprovalBar.EditRequested)
    def _approval_edited(self) -> None:
        self._spawn(self._approvals.edit_waiting_call())

    @on(ApprovalBar.Left)
    @on(QueueView.Left)
    def _focus_editor(self) -> None:
        self._editor.focus()

    # Messages of the transcript and its search

    @on(Transcript.SuggestionChosen)
    def _send_suggestion(self, message: Transcript.SuggestionChosen) -> None:
        draft = UnsentPrompt(text=message.text)
        self._project_history.add_prompt(draft)
        self._spawn(self._prompt_sender.send(draft, message.text, (), "steer"))

    @on(events.DescendantFocus)
    def _show_block_hints(self, event: events.DescendantFocus) -> None:
        """Shows the key hints of blocks above the editor while the transcript has the focus, and the current activity
        again when the editor has it."""
        if event.widget is self._transcript:
            self._status.show_temporary_status(self._key_texts.block_hints, is_hints=True)
        elif event.widget is self._editor:
            self._status.restore_activity()

    @on(Transcript.FocusModeChanged)
    def _focus_mode_changed(self, message: Transcript.FocusModeChanged) -> None:
        if not message.is_on:
            self._editor.focus()

    @on(Transcript.PromptsMoved)
    def _prompts_moved(self, message: Transcript.PromptsMoved) -> None:
        self._status.update_visible_prompts(message.prompts)

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        self._search_bar.show_search_state(message)

    @on(SearchBar.Left)
    def _focus_after_search(self, message: SearchBar.Left) -> None:
        """Moves the focus to the transcript after a hit was accepted, where `n` and `N` continue the search; otherwise
        to the editor."""
        (self._transcript if message.is_accepted else self._editor).focus()
