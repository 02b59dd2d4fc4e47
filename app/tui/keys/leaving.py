"""What Escape, Ctrl+C and Ctrl+D mean: stop what is under way, clear what is written, and only then leave."""

import math

from app.tui.pages.sessions_page import SessionsPage
from app.tui.pages.tree_page import TreePage
from app.tui.prompt.queued_messages import QueuedMessages
from app.tui.stage import Stage

DOUBLE_PRESS_SECONDS = 0.5
LAST_WARNING_SECONDS = 2.0
"""How long an empty editor says that the same key once more leaves, and means it."""


class StopOrLeave:
    """The three keys over one application."""

    def __init__(self, app: Stage, waiting: QueuedMessages, tree: TreePage, sessions: SessionsPage) -> None:
        self._app = app
        self._waiting = waiting
        self._tree = tree
        self._sessions = sessions
        self._leaves_until = -math.inf
        self._last_escape = -math.inf

    def escape(self) -> None:
        """Stops what is under way and gives queued messages back; idle, a second press opens the tree."""
        app = self._app
        if app.session.runner.countdown.is_running:
            app.session.runner.countdown.cancel()
        elif app.session.is_running or app.session.is_compacting or app.session.shell.is_running:
            self._waiting.take_back()
            app.spawn(app.session.abort())
        elif app.editor.text.startswith("!"):
            app.editor.clear()
        elif app.editor.is_blank:
            now = app.clock()
            if now - self._last_escape < DOUBLE_PRESS_SECONDS:
                self._second_escape()
            self._last_escape = now

    def _second_escape(self) -> None:
        app = self._app
        match app.assembled.settings.interaction.double_escape_action:
            case "tree":
                app.spawn(app.chosen(self._tree.open()))
            case "fork":
                app.spawn(app.chosen(self._sessions.fork()))

    def clear(self, key: str) -> None:
        """Copies a selection, else empties the editor; a second press leaves. `key`: what was pressed, in words."""
        app = self._app
        selected = app.screen.get_selected_text()
        if selected:
            app.copy(selected, "selection")
            app.screen.clear_selection()
            return
        now = app.clock()
        if now < self._leaves_until:
            app.exit(0)
            return
        if app.editor.is_blank:
            self._leaves_until = now + LAST_WARNING_SECONDS
            app.status.tell(f"{key} again leaves", seconds=LAST_WARNING_SECONDS)
        else:
            self._leaves_until = now + DOUBLE_PRESS_SECONDS
            app.editor.clear()

    def leave(self) -> None:
        if self._app.editor.is_blank:
            self._app.exit(0)
