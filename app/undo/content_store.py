"""Stores file contents by their hash in one store for all sessions, each content once.

A blob is written to a temporary file and renamed, so that it is complete or absent; a read checks its
hash. Each session has a growing list of the contents it needs. The list is in the store, not beside the
session, so that sessions on another disk or in the trash keep their contents. `collect_content_garbage` removes
what no session needs; sessions that are open or were used lately keep everything."""

import errno
import hashlib
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from app.sessions.file.session_lock import try_lock_session_file
from app.values.user_errors import UserError
from tools.files.atomic_replacement import swap_in_new_file


class UndoStoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the content store: its place, and whether git may be run."""

    store: Path
    home: Path
    may_ask_git: Callable[[], bool]
    """Whether git may be run in a repository whose configuration differs from git's default."""


_MIN_COMPRESSED_BLOB_BYTES = 1024
"""The minimum size in bytes of a content that is stored compressed."""
_COMPRESSED_SUFFIX = ".z"
_HEX_DIGITS = frozenset("0123456789abcdef")


class StoredContentMissing(UserError):
    """Raised if the content store does not have this content, or not any more."""


class StoredContentDamaged(StoredContentMissing):
    """Raised if a stored content does not match its hash."""


def blob_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class BlobStore:
    """The folder that stores file contents by their hash. Usable from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes, name: str | None = None) -> str:
        """Stores the content `data` (with the hash `name`) and returns its name. Raises `OSError` and leaves no
        partial file."""
        name = name or blob_hash(data)
        place = self._blob_path(name)
        if self._renew_time(place):
            return name
        is_packed = len(data) > _MIN_COMPRESSED_BLOB_BYTES
        written = zlib.compress(data, 1) if is_packed else data
        file = place + _COMPRESSED_SUFFIX if is_packed else place
        try:
            swap_in_new_file(file, written, mode=0o600)
        except FileNotFoundError:
            Path(place).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            swap_in_new_file(file, written, mode=0o600)
        return name

    def has(self, name: str) -> bool:
        place = self._blob_path(name)
        return os.access(place + _COMPRESSED_SUFFIX, os.R_OK) or os.access(place, os.R_OK)

    def get(self, name: str) -> bytes:
        """Returns a stored content. Raises `StoredContentMissing`, or `StoredContentDamaged` when the data does not
        match its hash."""
        place = self._blob_path(name)
        for path, is_packed in ((place + _COMPRESSED_SUFFIX, True), (place, False)):
            try:
                data = Path(path).read_bytes()
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise StoredContentMissing(f"its stored content cannot be read: {problem.strerror}") from None
            try:
                data = zlib.decompress(data) if is_packed else data
            except zlib.error:
                raise StoredContentDamaged("its stored content is damaged") from None
            if blob_hash(data) != name:
                raise StoredContentDamaged("its stored content is damaged")
            return data
        raise StoredContentMissing("its content is no longer stored")

    def record_guarded_file_change(self, path: str) -> None:
        """Records that a session on this machine changed a guarded file (`guarded_file_reason`), or one with
        unknown hard links; restores of such files require this record. Raises `OSError`."""
        if self.was_file_changed_here(path):
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(
            self.folder / GUARDED_CHANGES_LIST_NAME,
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        try:
            os.write(handle, f"{blob_hash(os.fsencode(path))}\n".encode("ascii"))
        finally:
            os.close(handle)

    def was_file_changed_here(self, path: str) -> bool:
        """Whether a session on this machine changed the file; a session file alone, which may come from
        elsewhere, is no proof."""
        return blob_hash(os.fsencode(path)) in read_content_references(
            self.folder / GUARDED_CHANGES_LIST_NAME
        )

    def blobs(self) -> "list[os.DirEntry[str]]":
        """Lists all files of the content store, including partial ones that a crash left."""
        found: list[os.DirEntry[str]] = []
        for number in range(256):
            try:
                with os.scandir(self.folder / f"{number:02x}") as entries:
                    found += entries
            except OSError:
                continue
        return found

    def _renew_time(self, place: str) -> bool:
        """Returns whether the stored file exists, and sets its modification time to now, so that garbage collection
        keeps it for a while."""
        for path in (place + _COMPRESSED_SUFFIX, place):
            try:
                os.utime(path)
            except OSError:
                continue
            return True
        return False

    def _blob_path(self, name: str) -> str:
        if len(name) != 64 or not _HEX_DIGITS.issuperset(name):
            raise StoredContentMissing("its record is damaged")
        return f"{self.folder}/{name[:2]}/{name}"


def hash_in_stored_file_name(file: str) -> str | None:
    """Returns the hash that a stored file's name contains; None for a partial file."""
    name = file.removesuffix(_COMPRESSED_SUFFIX)
    return name if len(name) == 64 and _HEX_DIGITS.issuperset(name) else None


