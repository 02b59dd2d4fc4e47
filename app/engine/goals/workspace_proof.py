"""Ties the result of a check to the files of the workspace: which changed while it ran, since it passed, and since
the goal was set."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from app.engine.files.session_files import SessionFileChanges
from app.engine.goals.check_files import files_named_in_commands, files_read_by_goal_check
from app.engine.goals.workspace_snapshots import WorkspaceSnapshot, WorkspaceSnapshots
from app.sessions.session_log import SessionLog
from app.undo.change_records import file_changes_data_of_entry
from app.values.entries import CustomEntry
from app.values.todos import GOAL_ENTRY_TYPE, GOAL_SET_FIELD, CheckResult
from tools.tool_result_values import Json

MAX_FILES_NAMED_IN_GOAL_PROOF = 20
"""The maximum number of files that a result names."""


class GoalCheckRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a check, and the digests of the workspace before and after it."""

    results: tuple[CheckResult, ...]
    digest_after: str
    digest_before: str
    written_files: tuple[str, ...]

    def with_unexplained_writes(self, written_before: Sequence[str]) -> "GoalCheckRun":
        """Compares these results with an earlier run of the check: a file that changed only during this run was
        changed by another program, so these results belong to no known state of the files."""
        if set(self.written_files) <= set(written_before):
            return self
        return msgspec.structs.replace(self, digest_after=self.digest_before)


class GoalWorkspaceProof:
    """The workspace snapshots of one goal. Files that its commands name count even if git ignores them."""

    def __init__(
        self, files: SessionFileChanges, cwd: Path, added: Callable[[], Sequence[Path]], log: SessionLog
    ) -> None:
        place = files.undo_config
        self._snapshots = (
            WorkspaceSnapshots(cwd, place, added=added, session=log.path) if place is not None else None
        )
        self._cwd = cwd
        self._log = log
        self._snapshot_by_digest: dict[str, WorkspaceSnapshot] = {}
        self._named_files: tuple[str, ...] = ()
        self._check_lock = asyncio.Lock()

    async def snapshot_at_goal_start(self, commands: Sequence[str]) -> str:
        """Takes a snapshot of the files when the goal is set; returns its digest, empty where the files are not
        watched."""
        return self._store_snapshot(await self._current_snapshot(commands))

    async def run_with_snapshots(
        self, run: Callable[[], Awaitable[tuple[CheckResult, ...]]], commands: Sequence[str]
    ) -> GoalCheckRun:
        """Runs a check, with a workspace snapshot before and after it."""
        before = await self._current_snapshot(commands)
        results = await run()
        after = await self._current_snapshot(commands)
        written = (
            self._snapshots.changed_paths_between(before, after)[:MAX_FILES_NAMED_IN_GOAL_PROOF]
            if self._snapshots is not None and before is not None and after is not None
            else ()
        )
        return GoalCheckRun(
            results=results,
            digest_after=self._store_snapshot(after),
            digest_before=self._store_snapshot(before),
            written_files=written,
        )

    async def changed_files_since(self, digest: str) -> tuple[str, ...] | None:
        """Returns the files that changed since a snapshot, where they are known; None: none changed, or files
        are not watched."""
        if self._snapshots is None or not digest:
            return None
        known = self._snapshot_by_digest.get(digest)
        if known is not None and await asyncio.to_thread(self._snapshots.is_unchanged_since, known):
            return None
        now = await self._current_snapshot(())
        if now is None or now.digest == digest:
            self._store_snapshot(now)  # with new time stamps, so that the next look is cheap again
            return None
        return (
            self._snapshots.changed_paths_between(known, now)[:MAX_FILES_NAMED_IN_GOAL_PROOF]
            if known is not None
            else ()
        )

    async def changed_check_files(self, digest: str, commands: Sequence[str]) -> tuple[str, ...]:
        """Returns the files that changed since the goal was set, and that its check reads or names."""
        now, base = await self._current_snapshot(commands), self._snapshot_by_digest.get(digest)
        if self._snapshots is not None and now is not None and base is not None:
            changed = self._snapshots.changed_paths_between(base, now)
        else:
            changed = self._recorded_changes()
        return files_read_by_goal_check(changed, self._named_files, self._cwd)[:MAX_FILES_NAMED_IN_GOAL_PROOF]

    def _recorded_changes(self) -> tuple[str, ...]:
        """Returns the files that calls of this branch changed since the goal was set. Used after a resumption,
        when the snapshot of that time is gone."""
        found: set[str] = set()
        for entry in self._log.entries_to_root():
            if isinstance(entry, CustomEntry) and entry.custom_type == GOAL_ENTRY_TYPE:
                data: Json = entry.data
                if isinstance(data, dict) and data.get(GOAL_SET_FIELD):
                    break
            elif (files := file_changes_data_of_entry(entry)) is not None:
                found.update(change.path for change in files.changes)
        return tuple(sorted(found))

    async def _current_snapshot(self, commands: Sequence[str]) -> WorkspaceSnapshot | None:
        marks = self._snapshots
        if marks is None:
            return None

        def work() -> WorkspaceSnapshot | None:
            self._named_files = tuple(
                dict.fromkeys((*self._named_files, *files_named_in_commands(commands, self._cwd)))
            )
            return marks.take_snapshot(self._named_files)

        async with self._check_lock:
            return await asyncio.to_thread(work)

    def _store_snapshot(self, mark: WorkspaceSnapshot | None) -> str:
        if mark is None:
            return ""
        self._snapshot_by_digest[mark.digest] = mark
        while len(self._snapshot_by_digest) > 6:
            self._snapshot_by_digest.pop(next(iter(self._snapshot_by_digest)))
        return mark.digest
