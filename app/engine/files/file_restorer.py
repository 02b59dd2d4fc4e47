"""Restores files to earlier states: the preview, the restore, and the message about it to the model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.delivery import SendMessage
from app.engine.files.session_files import SessionFileChanges
from app.undo.change_records import (
    FileRestoreData,
    RestoreChoice,
    RestoredHunkData,
    file_restore_data_of_entry,
)
from app.values.entries import CustomEntry, CustomMessageEntry, Entry
from app.values.messages import CustomMessage
from app.values.user_errors import UserError

if TYPE_CHECKING:
    from app.undo.restore_plan import RestorePlan

FILE_RESTORE_MESSAGE_TYPE = "bayou.files_put_back"
"""The type of the message that reports a restore to the model and in the transcript."""
_MAX_FILES_NAMED_IN_REPORT = 50
RestoreChoices = Mapping[str, RestoreChoice]
"""The user's choices in a restore by path; other files follow the plan."""
RESTORE_ALL_AS_PLANNED: RestoreChoices = {}


class UndoFilesOfLastPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """A request to undo the file changes of the last prompts that changed files."""

    count: int = 1


class UndoLastRestore(msgspec.Struct, frozen=True, kw_only=True):
    """A request to undo the last restore of files."""


class RestoreFilesToEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A request to restore the files as of an entry: before it if it is a prompt, else after it; None: before
    everything."""

    entry_id: str | None


RestoreRequest = UndoFilesOfLastPrompts | UndoLastRestore | RestoreFilesToEntry


class CompletedFileRestore(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a restore of files."""

    data: FileRestoreData
    entry_id: str | None
    """The id of the entry that records the restore; None: nothing was changed."""


class FileRestorer(msgspec.Struct, frozen=True):
    conversation: Conversation
    files: SessionFileChanges
    send: SendMessage
    require_idle: Callable[[str], None]
    """A function that raises `SessionBusy` while a run or a summary is in progress."""

    async def plan_restore(self, asked: RestoreRequest) -> "RestorePlan":
        match asked:
            case UndoFilesOfLastPrompts():
                return await self.files.plan_with_restores(lambda restores: restores.plan_undo(asked.count))
            case UndoLastRestore():
                return await self.files.plan_with_restores(lambda restores: restores.plan_redo())
            case RestoreFilesToEntry():
                return await self.plan_restore_to_entry(self._leaf_for_entry(asked.entry_id))
            case _:
                assert_never(asked)

    async def plan_restore_to_entry(self, entry_id: str | None, *, is_move: bool = False) -> "RestorePlan":
        """Plans the restore of the files as of exactly this entry."""
        return await self.files.plan_with_restores(
            lambda restores: restores.plan_restore_to_entry(entry_id, is_move=is_move)
        )

    async def carry_out_restore(
        self, plan: "RestorePlan", choices: RestoreChoices = RESTORE_ALL_AS_PLANNED, *, is_told: bool = True
    ) -> CompletedFileRestore:
        """Carries out a restore plan with the user's choices, and informs the model, unless
        `report_hunks_to_model` does that later. Raises `UserError`, with nothing done."""
        self.require_idle("Restoring files")
        if plan.origin != self.conversation.log.leaf_id:
            raise UserError("The conversation changed after the preview. Preview again before restoring.")
        data = await self.files.carry_out_restore(plan, choices)
        entry_id = await self.files.record_restore(data)
        if entry_id is not None and is_told:
            await (self.report_hunks_to_model() if data.hunks else self.report_restore_to_model(data))
        return CompletedFileRestore(data=data, entry_id=entry_id)

    async def restored_data_to_record(self, entry_id: str | None) -> FileRestoreData | None:
        """Returns the restores to record at another point of the tree when the files stay as a restore left them."""
        if all(file_restore_data_of_entry(entry) is None for entry in self.conversation.log.path_to()):
            return None
        try:
            return await self.files.plan_with_restores(
                lambda restores: restores.merge_restores_to_record(entry_id)
            )
        except UserError:
            return None  # undo is off

    async def report_restore_to_model(self, data: FileRestoreData) -> None:
        """Tells the model that files it has read have changed through a restore."""
        await self.report_hunks_to_model()
        names = await self.files.changed_paths_of(data)
        message = CustomMessage(
            custom_type=FILE_RESTORE_MESSAGE_TYPE,
            content=restore_message_text(data, names),
            display=True,
            details={"files": data.total, "kept": len(data.kept), "redone": data.undoes is not None},
        )
        await self.send(message, deliver_as="aside")

    async def report_hunks_to_model(self) -> None:
        """Tells the model, in one message, which parts of its changes a person took back or edited."""
        if (message := self.unreported_hunks_message()) is not None:
            await self.send(message, deliver_as="aside")

    def unreported_hunks_message(self) -> CustomMessage | None:
        """Returns the message that tells the model which hunks a person took back or edited; None if all are
        reported. Recorded changes are reported after a restart, too."""
        hunks = unreported_hunks_on_branch(self.conversation.log.path_to())
        if not hunks:
            return None
        return CustomMessage(
            custom_type=FILE_RESTORE_MESSAGE_TYPE,
            content=changed_hunks_text(hunks),
            display=True,
            details={"files": len({hunk.path for hunk in hunks}), "hunks": len(hunks)},
        )

    def _leaf_for_entry(self, entry_id: str | None) -> str | None:
        return None if entry_id is None else self.conversation.log.navigation(entry_id).leaf_id


