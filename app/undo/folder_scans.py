"""Scans the files of a folder at one moment and compares two scans.

A scan lists names that differ from the state when its scanner was opened: with git the names that are
not clean, otherwise all. `ScannedContentStore` stores their contents within limits; an unchanged file is not
read again."""

import os
import stat as stat_module
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from app.undo.change_records import (
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    decode_file_text,
    is_same_stored_state,
    path_fields_of_change,
    readable_file_name,
)
from app.undo.content_store import BlobStore, StoredContentMissing
from app.undo.disk_files import (
    FileSignature,
    FoundFolders,
    UnsupportedFileForUndo,
    file_signature_at,
    file_signature_of_stat,
    is_folder_below_link,
    names_differing_in_case,
    read_disk_file_state,
)
from tools.edits.diffs import make_diff_of_texts

RECENT_FILE_CHANGE_SECONDS = 0.05
"""The number of seconds after a modification in which a file may change again without a new time stamp."""
_MAX_DIFF_BYTES = 1 << 20


class ScannedFileState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one name that a folder scan lists."""

    signature: FileSignature | None = None
    """The file's signature (inode, size, times, mode); None if the file does not exist."""
    image: StoredFileState | None = None
    unstored_reason: str = ""
    """The reason why the file's content is not stored; empty if it is."""
    is_clean_before: bool = False
    """Whether git called the file clean when the scanner was opened."""
    is_folder: bool = False
    """Whether the name is a folder whose contents are not stored."""
    is_recent: bool = False


class FolderScan(msgspec.Struct, frozen=True, kw_only=True):
    """The names and states that a scan of a folder found at one moment."""

    names: dict[str, ScannedFileState]
    unstored_files: tuple[FileWithoutStoredContent, ...] = ()
    """The files that no scan of this folder can store."""
    folders: FoundFolders | None = None
    """The folders that were found; None if there are too many to list."""


