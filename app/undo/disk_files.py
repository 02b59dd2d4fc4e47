"""Reads files as they are and replaces each in one atomic step.

All operations concern the name itself: a symbolic link is never followed, and a name whose folder has
become a link is refused. Anything but files and links (devices, pipes, sockets) is left alone."""

import errno
import os
import stat as stat_module
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import msgspec

from app.undo.change_records import StoredFileState, is_same_stored_state
from app.undo.content_store import blob_hash
from app.values.user_errors import UserError
from tools.files.atomic_replacement import overwrite_file_in_place, swap_in_new_file, swap_in_symbolic_link

FileSignature = tuple[int, int, int, int, int]
"""Inode, size, modification and change time, mode: equal as long as the file was not touched."""
_NOT_A_REGULAR_FILE_TEXT = "is not a file (a device, a pipe or a socket)"


class UnsupportedFileForUndo(UserError):
    """Raised if the file cannot be read or replaced; `str()` gives the reason."""


class FileOnDisk(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of a file on the disk."""

    image: StoredFileState | None = None
    data: bytes | None = None
    """The content of the file; None if it was not read."""
    signature: FileSignature | None = None
    link_count: int = 1
    owner: int = -1


def file_signature_of_stat(found: os.stat_result) -> FileSignature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


def file_signature_at(place: str) -> FileSignature | None:
    """Returns the signature (inode, size, times and mode) of a path; None when it does not exist or cannot be
    inspected."""
    try:
        return file_signature_of_stat(os.lstat(place))
    except OSError:
        return None


def absolute_path_of_name(
    root: Path, name: str, real: dict[str, str] | None = None, gone: frozenset[str] = frozenset()
) -> str:
    """Returns the absolute path of a recorded file name. `root` is a real path; `real` caches resolved folders;
    `gone` lists links that will have been removed. Raises `UnsupportedFileForUndo`."""
    place = os.path.normpath(name if os.path.isabs(name) else f"{root}/{name}")  # noqa: PTH117  (a name, not a path)
    if "\0" in place:
        raise UnsupportedFileForUndo("its name contains a null byte")
    folder = os.path.dirname(place)  # noqa: PTH120  (as above)
    if resolved_folder(folder, {} if real is None else real) != folder and not is_inside_folders(place, gone):
        raise UnsupportedFileForUndo("its folder is now a link to another one")
    if not os.path.isabs(name) and not place.startswith(f"{str(root).rstrip('/')}/"):  # noqa: PTH117  (as above)
        raise UnsupportedFileForUndo("it is outside the session's folder")
    return place


def is_inside_folders(place: str, folders: frozenset[str]) -> bool:
    """Whether the path is inside one of the folders."""
    if not folders:
        return False
    parts = place.split("/")
    return any("/".join(parts[:end]) in folders for end in range(2, len(parts)))


def resolved_folder(folder: str, known: dict[str, str]) -> str:
    if folder not in known:
        known[folder] = os.path.realpath(folder)
    return known[folder]


def path_spelled_as_on_disk(place: str) -> str:
    """Returns a path with its last name spelled as in its folder, on file systems that ignore case;
    otherwise unchanged."""
    folder, name = os.path.split(place)
    other = name.swapcase()
    try:
        one, twin = os.lstat(place), os.lstat(f"{folder}/{other}")
        if other == name or (one.st_dev, one.st_ino) != (twin.st_dev, twin.st_ino):
            return place
        names = os.listdir(folder)  # noqa: PTH208  (bytes of the name as they are)
    except OSError:
        return place
    if name in names:
        return place
    folded = name.casefold()
    return next((f"{folder}/{found}" for found in names if found.casefold() == folded), place)


def name_spelled_as_on_disk(root: str, name: str) -> str:
    """Returns `name`, a path below `root`, with every part spelled as on the disk."""
    here = root
    for part in name.split("/"):
        here = path_spelled_as_on_disk(f"{here}/{part}")
    return here[len(root) + 1 :]


def names_differing_in_case(names: Iterable[str]) -> frozenset[str]:
    """Returns the names that differ from another one of the list only in case; both may be the same file."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.casefold(), []).append(name)
    return frozenset(name for alike in found.values() if len(alike) > 1 for name in alike)


def read_disk_file_state(
    place: str, max_bytes: int, *, reads: bool = True, takes_folder: bool = False
) -> FileOnDisk:
    """Reads the state of a path. Raises `UnsupportedFileForUndo` if it is no file, link or (with `takes_folder`)
    folder, or too large."""
    try:
        found = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return FileOnDisk()
    except OSError as problem:
        raise UnsupportedFileForUndo(f"cannot be read: {problem.strerror}") from None
    try:
        if stat_module.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(place))  # noqa: PTH115  (bytes as they are)
            image = StoredFileState(kind="link", hash=blob_hash(target), mode=0, size=len(target))
            return FileOnDisk(
                image=image, data=target, signature=file_signature_of_stat(found), owner=found.st_uid
            )
        if stat_module.S_ISDIR(found.st_mode):
            if not takes_folder:
                raise UnsupportedFileForUndo("is a folder now")
            image = StoredFileState(kind="folder", mode=stat_module.S_IMODE(found.st_mode))
            return FileOnDisk(image=image, signature=file_signature_of_stat(found), owner=found.st_uid)
        if not stat_module.S_ISREG(found.st_mode):
            raise UnsupportedFileForUndo(_NOT_A_REGULAR_FILE_TEXT)
        if found.st_size > max_bytes:
            raise UnsupportedFileForUndo(f"is larger than {max_bytes >> 20} MB")
        data, found = _read_regular_file(place)
    except OSError as problem:
        raise UnsupportedFileForUndo(f"cannot be read: {problem.strerror}") from None
    image = StoredFileState(hash=blob_hash(data), mode=stat_module.S_IMODE(found.st_mode), size=len(data))
    return FileOnDisk(
        image=image,
        data=data if reads else None,
        signature=file_signature_of_stat(found),
        link_count=found.st_nlink,
        owner=found.st_uid,
    )


