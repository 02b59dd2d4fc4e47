"""What is said of a file: an image of it, a change from one to another, and how a session's entries spell them.

An image names content by its hash; the content itself is in the store (`blobs`). No I/O here.
"""

import os
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from app.values.entries import CustomEntry, Entry

FILES_ENTRY_TYPE = "bayou.files"
"""Custom entry behind a tool result: what its call did to files."""
RESTORED_ENTRY_TYPE = "bayou.restored"
"""Custom entry of a restore: what it did to files, so that it can be taken back too."""
MAX_INLINE_CHANGES = 200
"""Changes that stand in an entry; more of them are a blob of their own."""

Choice = Literal["restore", "merge", "keep"]
"""What becomes of one file."""
CHOICES: tuple[Choice, ...] = ("restore", "merge", "keep")

By = Literal["tool", "command", "restore"]


class _RecordedStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class FileImage(_RecordedStruct, frozen=True, kw_only=True):
    """A file, a symbolic link or an empty folder at one moment."""

    kind: Literal["file", "link", "folder"] = "file"
    hash: str = ""
    """SHA-256 of the content; of a link, of where it leads; of a folder nothing."""
    mode: int = 0o644
    size: int = 0

    @property
    def identity(self) -> tuple[str, str, int]:
        """Equal for what is the same on the disk; of links and folders permissions do not count."""
        return self.kind, self.hash, self.mode if self.kind == "file" else 0


def is_same(one: FileImage | None, other: FileImage | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.identity == other.identity


class Change(_RecordedStruct, frozen=True, kw_only=True):
    """What happened to one file; `None` is: there was none."""

    path: str
    """Relative to the session's folder, or absolute; with `raw`, only how it reads."""
    raw: bytes | None = None
    """The name's bytes, where they are no text."""
    before: FileImage | None = None
    after: FileImage | None = None
    by: By = "tool"
    added: int = 0
    removed: int = 0
    folders: tuple[str, ...] = ()
    """Folders that were made for it, or removed together with it, outermost first."""
    is_shared: bool = False
    """The file had further names that are not known here; what it holds changed under all of them."""

    @property
    def name(self) -> str:
        """As the system takes it."""
        return self.path if self.raw is None else os.fsdecode(self.raw)


def display_path(name: str) -> str:
    """As people read it, whatever its bytes are."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def decode_text(data: bytes) -> str | None:
    """A content as text; None for what is none."""
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def path_fields(name: str) -> dict[str, Any]:
    """How a path stands in a change."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raw = os.fsencode(name)
        return {"path": raw.decode("utf-8", "replace"), "raw": raw}
    return {"path": name}


class UnheldFile(_RecordedStruct, frozen=True, kw_only=True):
    """Something that was or may have been changed, and of which nothing is held."""

    path: str
    why: str


class FilesData(_RecordedStruct, frozen=True, kw_only=True):
    """Of an entry `bayou.files`."""

    v: int = 1
    call_id: str = ""
    tool: str = ""
    changes: tuple[Change, ...] = ()
    uncovered: tuple[UnheldFile, ...] = ()
    more: str | None = None
    """The hash of the list of changes, when it is long."""
    count: int = 0
    """How many changes there are, when the list is elsewhere."""
    added: int = 0
    removed: int = 0
    head: tuple[str, str] | None = None
    """Of the repository, before and after, when a command moved it."""
    beside: tuple[str, ...] = ()
    """Calls that ran at the same time and may have done some of it."""
    interrupted: bool = False
    """bayou ended meanwhile; this was found out afterwards."""

    @property
    def total(self) -> int:
        return self.count or len(self.changes)


class RestoredData(_RecordedStruct, frozen=True, kw_only=True):
    """Of an entry `bayou.restored`."""

    v: int = 1
    id: str
    """Of the restore; its plan in the ledger has the same."""
    changes: tuple[Change, ...] = ()
    more: str | None = None
    count: int = 0
    origin: str | None = msgspec.field(name="from", default=None)
    """Where the conversation stood."""
    target: str | None = msgspec.field(name="to", default=None)
    """The entry whose files these are; None: those before everything."""
    kept: tuple[UnheldFile, ...] = ()
    """Left alone, and why."""
    undoes: str | None = None
    """The entry of the restore that this one took back."""
    is_move: bool = False
    """The conversation went to that entry too."""
    title: str = ""
    interrupted: bool = False

    @property
    def total(self) -> int:
        return self.count or len(self.changes)


_CHANGES = msgspec.json.Decoder(tuple[Change, ...])


def files_of(entry: Entry) -> FilesData | None:
    """None for any other entry, and for one that cannot be understood."""
    return _data(entry, FILES_ENTRY_TYPE, FilesData)


def restored_of(entry: Entry) -> RestoredData | None:
    return _data(entry, RESTORED_ENTRY_TYPE, RestoredData)


def _data(entry: Entry, kind: str, of: type[Any]) -> Any:
    if not isinstance(entry, CustomEntry) or entry.custom_type != kind:
        return None
    try:
        return msgspec.convert(entry.data, of)
    except msgspec.ValidationError:
        return None


def as_data(value: FilesData | RestoredData) -> Any:
    """As an entry holds it."""
    return msgspec.to_builtins(value)


def encode_changes(changes: Iterable[Change]) -> bytes:
    return msgspec.json.encode(tuple(changes))


def decode_changes(data: bytes) -> tuple[Change, ...]:
    """Raises `ValueError` or `RecursionError` for what is no list of changes."""
    return _CHANGES.decode(data)


def merge_changes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """One change a file, from before the first to after the last; what came to nothing is left out."""
    found: dict[str, Change] = {}
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
    return tuple(change for change in found.values() if not is_same(change.before, change.after))


def hashes_of(changes: Iterable[Change]) -> Iterable[str]:
    """The contents that these changes name."""
    for change in changes:
        for image in (change.before, change.after):
            if image is not None and image.hash:
                yield image.hash
