"""A person's review of staged changes: hunks that are left out are not written when the rest is applied."""

import asyncio

import msgspec

from app.engine.files.change_review import ChangeReview, NoSuchHunk
from app.engine.files.session_files import DiffSource
from app.undo.change_lists import Differences, FileDifference, FileSides
from app.undo.change_records import FileImage
from app.undo.content_store import hash_of
from app.undo.patches import PatchSide, patch_of
from app.undo.review.review_records import Decisions, Remark
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFile, ReviewedHunk
from app.values.user_errors import UserError
from tools.edits.diffs import diff_texts
from tools.edits.pending import StagedAction, StagedFile, UnknownAction
from tools.files.mutations import content_hash
from tools.workspace import Workspace


class StagedReview:
    """The review of one staged action. Decisions and remarks are those of the session."""

    def __init__(self, review: ChangeReview, workspace: Workspace, staged: StagedAction) -> None:
        self._review = review
        self._workspace = workspace
        self._staged = staged
        self._left_out: dict[str, frozenset[str]] = {}

    async def changes(self, of: DiffSource) -> ReviewedChanges:
        """Returns what would be written, by file and hunk; `of` makes no difference."""
        del of
        return await asyncio.to_thread(self._changes)

    def _changes(self) -> ReviewedChanges:
        files = {file.shown: file for file in self._staged.files}

        def sides(path: str) -> FileSides | None:
            file = files.get(path)
            return None if file is None else self._sides(file)

        listed = tuple(
            FileDifference(
                path=file.shown,
                deed="removed" if file.data is None else "new" if file.before_hash is None else "changed",
                added=file.diff.added,
                removed=file.diff.removed,
                why="in conflict" if file.conflict else "",
                place=file.path,
            )
            for file in self._staged.files
        )
        return ReviewedChanges(
            Differences(
                title=f"Staged: {self._staged.label}",
                files=listed,
                patch=lambda path: (
                    patch_of(path, found.before, found.after)
                    if (found := sides(path))
                    else patch_of(path, None, None)
                ),
                sides=sides,
            )
        )

    def _sides(self, file: StagedFile) -> FileSides | None:
        """Returns a file before and after; None where it has changed since it was staged."""
        before = file.base if file.base is not None else self._present(file)
        if before is None and file.before_hash is not None:
            return None
        return FileSides(
            name=file.path,
            before=_side(before),
            after=_side(file.data),
            taken=self._left_out.get(file.shown, frozenset()),
        )

    def _present(self, file: StagedFile) -> bytes | None:
        try:
            with self._workspace.files.open(file.path) as opened:
                data = opened.read()
        except OSError:
            return None
        return data if content_hash(data) == file.before_hash else None

    async def on_disk(self, file: ReviewedFile) -> str:
        """Returns nothing that stands against a decision, since nothing is written yet."""
        del file
        return ""

    def words(self, path: str) -> str:
        """Returns both versions of the lines that could not be merged."""
        conflict = next((file.conflict for file in self._staged.files if file.shown == path), "")
        return f"Not merged, because it was changed here too:\n{conflict}" if conflict else ""

    async def change_hunks(self, changes: ReviewedChanges, path: str, keys: frozenset[str]) -> None:
        """Leaves hunks out, or takes them in again. Raises `UserError`."""
        file = await asyncio.to_thread(changes.file, path)
        if file is None or file.old_name or not keys <= {hunk.key for hunk in file.hunks}:
            raise NoSuchHunk(f"{path}: this cannot be left out alone; discard the staged changes instead.")
        changes.note_taken(path, file.taken ^ keys)
        self._left_out[path] = file.taken ^ keys
        try:
            label, files = await asyncio.to_thread(lambda: (self._label(changes), self._files(changes)))
            self._workspace.pending.restage(self._staged.id, label, files)
        except UnknownAction as problem:
            changes.note_taken(path, file.taken)
            raise UserError(str(problem)) from None

    def _files(self, changes: ReviewedChanges) -> list[StagedFile]:
        found: list[StagedFile] = []
        for staged in self._staged.files:
            taken = self._left_out.get(staged.shown)
            file = changes.file(staged.shown) if taken else None
            if not taken or file is None:
                found.append(staged)
                continue
            goal = file.goal(taken)
            data = None if goal.image is None else goal.data
            before = file.before.data if file.before is not None else None
            if data != before:
                diff = diff_texts(
                    staged.shown, (before or b"").decode("utf-8"), (data or b"").decode("utf-8")
                )
                found.append(msgspec.structs.replace(staged, data=data, diff=diff))
        return found

    def _label(self, changes: ReviewedChanges) -> str:
        """Returns the label with what is left out, which the model is told when the rest is applied."""
        places: list[str] = []
        for path, taken in self._left_out.items():
            file = changes.file(path) if taken else None
            hunks = [hunk for hunk in file.hunks if hunk.key in taken] if file is not None else []
            places += [f"{path} line {hunk.first}" if hunk.first else path for hunk in hunks]
        left_out = f", without what the user left out: {', '.join(places)}" if places else ""
        return f"{self._staged.label}{left_out}"

    # As in a review of written changes

    @property
    def decisions(self) -> Decisions:
        return self._review.decisions

    def keep(self, keys: frozenset[str]) -> None:
        self._review.keep(keys)

    def reopen(self, keys: frozenset[str]) -> None:
        self._review.reopen(keys)

    async def remark(self, file: ReviewedFile, hunk: ReviewedHunk, text: str) -> Remark:
        return await self._review.remark(file, hunk, text)

    def close_remarks(self, ids: frozenset[str]) -> None:
        self._review.close_remarks(ids)


def _side(data: bytes | None) -> PatchSide | None:
    if data is None:
        return None
    return PatchSide(image=FileImage(hash=hash_of(data), size=len(data)), data=data)
