"""Going elsewhere: another point of the session's tree, another branch merged into this one, another session's file.

What all of these share is that the context becomes another one: counts, model and waiting deliveries follow it.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.brancher import Wish
from app.engine.choice import restore
from app.engine.conversation import Conversation
from app.engine.intake import Refused
from app.engine.jobs import JobTable
from app.engine.workings import Workings
from app.sessions.fork import clone, fork_before
from app.sessions.log import SessionLog
from app.values.entries import BranchSummaryEntry, CompactionEntry
from app.values.events import SessionReplaced

SwitchReason = Literal["new", "resume", "fork", "tree", "reload"]


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """At another point of the tree."""

    text: str | None = None
    """Going to a prompt means going before it: this is its text, for the editor."""
    summary: BranchSummaryEntry | None = None
    """Of the branch that was left."""


class Moving:
    """Moves one session about."""

    def __init__(self, workings: Workings, jobs: JobTable, abort: Callable[[], Awaitable[None]]) -> None:
        self._workings = workings
        self._abort = abort
        self._jobs = jobs

    async def go_to(self, entry_id: str | None, wish: Wish) -> Arrival:
        workings, text = self._workings, None
        workings.require_idle("Going to another point of the session")
        if entry_id is not None:
            target = workings.log.navigation(entry_id)
            entry_id, text = target.leaf_id, target.text
        summary = await workings.brancher.leave(entry_id, wish)
        await self._replaced("tree")
        return Arrival(text=text, summary=summary)

    async def merge(self, leaf_id: str, wish: Wish) -> BranchSummaryEntry:
        self._workings.require_idle("Merging a branch")
        summary = await self._workings.brancher.merge(leaf_id, wish)
        await self._replaced("tree")
        return summary

    async def undo_compaction(self) -> str | None:
        """Back to right before the last compaction on this branch; the automatic one does not undo that at once."""
        workings = self._workings
        path = workings.log.path_to()
        found = next((entry for entry in reversed(path) if isinstance(entry, CompactionEntry)), None)
        if found is None:
            raise Refused("Nothing on this branch has been compacted: the history is whole.")
        arrival = await self.go_to(found.parent_id, Wish())
        workings.compactor.hold()
        return arrival.text

    async def begin(self, parent: Path | None) -> None:
        """A session that is kept nowhere is followed by another such."""
        workings = self._workings
        await self._abort()
        if workings.log.path is None:
            log = SessionLog.in_memory(workings.cwd)
        else:
            log = workings.places.new(parent=parent)
        await self.open(log, "new")

    async def switch_to(self, name: str) -> None:
        places = self._workings.places
        if places.is_at(self._workings.log, name):  # it is here already
            await self._abort()
            return
        log = places.open_or_begin(name)
        log.require_cwd()
        await self._abort()
        await self.open(log, "resume")

    async def fork(self, entry_id: str, position: Literal["before", "at"]) -> bool:
        workings = self._workings
        log = workings.log
        if not await workings.intake.may_fork(entry_id, position):
            return False
        is_here = entry_id == log.leaf_id
        await self._abort()  # what it leaves behind the present point goes along
        folder, cwd, fsync = workings.places.folder, workings.places.cwd, workings.places.sync
        if position == "before":
            copy = fork_before(log, entry_id, folder, cwd=cwd, fsync=fsync)
        else:
            copy = clone(log, folder, leaf_id=None if is_here else entry_id, cwd=cwd, fsync=fsync)
        await self.open(copy, "fork")
        return True

    async def open(self, log: SessionLog, reason: SwitchReason) -> None:
        workings = self._workings
        workings.require_idle("Switching sessions")
        await workings.intake.leave(log, reason)
        await self._jobs.close(keep_pinned=True)
        workings.queues.forget_companions()
        workings.deliveries.left_context(frozenset(), workings.log.__contains__)
        previous = workings.take_up(Conversation(log))
        previous.close()
        workings.conversation.recover_partial()
        await self._replaced(reason)

    def restore_choice(self) -> None:
        """Takes up the model and thinking level that the log was left with."""
        workings = self._workings
        projection = workings.log.project()
        restored = restore(workings.choice, projection.model, projection.thinking_level)
        if restored.model is not None:
            workings.choice.set(restored.model)
        if restored.thinking is not None and projection.has_thinking_level:
            workings.choice.set_thinking(restored.thinking)
        if restored.missing is not None:
            workings.notify(
                f"This session used {restored.missing}, which is not available now. Choose another with /model.",
                "warning",
            )

    async def _replaced(self, reason: SwitchReason) -> None:
        workings = self._workings
        workings.conversation.reload()
        workings.compactor.start_over()
        workings.account.start_over(workings.conversation)
        self.restore_choice()
        workings.forget_undeliverable()
        await workings.publish(SessionReplaced(reason=reason))
