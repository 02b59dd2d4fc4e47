"""The pages and habits of the full-screen face, each made once over one stage: what keys and commands reach for."""

from collections.abc import Sequence
from typing import Any

from textual.binding import BindingType

from app.assembly.build import Assembled
from app.tui.garbage import Garbage
from app.tui.keys.key_table import KeyTable
from app.tui.keys.leaving import StopOrLeave
from app.tui.keys.typed_ahead import TypedAhead
from app.tui.pages.context_page import ContextPage
from app.tui.pages.keys_page import KeysPage
from app.tui.pages.model_page import ModelPage
from app.tui.pages.resuming import Resuming
from app.tui.pages.sessions_page import SessionsPage
from app.tui.pages.tree_page import TreePage
from app.tui.prompt.queued_messages import QueuedMessages
from app.tui.stage import Stage
from app.tui.status.cache_misses import CacheMisses
from app.tui.terminal.notifications import Notifications
from app.tui.terminal.title import TerminalTitle


class Desk(Stage):
    """A stage with everything that is done on it."""

    def __init__(
        self,
        assembled: Assembled,
        *,
        page_keys: Sequence[BindingType],
        commands: Sequence[tuple[str, str]],
        **stage: Any,
    ) -> None:
        """`page_keys` and `commands`: what `KeyTable` is told of."""
        super().__init__(assembled, **stage)
        self.key_table = KeyTable(self, page_keys, commands)
        self.keys_page = KeysPage(self, self.key_table)
        self.model_page = ModelPage(self)
        self.resuming = Resuming(self)
        self.sessions_page = SessionsPage(self, self.resuming)
        self.session_tree = TreePage(self)
        self.context_page = ContextPage(self)
        self.waiting = QueuedMessages(self)
        self.leaving = StopOrLeave(self, self.waiting, self.session_tree, self.sessions_page)
        self.title_line = TerminalTitle(self)
        self.notifications = Notifications(self, self.clock)
        self.cache_misses = CacheMisses(self)
        self.garbage = Garbage()
        self.typed_ahead = TypedAhead(self)

    def action_retry(self) -> None:
        """Asks again after a failed or stopped answer, which leaves the context."""
        self.spawn(self._retry())

    async def _retry(self) -> None:
        failed = self.session.conversation.last_assistant
        if failed is None or failed.stop_reason not in ("error", "aborted"):
            self.presenter.note("There is nothing to try again.")
            return
        await self.session.runner.leave_out(failed)
        self.session.resume()