def unreported_hunks_on_branch(path: Iterable[Entry]) -> tuple[RestoredHunkData, ...]:
    """Returns the hunks that a person took back or edited since the last message about files; a hunk taken and
    put back does not count."""
    untold: dict[str, RestoredHunkData] = {}
    for entry in path:
        if type(entry) is CustomMessageEntry and entry.custom_type == FILE_RESTORE_MESSAGE_TYPE:
            untold.clear()
        restored = file_restore_data_of_entry(entry) if type(entry) is CustomEntry else None
        for hunk in restored.hunks if restored is not None else ():
            before = untold.pop(hunk.key, None)
            if before is None or before.edited or hunk.edited or before.put_back == hunk.put_back:
                untold[hunk.key] = hunk
    return tuple(untold.values())


def changed_hunks_text(hunks: Sequence[RestoredHunkData]) -> str:
    done = {
        "took back": [hunk for hunk in hunks if not hunk.put_back and not hunk.edited],
        "put back": [hunk for hunk in hunks if hunk.put_back],
        "edited": [hunk for hunk in hunks if hunk.edited],
    }
    parts = "; ".join(
        f"{what} parts of your changes: {_hunk_locations_text(some)}" for what, some in done.items() if some
    )
    files = "the file" if len({hunk.path for hunk in hunks}) == 1 else "these files"
    it = "it" if files == "the file" else "them"
    return f"The user reviewed and {parts}. Read {files} again before you edit {it}."


def _hunk_locations_text(hunks: Sequence[RestoredHunkData]) -> str:
    more = (
        f" and {len(hunks) - _MAX_FILES_NAMED_IN_REPORT} more"
        if len(hunks) > _MAX_FILES_NAMED_IN_REPORT
        else ""
    )
    return ", ".join(map(_hunk_location_text, hunks[:_MAX_FILES_NAMED_IN_REPORT])) + more


def restore_message_text(data: FileRestoreData, names: tuple[str, ...]) -> str:
    if data.hunks:
        return changed_hunks_text(data.hunks)
    shown = ", ".join(names[:_MAX_FILES_NAMED_IN_REPORT])
    more = (
        f" and {len(names) - _MAX_FILES_NAMED_IN_REPORT} more"
        if len(names) > _MAX_FILES_NAMED_IN_REPORT
        else ""
    )
    what = (
        "undid a restore; these files changed" if data.undoes else "restored these files to an earlier state"
    )
    return f"The user {what}: {shown}{more}. Read them again before you edit them."


def _hunk_location_text(hunk: RestoredHunkData) -> str:
    if not hunk.first:
        return hunk.path
    lines = f"line {hunk.first}" if hunk.first >= hunk.last else f"lines {hunk.first}-{hunk.last}"
    return f"{hunk.path} {lines}"
