"""Navigation: to another point of the session's tree, to another session's file, and merging a branch.

All of these replace the context; counts, model and pending deliveries follow."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.context.context_parts import ContextParts
from app.engine.core.hook_results import NavigationOptions
from app.engine.core.model_choice import NoModel
from app.engine.core.prompt_intake import SwitchCancelled
from app.engine.core.session_core import SessionCore
from app.engine.files.file_parts import FileParts
from app.engine.goals.session_goal import SessionGoal
from app.engine.jobs.background_jobs import JobTable
from app.engine.mcp.session_servers import McpServers
from app.engine.permissions.session_folders import SessionFolders
from app.engine.planning.plan_mode import PlanMode
from app.engine.preconditions import Preconditions
from app.engine.tree.session_paths import SessionPaths
from app.sessions.context_projection import settings_above
from app.sessions.old_outputs import outputs_of
from app.sessions.session_log import SessionLog
from app.undo.change_records import RestoredData
from app.values.entries import BranchSummaryEntry
from app.values.events import SessionReplaced
from app.values.models import thinking_level

SwitchReason = Literal["new", "resume", "fork", "tree", "reload"]


class NavigationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of going to another point of the tree."""

    text: str | None = None
    """The text of the chosen prompt, for the editor: going to a prompt means going before it."""
    summary: BranchSummaryEntry | None = None
    """The summary of the branch that was left."""
    files: RestoredData | None = None
    """The restored files."""


