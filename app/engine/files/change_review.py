"""A person's review of what changed: hunks that are kept, taken back or put back, and remarks for the model.

Decisions are entries of the session, so they hold on their branch only and are there when it is opened again."""

import asyncio

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.files.file_restorer import FileRestorer, RestoreResult
from app.engine.files.session_files import DiffSource, SessionFiles
from app.engine.secrets.session_mask import SessionMask
from app.undo.review.review_records import (
    REVIEW_ENTRY_TYPE,
    Decisions,
    Remark,
    ReviewData,
    as_data,
    decisions_on,
    remarks_text,
)
from app.undo.review.reviewed_files import FileNow, ReviewedChanges, ReviewedFile, ReviewedHunk
from app.values.events import EntryAppended
from app.values.user_errors import UserError


class NoSuchHunk(UserError):
    """The file or the hunk is not part of the compared changes."""


class ChangeReview(msgspec.Struct, frozen=True):
    """The review of one session's changes."""

    conversation: Conversation
    event_bus: EventBus
    files: SessionFiles
    restoring: FileRestorer
    masking: SessionMask

    async def changes(self, of: DiffSource) -> ReviewedChanges:
        """Returns what changed, by file and hunk. Raises `UserError`."""
        differences = await self.files.differences(of)
        return await asyncio.to_thread(ReviewedChanges, differences)

    async def on_disk(self, file: ReviewedFile) -> FileNow | str:
        """Returns which hunks of a file still stand, or why none can be taken back."""
        return await self.files.planned(lambda restores: restores.present(file))

    def words(self, path: str) -> str:
        """Returns what is to be read below the hunks of a file; nothing for written changes."""
        del path
        return ""

    @property
    def decisions(self) -> Decisions:
        """What was decided on this branch so far."""
        return decisions_on(self.conversation.log.path_to())

    async def change_hunks(self, changes: ReviewedChanges, path: str, keys: frozenset[str]) -> RestoreResult:
        """Takes hunks back, or puts those back that were taken back; records it and tells the model.

        Raises `UserError`, with the file unchanged."""
        file = await asyncio.to_thread(changes.file, path)
        if file is None or not keys or not keys <= {hunk.key for hunk in file.hunks}:
            raise NoSuchHunk(f"{path}: these changes are not there any more. List the changes again.")
        plan = await self.files.planned(lambda restores: restores.hunks(file, keys))
        done = await self.restoring.carry_out(plan)
        if done.entry_id is None:
            why = next((f"{one.path}: {one.why}" for one in done.data.kept), f"{path} is already like that")
            raise UserError(f"{why}. Nothing was changed.")
        changes.note_taken(path, file.taken ^ keys)
        return done

    def keep(self, keys: frozenset[str]) -> None:
        """Notes that these hunks stay."""
        self._record(ReviewData(kept=tuple(sorted(keys))))

    def reopen(self, keys: frozenset[str]) -> None:
        """Notes that these hunks are to be decided again."""
        self._record(ReviewData(opened=tuple(sorted(keys))))

    async def remark(self, file: ReviewedFile, hunk: ReviewedHunk, text: str) -> Remark:
        """Keeps a remark until it is sent, with its secrets masked."""
        remark = Remark(
            key=hunk.key,
            path=file.path,
            first=hunk.first,
            last=hunk.last,
            text=await self.masking.words(text, "your comment"),
            patch=await self.masking.words(hunk.patch, "the commented lines"),
        )
        self._record(ReviewData(remarks=(remark,)))
        return remark

    def close_remarks(self, ids: frozenset[str]) -> None:
        """Notes that remarks were sent or dropped."""
        self._record(ReviewData(closed=tuple(sorted(ids))))

    def message(self) -> str:
        """Returns the prompt that sends all remarks that wait; empty without remarks."""
        remarks = self.decisions.remarks
        return remarks_text(remarks) if remarks else ""

    def _record(self, data: ReviewData) -> None:
        entry = self.conversation.note(REVIEW_ENTRY_TYPE, as_data(data))
        self.event_bus.publish_now(EntryAppended(entry=entry))