class FolderScanner(Protocol):
    """Scans a folder for file changes. Names are relative to the session's folder, or absolute."""

    async def scan(self) -> FolderScan:
        """Scans the folder now; each listed name has a stored content or a reason why not."""
        ...

    async def file_states_at_open(self, names: list[str]) -> dict[str, StoredFileState | str]:
        """Returns the state of these names when the scanner was opened, or why it is unknown."""
        ...

    async def present_file_states(self, names: list[str]) -> dict[str, ScannedFileState]:
        """Returns the present state on the disk of these names."""
        ...

    async def list_unrestorable_files(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        """Returns the files at or below these names that the scan does not list and that could not be restored,
        with the reason."""
        ...

    def file_name_at_path(self, place: str) -> str | None:
        """Returns a file's name for an absolute path; None when it is outside the folder, empty for the folder
        itself."""
        ...

    def absolute_path(self, name: str) -> str:
        """Returns the absolute path of a scanned name."""
        ...

    def text(self, image: StoredFileState | None) -> str | None:
        """Returns the content of a file image, if it is stored and text."""
        ...

    def moved_git_head(self) -> tuple[str, str] | None:
        """Returns the repository's head when the scanner was opened and now; None if it did not move."""
        ...

    async def close(self) -> None: ...


class FolderScanDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The file changes between two folder scans."""

    changes: tuple[RecordedFileChange, ...] = ()
    unstored_files: tuple[FileWithoutStoredContent, ...] = ()


async def compare_folder_scans(
    old: FolderScan, new: FolderScan, scanner: FolderScanner
) -> FolderScanDifference:
    """Compares two scans that one scanner made of a folder."""
    old, new = _with_empty_folders(old, new, scanner), _with_empty_folders(new, old, scanner)
    touched = [
        name
        for name in {**old.names, **new.names}
        if not _is_untouched(old.names.get(name), new.names.get(name))
    ]
    hidden = {name: "it was ignored by git before" for name, seen in old.names.items() if seen.is_folder}
    for place in old.folders.unreadable if old.folders is not None else ():
        hidden[f"{scanner.file_name_at_path(place)}/"] = "its folder could not be read before"
    back_to_clean = await scanner.present_file_states([name for name in touched if name not in new.names])
    back_to_clean.update((name, ScannedFileState()) for name in _names_respelled(back_to_clean, new))
    was_clean = await scanner.file_states_at_open(
        [name for name in touched if name not in old.names and new.names[name].is_clean_before]
    )
    changes: list[RecordedFileChange] = []
    uncovered: list[FileWithoutStoredContent] = list(new.unstored_files)
    for name in sorted(touched):
        before, after = old.names.get(name), new.names.get(name) or back_to_clean[name]
        why = _unstored_reason(name, before, after, hidden)
        original = was_clean.get(name)
        if isinstance(original, str):
            why = original
        if why:
            uncovered.append(FileWithoutStoredContent(path=readable_file_name(name), why=why))
            continue
        was = (
            original
            if isinstance(original, StoredFileState)
            else before.image
            if before is not None
            else None
        )
        if original is not None and after.image is not None and isinstance(original, StoredFileState):
            was = _with_mode_bits(original, after.image)
        if not is_same_stored_state(was, after.image):
            folders = _folders_with(scanner.absolute_path(name), was, after.image, old.folders, new.folders)
            changes.append(_make_change(name, was, after.image, scanner, folders))
    return FolderScanDifference(changes=tuple(changes), unstored_files=tuple(uncovered))


async def unrestorable_files(
    scan: FolderScan, scanner: FolderScanner, names: list[str], *, ignored: bool
) -> dict[str, str]:
    """Returns the files at or below these names that could not be restored if they were lost, with the
    reason."""
    found = {
        name: seen.unstored_reason or "its contents are not stored"
        for name, seen in scan.names.items()
        if (seen.unstored_reason or (seen.is_folder and ignored))
        and any(_overlaps(name.rstrip("/"), one) for one in names)
    }
    return found | await scanner.list_unrestorable_files(names, ignored=ignored)


def _overlaps(one: str, other: str) -> bool:
    """Whether one of two path names is or contains the other."""
    return one == other or not other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _names_respelled(back: dict[str, ScannedFileState], new: FolderScan) -> list[str]:
    """Returns names that exist only in another spelling now, on file systems that ignore case."""
    alike = names_differing_in_case((*back, *new.names)) if back else frozenset[str]()
    spelled = {name.casefold(): seen for name, seen in new.names.items() if name in alike}
    return [
        name
        for name, seen in back.items()
        if name in alike
        and seen.signature is not None
        and (other := spelled.get(name.casefold())) is not None
        and other.signature is not None
        and other.signature[0] == seen.signature[0]
    ]


def _is_untouched(before: ScannedFileState | None, after: ScannedFileState | None) -> bool:
    return (
        before is not None
        and after is not None
        and before.signature == after.signature
        and not before.is_recent
    )


def _unstored_reason(
    name: str, before: ScannedFileState | None, after: ScannedFileState, hidden: dict[str, str]
) -> str:
    """Returns why the change of a scanned name is unknown; empty when it is known."""
    if before is not None and before.unstored_reason:
        return before.unstored_reason
    if after.unstored_reason:
        return after.unstored_reason
    if after.is_folder or (before is not None and before.is_folder):
        return "its contents are not stored"
    if before is None and not after.is_clean_before and after.signature is not None:
        return next((why for folder, why in hidden.items() if name.startswith(folder)), "")
    return ""


def _with_mode_bits(original: StoredFileState, now: StoredFileState) -> StoredFileState:
    """Completes the mode of a file's original state: git knows only whether it is executable, so other bits are
    the present ones."""
    if original.kind == "link" or now.kind == "link":
        return original
    is_executable = bool(original.mode & 0o100)
    if is_executable == bool(now.mode & 0o100):
        return msgspec.structs.replace(original, mode=now.mode)
    readable = now.mode & 0o444
    mode = now.mode | readable >> 2 if is_executable else now.mode & ~0o111
    return msgspec.structs.replace(original, mode=mode)


def _with_empty_folders(scan: FolderScan, other: FolderScan, scanner: FolderScanner) -> FolderScan:
    """Adds to a scan, like files, its empty folders that the other scan does not have."""
    if scan.folders is None or other.folders is None:
        return scan
    seen = dict(scan.names)
    for place in scan.folders.empty - other.folders.folders:
        name = scanner.file_name_at_path(place)
        if not name:
            continue
        before = seen.get(name)
        is_clean = before.is_clean_before if before is not None else False
        signature = (0, 0, 0, 0, stat_module.S_IFDIR)
        seen[name] = ScannedFileState(
            signature=signature, image=StoredFileState(kind="folder", mode=0o755), is_clean_before=is_clean
        )
    return msgspec.structs.replace(scan, names=seen)


def _folders_with(
    place: str,
    before: StoredFileState | None,
    after: StoredFileState | None,
    old: FoundFolders | None,
    new: FoundFolders | None,
) -> tuple[str, ...]:
    """Returns the parent folders that were created or removed together with the file, outermost first."""
    if old is None or new is None or (before is not None and after is not None):
        return ()
    fresh = new.folders - old.folders if before is None else old.folders - new.folders
    found: list[str] = []
    folder = place.rpartition("/")[0]
    while folder in fresh:
        found.insert(0, folder)
        folder = folder.rpartition("/")[0]
    return tuple(one for one in found if readable_file_name(one) == one)


def _make_change(
    name: str,
    before: StoredFileState | None,
    after: StoredFileState | None,
    scanner: FolderScanner,
    folders: tuple[str, ...],
) -> RecordedFileChange:
    added = removed = 0
    sizes = [image.size for image in (before, after) if image is not None]
    if max(sizes, default=0) <= _MAX_DIFF_BYTES:
        old = scanner.text(before) if before is not None else ""
        new = scanner.text(after) if after is not None else ""
        if old is not None and new is not None and old != new:
            diff = make_diff_of_texts(name, old, new)
            added, removed = diff.added, diff.removed
    return RecordedFileChange(
        **path_fields_of_change(name),
        before=before,
        after=after,
        by="command",
        added=added,
        removed=removed,
        folders=folders,
    )


StoreContent = Callable[[bytes, str | None], str]
"""A function that stores a content for this session; raises `OSError`."""


class FolderScanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one folder scan: bytes of one file, of all files, and their number."""

    file_bytes: int
    all_bytes: int
    files: int


class ScannedContentStore:
    """Stores the contents of scanned files for one session. Blocks; used by one thread at a time."""

    def __init__(self, store: BlobStore, put: StoreContent) -> None:
        self._store = store
        self._put_content = put
        self._known: dict[str, tuple[FileSignature, StoredFileState]] = {}

    def store_files(
        self, places: Iterable[tuple[str, str]], limits: FolderScanLimits, *, was_clean: frozenset[str]
    ) -> dict[str, ScannedFileState]:
        """Reads scanned files and stores their contents; `places` are names with their absolute paths."""
        found: dict[str, ScannedFileState] = {}
        links: dict[str, bool] = {}
        now, files, total = time.time(), 0, 0
        for name, place in places:
            is_clean = name in was_clean
            try:
                stat = os.lstat(place)
            except OSError:
                self._known.pop(name, None)
                found[name] = ScannedFileState(is_clean_before=is_clean)
                continue
            if is_folder_below_link(os.path.dirname(place), links):  # noqa: PTH120  (bytes of the name as they are)
                self._known.pop(name, None)
                found[name] = ScannedFileState(is_clean_before=is_clean)  # another file is at that path now
                continue
            if stat_module.S_ISDIR(stat.st_mode) and not name.endswith("/"):
                self._known.pop(name, None)
                found[name] = ScannedFileState(
                    is_clean_before=is_clean
                )  # the file is gone; what is in the folder is listed
                continue
            if stat_module.S_ISDIR(stat.st_mode):
                found[name] = ScannedFileState(signature=_folder_signature(place, stat), is_folder=True)
                continue
            signature = file_signature_of_stat(stat)
            is_young = now - stat.st_ctime < RECENT_FILE_CHANGE_SECONDS
            known = self._known.get(name)
            if known is not None and known[0] == signature and not is_young:
                found[name] = ScannedFileState(signature=signature, image=known[1], is_clean_before=is_clean)
                continue
            files, total = files + 1, total + stat.st_size
            why = _limit_text(stat.st_size, files, total, limits)
            seen = ScannedFileState(signature=signature, unstored_reason=why, is_clean_before=is_clean)
            found[name] = seen if why else self._scanned_name(name, place, limits, is_clean, is_young)
        return found

    def _scanned_name(
        self, name: str, place: str, limits: FolderScanLimits, is_clean: bool, is_young: bool
    ) -> ScannedFileState:
        try:
            looked = read_disk_file_state(place, limits.file_bytes)
        except UnsupportedFileForUndo as problem:
            return ScannedFileState(
                signature=file_signature_at(place), unstored_reason=str(problem), is_clean_before=is_clean
            )
        if looked.image is None or looked.data is None or looked.signature is None:
            return ScannedFileState(is_clean_before=is_clean)
        try:
            self.store_content(looked.data, looked.image.hash)
        except OSError as problem:
            why = f"it could not be stored: {problem.strerror}"
            return ScannedFileState(signature=looked.signature, unstored_reason=why, is_clean_before=is_clean)
        self._known[name] = looked.signature, looked.image
        return ScannedFileState(
            signature=looked.signature, image=looked.image, is_clean_before=is_clean, is_recent=is_young
        )

    def store_content(self, data: bytes, name: str | None = None) -> str:
        """Stores a file content in the content store. Raises `OSError`."""
        return self._put_content(data, name)

    def text(self, image: StoredFileState | None) -> str | None:
        if image is None or image.kind == "link":
            return None
        try:
            return decode_file_text(self._store.get(image.hash))
        except StoredContentMissing:
            return None

    def clear_cache(self) -> None:
        self._known.clear()


def _limit_text(size: int, files: int, total: int, limits: FolderScanLimits) -> str:
    if size > limits.file_bytes:
        return f"larger than {limits.file_bytes >> 20} MB"
    if files > limits.files:
        return f"more than {limits.files:,} files"
    if total > limits.all_bytes:
        return f"more than {limits.all_bytes >> 20} MB in all"
    return ""


def _folder_signature(place: str, stat: os.stat_result) -> FileSignature:
    """Returns the signature of a folder whose contents are not stored; it changes when a name in it or
    directly below it is created, removed or renamed."""
    newest, count = stat.st_mtime_ns, 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                count += 1
                if count > 500:
                    break
                newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
    except OSError:
        pass
    return stat.st_ino, count, newest, 0, stat.st_mode
