"""Values that describe file changes: the image of a file, a change between two images, and their form in session
entries.

An image names content by its hash; the content is in the store (`content_store`). No I/O here.
"""

import os
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec

from app.values.codec import encode_json
from app.values.entries import CustomEntry, Entry
from app.values.wire import convert

FILE_CHANGES_ENTRY_TYPE = "bayou.files"
"""The type of the custom entry behind a tool result that records the call's file changes."""
FILE_RESTORE_ENTRY_TYPE = "bayou.restored"
"""The type of the custom entry that records a restore, so that it can be taken back."""
MAX_INLINE_FILE_CHANGES = 200
"""The maximum number of changes that an entry contains; a longer list is stored as a blob."""

RestoreChoice = Literal["restore", "merge", "keep"]
"""The decision of a restore on one file."""
RESTORE_CHOICES: tuple[RestoreChoice, ...] = ("restore", "merge", "keep")

ChangeSource = Literal["tool", "command", "restore"]


ContentHash = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{64})?\Z")]
"""The hash of a content: SHA-256 in hexadecimal, or empty. Stored contents are named by it."""


class _RecordedStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class StoredFileState(_RecordedStruct, frozen=True, kw_only=True):
    """The state of a file, a symbolic link or an empty folder at one moment."""

    kind: Literal["file", "link", "folder"] = "file"
    hash: ContentHash = ""
    """The hash of a file's content or of a link's target; empty for a folder."""
    mode: int = 0o644
    size: int = 0

    @property
    def identity(self) -> tuple[str, str, int]:
        """A value that is equal for states of a file that are the same on disk; the mode of links and folders
        does not count."""
        return self.kind, self.hash, self.mode if self.kind == "file" else 0