GUARDED_CHANGES_LIST_NAME = "outside"
"""The list of files outside a session's folder, that run later or have unknown hard links, which sessions
changed, by the hash of their path."""
CONTENT_REFERENCES_FOLDER = "needed"
_CONTENT_REFERENCE_LINE_BYTES = 65


class ContentReferences:
    """The list of stored contents that one open session needs."""

    def __init__(self, store: Path, session_id: str) -> None:
        self.path = store / CONTENT_REFERENCES_FOLDER / session_id
        self._known_names: set[str] | None = None
        self._handle = -1
        self._lock = threading.Lock()

    def open(self, first: Callable[[], Iterable[str]]) -> None:
        """Opens the session's list of needed contents; a new list begins with the names that `first` returns.
        Raises `OSError`."""
        with self._lock:
            if self._handle >= 0:
                return
            is_new = not self.path.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            self._handle = os.open(self.path, flags, 0o600)
            try_lock_session_file(self._handle)
            os.utime(self.path)
            self._known_names = set(read_content_references(self.path))
        if is_new:
            self.add(first())

    def add(self, names: Iterable[str]) -> None:
        """Adds contents to the session's list by name, before they are stored. Raises `OSError`."""
        with self._lock:
            if self._known_names is None:
                raise OSError(errno.EBADF, "the list of files needed by this session cannot be written")
            fresh = [name for name in dict.fromkeys(names) if name not in self._known_names]
            if not fresh:
                return
            os.write(self._handle, "".join(f"{name}\n" for name in fresh).encode("ascii"))
            self._known_names.update(fresh)

    def close(self) -> None:
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
            self._handle, self._known_names = -1, None


def read_content_references(path: Path) -> Iterable[str]:
    """Returns the names in a session's list of needed contents, without a last line that a crash cut short."""
    try:
        data = path.read_bytes()
    except OSError:
        return ()
    lines = data.decode("ascii", "replace").split("\n")
    return [line for line in lines if len(line) == _CONTENT_REFERENCE_LINE_BYTES - 1]


def is_reference_list_locked(path: Path) -> bool:
    """Returns whether an open session holds the lock on this list of needed contents."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        return not try_lock_session_file(handle)
    finally:
        os.close(handle)


GARBAGE_GRACE_SECONDS = 3600
"""The number of seconds for which contents are kept after they were stored or requested, because their line in a
session's list may not be written yet."""
GARBAGE_COLLECTION_TIME_FILE = "collected"
GIT_INDEX_COPIES_FOLDER = "indexes"
"""The folder for copies of git's index, one for each running command."""
_SECONDS_PER_DAY = 86_400


class GarbageCollectionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a garbage collection in the content store."""

    removed_blobs: int = 0
    freed_bytes: int = 0
    """The number of bytes that were freed."""
    kept_bytes: int = 0
    """The number of bytes that remain in the store."""
    failures: tuple[str, ...] = ()
    """Sessions whose files can no longer be restored because the store was full."""


def is_garbage_collection_due(store: BlobStore, now: float | None = None) -> bool:
    try:
        last = (store.folder / GARBAGE_COLLECTION_TIME_FILE).stat().st_mtime
    except OSError:
        return store.folder.is_dir()
    return (time.time() if now is None else now) - last > _SECONDS_PER_DAY


def collect_content_garbage(
    store: BlobStore, *, days: int, max_bytes: int, now: float | None = None
) -> GarbageCollectionResult:
    """Removes stored contents that no session needs. Blocks for as long as it takes to look at every blob."""
    now = time.time() if now is None else now
    _mark_collected(store.folder)
    _delete_leftovers(store.folder / GIT_INDEX_COPIES_FOLDER, now - _SECONDS_PER_DAY)
    lists = _reference_lists(store.folder)
    lists = _recent_lists(lists, now - days * _SECONDS_PER_DAY)
    blobs = [(entry, found) for entry in store.blobs() if (found := _stat(entry)) is not None]
    total = sum(found.st_size for _, found in blobs)
    sizes: dict[str, int] = {}
    for entry, found in blobs:
        name = hash_in_stored_file_name(entry.name)
        if name is not None:
            sizes[name] = sizes.get(name, 0) + found.st_size
    needed = [(path, frozenset(read_content_references(path))) for _, path in lists]
    given_up: list[str] = []
    while needed:
        union = frozenset[str]().union(*(names for _, names in needed))
        if sum(sizes.get(name, 0) for name in union) <= max_bytes:
            break
        oldest = next((path for path, _ in needed if not is_reference_list_locked(path)), None)
        if oldest is None:
            break
        needed = [one for one in needed if one[0] != oldest]
        given_up.append(oldest.name)
        oldest.unlink(missing_ok=True)
    keep = frozenset[str]().union(*(names for _, names in needed))
    removed = freed = 0
    for entry, found in blobs:
        if hash_in_stored_file_name(entry.name) in keep or found.st_mtime > now - GARBAGE_GRACE_SECONDS:
            continue
        if _unlink_if_old(entry.path, now):
            removed, freed = removed + 1, freed + found.st_size
    return GarbageCollectionResult(
        removed_blobs=removed, freed_bytes=freed, kept_bytes=total - freed, failures=tuple(given_up)
    )


def _reference_lists(store: Path) -> list[tuple[float, Path]]:
    """Returns the sessions' lists of needed contents with their times, oldest first."""
    found: list[tuple[float, Path]] = []
    try:
        with os.scandir(store / CONTENT_REFERENCES_FOLDER) as entries:
            for entry in entries:
                found.append((entry.stat().st_mtime, Path(entry.path)))
    except OSError:
        return sorted(found)
    return sorted(found)


def _recent_lists(lists: list[tuple[float, Path]], oldest: float) -> list[tuple[float, Path]]:
    kept: list[tuple[float, Path]] = []
    for when, path in lists:
        if when < oldest and not is_reference_list_locked(path):
            path.unlink(missing_ok=True)
        else:
            kept.append((when, path))
    return kept


def _stat(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _unlink_if_old(path: str, now: float) -> bool:
    """Deletes a stored content unless it was renewed since it was listed."""
    try:
        if Path(path).stat().st_mtime > now - GARBAGE_GRACE_SECONDS:
            return False
        Path(path).unlink()
    except OSError:
        return False
    return True


def _delete_leftovers(folder: Path, oldest: float) -> None:
    """Deletes old copies of git's index that killed processes left behind. The age is the ctime: a copy
    has the mtime of the index."""
    try:
        with os.scandir(folder) as entries:
            old = [entry.path for entry in entries if entry.stat(follow_symlinks=False).st_ctime < oldest]
    except OSError:
        return
    for path in old:
        Path(path).unlink(missing_ok=True)


def _mark_collected(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / GARBAGE_COLLECTION_TIME_FILE).touch(mode=0o600)
        os.utime(folder / GARBAGE_COLLECTION_TIME_FILE)
    except OSError:
        return