class Navigation(msgspec.Struct, frozen=True, kw_only=True):
    """Navigates one session."""

    core: SessionCore
    places: SessionPaths
    context: ContextParts
    files: FileParts
    jobs: JobTable
    planning: PlanMode
    goal: SessionGoal
    folders: SessionFolders
    servers: McpServers
    preconditions: Preconditions
    stop: Callable[[], Awaitable[None]]
    """Stops the running operations, and returns when they have ended."""
    enter: Callable[[Path], Awaitable[None]]
    """Makes a folder the session's working folder."""

    # Within the tree

    async def go_to(
        self,
        entry_id: str | None,
        wish: NavigationOptions = NavigationOptions(),  # noqa: B008  (frozen)
    ) -> NavigationResult:
        """Moves to a point of the tree; None is before everything. The branch that is left may be summarised
        there."""
        text = None
        self.preconditions.require_idle("Moving to another point of the session")
        if entry_id is not None:
            target = self.core.conversation.log.navigation(entry_id)
            entry_id, text = target.leaf_id, target.text
        restored: list[RestoredData] = []
        stays = None if wish.restores_files else await self.files.restoring.left_as_restored(entry_id)

        async def before_moving() -> None:
            if wish.restores_files:
                plan = await self.files.restoring.preview_entry(entry_id, is_move=True)
                restored.append(await self.files.kept.carry_out(plan, wish.choices))

        try:
            summary = await self.context.brancher.leave(entry_id, wish, before_moving)
        except BaseException:
            for data in restored:  # the files were moved, but not the conversation
                await self.files.kept.record_restore(msgspec.structs.replace(data, is_move=False))
            raise
        await self._publish_replaced("tree")
        for data in (*restored, *((stays,) if stays is not None else ())):
            if await self.files.kept.record_restore(data) is not None:
                await self.files.restoring.tell_model(data)
        files = restored[0] if restored else None
        return NavigationResult(text=text, summary=summary, files=files)

    async def merge(self, leaf_id: str, wish: NavigationOptions = NavigationOptions()) -> BranchSummaryEntry:  # noqa: B008  (frozen)
        """Summarises another branch into this one."""
        self.preconditions.require_idle("Merging a branch")
        summary = await self.context.brancher.merge(leaf_id, wish)
        await self._publish_replaced("tree")
        return summary

    # Other sessions

    async def begin(self, parent: Path | None = None) -> None:
        """Stops what is running and starts a new session; in memory if this one is. Raises `SwitchCancelled`."""
        await self.stop()
        if self.core.conversation.log.path is None:
            log = SessionLog.in_memory(self.places.cwd)
        else:
            log = self.places.new(parent=parent)
        await self.open(log, "new")

    async def switch_to(self, name: str) -> None:
        """Continues with the file of this name, or with a new session in it."""
        if self.places.is_at(self.core.conversation.log, name):  # the session is open already
            await self.stop()
            return
        log = self.places.open_or_begin(name)
        log.require_cwd(self.places.cwd)
        await self.stop()
        await self.open(log, "resume")

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        """Continues in a copy that ends before or at an entry. Returns False if an extension prevents it."""
        from app.sessions.fork import clone, fork_before  # noqa: PLC0415  (with what reads whole sessions)

        log = self.core.conversation.log
        if not await self.core.hooks.may_fork(entry_id, position):
            return False
        is_here = entry_id == log.leaf_id
        await self.stop()  # the fork includes everything up to the present point
        folder, cwd, fsync = self.places.folder, self.places.cwd, self.places.sync
        if position == "before":
            copy = fork_before(log, entry_id, folder, cwd=cwd, fsync=fsync)
        else:
            copy = clone(log, folder, leaf_id=None if is_here else entry_id, cwd=cwd, fsync=fsync)
        await self.open(copy, "fork")
        return True

    async def open(self, log: SessionLog, reason: SwitchReason, *, stays: bool = False) -> None:
        """Opens a session in its own folder, or in the current folder if the user asked for it (`stays`)."""
        self.preconditions.require_idle("Switching sessions")
        is_elsewhere = reason in ("new", "resume", "fork")
        if is_elsewhere and not await self.core.hooks.may_leave(reason, log.path):
            log.close()
            raise SwitchCancelled("An extension prevented leaving this session.")
        await self.jobs.close(keep_pinned=True)
        self.core.queues.clear_automatic()
        self.core.deliveries.left_context(frozenset(), self.core.conversation.log.__contains__)
        self.core.conversation.open(log).close()
        self.core.workspace.artifacts.move_to_session(*outputs_of(log))
        if reason != "fork":  # a fork keeps the variables that its cells have defined
            self.core.workspace.end_kernel("Another session is open.")
        if not stays and not log.is_read_only and self.places.is_elsewhere(log):
            await self.enter(log.cwd)
        self._recover_files()
        self.core.conversation.recover_partial()
        await self._publish_replaced(reason)
        self.servers.resume()

    def _recover_files(self) -> None:
        """Records file changes that a crash left unrecorded."""
        told = self.files.kept.recover()
        if told is not None:
            self.core.conversation.log.problems.append(told)

    def restore(
        self, *, restores_model: bool, restores_thinking: bool = True, name: str | None = None
    ) -> bool:
        """Restores model and thinking level at the start; returns whether the log names a model. A missing
        model may still come with an extension."""
        log = self.core.conversation.log
        names_model = bool(log.entries) and self._restore_choice(
            model=restores_model, thinking=restores_thinking
        )
        self._recover_files()
        self.core.conversation.recover_partial()
        self.planning.arrive()
        self.goal.arrive()
        self.folders.arrive()
        self.jobs.arrive()
        self._warn_missing_model()
        if name and not log.is_read_only:
            self.core.conversation.rename(" ".join(name.split()))
        return names_model

    def _warn_missing_model(self) -> None:
        if (lost := self.files.pending.lost()) is not None:
            self.core.queues.hold_for_next_turn(lost)

    def _restore_choice(self, *, model: bool = True, thinking: bool = True) -> bool:
        """Restores the model and thinking level of the log; returns whether it names a model."""
        log = self.core.conversation.log
        projection = settings_above(log.upwards(), log.upwards(without_messages=True))
        if projection.model is not None and model:
            try:
                self.core.choice.set(self.core.choice.find(*projection.model))
            except NoModel:
                self.core.choice.lose("/".join(projection.model))
        level = thinking_level(projection.thinking_level)
        if level is not None and projection.has_thinking_level and thinking:
            self.core.choice.set_thinking(level)
        return projection.model is not None and model

    async def _publish_replaced(self, reason: SwitchReason) -> None:
        self.core.conversation.reload()
        self._warn_missing_model()
        self.files.pending.left()
        self.files.diagnostics.left()
        self.context.compactor.start_over()
        self.core.usage_totals.start_over()
        model = self.core.choice.model
        self._restore_choice()
        if self.core.choice.missing is not None:
            # It is the same session, whose model has changed meanwhile.
            if reason == "tree" and model is not None:
                self.core.choice.set(model)
            else:
                self.core.event_bus.notify(self.core.choice.missing_model_text, "warning")
        self.core.event_bus.forget_undeliverable()
        await self.core.event_bus.publish(SessionReplaced(reason=reason))
        self.planning.arrive()
        self.goal.arrive()
        self.folders.arrive()
        self.jobs.arrive()
