"""The page: transcript, queued messages, editor and status lines; handles the messages of its widgets.

Requests from blocks and editors of any screen are handled by the application."""

from typing import ClassVar

from textual import events, on
from textual.screen import Screen

from app.tui.features.permissions.feature import APPROVALS
from app.tui.features.screen.feature import QUEUE
from app.tui.features.side.feature import SIDE
from app.tui.keys.key_texts import KeyTexts
from app.tui.page_protocols import Spawn
from app.tui.prompt.project_history import ProjectHistory
from app.tui.prompt.sending import Sending
from app.tui.prompt.unsent_draft import UnsentDraft
from app.tui.register import Register
from app.tui.status.status_lines import StatusLines
from widgets.editor.prompt import PromptEditor
from widgets.status.approval import ApprovalBar
from widgets.status.queue import QueueView
from widgets.textual_internals import paint_changed_widgets
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

ROOMY = 16
"""Rows from which on some are left blank."""
_SHORT, _TALL = "-short", "-tall"
_TALL_FROM = 7


class MainScreen(Screen[None]):
    """Everything but the screens that open over it."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    """The editor has the focus from the start; giving it to another first would style both once more."""
    VERTICAL_BREAKPOINTS = [(0, _SHORT), (_TALL_FROM, _TALL)]  # noqa: RUF012  (declared so by Screen)

    def __init__(
        self,
        *,
        editor: PromptEditor,
        transcript: Transcript,
        search_bar: SearchBar,
        sending: Sending,
        remembered: ProjectHistory,
        unsent: UnsentDraft,
        register: Register,
        status: StatusLines,
        key_texts: KeyTexts,
        spawn: Spawn,
    ) -> None:
        # Known from the start: told by the first resize, the page would be styled and painted once more.
        super().__init__(id="_default", classes=_TALL if self.app.size.height >= _TALL_FROM else _SHORT)
        paint_changed_widgets(self)
        self._editor = editor
        self._transcript = transcript
        self._search_bar = search_bar
        self._sending = sending
        self._remembered = remembered
        self._unsent = unsent
        self._queued = register.page(QUEUE)
        self._approvals = register.page(APPROVALS)
        self._status = status
        self._side_lists = register.page(SIDE)
        self._key_texts = key_texts
        self._spawn = spawn

    @on(events.ScreenResume)
    def _keep_styles(self, event: events.ScreenResume) -> None:
        """At the start all of it has just been styled."""
        if not self.outer_size:
            event.refresh_styles = False

    @on(events.Mount)
    @on(events.Resize)
    def _give_air(self) -> None:
        """A blank row below the header and above the editor, where there are rows to spare, a side where there are
        columns; before the first paint."""
        self._side_lists.fit(self.app.size.width)
        margin = int(self.app.size.height >= ROOMY)
        if self._transcript.styles.margin.top != margin:
            self._transcript.styles.margin = (margin, 0)

    # The editor

    @on(PromptEditor.Submitted)
    @on(PromptEditor.FollowUp)
    def _send(self, message: PromptEditor.Submitted | PromptEditor.FollowUp) -> None:
        how = "follow_up" if isinstance(message, PromptEditor.FollowUp) else "steer"
        self._remembered.add_prompt(message.draft)
        self._transcript.viewport.follow()
        self._spawn(self._sending.send(message.draft, message.text, message.attachments, how))

    @on(PromptEditor.Changed)
    def _draft_changed(self, message: PromptEditor.Changed) -> None:
        self._unsent.editor_changed(message.draft)

    # Messages that wait

    @on(QueueView.EditRequested)
    def _edit_queued(self, message: QueueView.EditRequested) -> None:
        match message:
            case QueueView.RemoveRequested():
                self._queued.remove(message.row_id)
            case QueueView.SwitchRequested():
                self._queued.switch(message.row_id)
            case _:
                self._queued.edit(message.row_id)

    @on(QueueView.MoveRequested)
    def _move_queued(self, message: QueueView.MoveRequested) -> None:
        self._queued.move(message.row_id, message.delta)

    # A question in the bar

    @on(ApprovalBar.Answered)
    def _approval_answered(self, message: ApprovalBar.Answered) -> None:
        self._approvals.answered(message)

    @on(ApprovalBar.DetailsRequested)
    def _approval_whole(self) -> None:
        self._spawn(self._approvals.whole())

    @on(ApprovalBar.EditRequested)
    def _approval_edited(self) -> None:
        self._spawn(self._approvals.edit())

    @on(ApprovalBar.Left)
    @on(QueueView.Left)
    def _back_to_the_editor(self) -> None:
        self._editor.focus()

    # The keyboard at the transcript, and the search in it

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        """While the keyboard is at the blocks, the border says what its keys do there."""
        if event.widget is self._transcript:
            self._status.tell(self._key_texts.at_blocks, is_hints=True)
        elif event.widget is self._editor:
            self._status.say_again()

    @on(Transcript.FocusModeChanged)
    def _focus_mode(self, message: Transcript.FocusModeChanged) -> None:
        if not message.is_on:
            self._editor.focus()

    @on(Transcript.PromptsMoved)
    def _prompts_moved(self, message: Transcript.PromptsMoved) -> None:
        self._status.prompts_moved(message.prompts)

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        self._search_bar.show(message)

    @on(SearchBar.Left)
    def _search_left(self, message: SearchBar.Left) -> None:
        """With a hit, `n` and `N` go on from there; else back to what was being written."""
        (self._transcript if message.is_accepted else self._editor).focus()
