"""Restores files: the preview, the restore, and the message about it to the model."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, assert_never

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.files.session_files import SessionFiles
from app.undo.change_records import RestoreChoice, RestoredData, RestoredHunk, restored_of
from app.values.messages import CustomMessage
from app.values.user_errors import UserError

if TYPE_CHECKING:
    from app.undo.restore_plan import RestorePlan

RESTORE_MESSAGE_TYPE = "bayou.files_put_back"
"""Type of the message that reports a restore to the model and in the transcript."""
_MAX_NAMED = 50
FileChoices = Mapping[str, RestoreChoice]
"""The user's choices by path; other files follow the plan."""
NO_CHOICES: FileChoices = {}


class UndoLastPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """Undo the file changes of the last prompts that changed files."""

    count: int = 1


class RedoRestore(msgspec.Struct, frozen=True, kw_only=True):
    """Undo the last restore."""


class RestoreToEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Restore the files as of an entry: before a prompt, else at the entry; None: before everything."""

    entry_id: str | None


RestoreRequest = UndoLastPrompts | RedoRestore | RestoreToEntry


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a restore."""

    data: RestoredData
    entry_id: str | None
    """The entry that records the restore; None: nothing was changed."""


class FileRestorer(msgspec.Struct, frozen=True):
    conversation: Conversation
    files: SessionFiles
    send: SendMessage
    require_idle: Callable[[str], None]
    """Raises `Busy` while a run or a summary is in progress."""

    async def preview(self, asked: RestoreRequest) -> "RestorePlan":
        match asked:
            case UndoLastPrompts():
                return await self.files.planned(lambda restores: restores.undo(asked.count))
            case RedoRestore():
                return await self.files.planned(lambda restores: restores.redo())
            case RestoreToEntry():
                return await self.preview_entry(self._place(asked.entry_id))
            case _:
                assert_never(asked)

    async def preview_entry(self, entry_id: str | None, *, is_move: bool = False) -> "RestorePlan":
        """Plans the restore of the files as of exactly this entry."""
        return await self.files.planned(lambda restores: restores.to_entry(entry_id, is_move=is_move))

    async def carry_out(self, plan: "RestorePlan", choices: FileChoices = NO_CHOICES) -> RestoreResult:
        """Carries out a plan with the user's choices, and informs the model.

        Raises `UserError`, with nothing done."""
        self.require_idle("Restoring files")
        if plan.origin != self.conversation.log.leaf_id:
            raise UserError("The conversation changed after the preview. Preview again before restoring.")
        data = await self.files.carry_out(plan, choices)
        entry_id = await self.files.record_restore(data)
        if entry_id is not None:
            await self.tell_model(data)
        return RestoreResult(data=data, entry_id=entry_id)

    async def left_as_restored(self, entry_id: str | None) -> RestoredData | None:
        """Returns what to record at another point of the tree when the files stay as a restore left them."""
        if all(restored_of(entry) is None for entry in self.conversation.log.path_to()):
            return None
        try:
            return await self.files.planned(lambda restores: restores.left_as_restored(entry_id))
        except UserError:
            return None  # undo is off

    async def tell_model(self, data: RestoredData) -> None:
        """Tells the model that the files it has read have changed."""
        names = await self.files.names_of(data)
        message = CustomMessage(
            custom_type=RESTORE_MESSAGE_TYPE,
            content=restore_text(data, names),
            display=True,
            details={"files": data.total, "kept": len(data.kept), "redone": data.undoes is not None},
        )
        await self.send(message, deliver_as="aside")

    def _place(self, entry_id: str | None) -> str | None:
        return None if entry_id is None else self.conversation.log.navigation(entry_id).leaf_id


def restore_text(data: RestoredData, names: tuple[str, ...]) -> str:
    if data.hunks:
        is_back = all(hunk.put_back for hunk in data.hunks)
        parts = ", ".join(map(_place_of, data.hunks[:_MAX_NAMED]))
        more = f" and {len(data.hunks) - _MAX_NAMED} more" if len(data.hunks) > _MAX_NAMED else ""
        what = "put back parts of your changes" if is_back else "took back parts of your changes"
        return f"The user reviewed and {what}: {parts}{more}. Read the file again before you edit it."
    shown = ", ".join(names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    what = (
        "undid a restore; these files changed" if data.undoes else "restored these files to an earlier state"
    )
    return f"The user {what}: {shown}{more}. Read them again before you edit them."


def _place_of(hunk: RestoredHunk) -> str:
    if not hunk.first:
        return hunk.path
    lines = f"line {hunk.first}" if hunk.first >= hunk.last else f"lines {hunk.first}-{hunk.last}"
    return f"{hunk.path} {lines}"
