"""Ties the result of a check to the files of the workspace: which changed while it ran, since it passed, and since
the goal was set."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from app.engine.files.session_files import SessionFiles
from app.engine.goals.check_files import named_files, read_by_check
from app.engine.goals.workspace_marks import WorkspaceMark, WorkspaceMarks
from app.sessions.session_log import SessionLog
from app.undo.change_records import files_of
from app.values.entries import CustomEntry
from app.values.todos import GOAL_ENTRY_TYPE, SET_MARK, CheckResult
from tools.results import Json

MAX_NAMED = 20
"""How many files a result names."""


class CheckedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a check, and the state of the files in which they hold."""

    results: tuple[CheckResult, ...]
    digest: str
    digest_before: str
    written: tuple[str, ...]

    def with_unexplained(self, written_before: Sequence[str]) -> "CheckedFiles":
        """Compares with an earlier run: a file that only this run saw change was changed by others, so these results
        hold for no state of the files that is known."""
        if set(self.written) <= set(written_before):
            return self
        return msgspec.structs.replace(self, digest=self.digest_before)


class WorkspaceProof:
    """The marks of one goal. Files that its commands name count even if git ignores them."""

    def __init__(self, files: SessionFiles, cwd: Path, log: SessionLog) -> None:
        place = files.watched_place
        self._marks = WorkspaceMarks(cwd, place, session=log.path) if place is not None else None
        self._cwd = cwd
        self._log = log
        self._by_digest: dict[str, WorkspaceMark] = {}
        self._named: tuple[str, ...] = ()
        self._turn = asyncio.Lock()

    async def begin(self, commands: Sequence[str]) -> str:
        """Marks the files when the goal is set; returns their digest, empty where they are not watched."""
        return self._keep(await self._take(commands))

    async def around(
        self, run: Callable[[], Awaitable[tuple[CheckResult, ...]]], commands: Sequence[str]
    ) -> CheckedFiles:
        """Runs a check, with a mark before and after it."""
        before = await self._take(commands)
        results = await run()
        after = await self._take(commands)
        written = (
            self._marks.differences(before, after)[:MAX_NAMED]
            if self._marks is not None and before is not None and after is not None
            else ()
        )
        return CheckedFiles(
            results=results, digest=self._keep(after), digest_before=self._keep(before), written=written
        )

    async def changes_since(self, digest: str) -> tuple[str, ...] | None:
        """Returns the files that changed since a mark, where they are known; None: none changed, or files are not
        watched."""
        if self._marks is None or not digest:
            return None
        known = self._by_digest.get(digest)
        if known is not None and await asyncio.to_thread(self._marks.is_untouched, known):
            return None
        now = await self._take(())
        if now is None or now.digest == digest:
            self._keep(now)  # with new time stamps, so that the next look is cheap again
            return None
        return self._marks.differences(known, now)[:MAX_NAMED] if known is not None else ()

    async def tampered(self, digest: str, commands: Sequence[str]) -> tuple[str, ...]:
        """Returns the files that changed since the goal was set, and that its check reads or names."""
        now, base = await self._take(commands), self._by_digest.get(digest)
        if self._marks is not None and now is not None and base is not None:
            changed = self._marks.differences(base, now)
        else:
            changed = self._recorded_changes()
        return read_by_check(changed, self._named, self._cwd)[:MAX_NAMED]

    def _recorded_changes(self) -> tuple[str, ...]:
        """Returns the files that calls of this branch changed since the goal was set: after a resumption, when the
        mark of that time is gone."""
        found: set[str] = set()
        for entry in self._log.upwards():
            if isinstance(entry, CustomEntry) and entry.custom_type == GOAL_ENTRY_TYPE:
                data: Json = entry.data
                if isinstance(data, dict) and data.get(SET_MARK):
                    break
            elif (files := files_of(entry)) is not None:
                found.update(change.path for change in files.changes)
        return tuple(sorted(found))

    async def _take(self, commands: Sequence[str]) -> WorkspaceMark | None:
        marks = self._marks
        if marks is None:
            return None

        def work() -> WorkspaceMark | None:
            self._named = tuple(dict.fromkeys((*self._named, *named_files(commands, self._cwd))))
            return marks.take(self._named)

        async with self._turn:
            return await asyncio.to_thread(work)

    def _keep(self, mark: WorkspaceMark | None) -> str:
        if mark is None:
            return ""
        self._by_digest[mark.digest] = mark
        while len(self._by_digest) > 6:
            self._by_digest.pop(next(iter(self._by_digest)))
        return mark.digest