def _read_regular_file(place: str) -> tuple[bytes, os.stat_result]:
    handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb", buffering=0) as file:
        found = os.fstat(handle)
        if not stat_module.S_ISREG(found.st_mode):
            raise UnsupportedFileForUndo(_NOT_A_REGULAR_FILE_TEXT)
        return file.read(), found


def has_file_signature(place: str, signature: FileSignature | None, *, but_for_names: bool = False) -> bool:
    """Whether a file still has the given signature. `but_for_names`: removed hard links do not count as a change."""
    now = file_signature_at(place)
    if but_for_names and now is not None and signature is not None:
        now = (*now[:3], signature[3], now[4])
    return signature == now


def write_stored_file_state(
    place: str, wanted: StoredFileState | None, data: bytes, *, now: FileOnDisk, keeps_names: bool
) -> list[str]:
    """Writes or removes the file at a path, so that it becomes the wanted image; returns the folders that it
    created. Raises `OSError` with everything unchanged. `data`: the content, or the target of a link.
    `keeps_names`: a file with several hard links is written in place, and changes under all of them."""
    if wanted is None:
        if now.image is not None:
            _remove(place, now.image)
        return []
    # A session file may come from elsewhere, so a restore never sets the setuid and setgid bits.
    wanted = msgspec.structs.replace(wanted, mode=wanted.mode & 0o777)
    if now.image is not None and now.image.kind == "folder":
        _remove(place, now.image)
        try:
            return write_stored_file_state(place, wanted, data, now=FileOnDisk(), keeps_names=False)
        except BaseException:
            os.mkdir(place, now.image.mode)  # noqa: PTH102  (bytes of the name as they are)
            raise
    made = _make_folders(os.path.dirname(place))  # noqa: PTH120  (as above)
    try:
        if wanted.kind == "link":
            swap_in_symbolic_link(place, os.fsdecode(data))
        elif wanted.kind == "folder":
            if now.image is not None:
                os.unlink(place)  # noqa: PTH108  (as above)
            os.mkdir(place, wanted.mode)  # noqa: PTH102  (as above)
        elif keeps_names and now.image is not None and now.image.kind == "file" and now.link_count > 1:
            overwrite_file_in_place(place, data, mode=wanted.mode)
        elif now.link_count == 1 and _differs_in_mode(now.image, wanted):
            os.chmod(place, wanted.mode)  # noqa: PTH101  (as above)
        else:
            _swap_in_file(place, data, wanted.mode, now)
    except BaseException:
        remove_empty_folders(made)
        raise
    return made


