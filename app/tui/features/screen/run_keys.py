"""The actions of keys that concern the current run and the last answer."""

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import CopyText, KeyLabel
from app.tui.transcript.presenter import TranscriptPresenter
from tools.number_formatting import count_with_noun
from widgets.transcript.block_expansion import BlockExtent, open_state_to_extent
from widgets.transcript.view import Transcript

_NEXT_BLOCK_EXTENT = {
    BlockExtent.CLOSED: BlockExtent.PREVIEW,
    BlockExtent.RESULT: BlockExtent.PREVIEW,
    BlockExtent.PREVIEW: BlockExtent.ALL,
    BlockExtent.ALL: BlockExtent.CLOSED,
    BlockExtent.WHOLE: BlockExtent.CLOSED,
}


class RunActions(msgspec.Struct, frozen=True):
    """The actions of keys that concern the current run: copy the answer, retry, move tools to the background, open
    blocks."""

    session: Session
    presenter: TranscriptPresenter
    transcript: Transcript
    copy: CopyText
    key_label: KeyLabel

    def copy_answer(self) -> None:
        text = self.session.last_answer_text
        if text is None:
            self.presenter.add_note("There is no answer to copy yet.")
            return
        self.copy(text, f"the last answer, {count_with_noun(len(text.splitlines()), 'line')}")

    async def retry_request(self) -> None:
        """Sends the request of a failed or stopped answer again, which is removed from the context; during a wait for a
        retry, sends it now."""
        if self.session.retry_countdown.is_running:
            self.session.retry_countdown.retry_now()
        elif not await self.session.retry_failed_answer():
            self.presenter.add_note("There is nothing to retry.")

    def move_calls_to_background(self) -> None:
        """Moves the running tool calls to the background as jobs; says so if none is running."""
        moved = self.presenter.running_call_ids()
        for call_id in moved:
            self.session.calls.send_to_background(call_id)
        if not moved and self.session.state.is_shell_running:
            key = self.key_label("app.interrupt", "Escape")
            stops = f"; {key} stops it" if key else ""
            self.presenter.add_note(f"Your own command cannot move to the background{stops}.")
        elif not moved:
            self.presenter.add_note("No tool is running.")

    def toggle_tool_cards(self) -> None:
        """Opens or closes the focused block; without one all tool cards, in turn as previews, in full, and as one line
        each."""
        transcript = self.transcript
        if transcript.has_focus and transcript.keyboard.cursor:
            transcript.toggle(transcript.keyboard.cursor)
        else:
            now = open_state_to_extent(transcript.column.expansion.tools or BlockExtent.CLOSED)
            transcript.open_all(tools=_NEXT_BLOCK_EXTENT[now])

    def toggle_thinking(self) -> None:
        """Shows or hides the model's thinking."""
        self.transcript.open_all(thinking=not self.transcript.column.expansion.thinking)
