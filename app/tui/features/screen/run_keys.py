"""Keys for the current run and the last answer."""

import msgspec

from app.engine.session import Session
from app.tui.page_protocols import Copy, KeyLabel
from app.tui.transcript.presenter import Presenter
from tools.amounts import pluralized
from widgets.transcript.expansion import Extent, extent_of
from widgets.transcript.view import Transcript

_NEXT = {
    Extent.CLOSED: Extent.PREVIEW,
    Extent.RESULT: Extent.PREVIEW,
    Extent.PREVIEW: Extent.ALL,
    Extent.ALL: Extent.CLOSED,
    Extent.WHOLE: Extent.CLOSED,
}


class RunKeys(msgspec.Struct, frozen=True):
    """Actions of the keys for the current run."""

    session: Session
    presenter: Presenter
    transcript: Transcript
    copy: Copy
    key_label: KeyLabel

    def copy_answer(self) -> None:
        text = self.session.last_answer_text
        if text is None:
            self.presenter.note("There is no answer to copy yet.")
            return
        self.copy(text, f"answer, {pluralized(len(text.splitlines()), 'line')}")

    async def retry(self) -> None:
        """Repeats the request after a failed or stopped answer, which is removed from the context."""
        if not await self.session.retry():
            self.presenter.note("There is nothing to retry.")

    def to_background(self) -> None:
        """Moves running tools to the background."""
        moved = self.presenter.running_call_ids()
        for call_id in moved:
            self.session.calls.send_to_background(call_id)
        if not moved and self.session.state.is_shell_running:
            key = self.key_label("app.interrupt", "Escape")
            stops = f"; {key} stops it" if key else ""
            self.presenter.note(f"Your own command cannot move to the background{stops}.")
        elif not moved:
            self.presenter.note("No tool is running.")

    def open_or_close(self) -> None:
        """Opens or closes the focused block; without one, all tools: previews, then everything, then
        one line each."""
        transcript = self.transcript
        if transcript.has_focus and transcript.keyboard.cursor:
            transcript.toggle(transcript.keyboard.cursor)
        else:
            now = extent_of(transcript.column.expansion.tools or Extent.CLOSED)
            transcript.open_all(tools=_NEXT[now])

    def show_thinking(self) -> None:
        """Shows or hides the model's thinking."""
        self.transcript.open_all(thinking=not self.transcript.column.expansion.thinking)
