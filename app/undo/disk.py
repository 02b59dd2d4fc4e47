"""Files as they are, and making them what they should be, each in one step: old or new, never half.

Everything here is about the name itself: a symbolic link is never followed, and a name whose folder has become a link
is refused. What is not a file or a link is left alone.
"""

import os
import secrets
import stat as stat_module
from pathlib import Path

import msgspec

from app.undo.blobs import hash_of
from app.undo.images import FileImage, is_same
from app.values.unable import Unable
from tools.files.replacing import write_all

Signature = tuple[int, int, int, int, int]
"""Inode, size, times of content and of the rest, mode: equal as long as nobody touched it."""
_SPECIAL = "is not a file (a device, a pipe or a socket)"


class LeftAlone(Unable):
    """This name is left alone; `str` says why."""


class FoundName(msgspec.Struct, frozen=True, kw_only=True):
    """A name as it is now."""

    image: FileImage | None = None
    data: bytes | None = None
    """The content; None where it was not read."""
    signature: Signature | None = None
    links: int = 1
    owner: int = -1


def signature_of(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


def place_of(root: Path, name: str, real: dict[str, str] | None = None) -> str:
    """The absolute path of a recorded name. `root` is a real path; `real`: folders that were asked for before.

    Raises `Refused`.
    """
    place = os.path.normpath(name if os.path.isabs(name) else f"{root}/{name}")  # noqa: PTH117  (a name, not a path)
    if "\0" in place:
        raise LeftAlone("its name holds a null byte")
    folder = os.path.dirname(place)  # noqa: PTH120  (as above)
    if real_folder(folder, {} if real is None else real) != folder:
        raise LeftAlone("its folder is a link to another one now")
    if not os.path.isabs(name) and not place.startswith(f"{str(root).rstrip('/')}/"):  # noqa: PTH117  (as above)
        raise LeftAlone("it lies outside of the session's folder")
    return place


def real_folder(folder: str, known: dict[str, str]) -> str:
    if folder not in known:
        known[folder] = os.path.realpath(folder)
    return known[folder]


def look(place: str, max_bytes: int, *, reads: bool = True) -> FoundName:
    """Raises `Refused` for what is neither a file nor a link, or too large to be held."""
    try:
        found = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return FoundName()
    except OSError as problem:
        raise LeftAlone(f"cannot be looked at: {problem.strerror}") from None
    try:
        if stat_module.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(place))  # noqa: PTH115  (bytes as they are)
            image = FileImage(kind="link", hash=hash_of(target), mode=0, size=len(target))
            return FoundName(image=image, data=target, signature=signature_of(found), owner=found.st_uid)
        if stat_module.S_ISDIR(found.st_mode):
            raise LeftAlone("is a folder now")
        if not stat_module.S_ISREG(found.st_mode):
            raise LeftAlone(_SPECIAL)
        if found.st_size > max_bytes:
            raise LeftAlone(f"is larger than {max_bytes >> 20} MB")
        data, found = _read(place)
    except OSError as problem:
        raise LeftAlone(f"cannot be read: {problem.strerror}") from None
    image = FileImage(hash=hash_of(data), mode=stat_module.S_IMODE(found.st_mode), size=len(data))
    return FoundName(
        image=image,
        data=data if reads else None,
        signature=signature_of(found),
        links=found.st_nlink,
        owner=found.st_uid,
    )


def _read(place: str) -> tuple[bytes, os.stat_result]:
    flags = (
        os.O_RDONLY
        | getattr(os, "O_CLOEXEC", 0)
        | getattr(os, "O_NOFOLLOW", 0)
        | getattr(os, "O_NONBLOCK", 0)
    )
    handle = os.open(place, flags)
    with os.fdopen(handle, "rb", buffering=0) as file:
        found = os.fstat(handle)
        if not stat_module.S_ISREG(found.st_mode):
            raise LeftAlone(_SPECIAL)
        return file.read(), found


def is_untouched(place: str, signature: Signature | None) -> bool:
    """Whether a name is still what it was when it was looked at."""
    try:
        return signature == signature_of(os.lstat(place))
    except OSError:
        return signature is None


def make(place: str, wanted: FileImage | None, data: bytes, *, now: FoundName) -> list[str]:
    """Makes a name what it should be; returns folders that it made. Raises `OSError` with everything as it was.

    `data`: the content, or where a link leads.
    """
    if wanted is None:
        if now.image is not None:
            os.unlink(place)  # noqa: PTH108  (bytes of the name as they are)
        return []
    made = _make_folders(os.path.dirname(place))  # noqa: PTH120  (as above)
    try:
        if wanted.kind == "link":
            _swap_in_link(place, data)
        elif now.image is not None and now.image.kind == "file" and now.links > 1:
            _write_in_place(place, data, wanted.mode)
        elif is_same(now.image, msgspec.structs.replace(wanted, mode=now.image.mode if now.image else -1)):
            os.chmod(place, wanted.mode)  # noqa: PTH101  (as above)
        else:
            _swap_in_file(place, data, wanted.mode, now)
    except BaseException:
        remove_empty(made)
        raise
    return made


def remove_empty(folders: "list[str] | tuple[str, ...]") -> None:
    """Innermost first; one that holds something stays."""
    for folder in sorted(folders, key=len, reverse=True):
        try:
            os.rmdir(folder)  # noqa: PTH106  (as above)
        except OSError:
            continue


def missing_folders(folder: str) -> list[str]:
    """Those that are not there yet on the way to it, outermost first."""
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


def _swap_in_file(place: str, data: bytes, mode: int, now: FoundName) -> None:
    beside = _beside(place)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(beside, flags, 0o600)
    except PermissionError:
        if now.image is None or now.image.kind != "file":
            raise
        _write_in_place(place, data, mode)  # a folder that takes no new file
        return
    try:
        try:
            write_all(handle, data)
            if now.owner not in (-1, os.geteuid()):
                _give_back(handle, now.owner)
            os.fchmod(handle, mode)
        finally:
            os.close(handle)
        os.replace(beside, place)  # noqa: PTH105  (as above)
    except BaseException:
        _drop(beside)
        raise


def _swap_in_link(place: str, target: bytes) -> None:
    beside = _beside(place)
    os.symlink(os.fsdecode(target), beside)  # noqa: PTH211  (as above)
    try:
        os.replace(beside, place)  # noqa: PTH105  (as above)
    except BaseException:
        _drop(beside)
        raise


def _write_in_place(place: str, data: bytes, mode: int) -> None:
    """For a file with other names, which have to stay the same file. What breaks off puts the old bytes back."""
    handle = os.open(place, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "r+b", buffering=0) as file:
        old = file.read()
        try:
            if len(data) > len(old) and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, len(old), len(data) - len(old))
            os.lseek(handle, 0, os.SEEK_SET)
            write_all(handle, data)
            os.ftruncate(handle, len(data))
            os.fchmod(handle, mode)
        except OSError:
            os.lseek(handle, 0, os.SEEK_SET)
            write_all(handle, old)
            os.ftruncate(handle, len(old))
            raise


def _give_back(handle: int, owner: int) -> None:
    try:
        os.fchown(handle, owner, -1)
    except PermissionError:
        raise PermissionError(1, "it belongs to another user") from None


def _beside(place: str) -> str:
    return f"{os.path.dirname(place)}/.bayou-{secrets.token_hex(8)}.tmp"  # noqa: PTH120  (as above)


def _drop(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108  (as above)
    except OSError:
        return
