"""Going elsewhere: another point of the session's tree, another branch merged into this one, another session's file.

What all of these share is that the context becomes another one: counts, model and waiting deliveries follow it.
"""

from typing import TYPE_CHECKING, Literal

from app.engine.choice import restore
from app.engine.conversation import Conversation
from app.engine.intake import Refused
from app.sessions.log import SessionLog
from app.values.entries import CompactionEntry
from app.values.events import SessionReplaced

if TYPE_CHECKING:
    from app.engine.session import Session

SwitchReason = Literal["new", "resume", "fork", "tree", "reload"]


class Moving:
    """Moves one session about."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    async def go_to(
        self, entry_id: str | None, *, summarise: bool = False, instructions: str | None = None
    ) -> str | None:
        """Going to a prompt means going before it: its text is returned, for the editor."""
        session, text = self._session, None
        session.require_idle("Going to another point of the session")
        if entry_id is not None:
            target = session.log.navigation(entry_id)
            entry_id, text = target.leaf_id, target.text
        await session.brancher.leave(entry_id, summarise=summarise, instructions=instructions)
        await self._replaced("tree")
        return text

    async def merge(self, leaf_id: str, instructions: str | None = None) -> None:
        self._session.require_idle("Merging a branch")
        await self._session.brancher.merge(leaf_id, instructions)
        await self._replaced("tree")

    async def undo_compaction(self) -> str | None:
        """Back to right before the last compaction on this branch; the automatic one does not undo that at once."""
        session = self._session
        path = session.log.path_to()
        found = next((entry for entry in reversed(path) if isinstance(entry, CompactionEntry)), None)
        if found is None:
            raise Refused("Nothing on this branch has been compacted: the history is whole.")
        text = await self.go_to(found.parent_id)
        session.compactor.hold()
        return text

    async def open(self, log: SessionLog, reason: SwitchReason) -> None:
        session = self._session
        session.require_idle("Switching sessions")
        await session.intake.leave(log, reason)
        await session.jobs.close(keep_pinned=True)
        session.queues.forget_companions()
        session.deliveries.left_context(frozenset(), _ids(session.log))
        previous = session.take_up(Conversation(log))
        previous.close()
        session.conversation.recover_partial()
        await self._replaced(reason)

    def restore_choice(self) -> None:
        """Takes up the model and thinking level that the log was left with."""
        session = self._session
        projection = session.log.project()
        restored = restore(session.choice, projection.model, projection.thinking_level)
        if restored.model is not None:
            session.choice.set(restored.model)
        if restored.thinking is not None and projection.has_thinking_level:
            session.choice.set_thinking(restored.thinking)
        if restored.missing is not None:
            session.notify(
                f"This session used {restored.missing}, which is not available now. Choose another with /model.",
                "warning",
            )

    def forget_undeliverable(self) -> None:
        """Messages that left the context will not reach the model any more; whoever waits is told."""
        session = self._session
        session.deliveries.left_context(session.conversation.context_ids, _ids(session.log))

    async def _replaced(self, reason: SwitchReason) -> None:
        session = self._session
        session.conversation.reload()
        session.compactor.start_over()
        session.account.start_over(session.conversation)
        self.restore_choice()
        self.forget_undeliverable()
        await session.publish(SessionReplaced(reason=reason))


def _ids(log: SessionLog) -> frozenset[str]:
    return frozenset(entry.id for entry in log.entries)