def _remove(place: str, image: StoredFileState) -> None:
    if image.kind != "folder":
        os.unlink(place)  # noqa: PTH108  (bytes of the name as they are)
        return
    try:
        os.rmdir(place)  # noqa: PTH106  (as above)
    except OSError as problem:
        if problem.errno != errno.ENOTEMPTY:
            raise
        raise UnsupportedFileForUndo("it is a folder with other files in it") from None


def is_folder_below_link(folder: str, known: dict[str, bool]) -> bool:
    """Returns whether a folder or one of its parents is a link. `known` caches the answers."""
    if folder not in known:
        above = os.path.dirname(folder)  # noqa: PTH120  (as above)
        known[folder] = os.path.islink(folder) or (above != folder and is_folder_below_link(above, known))  # noqa: PTH114
    return known[folder]


def _differs_in_mode(now: StoredFileState | None, wanted: StoredFileState) -> bool:
    """Whether the file on disk differs from the wanted image only in its mode."""
    return now is not None and is_same_stored_state(now, msgspec.structs.replace(wanted, mode=now.mode))


def remove_empty_folders(folders: "list[str] | tuple[str, ...]") -> None:
    """Removes empty folders, innermost first; others stay."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)  # noqa: PTH106  (as above)
        except OSError:
            continue


def missing_folders(folder: str) -> list[str]:
    """Returns the folders on the path that do not exist yet, outermost first."""
    found: list[str] = []
    while not os.path.lexists(folder):
        found.append(folder)
        above = os.path.dirname(folder)  # noqa: PTH120  (as above)
        if above == folder:
            break
        folder = above
    return found[::-1]


def _make_folders(folder: str) -> list[str]:
    made = missing_folders(folder)
    for one in made:
        os.mkdir(one)  # noqa: PTH102  (as above)
    return made


def _swap_in_file(place: str, data: bytes, mode: int, now: FileOnDisk) -> None:
    is_mine = now.owner in (-1, os.geteuid())
    try:
        swap_in_new_file(
            place, data, mode=mode, finish=None if is_mine else partial(_restore_owner, now.owner)
        )
    except PermissionError as problem:
        if now.image is None or now.image.kind != "file" or problem.filename is None:
            raise
        overwrite_file_in_place(place, data, mode=mode)  # the folder accepts no new file


def _restore_owner(owner: int, handle: int) -> None:
    try:
        os.fchown(handle, owner, -1)
    except PermissionError:
        raise PermissionError(1, "it belongs to another user") from None


MAX_SCANNED_FOLDER_ENTRIES = 50_000
"""The maximum number of names in which folders are searched for, because a command waits for the scan."""


class FoundFolders(msgspec.Struct, frozen=True, kw_only=True):
    """The folders found on the disk as absolute paths, since lists of files do not contain empty folders."""

    folders: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()
    """The folders that could not be read."""

    def __or__(self, other: "FoundFolders") -> "FoundFolders":
        return FoundFolders(
            folders=self.folders | other.folders,
            empty=self.empty | other.empty,
            unreadable=self.unreadable | other.unreadable,
        )


def find_folders(top: str, left_out: frozenset[str]) -> FoundFolders | None:
    """Returns the folders below `top`, except `left_out` (absolute paths) and nested repositories; None if there
    are too many names."""
    every: list[str] = []
    empty: list[str] = []
    unread: list[str] = []
    waiting, count = [top], 0
    while waiting:
        place = waiting.pop()
        below: list[str] = []
        is_empty = True
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    count += 1
                    is_empty = False
                    if entry.name == ".git" and place != top:
                        below.clear()
                        break
                    if (
                        entry.is_dir(follow_symlinks=False)
                        and entry.name != ".git"
                        and entry.path not in left_out
                    ):
                        below.append(entry.path)
        except OSError:
            unread.append(place)
            continue
        if count > MAX_SCANNED_FOLDER_ENTRIES:
            return None
        every.append(place)
        waiting += below
        if is_empty:
            empty.append(place)
    return FoundFolders(folders=frozenset(every), empty=frozenset(empty), unreadable=frozenset(unread))
