"""Delivers what helpers have changed in their copies: as staged changes of the session, merged file by file when they
are applied. A copy is removed when its changes were applied or discarded, and offered again until then."""

import asyncio
from pathlib import Path
from typing import Final

from app.copies.isolated_copy import ChangedFile, CopyChanges, IsolatedCopy
from app.values.user_errors import UserError
from tools.amounts import MINUS, pluralized
from tools.edits.diffs import diff_texts
from tools.edits.pending import StagedFile, UnknownAction
from tools.files.mutations import content_hash
from tools.files.paths import display_path
from tools.workspace import Workspace

SOURCE_TOOL: Final = "task"
_MAX_NAMED: Final = 10
_MAX_DIFF_BYTES: Final = 1 << 20


class CopyDelivery:
    """The copies of one session that wait until their changes are applied or discarded."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._waiting: dict[str, IsolatedCopy] = {}
        self._staged: dict[str, str] = {}
        """The id of its staged changes for each copy."""

    @property
    def waiting(self) -> tuple[IsolatedCopy, ...]:
        return tuple(self._waiting.values())

    def take_back(self, copy: IsolatedCopy) -> None:
        """Withdraws the staged changes of a copy in which its helper works again."""
        self._waiting.pop(str(copy.above), None)
        staged = self._staged.pop(str(copy.above), None)
        if staged is not None:
            self._workspace.pending.drop_all("Its helper goes on.", (staged,))

    async def deliver(self, copy: IsolatedCopy) -> str:
        """Stages the changes of a copy, and returns what became of them, for the agent. A copy without changes is
        removed."""
        key = str(copy.above)
        try:
            changes = await copy.changes()
            files = await asyncio.to_thread(self._staged_files, copy, changes)
            if not files and not changes.others:
                await self._delivered(copy)
                return "It changed no file."
            label = copy.record.title if files else f"{copy.record.title}: nothing that can be written"
            staged = self._workspace.pending.stage(
                label,
                SOURCE_TOOL,
                files,
                apply=lambda reason: self._applied(copy, changes if files else CopyChanges()),
                reject=lambda reason: self._delivered(copy),
                is_merged=True,
            )
        except (UserError, UnknownAction, OSError) as problem:
            self._waiting[key] = copy
            return f"Its changes are kept in {copy.folder}: {problem}"
        self._waiting[key], self._staged[key] = copy, staged.id
        rows = [f"{file.shown} +{file.diff.added} {MINUS}{file.diff.removed}" for file in files[:_MAX_NAMED]]
        rows += [f"{len(files) - _MAX_NAMED} more"] if len(files) > _MAX_NAMED else []
        kept = _told_others(copy, changes)
        if not files:
            return f"{staged.id} is staged:{kept}"
        return (
            f"Its changes are staged, not written: {staged.id}, {pluralized(len(files), 'file')}: {', '.join(rows)}. "
            f"Apply or discard them with resolve; each file is merged into what it is by then.{kept}"
        )

    def _staged_files(self, copy: IsolatedCopy, changes: CopyChanges) -> list[StagedFile]:
        """Returns the changed files that are not the same here already."""
        staged = (self._staged_file(copy, file) for file in changes.files)
        return [file for file in staged if not self._is_here(file)]

    def _is_here(self, staged: StagedFile) -> bool:
        files = self._workspace.files
        try:
            with files.open(staged.path) as file:
                is_same = file.read() == staged.data
                can_run = bool(files.stat(staged.path).mode & 0o100)
        except FileNotFoundError:
            return staged.data is None
        except OSError:
            return False
        return is_same and staged.is_executable in (None, can_run)

    def _staged_file(self, copy: IsolatedCopy, file: ChangedFile) -> StagedFile:
        path = str(Path(copy.record.source) / file.path)
        shown = display_path(path, self._workspace.cwd)
        return StagedFile(
            path=path,
            shown=shown,
            before_hash=content_hash(file.before) if file.before is not None else None,
            base=file.before,
            data=file.after,
            is_executable=file.is_executable,
            diff=diff_texts(shown, _shown_text(file.before), _shown_text(file.after)),
        )

    async def _applied(self, copy: IsolatedCopy, changes: CopyChanges) -> str:
        """`changes`: whose links and repositories are in the copy alone."""
        if changes.others:
            return f"Applied: {copy.record.title}.{_told_others(copy, changes)}"
        await self._delivered(copy)
        return ""

    async def _delivered(self, copy: IsolatedCopy) -> None:
        self._waiting.pop(str(copy.above), None)
        self._staged.pop(str(copy.above), None)
        await asyncio.to_thread(copy.remove)

    def let_go(self) -> None:
        """Leaves the copies to whoever looks for them next, with what is staged of them."""
        self._workspace.pending.drop_all("It is offered again.", tuple(self._staged.values()))
        self._staged.clear()
        while self._waiting:
            self._waiting.popitem()[1].release()


def _told_others(copy: IsolatedCopy, changes: CopyChanges) -> str:
    if not changes.others:
        return ""
    return (
        f" Links and repositories are not carried over: {', '.join(changes.others[:_MAX_NAMED])}. They stay in "
        f"{copy.folder}, which is offered again at the next start."
    )


def _shown_text(data: bytes | None) -> str:
    if data is None:
        return ""
    if len(data) > _MAX_DIFF_BYTES or b"\0" in data[:8192]:
        return f"({len(data):,} bytes)\n"
    return data.decode("utf-8", "replace")
