"""What Escape, Ctrl+C and Ctrl+D mean: stop what is under way, clear what is written, and only then leave."""

import math
from collections.abc import Callable
from typing import Any

from textual.screen import Screen

from app.engine.session import Session
from app.tui.handed import Copy, Spawn
from widgets.editor.prompt import PromptEditor

DOUBLE_PRESS_SECONDS = 0.5
LAST_WARNING_SECONDS = 2.0
"""How long an empty editor says that the same key once more leaves, and means it."""


class StopOrLeave:
    """The three keys over one session and its editor."""

    def __init__(
        self,
        session: Session,
        editor: PromptEditor,
        *,
        take_back: Callable[[], None],
        second_escape: Callable[[], None],
        leave: Callable[[], None],
        tell: Callable[[str, float], None],
        copy: Copy,
        spawn: Spawn,
        clock: Callable[[], float],
    ) -> None:
        """`take_back`: waiting messages return to the editor; `tell`: some words for so many seconds."""
        self._session = session
        self._editor = editor
        self._take_back = take_back
        self._on_second_escape = second_escape
        self._leave = leave
        self._tell = tell
        self._copy = copy
        self._spawn = spawn
        self._clock = clock
        self._leaves_until = -math.inf
        self._last_escape = -math.inf

    def escape(self) -> None:
        """Stops what is under way and gives queued messages back; idle, a second press does what is set for it."""
        session = self._session
        state = session.state
        if state.is_waiting_to_retry:
            session.give_up_retry()
        elif state.is_busy:
            self._take_back()
            self._spawn(session.abort())
        elif self._editor.text.startswith("!"):
            self._editor.clear()
        elif self._editor.is_blank:
            now = self._clock()
            if now - self._last_escape < DOUBLE_PRESS_SECONDS:
                self._on_second_escape()
            self._last_escape = now

    def clear(self, key: str, screen: Screen[Any]) -> None:
        """Copies what is selected on the screen, else empties the editor; a second press leaves.

        `key`: what was pressed, in words.
        """
        selected = screen.get_selected_text()
        if selected:
            self._copy(selected, "selection")
            screen.clear_selection()
            return
        now = self._clock()
        if now < self._leaves_until:
            self._leave()
        elif self._editor.is_blank:
            self._leaves_until = now + LAST_WARNING_SECONDS
            self._tell(f"{key} again leaves", LAST_WARNING_SECONDS)
        else:
            self._leaves_until = now + DOUBLE_PRESS_SECONDS
            self._editor.clear()

    def leave(self) -> None:
        if self._editor.is_blank:
            self._leave()
