"""Navigation: to another point of the session's tree, to another session's file, and merging a branch.

All of these replace the context; counts, model and pending deliveries follow."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec

from app.engine.context.context_parts import CompactionAndSummaryParts
from app.engine.core.hook_results import NavigationOptions
from app.engine.core.model_choice import NoModelChosen
from app.engine.core.prompt_intake import SessionSwitchCancelled
from app.engine.core.session_core import SessionCore
from app.engine.files.file_parts import SessionFileParts
from app.engine.goals.session_goal import SessionGoal
from app.engine.jobs.background_jobs import JobTable
from app.engine.mcp.session_servers import McpServers
from app.engine.permissions.session_folders import SessionAddedFolders
from app.engine.planning.plan_mode import PlanMode
from app.engine.preconditions import SessionPreconditions
from app.engine.tree.session_paths import SessionPaths
from app.sessions.context_projection import model_and_level_above
from app.sessions.old_command_outputs import command_output_folders_of
from app.sessions.session_log import SessionLog
from app.undo.change_records import FileRestoreData
from app.values.entries import BranchSummaryEntry
from app.values.events import SessionReplaced
from app.values.models import thinking_level

SwitchReason = Literal["new", "resume", "fork", "tree", "reload"]


class NavigationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of going to another point of the session tree."""

    prompt_text: str | None = None
    """The text of the chosen prompt, for the editor, because going to a prompt means going before it; None for
    other entries."""
    summary: BranchSummaryEntry | None = None
    """The summary of the branch that was left; None without one."""
    files: FileRestoreData | None = None
    """The result of restoring files; None if none were restored."""


