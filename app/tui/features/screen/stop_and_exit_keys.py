"""What Escape, Ctrl+C and Ctrl+D do: stop the current activity, clear the editor, and only then leave."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
from textual.screen import Screen

from app.engine.session import Session
from app.tui.page_protocols import CopyText, SpawnTask
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor

MAX_DOUBLE_PRESS_SECONDS = 0.5
LEAVE_WARNING_SECONDS = 2.0
"""Seconds in which pressing the same key again leaves; the hint is shown as long."""


class StopAndExitKeys(msgspec.Struct):
    """Decides what Escape, Ctrl+C and Ctrl+D do, for one session and its editor."""

    session: Session
    editor: PromptEditor
    take_back_queued: Callable[[], None]
    """Moves queued messages back to the editor."""
    on_second_escape: Callable[[], None]
    leave_app: Callable[[], None]
    confirm_and_quit: Callable[[], None]
    """Asks before the agent's work is stopped, and leaves."""
    show_temporary_text: Callable[[str, float], None]
    """Shows a text for some seconds."""
    copy: CopyText
    add_to_history: Callable[[UnsentPrompt], None]
    """Adds a prompt to the history, which later sessions have too."""
    spawn: SpawnTask
    clock: Callable[[], float]
    can_clear_key_stop: Callable[[], bool]
    """Returns whether Ctrl+C on an empty editor stops the current activity."""
    _leave_deadline: float = -math.inf
    _stop_deadline: float = -math.inf
    _last_escape: float = -math.inf

    def stop_activity(self) -> None:
        """Stops the current activity and returns queued messages to the editor. When idle, Escape pressed twice runs
        the action from the settings."""
        session = self.session
        state = session.state
        if state.is_waiting_to_retry:
            session.retry_countdown.cancel()
        elif state.is_busy:
            self.take_back_queued()
            self.spawn(session.abort())
        elif self.editor.text.startswith("!"):
            self.editor.clear()
        elif self.editor.model.is_blank:
            now = self.clock()
            if now - self._last_escape < MAX_DOUBLE_PRESS_SECONDS:
                self.on_second_escape()
            self._last_escape = now

    def copy_clear_or_leave(self, key: str, screen: Screen[Any]) -> None:
        """Copies the screen's selection, else clears the editor, else stops the current activity, else warns; a second
        press after the warning leaves.

        `key`: the label of the pressed key."""
        selected = screen.get_selected_text()
        if selected:
            self.copy(selected, "selection")
            screen.clear_selection()
            return
        now = self.clock()
        if now < self._leave_deadline:
            is_stopped_first = self.can_clear_key_stop() or not self.session.is_running
            (self.leave_app if is_stopped_first else self.confirm_and_quit)()
        elif self.editor.model.is_blank:
            if self.can_clear_key_stop() and self.session.state.is_busy and now >= self._stop_deadline:
                self._stop_deadline = now + LEAVE_WARNING_SECONDS
                self.stop_activity()
                self.show_temporary_text(f"stopped · {key} twice to quit", LEAVE_WARNING_SECONDS)
                return
            self._leave_deadline = now + LEAVE_WARNING_SECONDS
            self.show_temporary_text(f"press {key} again to quit", LEAVE_WARNING_SECONDS)
        else:
            self._leave_deadline = now + MAX_DOUBLE_PRESS_SECONDS
            self.add_to_history(self.editor.model.draft())
            self.editor.clear()

    def reset_double_press(self) -> None:
        """Forgets an earlier press of Ctrl+C once the user types, so that the next press only clears the
        editor."""
        if not self.editor.model.is_blank:
            self._leave_deadline = -math.inf

    def leave_if_editor_empty(self) -> None:
        """Leaves bayou if the editor is empty; asks before the agent's work is stopped."""
        if self.editor.model.is_blank:
            (self.confirm_and_quit if self.session.is_running else self.leave_app)()
