"""A session without a model over a folder, with entries as the program writes them."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from app.sessions.session_log import SessionLog
from app.undo.change_ledger import FileChangeLedger
from app.undo.change_recorder import FileChangeRecorder
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    FileChangesData,
    FileRestoreData,
    RecordedFileChange,
    RestoreChoice,
    file_data_to_entry_data,
    path_fields_of_change,
)
from app.undo.content_store import BlobStore, ContentReferences
from app.undo.disk_files import read_disk_file_state
from app.undo.restore_plan import ContentStoreWithLimit, RestorePlan
from app.undo.session_undo import SessionFileRestores
from app.values.entries import CustomEntry, MessageEntry
from app.values.messages import user_message
from app.values.wire import new_id
from tools.file_and_process_operations import LocalFileOperations
from tools.files.file_changes import FileChangeQueue, NewFileContent
from tools.tool_definition import FileChange

LIMIT = 32 << 20


class UndoSession:
    def __init__(self, folder: Path, *, name: str = "session") -> None:
        """`name`: of the session; several may work in one folder."""
        self.root = Path(os.path.realpath(folder)) / "project"
        self.root.mkdir(exist_ok=True)
        self.contents = ContentStoreWithLimit(BlobStore(folder / "blobs"), lambda: LIMIT)
        self.log = SessionLog.in_memory(self.root)
        self.ledger = FileChangeLedger(folder / f"{name}.jsonl.files")
        self.needed = ContentReferences(folder / "blobs", name)
        self.needed.open(tuple)
        self.recorder = FileChangeRecorder(self.contents, self.ledger, self.needed, self.root)

    def prompt(self, text: str) -> str:
        return self.log.append(MessageEntry(parent_id=None, message=user_message(text))).id

    def write(self, name: str, text: str | bytes | None, mode: int = 0o644) -> RecordedFileChange:
        """What a tool would do: both contents are kept."""
        place = self.root / name
        before = self._held(place)
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode() if isinstance(text, str) else text)
            place.chmod(mode)
        return RecordedFileChange(**path_fields_of_change(name), before=before, after=self._held(place))

    def write_through(self, name: str, text: str) -> str:
        """As a tool does it, by the queue of changes, which tells the recorder."""
        queue = FileChangeQueue(LocalFileOperations())
        queue.subscribe_before_changes(self.recorder.record_before_write)

        def happened(change: FileChange) -> None:
            self.recorder.record_write_done(change)

        queue.subscribe(happened)
        call_id = new_id()
        content = NewFileContent(data=text.encode())
        asyncio.run(queue.change_file(str(self.root / name), call_id, lambda state: content))
        data = self.recorder.take_changes_of_call(call_id, "write")
        assert data is not None
        return self.log.append(
            CustomEntry(
                parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
            )
        ).id

    def _held(self, place: Path):
        found = read_disk_file_state(str(place), LIMIT)
        if found.data is not None:
            self.contents.store.put(found.data)
        return found.image

    def record(self, *changes: RecordedFileChange, tool: str = "write") -> str:
        data = file_data_to_entry_data(FileChangesData(call_id=new_id(), tool=tool, changes=changes))
        return self.log.append(CustomEntry(parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=data)).id

    @property
    def restores(self) -> SessionFileRestores:
        return SessionFileRestores(self.log, self.recorder)

    def undo(self, count: int = 1) -> RestorePlan:
        return self.restores.plan_undo(count)

    def redo(self) -> RestorePlan:
        return self.restores.plan_redo()

    def restore(
        self, plan: RestorePlan, choices: Mapping[str, RestoreChoice] | None = None
    ) -> FileRestoreData:
        data = self.restores.carry_out_restore_plan(plan, choices or {})
        self.log.append(
            CustomEntry(
                parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(data)
            )
        )
        self.recorder.mark_recorded(data.id)
        return data

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.root)): path.read_text()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
