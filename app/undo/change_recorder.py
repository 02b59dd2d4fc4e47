"""Records file changes by the calls of one session, from before a change until its entry is written."""

import os
import threading
from pathlib import Path
from typing import TypeVar

import msgspec

from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine
from app.undo.change_records import (
    MAX_INLINE_FILE_CHANGES,
    FileChangesData,
    FileRestoreData,
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    encode_file_changes,
    merge_file_changes,
    path_fields_of_change,
    readable_file_name,
)
from app.undo.command_file_watcher import CommandFileChanges
from app.undo.content_store import ContentReferences, blob_hash
from app.undo.disk_files import name_spelled_as_on_disk
from app.undo.restore_plan import ContentStoreWithLimit, guarded_file_reason
from tools.files.file_changes import PendingFileChange
from tools.files.hard_links import find_other_hard_links
from tools.tool_definition import FileChange

LongListData = TypeVar("LongListData", FileChangesData, FileRestoreData)


class _CallChanges(msgspec.Struct, kw_only=True):
    changes: list[RecordedFileChange] = msgspec.field(default_factory=list)
    unstored_files: list[FileWithoutStoredContent] = msgspec.field(default_factory=list)
    head_move: tuple[str, str] | None = None
    concurrent_calls: set[str] = msgspec.field(default_factory=set)


