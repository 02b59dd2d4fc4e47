"""Escape, Ctrl+C and Ctrl+D: stop the current activity, clear the editor, and only then leave."""

import math
from collections.abc import Callable
from typing import Any

import msgspec
from textual.screen import Screen

from app.engine.session import Session
from app.tui.page_protocols import Copy, Spawn
from widgets.editor.chips import UnsentPrompt
from widgets.editor.prompt import PromptEditor

DOUBLE_PRESS_SECONDS = 0.5
LAST_WARNING_SECONDS = 2.0
"""Seconds in which pressing the same key again leaves; the hint is shown as long."""


class StopOrLeave(msgspec.Struct):
    """Handles the three keys for one session and its editor."""

    session: Session
    editor: PromptEditor
    take_back: Callable[[], None]
    """Moves queued messages back to the editor."""
    on_second_escape: Callable[[], None]
    end: Callable[[], None]
    ask_and_end: Callable[[], None]
    """Asks before the agent's work is stopped, and leaves."""
    tell: Callable[[str, float], None]
    """Shows a text for some seconds."""
    copy: Copy
    remember: Callable[[UnsentPrompt], None]
    """Adds a prompt to the history, which later sessions have too."""
    spawn: Spawn
    clock: Callable[[], float]
    clear_stops: Callable[[], bool]
    """Returns whether Ctrl+C on an empty editor stops the current activity."""
    _leaves_until: float = -math.inf
    _stopped_until: float = -math.inf
    _last_escape: float = -math.inf

    def escape(self) -> None:
        """Stops the current activity and returns queued messages to the editor; when idle, a second
        press runs the action from the settings."""
        session = self.session
        state = session.state
        if state.is_waiting_to_retry:
            session.retry_countdown.cancel()
        elif state.is_busy:
            self.take_back()
            self.spawn(session.abort())
        elif self.editor.text.startswith("!"):
            self.editor.clear()
        elif self.editor.model.is_blank:
            now = self.clock()
            if now - self._last_escape < DOUBLE_PRESS_SECONDS:
                self.on_second_escape()
            self._last_escape = now

    def clear(self, key: str, screen: Screen[Any]) -> None:
        """Copies the screen's selection, else clears the editor, else stops the current activity, else warns; a second
        press after the warning leaves.

        `key`: the label of the pressed key."""
        selected = screen.get_selected_text()
        if selected:
            self.copy(selected, "selection")
            screen.clear_selection()
            return
        now = self.clock()
        if now < self._leaves_until:
            is_stopped_first = self.clear_stops() or not self.session.is_running
            (self.end if is_stopped_first else self.ask_and_end)()
        elif self.editor.model.is_blank:
            if self.clear_stops() and self.session.state.is_busy and now >= self._stopped_until:
                self._stopped_until = now + LAST_WARNING_SECONDS
                self.escape()
                self.tell(f"stopped · {key} twice to quit", LAST_WARNING_SECONDS)
                return
            self._leaves_until = now + LAST_WARNING_SECONDS
            self.tell(f"press {key} again to quit", LAST_WARNING_SECONDS)
        else:
            self._leaves_until = now + DOUBLE_PRESS_SECONDS
            self.remember(self.editor.model.draft())
            self.editor.clear()

    def typed(self) -> None:
        """Forgets an earlier press once the user writes something: the next one only clears it."""
        if not self.editor.model.is_blank:
            self._leaves_until = -math.inf

    def leave(self) -> None:
        """Leaves with an empty editor; asks before the agent's work is stopped."""
        if self.editor.model.is_blank:
            (self.ask_and_end if self.session.is_running else self.end)()
