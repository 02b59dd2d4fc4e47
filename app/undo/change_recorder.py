"""Records file changes by the calls of one session, from before a change until its entry is written."""

import os
import threading
from pathlib import Path
from typing import TypeVar

import msgspec

from app.undo.change_ledger import ChangeLedger, LedgerLine
from app.undo.change_records import (
    MAX_INLINE_CHANGES,
    Change,
    FileImage,
    FilesData,
    RestoredData,
    UnheldFile,
    display_path,
    encode_changes,
    merge_changes,
    path_fields,
)
from app.undo.command_watch import CommandChanges
from app.undo.content_store import ContentReferences, hash_of
from app.undo.disk_files import real_spelling_below
from app.undo.restore_plan import HeldContents, guarded_file_reason
from tools.base import FileChange
from tools.files.hard_links import other_names
from tools.files.mutations import PendingMutation

ListData = TypeVar("ListData", FilesData, RestoredData)


class _RunningCall(msgspec.Struct, kw_only=True):
    changes: list[Change] = msgspec.field(default_factory=list)
    uncovered: list[UnheldFile] = msgspec.field(default_factory=list)
    head: tuple[str, str] | None = None
    beside: set[str] = msgspec.field(default_factory=set)


class ChangeRecorder(msgspec.Struct, eq=False):
    """Collects the file changes of an open session by call."""

    contents: HeldContents
    ledger: ChangeLedger
    needed: ContentReferences
    root: Path
    """The session's folder as a real path."""
    _announced: dict[tuple[str, str], list[Change] | UnheldFile] = {}
    _calls: dict[str, _RunningCall] = {}
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def keep(self, data: bytes, name: str | None = None) -> str:
        """Stores a content that the session needs. Raises `OSError`."""

        name = name or hash_of(data)
        self.needed.add((name,))
        return self.contents.store.put(data, name)

    def about_to(self, intent: PendingMutation) -> None:
        """Stores a file before a tool writes it; called in the tool's thread. Never raises: a file that
        cannot be stored is recorded as such."""
        name = self.name_of(intent.real_path)
        try:
            found: list[Change] | UnheldFile = self._changes(intent, name)
            for change in found:
                self.ledger.begin(LedgerLine(kind="change", id=intent.call_id, change=change))
        except OSError as problem:
            why = f"its old content could not be stored first: {problem.strerror or problem}"
            found = UnheldFile(path=path_fields(name)["path"], why=why)
        with self._lock:
            self._announced[intent.call_id, intent.path] = found

    def _changes(self, intent: PendingMutation, name: str) -> list[Change]:
        """Returns the change under the given name and under the file's other hard links."""
        change = self._change(intent, name)
        if change.before is None or change.after is None:
            return [change]  # a new file has no other names, and a removal concerns one name
        others, is_all = other_names(intent.real_path, str(self.root))
        change = msgspec.structs.replace(change, is_shared=not is_all)
        return [
            change,
            *(
                msgspec.structs.replace(change, **path_fields(self.name_of(other)), folders=())
                for other in others
            ),
        ]

    def _change(self, intent: PendingMutation, name: str) -> Change:
        limit = self.contents.max_bytes
        self._note(name)
        before = None
        if intent.before is not None and intent.before_hash is not None:
            if len(intent.before.data) > limit:
                raise OSError(0, f"it is larger than {limit >> 20} MB")
            self.keep(intent.before.data, intent.before_hash)
            before = FileImage(
                hash=intent.before_hash, mode=intent.before.stat.mode, size=len(intent.before.data)
            )
        after = None
        if intent.data is not None and intent.after_hash is not None:
            if len(intent.data) <= limit:
                self.keep(intent.data, intent.after_hash)
            mode = before.mode if before is not None else 0o644
            after = FileImage(hash=intent.after_hash, mode=mode, size=len(intent.data))
        folders = tuple(folder for folder in intent.new_folders if display_path(folder) == folder)
        return Change(**path_fields(name), before=before, after=after, folders=folders)

    def _note(self, name: str) -> None:
        if guarded_file_reason(self.root, name):
            self.contents.store.note_changed(f"{self.root / name}")

    def happened(self, change: FileChange) -> list[tuple[str, FileImage | None]]:
        """Records that the announced write was done; returns the file's names with their new images."""
        with self._lock:
            found = self._announced.pop((change.call_id, change.path), None)
            call = self._calls.setdefault(change.call_id, _RunningCall())
            if isinstance(found, UnheldFile):
                call.uncovered.append(found)
            if not isinstance(found, list):
                return [(self.name_of(os.path.realpath(change.path)), None)]
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

    def command_ended(self, call_id: str, happened: CommandChanges) -> None:
        for change in happened.changes:
            try:
                self._note(change.name)
            except OSError:
                continue  # a restore refuses it, with the reason
        with self._lock:
            call = self._calls.setdefault(call_id, _RunningCall())
            call.changes += happened.changes
            call.uncovered += happened.uncovered
            call.head = happened.head or call.head
            call.beside.update(happened.beside)

    def take(self, call_id: str, tool: str) -> FilesData | None:
        """Returns and forgets the changes of a call and of the calls within it, for its entry; None
        without changes. Blocks for long lists."""
        with self._lock:
            ids = [key for key in self._calls if key == call_id or key.startswith(f"{call_id}/")]
            calls = [self._calls.pop(key) for key in ids]
        changes = merge_changes(change for call in calls for change in call.changes)
        uncovered = tuple(dict.fromkeys(one for call in calls for one in call.uncovered))
        if not changes and not uncovered:
            return None
        heads = [call.head for call in calls if call.head is not None]
        data = FilesData(
            call_id=call_id,
            tool=tool,
            changes=changes,
            uncovered=uncovered,
            added=sum(change.added for change in changes),
            removed=sum(change.removed for change in changes),
            head=heads[-1] if heads else None,
            beside=tuple(sorted({one for call in calls for one in call.beside})),
        )
        return self.shortened_if_kept(data)

    def shortened(self, data: ListData) -> ListData:
        """Moves a long list of changes to the content store. Raises `OSError`."""
        if len(data.changes) <= MAX_INLINE_CHANGES:
            return data
        more = self.keep(encode_changes(data.changes))
        return msgspec.structs.replace(data, changes=(), more=more, count=len(data.changes))

    def shortened_if_kept(self, data: ListData) -> ListData:
        """Like `shortened`, but keeps the long list in the entry if the store fails."""
        try:
            return self.shortened(data)
        except OSError:
            return data

    def told(self, key: str) -> None:
        """Notes in the ledger that the entry is written."""
        try:
            self.ledger.told(key)
        except OSError:
            return  # the next opening of the session finds and closes it

    def name_of(self, place: str) -> str:
        """Returns the name for entries: relative to the session's folder and spelled as on the disk, or
        absolute."""
        root = str(self.root).rstrip("/")
        if not place.startswith(f"{root}/"):
            return place
        return real_spelling_below(root, place[len(root) + 1 :])
