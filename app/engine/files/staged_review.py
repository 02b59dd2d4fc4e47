"""A person's review of staged changes: hunks that are left out are not written when the rest is applied."""

import asyncio

import msgspec

from app.engine.files.change_review import ChangeReview, NoSuchHunk
from app.engine.files.pending_changes import PendingChanges
from app.engine.files.session_files import DiffSource
from app.undo.change_lists import ChangedFileList, ChangedFileRow, FileBeforeAndAfter
from app.undo.change_records import StoredFileState
from app.undo.content_store import blob_hash
from app.undo.patches import FileSideOfPatch, make_file_patch
from app.undo.review.review_records import ReviewDecisions, ReviewRemark
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFile, ReviewedHunk
from app.values.user_errors import UserError
from tools.edits.diffs import make_diff_of_texts
from tools.edits.staged_actions import StagedAction, StagedFile, UnknownStagedAction
from tools.files.file_changes import hash_file_content
from tools.session_workspace import SessionWorkspace


class StagedChangesReview:
    """A person's review of one staged action. Decisions and remarks are those of the session."""

    def __init__(
        self, review: ChangeReview, workspace: SessionWorkspace, pending: PendingChanges, staged: StagedAction
    ) -> None:
        self._review = review
        self._pending = pending
        self._workspace = workspace
        self._staged = staged
        self._left_out_hunks: dict[str, frozenset[str]] = {}
        self._edited_files: set[str] = set()

    @property
    def can_apply_single_files(self) -> bool:
        """Whether single files of the staged action can be applied; the files of one rewrite cannot."""
        return self._staged.merges_each_file

    async def changes(self, of: DiffSource) -> ReviewedChanges:
        """Returns the changes that the staged action would write, by file and hunk; `of` makes no difference."""
        del of
        return await asyncio.to_thread(self._changes)

    def _changes(self) -> ReviewedChanges:
        files = {file.display_path: file for file in self._staged.files}

        def sides(path: str) -> FileBeforeAndAfter | None:
            file = files.get(path)
            return None if file is None else self._file_versions(file)

        listed = tuple(
            ChangedFileRow(
                path=file.display_path,
                deed="removed"
                if file.new_content is None
                else "new"
                if file.before_hash is None
                else "changed",
                added=file.diff.added,
                removed=file.diff.removed,
                why="in conflict" if file.conflict_text else "",
                absolute_path=file.path,
            )
            for file in self._staged.files
        )
        return ReviewedChanges(
            ChangedFileList(
                title=f"Staged: {self._staged.label}",
                files=listed,
                patch=lambda path: (
                    make_file_patch(path, found.before, found.after)
                    if (found := sides(path))
                    else make_file_patch(path, None, None)
                ),
                sides=sides,
            )
        )

    def _file_versions(self, file: StagedFile) -> FileBeforeAndAfter | None:
        """Returns a staged file before and after; None if the file has changed since it was staged."""
        before = file.merge_base if file.merge_base is not None else self._content_if_unchanged(file)
        if before is None and file.before_hash is not None:
            return None
        return FileBeforeAndAfter(
            name=file.path,
            before=to_patch_side(before),
            after=to_patch_side(file.new_content),
            taken_back_hunks=self._left_out_hunks.get(file.display_path, frozenset()),
        )

    def _content_if_unchanged(self, file: StagedFile) -> bytes | None:
        try:
            with self._workspace.files.open(file.path) as opened:
                data = opened.read()
        except OSError:
            return None
        return data if hash_file_content(data) == file.before_hash else None

    async def reviewed_file_on_disk(self, file: ReviewedFile) -> str:
        """Returns no objection to a decision, since nothing of the staged action is written yet."""
        del file
        return ""

    def conflict_lines(self, path: str) -> str:
        """Returns both versions of the lines of a staged file that could not be merged."""
        conflict = next((file.conflict_text for file in self._staged.files if file.display_path == path), "")
        return f"Not merged, because the file was changed here too:\n{conflict}" if conflict else ""

    async def change_hunks(self, changes: ReviewedChanges, path: str, keys: frozenset[str]) -> None:
        """Leaves hunks out of the staged action, or takes them in again. Raises `UserError`."""
        file = await asyncio.to_thread(changes.file, path)
        if file is None or file.old_name or not keys <= {hunk.key for hunk in file.hunks}:
            raise NoSuchHunk(f"{path}: this cannot be left out alone; discard the staged changes instead.")
        changes.note_taken_back(path, file.taken_back_hunks ^ keys)
        self._left_out_hunks[path] = file.taken_back_hunks ^ keys
        try:
            label, files = await asyncio.to_thread(
                lambda: (self._staged_label(changes), self._reviewed_files(changes))
            )
            self._workspace.staged_actions.replace_staged_files(self._staged.id, label, files)
        except UnknownStagedAction as problem:
            changes.note_taken_back(path, file.taken_back_hunks)
            raise UserError(str(problem)) from None

    async def apply_file(self, path: str) -> str:
        """Writes one file of a helper's staged changes as it is reviewed; the other files wait on. Returns a
        sentence about the outcome. Raises `UserError`."""
        resolved = await self._pending.apply_or_discard(self._staged.id, "apply", "", files=(path,))
        waiting = next((one for one in self._pending.waiting_actions if one.id == self._staged.id), None)
        conflicts = (
            {file.display_path: file.conflict_text for file in waiting.files} if waiting is not None else {}
        )
        files = (
            msgspec.structs.replace(file, conflict_text=conflicts.get(file.display_path, ""))
            for file in self._staged.files
            if file.display_path != path or path in conflicts
        )
        self._staged = msgspec.structs.replace(self._staged, files=tuple(files))
        return resolved.text

    async def edit_hunk(self, changes: ReviewedChanges, path: str, key: str, text: str) -> str:
        """Replaces a hunk of the staged action by a person's lines. Returns the replaced lines. Raises
        `UserError`."""
        file = await asyncio.to_thread(changes.file, path)
        hunk = next((one for one in file.hunks if one.key == key), None) if file is not None else None
        if file is None or hunk is None:
            raise NoSuchHunk(f"{path}: these changes no longer exist. Open them again.")
        before, data = file.text_of(hunk), file.content_with_hunk_text(hunk, text)
        if before == text:
            return before
        staged = msgspec.structs.replace(
            self._staged,
            files=tuple(
                msgspec.structs.replace(one, new_content=data) if one.display_path == path else one
                for one in self._staged.files
            ),
        )
        self._staged, former = staged, self._staged
        self._edited_files.add(path)
        try:
            changed = await asyncio.to_thread(self._changes)
            label, files = await asyncio.to_thread(
                lambda: (self._staged_label(changed), self._reviewed_files(changed))
            )
            self._workspace.staged_actions.replace_staged_files(self._staged.id, label, files)
        except UnknownStagedAction as problem:
            self._staged = former
            raise UserError(str(problem)) from None
        return before

    def _reviewed_files(self, changes: ReviewedChanges) -> list[StagedFile]:
        found: list[StagedFile] = []
        for staged in self._staged.files:
            taken = self._left_out_hunks.get(staged.display_path)
            file = changes.file(staged.display_path) if taken else None
            if staged.display_path not in self._edited_files and (not taken or file is None):
                found.append(staged)
                continue
            file = file or changes.file(staged.display_path)
            assert file is not None
            goal = file.target_without_hunks(taken or frozenset())
            data = None if goal.image is None else goal.data
            before = file.before.data if file.before is not None else None
            if data != before:
                diff = make_diff_of_texts(
                    staged.display_path, (before or b"").decode("utf-8"), (data or b"").decode("utf-8")
                )
                found.append(msgspec.structs.replace(staged, new_content=data, diff=diff))
        return found

    def _staged_label(self, changes: ReviewedChanges) -> str:
        """Returns the staged action's label with the hunks that are left out, for the model's message when the
        rest is applied."""
        places: list[str] = []
        for path, taken in self._left_out_hunks.items():
            file = changes.file(path) if taken else None
            hunks = [hunk for hunk in file.hunks if hunk.key in taken] if file is not None else []
            places += [f"{path} line {hunk.first_line}" if hunk.first_line else path for hunk in hunks]
        left_out = f", without what the user left out: {', '.join(places)}" if places else ""
        edited = (
            f", with lines that the user edited in: {', '.join(sorted(self._edited_files))}"
            if self._edited_files
            else ""
        )
        return f"{self._staged.label}{edited}{left_out}"

    # As in a review of written changes

    @property
    def decisions(self) -> ReviewDecisions:
        return self._review.decisions

    def keep_hunks(self, keys: frozenset[str]) -> None:
        self._review.keep_hunks(keys)

    def reopen_hunks(self, keys: frozenset[str]) -> None:
        self._review.reopen_hunks(keys)

    async def add_remark(self, file: ReviewedFile, hunk: ReviewedHunk, text: str) -> ReviewRemark:
        return await self._review.add_remark(file, hunk, text)

    def close_remarks(self, ids: frozenset[str]) -> None:
        self._review.close_remarks(ids)


def to_patch_side(data: bytes | None) -> FileSideOfPatch | None:
    if data is None:
        return None
    return FileSideOfPatch(image=StoredFileState(hash=blob_hash(data), size=len(data)), data=data)
