"""A person's review of a tool call's file changes before it runs: hunks left out or edited change its arguments,
comments refuse it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.engine.files.change_review import NoSuchHunk
from app.engine.files.session_files import DiffSource
from app.engine.files.staged_review import to_patch_side
from app.undo.change_lists import ChangedFileList, ChangedFileRow, FileBeforeAndAfter
from app.undo.patches import FileSideOfPatch, make_file_patch
from app.undo.review.review_records import ReviewDecisions, ReviewRemark, review_remarks_text
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFile, ReviewedHunk
from app.values.approvals import Approval
from app.values.user_errors import UserError
from tools.edits.diffs import make_diff_of_texts
from tools.edits.proposed_files import ProposedFile, can_rewrite_arguments, rewrite_arguments
from tools.tool_result_values import DiffBlock

ProposeFiles = Callable[[str, Mapping[str, Any]], Awaitable[tuple[ProposedFile, ...]]]
"""A function that returns the files that a call of a tool with these arguments would leave."""


class ProposedCallReview:
    """A person's review of one tool call that waits for approval. The decisions end with the answer."""

    def __init__(self, propose: ProposeFiles, approval: Approval) -> None:
        self._propose = propose
        self._approval = approval
        self._files: tuple[ProposedFile, ...] = ()
        self._texts: dict[str, str] = {}
        """The texts that the person edited, by the path as the model wrote it."""
        self._left_out_hunks: dict[str, frozenset[str]] = {}
        self._cached_changes: ReviewedChanges | None = None
        self.decisions = ReviewDecisions()

    async def load_proposed_files(self) -> bool:
        """Computes the files as the tool call would leave them, if nothing was decided yet; returns whether that
        is known."""
        if not self.is_call_changed:
            self._files = await self._proposed_files()
        return bool(self._files)

    @property
    def creates_all_files(self) -> bool:
        """Whether no file of the tool call exists yet."""
        return bool(self._files) and all(one.old_text is None for one in self._files)

    @property
    def is_call_changed(self) -> bool:
        return bool(self._texts or any(self._left_out_hunks.values()))

    async def changes(self, of: DiffSource) -> ReviewedChanges:
        """Returns the changes that the tool call would write, by file and hunk; `of` makes no difference."""
        del of
        self._cached_changes = await asyncio.to_thread(self._changes)
        return self._cached_changes

    def _changes(self) -> ReviewedChanges:
        files = {one.path: one for one in self._files}

        def sides(path: str) -> FileBeforeAndAfter | None:
            one = files.get(path)
            if one is None:
                return None
            after = _to_patch_side(self._texts.get(one.sent_path, one.new_text))
            taken = self._left_out_hunks.get(path, frozenset())
            return FileBeforeAndAfter(
                name=one.real_path or one.path,
                before=_to_patch_side(one.old_text),
                after=after,
                taken_back_hunks=taken,
            )

        return ReviewedChanges(
            ChangedFileList(
                title=f"Proposed by {self._approval.tool_name}",
                files=tuple(self._file_difference(one) for one in self._files),
                patch=lambda path: make_file_patch(
                    path, *((one.before, one.after) if (one := sides(path)) else (None, None))
                ),
                sides=sides,
            )
        )

    def _file_difference(self, one: ProposedFile) -> ChangedFileRow:
        diff = make_diff_of_texts(
            one.path, one.old_text or "", self._texts.get(one.sent_path, one.new_text or "")
        )
        deed = "new" if one.old_text is None else "removed" if one.new_text is None else "changed"
        return ChangedFileRow(
            path=one.path, deed=deed, added=diff.added, removed=diff.removed, absolute_path=one.real_path
        )

    async def reviewed_file_on_disk(self, file: ReviewedFile) -> str:
        """Returns why no hunk can be decided: the file was changed since the call was opened for review."""
        stale = await self.stale_files()
        return (
            "the file was changed since this review was opened: close it and open it again"
            if file.path in stale
            else ""
        )

    async def stale_files(self) -> tuple[str, ...]:
        """Returns the files that were changed since the call was opened for review."""
        now = {one.path: one.old_text for one in await self._proposed_files()}
        return tuple(one.path for one in self._files if one.path not in now or now[one.path] != one.old_text)

    def conflict_lines(self, path: str) -> str:
        del path
        return ""

    async def change_hunks(self, changes: ReviewedChanges, path: str, keys: frozenset[str]) -> None:
        """Leaves hunks out of the proposed call, or takes them in again. Raises `UserError`."""
        file = await self._require_file_with_hunks(changes, path, keys)
        self._left_out_hunks[path] = file.taken_back_hunks ^ keys
        changes.note_taken_back(path, file.taken_back_hunks ^ keys)

    async def edit_hunk(self, changes: ReviewedChanges, path: str, key: str, text: str) -> str:
        """Replaces a hunk of the proposed call by a person's lines. Returns the replaced lines. Raises
        `UserError`."""
        file = await self._require_file_with_hunks(changes, path, frozenset((key,)))
        hunk = next(one for one in file.hunks if one.key == key)
        before = file.text_of(hunk)
        asked = next(one.sent_path for one in self._files if one.path == path)
        if before != text:
            self._texts[asked] = file.content_with_hunk_text(hunk, text).decode("utf-8")
        return before

    async def _require_file_with_hunks(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str]
    ) -> ReviewedFile:
        file = await asyncio.to_thread(changes.file, path)
        if file is None or not keys <= {hunk.key for hunk in file.hunks}:
            raise NoSuchHunk(f"{path} is not part of this call.")
        if not can_rewrite_arguments(self._approval.arguments):
            raise UserError(
                "A patch that moves a file can only be allowed or denied as a whole. Press c to comment, then n to "
                "deny it with the comment."
            )
        if why := await self.reviewed_file_on_disk(file):
            raise UserError(f"{path}: {why}.")
        return file

    def reviewed_arguments(self) -> dict[str, Any] | None:
        """Returns the arguments of the tool call after the review; None if every hunk was left out."""
        return rewrite_arguments(self._approval.arguments, self._files, self._reviewed_texts())

    def _reviewed_texts(self) -> Mapping[str, str | None]:
        texts: dict[str, str | None] = dict(self._texts)
        changes = self._cached_changes or self._changes()
        for one in self._files:
            taken = self._left_out_hunks.get(one.path, frozenset())
            file = changes.file(one.path) if taken else None
            if file is not None:
                goal = file.target_without_hunks(taken & {hunk.key for hunk in file.hunks})
                texts[one.sent_path] = goal.data.decode("utf-8") if goal.image is not None else None
        return texts

    def reviewed_diffs(self) -> tuple[DiffBlock, ...]:
        """Returns the diffs of the tool call after the review. Blocks."""
        left = self._reviewed_texts()
        found: list[DiffBlock] = []
        for one in self._files:
            diff = make_diff_of_texts(
                one.path, one.old_text or "", left.get(one.sent_path, one.new_text) or ""
            )
            if diff.added or diff.removed:
                found.append(
                    DiffBlock(path=one.path, diff=diff.patch, added=diff.added, removed=diff.removed)
                )
        return tuple(found)

    async def _proposed_files(self) -> tuple[ProposedFile, ...]:
        return await self._propose(self._approval.tool_name, self._approval.arguments)

    # Decisions

    def keep_hunks(self, keys: frozenset[str]) -> None:
        self.decisions = msgspec.structs.replace(self.decisions, kept=self.decisions.kept | keys)

    def reopen_hunks(self, keys: frozenset[str]) -> None:
        self.decisions = msgspec.structs.replace(self.decisions, kept=self.decisions.kept - keys)

    async def add_remark(self, file: ReviewedFile, hunk: ReviewedHunk, text: str) -> ReviewRemark:
        made = ReviewRemark(
            key=hunk.key,
            path=file.path,
            first=hunk.first_line,
            last=hunk.last_line,
            text=text,
            patch=hunk.patch,
        )
        self.decisions = msgspec.structs.replace(self.decisions, remarks=(*self.decisions.remarks, made))
        return made

    def close_remarks(self, ids: frozenset[str]) -> None:
        left = tuple(one for one in self.decisions.remarks if one.id not in ids)
        self.decisions = msgspec.structs.replace(self.decisions, remarks=left)

    def message(self) -> str:
        """Returns the reviewer's comments as the reason of a denial; empty without comments."""
        return review_remarks_text(self.decisions.remarks) if self.decisions.remarks else ""


def _to_patch_side(text: str | None) -> FileSideOfPatch | None:
    return to_patch_side(None if text is None else text.encode("utf-8", "surrogatepass"))