class FileChangeRecorder(msgspec.Struct, eq=False):
    """Collects the file changes of each tool call in an open session."""

    contents: ContentStoreWithLimit
    ledger: FileChangeLedger
    references: ContentReferences
    root: Path
    """The session's folder as an absolute path without links."""
    _pending_changes: dict[tuple[str, str], list[RecordedFileChange] | FileWithoutStoredContent] = {}
    _calls: dict[str, _CallChanges] = {}
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def store_content(self, data: bytes, name: str | None = None) -> str:
        """Stores a file content that the session needs for undo. Raises `OSError`."""

        name = name or blob_hash(data)
        self.references.add((name,))
        return self.contents.store.put(data, name)

    def record_before_write(self, intent: PendingFileChange) -> None:
        """Stores a file before a tool writes it; called in the tool's thread. Never raises: a file that
        cannot be stored is recorded as such."""
        name = self.entry_name_of_path(intent.real_path)
        try:
            found: list[RecordedFileChange] | FileWithoutStoredContent = self._changes_under_all_names(
                intent, name
            )
            for change in found:
                self.ledger.append_operation_begin(
                    UndoLedgerLine(kind="change", id=intent.call_id, change=change)
                )
        except OSError as problem:
            why = f"its old content could not be stored first: {problem.strerror or problem}"
            found = FileWithoutStoredContent(path=path_fields_of_change(name)["path"], why=why)
        with self._lock:
            self._pending_changes[intent.call_id, intent.path] = found

    def _changes_under_all_names(self, intent: PendingFileChange, name: str) -> list[RecordedFileChange]:
        """Returns the change of a file under the given name and under its other hard links."""
        change = self._make_change(intent, name)
        if change.before is None or change.after is None:
            return [change]  # a new file has no other names, and a removal concerns one name
        others, is_all = find_other_hard_links(intent.real_path, str(self.root))
        change = msgspec.structs.replace(change, is_shared=not is_all)
        if not is_all:
            for each in (name, *map(self.entry_name_of_path, others)):
                self.contents.store.record_guarded_file_change(f"{self.root / each}")
        return [
            change,
            *(
                msgspec.structs.replace(
                    change, **path_fields_of_change(self.entry_name_of_path(other)), folders=()
                )
                for other in others
            ),
        ]

    def _make_change(self, intent: PendingFileChange, name: str) -> RecordedFileChange:
        limit = self.contents.max_file_bytes
        self._note_guarded_change(name)
        before = None
        if intent.before is not None and intent.before_hash is not None:
            if len(intent.before.data) > limit:
                raise OSError(0, f"it is larger than {limit >> 20} MB")
            self.store_content(intent.before.data, intent.before_hash)
            before = StoredFileState(
                hash=intent.before_hash, mode=intent.before.stat.mode, size=len(intent.before.data)
            )
        after = None
        if intent.data is not None and intent.after_hash is not None:
            if len(intent.data) <= limit:
                self.store_content(intent.data, intent.after_hash)
            mode = before.mode if before is not None else 0o644
            after = StoredFileState(hash=intent.after_hash, mode=mode, size=len(intent.data))
        folders = tuple(folder for folder in intent.new_folders if readable_file_name(folder) == folder)
        return RecordedFileChange(**path_fields_of_change(name), before=before, after=after, folders=folders)

    def _note_guarded_change(self, name: str) -> None:
        if guarded_file_reason(self.root, name):
            self.contents.store.record_guarded_file_change(f"{self.root / name}")

    def record_write_done(self, change: FileChange) -> list[tuple[str, StoredFileState | None]]:
        """Records that the announced write of a file was done; returns the file's names with their new images."""
        with self._lock:
            found = self._pending_changes.pop((change.call_id, change.path), None)
            call = self._calls.setdefault(change.call_id, _CallChanges())
            if isinstance(found, FileWithoutStoredContent):
                call.unstored_files.append(found)
            if not isinstance(found, list):
                return [(self.entry_name_of_path(os.path.realpath(change.path)), None)]
            for number, one in enumerate(found):
                after = one.after
                if after is not None and change.mode_after is not None:
                    after = msgspec.structs.replace(after, mode=change.mode_after)
                done = msgspec.structs.replace(one, after=after)
                if number == 0:  # the other names have the same lines
                    done = msgspec.structs.replace(done, added=change.added, removed=change.removed)
                call.changes.append(done)
                found[number] = done
            return [(one.name, one.after) for one in found]

    def add_command_changes(self, call_id: str, happened: CommandFileChanges) -> None:
        for change in happened.changes:
            try:
                self._note_guarded_change(change.name)
            except OSError:
                continue  # a restore refuses it, with the reason
        with self._lock:
            call = self._calls.setdefault(call_id, _CallChanges())
            call.changes += happened.changes
            call.unstored_files += happened.unstored_files
            call.head_move = happened.head_move or call.head_move
            call.concurrent_calls.update(happened.concurrent_calls)

    def take_changes_of_call(self, call_id: str, tool: str) -> FileChangesData | None:
        """Returns and forgets the file changes of a call and of the calls within it, for the call's entry; None
        without changes. Blocks for long lists."""
        with self._lock:
            ids = [key for key in self._calls if key == call_id or key.startswith(f"{call_id}/")]
            calls = [self._calls.pop(key) for key in ids]
        changes = merge_file_changes(change for call in calls for change in call.changes)
        uncovered = tuple(dict.fromkeys(one for call in calls for one in call.unstored_files))
        if not changes and not uncovered:
            return None
        heads = [call.head_move for call in calls if call.head_move is not None]
        data = FileChangesData(
            call_id=call_id,
            tool=tool,
            changes=changes,
            uncovered=uncovered,
            added=sum(change.added for change in changes),
            removed=sum(change.removed for change in changes),
            head=heads[-1] if heads else None,
            beside=tuple(sorted({one for call in calls for one in call.concurrent_calls})),
        )
        return self.try_move_long_list_to_store(data)

    def move_long_list_to_store(self, data: LongListData) -> LongListData:
        """Moves a long list of file changes from the entry to the content store. Raises `OSError`."""
        if len(data.changes) <= MAX_INLINE_FILE_CHANGES:
            return data
        more = self.store_content(encode_file_changes(data.changes))
        return msgspec.structs.replace(data, changes=(), more=more, count=len(data.changes))

    def try_move_long_list_to_store(self, data: LongListData) -> LongListData:
        """Moves a long list of file changes to the content store, or leaves it in the entry if the store fails."""
        try:
            return self.move_long_list_to_store(data)
        except OSError:
            return data

    def mark_recorded(self, key: str) -> None:
        """Notes in the ledger that the session entry with the file changes is written."""
        try:
            self.ledger.mark_recorded(key)
        except OSError:
            return  # the next opening of the session finds and closes it

    def entry_name_of_path(self, place: str) -> str:
        """Returns the name of a file for session entries: relative to the session's folder and spelled as on the
        disk, or absolute."""
        root = str(self.root).rstrip("/")
        if not place.startswith(f"{root}/"):
            return place
        return name_spelled_as_on_disk(root, place[len(root) + 1 :])