class SessionNavigation(msgspec.Struct, frozen=True, kw_only=True):
    """Moves one session to other points of its tree and to other session files."""

    core: SessionCore
    session_paths: SessionPaths
    context: CompactionAndSummaryParts
    files: SessionFileParts
    jobs: JobTable
    planning: PlanMode
    goal: SessionGoal
    folders: SessionAddedFolders
    servers: McpServers
    preconditions: SessionPreconditions
    stop_operations: Callable[[], Awaitable[None]]
    """A function that stops the running operations, and returns when they have ended."""
    enter_folder: Callable[[Path], Awaitable[None]]
    """A function that makes a folder the session's working folder."""

    # Within the tree

    async def go_to_entry(
        self,
        entry_id: str | None,
        wish: NavigationOptions = NavigationOptions(),  # noqa: B008  (frozen)
    ) -> NavigationResult:
        """Moves to a point of the session tree; None is before everything. The branch that is left may be
        summarised there."""
        text = None
        self.preconditions.require_idle("Moving to another point of the session")
        if entry_id is not None:
            target = self.core.conversation.log.navigation(entry_id)
            entry_id, text = target.leaf_id, target.text
        restored: list[FileRestoreData] = []
        stays = (
            None
            if wish.should_restore_files
            else await self.files.file_restorer.restored_data_to_record(entry_id)
        )

        async def before_moving() -> None:
            if wish.should_restore_files:
                plan = await self.files.file_restorer.plan_restore_to_entry(entry_id, is_move=True)
                restored.append(await self.files.session_files.carry_out_restore(plan, wish.restore_choices))

        try:
            summary = await self.context.branch_summariser.move_and_summarise(entry_id, wish, before_moving)
        except BaseException:
            for data in restored:  # the files were moved, but not the conversation
                await self.files.session_files.record_restore(msgspec.structs.replace(data, is_move=False))
            raise
        await self._publish_replaced("tree")
        for data in (*restored, *((stays,) if stays is not None else ())):
            if await self.files.session_files.record_restore(data) is not None:
                await self.files.file_restorer.report_restore_to_model(data)
        files = restored[0] if restored else None
        return NavigationResult(prompt_text=text, summary=summary, files=files)

    async def merge_branch(
        self,
        leaf_id: str,
        wish: NavigationOptions = NavigationOptions(),  # noqa: B008  (frozen)
    ) -> BranchSummaryEntry:
        """Summarises another branch of the session tree into this one."""
        self.preconditions.require_idle("Merging a session branch")
        summary = await self.context.branch_summariser.merge_branch(leaf_id, wish)
        await self._publish_replaced("tree")
        return summary

    # Other sessions

    async def start_new_session(self, parent: Path | None = None) -> None:
        """Stops what is running and starts a new session; in memory if this one is. Raises `SessionSwitchCancelled`."""
        await self.stop_operations()
        if self.core.conversation.log.path is None:
            log = SessionLog.in_memory(self.session_paths.cwd)
        else:
            log = self.session_paths.create_session(parent=parent)
        await self.open_session(log, "new")

    async def switch_to(self, name: str) -> None:
        """Continues with the session file of this path, or with a new session in it."""
        if self.session_paths.is_file_of(self.core.conversation.log, name):  # the session is open already
            await self.stop_operations()
            return
        log = self.session_paths.open_or_create(name)
        self.session_paths.require_session_folder(log)
        await self.stop_operations()
        await self.open_session(log, "resume")

    async def fork(self, entry_id: str, position: Literal["before", "at"] = "before") -> bool:
        """Continues in a copy of the session that ends before or at an entry. Returns False if an extension
        prevents it."""
        from app.sessions.fork import clone_session_path, fork_session_before  # noqa: PLC0415  (with what reads whole sessions)

        log = self.core.conversation.log
        if not await self.core.hooks.may_fork_session(entry_id, position):
            return False
        is_here = entry_id == log.leaf_id
        await self.stop_operations()  # the fork includes everything up to the present point
        paths = self.session_paths
        folder = paths.project_folder
        cwd, fsync, signatures = paths.cwd, paths.sync_policy, paths.signatures
        if position == "before":
            copy = fork_session_before(log, entry_id, folder, cwd=cwd, fsync=fsync, signatures=signatures)
        else:
            end = None if is_here else entry_id
            copy = clone_session_path(log, folder, leaf_id=end, cwd=cwd, fsync=fsync, signatures=signatures)
        await self.open_session(copy, "fork")
        return True

    async def open_session(self, log: SessionLog, reason: SwitchReason, *, stays: bool = False) -> None:
        """Opens a session in its own folder, or, with `stays`, in the current folder because the user asked for it."""
        self.preconditions.require_idle("Switching sessions")
        is_elsewhere = reason in ("new", "resume", "fork")
        if is_elsewhere and not await self.core.hooks.may_leave_session(reason, log.path):
            log.close()
            raise SessionSwitchCancelled("An extension prevented leaving this session.")
        await self.jobs.close(keep_pinned=True)
        self.core.queues.remove_generated_messages()
        self.core.deliveries.drop_messages_not_in(frozenset(), self.core.conversation.log.__contains__)
        self.core.conversation.switch_log(log).close()
        self.core.workspace.artifacts.assign_to_session(*command_output_folders_of(log))
        if reason != "fork":  # a fork keeps the variables that its cells have defined
            self.core.workspace.end_kernel("Another session is open.")
        if not stays and not log.is_read_only and self.session_paths.is_of_other_folder(log):
            await self.enter_folder(log.cwd)
        self._record_unrecorded_changes()
        self.core.conversation.recover_partial_answer()
        await self._publish_replaced(reason)
        self.servers.adopt_stored_exposure()

    def _record_unrecorded_changes(self) -> None:
        """Records file changes that a crash left unrecorded."""
        told = self.files.session_files.record_unrecorded_changes()
        if told is not None:
            self.core.conversation.log.problems.append(told)

    def restore_session(
        self, *, restores_model: bool, restores_thinking: bool = True, name: str | None = None
    ) -> bool:
        """Restores model and thinking level at the start of the session; returns whether the log names a model.
        A missing model may still come with an extension."""
        log = self.core.conversation.log
        names_model = bool(log.entries) and self._restore_model_choice(
            model=restores_model, thinking=restores_thinking
        )
        self._record_unrecorded_changes()
        self.core.conversation.recover_partial_answer()
        self.planning.load_from_branch()
        self.goal.load_from_branch()
        self.folders.load_from_branch()
        self.jobs.load_from_branch()
        self._queue_unsent_messages()
        if name and not log.is_read_only:
            self.core.conversation.record_session_name(" ".join(name.split()))
        return names_model

    def _queue_unsent_messages(self) -> None:
        """Queues, for the next prompt, messages that bayou had recorded but not sent to the model before it ended."""
        for message in (
            self.files.pending.lost_changes_message(),
            self.files.file_restorer.unreported_hunks_message(),
        ):
            if message is not None:
                self.core.queues.hold_for_next_prompt(message)

    def _restore_model_choice(self, *, model: bool = True, thinking: bool = True) -> bool:
        """Restores the model and thinking level that the session log names; returns whether it names a model."""
        log = self.core.conversation.log
        projection = model_and_level_above(log.entries_to_root(), log.entries_to_root(without_messages=True))
        if projection.model is not None and model:
            try:
                self.core.choice.set_model(self.core.choice.find_model(*projection.model))
            except NoModelChosen:
                self.core.choice.note_missing_model("/".join(projection.model))
        level = thinking_level(projection.thinking_level)
        if level is not None and projection.has_thinking_level and thinking:
            self.core.choice.set_thinking_level(level)
        return projection.model is not None and model

    async def _publish_replaced(self, reason: SwitchReason) -> None:
        self.core.conversation.reload_context()
        self._queue_unsent_messages()
        self.files.pending.discard_all()
        self.files.diagnostics.forget_changed_files()
        self.context.compactor.reset_for_conversation()
        self.core.usage_totals.reset()
        model = self.core.choice.model
        self._restore_model_choice()
        if self.core.choice.missing_model is not None:
            # It is the same session, whose model has changed meanwhile.
            if reason == "tree" and model is not None:
                self.core.choice.set_model(model)
            else:
                self.core.event_bus.notify(self.core.choice.missing_model_text, "warning")
        self.core.event_bus.drop_undeliverable_messages()
        await self.core.event_bus.publish(SessionReplaced(reason=reason))
        self.planning.load_from_branch()
        self.goal.load_from_branch()
        self.folders.load_from_branch()
        self.jobs.load_from_branch()
        self.core.event_bus.publish_log_problems()