def is_same_stored_state(one: StoredFileState | None, other: StoredFileState | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.identity == other.identity


class RecordedFileChange(_RecordedStruct, frozen=True, kw_only=True):
    """A change of one file between two images; `None` means that no file existed."""

    path: str
    """The path of the file, relative to the session's folder or absolute; only for display if `raw` is set."""
    raw: bytes | None = None
    """The bytes of a file name that is not valid text; None for other names."""
    before: StoredFileState | None = None
    after: StoredFileState | None = None
    by: ChangeSource = "tool"
    added: int = 0
    removed: int = 0
    folders: tuple[str, ...] = ()
    """Folders that were created or removed together with the file, outermost first."""
    is_shared: bool = False
    """Whether the file had hard links with unknown names, under all of which its content changed."""

    @property
    def name(self) -> str:
        """The file's name as the operating system takes it."""
        return self.path if self.raw is None else os.fsdecode(self.raw)


def readable_file_name(name: str) -> str:
    """Returns a file name as readable text, also if its bytes are not valid text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decode_file_text(data: bytes) -> str | None:
    """Decodes a content as text; None when it is not text."""
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def path_fields_of_change(name: str) -> dict[str, Any]:
    """Returns the fields of a file change that hold a path."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(name)
        return {"path": raw.decode("utf-8", "replace"), "raw": raw}
    return {"path": name}


class FileWithoutStoredContent(_RecordedStruct, frozen=True, kw_only=True):
    """A file that was or may have been changed and whose content is not stored."""

    path: str
    why: str


MEMORY_NOTE_CALL_ID_PREFIX = "note-"
"""The beginning of the call ids of the user's notes in context files; each note is undone separately."""


class FileChangesData(_RecordedStruct, frozen=True, kw_only=True):
    """The data of a `bayou.files` entry: the file changes of a tool call."""

    v: int = 1
    call_id: str = ""
    tool: str = ""
    changes: tuple[RecordedFileChange, ...] = ()
    uncovered: tuple[FileWithoutStoredContent, ...] = ()
    more: ContentHash | None = None
    """The hash of a long list of changes that is stored as a blob."""
    count: int = 0
    """The number of changes in the stored list."""
    added: int = 0
    removed: int = 0
    head: tuple[str, str] | None = None
    """The commit of the repository's head before and after the call, if a command moved it."""
    beside: tuple[str, ...] = ()
    """The ids of calls that ran at the same time and may have made some of the changes."""
    interrupted: bool = False
    """Whether bayou ended during the call, so that the changes were found when the session was opened again."""

    @property
    def total(self) -> int:
        return self.count or len(self.changes)


class RestoredHunkData(_RecordedStruct, frozen=True, kw_only=True):
    """A hunk of a change that a person took back, put back later, or edited."""

    key: str
    path: str
    first: int = 0
    """The number of the hunk's first changed line; 0 means the whole file."""
    last: int = 0
    put_back: bool = False
    edited: bool = False
    """Whether the person wrote other lines in place of the hunk, which belong to the change from then on."""


class FileRestoreData(_RecordedStruct, frozen=True, kw_only=True):
    """The data of a `bayou.restored` entry: the file changes of a restore."""

    v: int = 1
    id: str
    """The id of the restore; its plan in the ledger has the same id."""
    changes: tuple[RecordedFileChange, ...] = ()
    more: ContentHash | None = None
    count: int = 0
    origin: str | None = msgspec.field(name="from", default=None)
    """The id of the leaf at the time of the restore."""
    target: str | None = msgspec.field(name="to", default=None)
    """The id of the entry whose file state was restored; None: the state before all entries."""
    kept: tuple[FileWithoutStoredContent, ...] = ()
    """The files that the restore left unchanged, with the reason."""
    undoes: str | None = None
    """The id of the entry of the restore that this one takes back; None if it takes back none."""
    is_move: bool = False
    """Whether the conversation moved to the target entry too."""
    title: str = ""
    interrupted: bool = False
    hunks: tuple[RestoredHunkData, ...] = ()
    """The hunks to which the restore was limited; empty: whole files were restored."""

    @property
    def total(self) -> int:
        return self.count or len(self.changes)


_FILE_CHANGES_DECODER = msgspec.json.Decoder(tuple[RecordedFileChange, ...])


def file_changes_data_of_entry(entry: Entry) -> FileChangesData | None:
    """Returns the data of a `bayou.files` entry; None for any other entry, and for invalid data."""
    return _decode_data(entry, FILE_CHANGES_ENTRY_TYPE, FileChangesData)


def file_restore_data_of_entry(entry: Entry) -> FileRestoreData | None:
    return _decode_data(entry, FILE_RESTORE_ENTRY_TYPE, FileRestoreData)


def _decode_data(entry: Entry, kind: str, of: type[Any]) -> Any:
    if not isinstance(entry, CustomEntry) or entry.custom_type != kind:
        return None
    try:
        return convert(entry.data, of)
    except msgspec.ValidationError:
        return None


def file_data_to_entry_data(value: FileChangesData | FileRestoreData) -> Any:
    """Converts data about file changes to its form in a session entry."""
    return msgspec.to_builtins(value)


def encode_file_changes(changes: Iterable[RecordedFileChange]) -> bytes:
    return encode_json(tuple(changes))


def decode_file_changes(data: bytes) -> tuple[RecordedFileChange, ...]:
    """Decodes a stored list of file changes. Raises `ValueError` or `RecursionError` for other data."""
    return _FILE_CHANGES_DECODER.decode(data)


def merge_file_changes(changes: Iterable[RecordedFileChange]) -> tuple[RecordedFileChange, ...]:
    """Combines the changes of each file into one, from the first state to the last; files that end
    unchanged are left out."""
    found: dict[str, RecordedFileChange] = {}
    for change in changes:
        first = found.get(change.name)
        if first is None:
            found[change.name] = change
            continue
        found[change.name] = msgspec.structs.replace(
            change,
            before=first.before,
            added=first.added + change.added,
            removed=first.removed + change.removed,
            folders=tuple(dict.fromkeys((*first.folders, *change.folders))),
        )
    return tuple(change for change in found.values() if not is_same_stored_state(change.before, change.after))


def content_hashes_of_changes(changes: Iterable[RecordedFileChange]) -> Iterable[str]:
    """Yields the hashes of the contents before and after these file changes."""
    for change in changes:
        for image in (change.before, change.after):
            if image is not None and image.hash:
                yield image.hash
