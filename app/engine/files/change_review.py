"""A person's review of what changed: hunks that are kept, taken back or put back, and remarks for the model.

Decisions are entries of the session, so they hold on their branch only and are there when it is opened again."""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.files.file_restorer import CompletedFileRestore, FileRestorer
from app.engine.files.session_files import DiffSource, SessionFileChanges
from app.engine.secrets.session_mask import SessionSecretMask
from app.undo.review.review_records import (
    REVIEW_ENTRY_TYPE,
    ReviewDecisions,
    ReviewEntryData,
    ReviewRemark,
    review_decisions_on_branch,
    review_entry_data,
    review_remarks_text,
)
from app.undo.review.reviewed_files import ReviewedChanges, ReviewedFile, ReviewedFileOnDisk, ReviewedHunk
from app.values.events import EntryAppended
from app.values.user_errors import UserError

if TYPE_CHECKING:
    from app.undo.restore_plan import RestorePlan


class NoSuchHunk(UserError):
    """Raised if a file or hunk that was named in a review is not part of the compared changes."""


class ChangeReview(msgspec.Struct, frozen=True):
    """A person's review of the file changes of one session."""

    conversation: Conversation
    event_bus: EventBus
    files: SessionFileChanges
    file_restorer: FileRestorer
    masking: SessionSecretMask

    async def changes(self, of: DiffSource) -> ReviewedChanges:
        """Returns the changed files with their hunks. Raises `UserError`."""
        differences = await self.files.changes_since(of)
        return await asyncio.to_thread(ReviewedChanges, differences)

    async def reviewed_file_on_disk(self, file: ReviewedFile) -> ReviewedFileOnDisk | str:
        """Returns the reviewed file as it is on the disk now, or why none of its hunks can be taken back."""
        return await self.files.plan_with_restores(lambda restores: restores.reviewed_file_on_disk(file))

    def conflict_lines(self, path: str) -> str:
        """Returns the lines that could not be merged; always empty, since these changes are written already."""
        del path
        return ""

    @property
    def decisions(self) -> ReviewDecisions:
        """The review decisions on this branch: the hunks that are kept, and the remarks that are not sent yet."""
        return review_decisions_on_branch(self.conversation.log.path_to())

    async def change_hunks(
        self, changes: ReviewedChanges, path: str, keys: frozenset[str]
    ) -> CompletedFileRestore:
        """Takes hunks of a file back, or puts taken hunks back, and records it; `report_to_model` tells the
        model. Raises `UserError`, with the file unchanged."""
        file = await asyncio.to_thread(changes.file, path)
        if file is None or not keys or not keys <= {hunk.key for hunk in file.hunks}:
            raise NoSuchHunk(f"{path}: these changes no longer exist. List the changes again.")
        plan = await self.files.plan_with_restores(lambda restores: restores.plan_hunk_toggle(file, keys))
        done = await self._carry_out_restore(plan, path)
        changes.note_taken_back(path, file.taken_back_hunks ^ keys)
        return done

    async def _carry_out_restore(self, plan: "RestorePlan", path: str) -> CompletedFileRestore:
        done = await self.file_restorer.carry_out_restore(plan, is_told=False)
        if done.entry_id is None:
            why = next(
                (f"{one.path}: {one.why}" for one in done.data.kept), f"{path} already has this content"
            )
            raise UserError(f"{why}. Nothing was changed.")
        return done

    async def edit_hunk(self, changes: ReviewedChanges, path: str, key: str, text: str) -> str:
        """Replaces a hunk's lines by a person's lines, and records it as part of the change; `report_to_model`
        tells the model. Returns the replaced lines. Raises `UserError`, with the file unchanged."""
        file, hunk = await self._find_hunk(changes, path, key)
        before = file.text_of(hunk)
        if before != text:
            await self._carry_out_restore(
                await self.files.plan_with_restores(lambda one: one.plan_hunk_edit(file, hunk, text)), path
            )
        return before

    async def _find_hunk(
        self, changes: ReviewedChanges, path: str, key: str
    ) -> tuple[ReviewedFile, ReviewedHunk]:
        file = await asyncio.to_thread(changes.file, path)
        hunk = next((one for one in file.hunks if one.key == key), None) if file is not None else None
        if file is None or hunk is None:
            raise NoSuchHunk(f"{path}: these changes no longer exist. List the changes again.")
        return file, hunk

    async def report_to_model(self) -> None:
        """Tells the model, in one message, which hunks a person took back, put back and edited."""
        await self.file_restorer.report_hunks_to_model()

    def keep_hunks(self, keys: frozenset[str]) -> None:
        """Records that the reviewer keeps these hunks."""
        self._record_review(ReviewEntryData(kept=tuple(sorted(keys))))

    def reopen_hunks(self, keys: frozenset[str]) -> None:
        """Records that the reviewer will decide about these hunks again."""
        self._record_review(ReviewEntryData(opened=tuple(sorted(keys))))

    async def add_remark(self, file: ReviewedFile, hunk: ReviewedHunk, text: str) -> ReviewRemark:
        """Records a remark about a hunk, with its secrets masked, until it is sent."""
        remark = ReviewRemark(
            key=hunk.key,
            path=file.path,
            first=hunk.first_line,
            last=hunk.last_line,
            text=await self.masking.mask_text(text, "your comment"),
            patch=await self.masking.mask_text(hunk.patch, "the commented lines"),
        )
        self._record_review(ReviewEntryData(remarks=(remark,)))
        return remark

    def close_remarks(self, ids: frozenset[str]) -> None:
        """Records that remarks were sent or dropped, so that they no longer wait."""
        self._record_review(ReviewEntryData(closed=tuple(sorted(ids))))

    def message(self) -> str:
        """Returns the prompt that sends all remarks that wait to the model; empty if there are none."""
        remarks = self.decisions.remarks
        return review_remarks_text(remarks) if remarks else ""

    def _record_review(self, data: ReviewEntryData) -> None:
        entry = self.conversation.record_custom_entry(REVIEW_ENTRY_TYPE, review_entry_data(data))
        self.event_bus.publish_now(EntryAppended(entry=entry))
