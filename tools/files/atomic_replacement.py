"""Replaces a file atomically: a reader sees the old or the new content, never a mixture, even after a crash."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tools.lazy_patterns import lazy_regex

FileVersionStamp = tuple[int, int, int, int]
"""The device, inode, size and modification time of a file, which stay equal as long as no program changes it."""
_WAIT_FOR_LATE_WRITES_SECONDS = 0.005
"""The number of seconds in which a program that opened a file before it was replaced may still write to the old
file."""
_FILE_LOCK_TIMEOUT = 2.0
_TEMPORARY_FILE_NAME_PATTERN = lazy_regex(r"\.bayou-(\d{1,10})-[0-9a-f]{16}\.tmp\Z")


def replace_file_atomically(
    path: Path, data: bytes, *, mode: int | None = None, durable: bool = True
) -> None:
    """Replaces a file's content atomically, and creates its parent folders. A symbolic link stays a link; the file
    keeps its owner and, without `mode`, its mode. `durable`: the content is on the disk when this returns. Raises
    `OSError` with everything unchanged."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        old = target.stat()
    except OSError:
        old = None
    if mode is None and old is not None:
        mode = stat.S_IMODE(old.st_mode)
    keep_owner = partial(_copy_owner, old) if old is not None else None
    swap_in_new_file(str(target), data, mode=mode, finish=keep_owner, durable=durable)
    if durable:
        flush_folder_to_disk(target.parent)


def replace_file_at_resolved_path(place: str, data: bytes, old: os.stat_result | None) -> None:
    """Replaces a file atomically at a path without links whose old state is known; the content is not flushed to the
    disk."""
    mode = stat.S_IMODE(old.st_mode) if old is not None else None
    keep_owner = partial(_copy_owner, old) if old is not None else None
    swap_in_new_file(place, data, mode=mode, finish=keep_owner)


def swap_in_new_file(
    place: str,
    data: bytes,
    *,
    mode: int | None,
    finish: Callable[[int], None] | None = None,
    durable: bool = False,
    check: Callable[[], object] | None = None,
    is_new: bool = False,
) -> None:
    """Gives a new file the name of a path: a link there is replaced, not followed. The folder must exist. `mode` None
    follows the umask. `finish` is called with the new file before it gets its name. `durable`: the content is on the
    disk before that. `check` raises to keep the present file, right before it would be replaced; with `is_new` the name
    must be free. Raises `OSError` with everything unchanged."""
    beside = _temporary_path(place)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        try:
            write_all(descriptor, data)
            if finish is not None:
                finish(descriptor)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new and _link_new_name(beside, place):
            _remove_quietly(beside)
            return
        if check is not None:
            check()
        os.replace(beside, place)  # noqa: PTH105  (bytes of the name as they are)
    except BaseException:
        _remove_quietly(beside)
        raise


def _link_new_name(beside: str, place: str) -> bool:
    """Gives a new file a name that no file may have yet. Returns False where the file system has no hard links."""
    try:
        os.link(beside, place)
    except FileExistsError:
        raise FileChangedMeanwhile(errno.EEXIST, "Another program made it meanwhile", place) from None
    except OSError:
        return False
    return True


class FileChangedMeanwhile(OSError):
    """Raised if another program changed a file after it was read, so that writing would lose that change."""


def replace_unchanged(
    place: str,
    path: str,
    data: bytes,
    old: bytes,
    version: FileVersionStamp | None,
    *,
    is_shared: bool,
    keeps_names: Callable[[], bool] = lambda: True,
) -> None:
    """Replaces the content of a path without links, if it is still `old` and of this version (None: missing). Data that
    a program with the opened file appends meanwhile is appended; after any other change the name gets that file back.
    `is_shared`: another program wrote to it recently, so its writes are awaited. Raises `FileChangedMeanwhile` with the
    other program's content in place; errors name `path`."""
    check = partial(_check_version, place, path, version)
    before = check()
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK) if before is not None else -1
    try:
        mode = stat.S_IMODE(before.st_mode) if before is not None else None
        keep_owner = partial(_copy_owner, before) if before is not None else None
        swap = partial(
            swap_in_new_file, place, data, mode=mode, finish=keep_owner, check=check, is_new=before is None
        )
        swap_or_overwrite_file(place, data, before, path, swap, keeps_names)
        if before is None or before.st_nlink > 1:
            return
        if is_shared:
            time.sleep(_WAIT_FOR_LATE_WRITES_SECONDS)
        late, now = os.fstat(descriptor), os.lstat(place)
        if _version_of(late)[2:] == _version_of(before)[2:] or late.st_ino == now.st_ino:
            return
        theirs = _read_all(descriptor)
        if theirs.startswith(old):
            _append_bytes(place, theirs[len(old) :])
            return
        if now.st_size == len(data):
            again = partial(_check_version, place, path, _version_of(now))
            swap_in_new_file(place, theirs, mode=mode, finish=keep_owner, check=again)
        raise FileChangedMeanwhile(errno.EBUSY, "Another program changed it meanwhile", path)
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _append_bytes(place: str, data: bytes) -> None:
    handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def _version_of(found: os.stat_result) -> FileVersionStamp:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _check_version(place: str, path: str, expected: FileVersionStamp | None) -> os.stat_result | None:
    try:
        now = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        now = None
    if (_version_of(now) if now is not None else None) != expected:
        raise FileChangedMeanwhile(errno.EBUSY, "Another program changed it meanwhile", path)
    return now


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()


@contextmanager
def lock_files(places: Sequence[str]) -> Generator[None]:
    """Locks the existing files against other bayou processes, which use the same locks. If a lock is not available
    in time, the write goes ahead: the content is compared right before replacing."""
    held: dict[tuple[int, int], int] = {}
    patience = time.monotonic() + _FILE_LOCK_TIMEOUT
    try:
        for place in sorted(set(places)):
            while (handle := _lock_file(place, held, patience)) is not None:
                if _is_same_file(place, handle):
                    break
        yield
    finally:
        for handle in held.values():
            os.close(handle)


def _lock_file(place: str, held: dict[tuple[int, int], int], patience: float) -> int | None:
    """Opens and locks a file; returns None if it is missing or cannot be locked."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    found = os.fstat(handle)
    key = found.st_dev, found.st_ino
    if key in held or not stat.S_ISREG(found.st_mode) or not _lock_until(handle, patience):
        os.close(handle)
        return None
    held[key] = handle
    return handle


def _lock_until(handle: int, patience: float) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > patience:
                return False
            time.sleep(0.001)
        except OSError:
            return False
        else:
            return True


def _is_same_file(place: str, handle: int) -> bool:
    """Returns whether a path still names the opened file, which another process may have replaced before the lock
    was acquired."""
    try:
        return os.path.samestat(os.stat(place), os.fstat(handle))  # noqa: PTH116  (as above)
    except OSError:
        return True


def swap_in_symbolic_link(place: str, target: str) -> None:
    """Gives a new symbolic link the name of a path, and replaces what is there atomically."""
    beside = _temporary_path(place)
    os.symlink(target, beside)  # noqa: PTH211  (as above)
    try:
        os.replace(beside, place)  # noqa: PTH105  (as above)
    except BaseException:
        _remove_quietly(beside)
        raise


def overwrite_file_in_place(place: str, data: bytes, *, mode: int | None = None) -> None:
    """Overwrites files whose inode has to stay: those with several names, or in a folder that takes no new file.

    Space is reserved first; a failure restores the old bytes."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(place, flags)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        old = file.read()
        try:
            if len(data) > len(old) and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, len(old), len(data) - len(old))
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, data)
            os.ftruncate(descriptor, len(data))
            if mode is not None:
                os.fchmod(descriptor, mode)
        except OSError:
            os.lseek(descriptor, 0, os.SEEK_SET)
            write_all(descriptor, old)
            os.ftruncate(descriptor, len(old))
            raise


def swap_or_overwrite_file(
    place: str,
    data: bytes,
    old: os.stat_result | None,
    path: str,
    swap: Callable[[], None],
    keeps_names: Callable[[], bool] = lambda: True,
) -> None:
    """Replaces a file by calling `swap`, or overwrites it in place if it has several names, is a mount point, or its
    folder takes no new file. `old` is the present state (None: missing). `keeps_names`: whether its other names get the
    new content too. Raises `OSError`; for a read-only file one that names `path`."""
    if old is not None and not (old.st_mode & 0o222 and os.access(place, os.W_OK)):
        raise PermissionError(errno.EACCES, "The file is read-only", path)
    has_names = old is not None and old.st_nlink > 1
    if has_names and keeps_names():
        overwrite_file_in_place(place, data)
        return
    try:
        swap()
    except FileChangedMeanwhile:
        raise
    except OSError as problem:
        if (
            old is None
            or has_names
            or problem.errno not in (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)
        ):
            raise
        overwrite_file_in_place(place, data)


def _temporary_path(place: str) -> str:
    """Returns an unused name for a temporary file in the folder of a path."""
    own = f".bayou-{os.getpid()}-{os.urandom(8).hex()}.tmp"
    return f"{os.path.dirname(place)}/{own}"  # noqa: PTH120  (as above)


def is_temporary_replacement_name(name: str) -> bool:
    """Returns whether a file name is that of a temporary file made here while replacing a file."""
    return _TEMPORARY_FILE_NAME_PATTERN.match(name) is not None


def remove_stale_temporary_files(folder: str) -> None:
    """Removes temporary files of ended bayou processes from a folder."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  (as above)
    except OSError:
        return
    for name in names:
        found = _TEMPORARY_FILE_NAME_PATTERN.match(name)
        if found is not None and not _is_running(int(found[1])):
            _remove_quietly(f"{folder}/{name}")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _remove_quietly(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108  (as above)
    except OSError:
        return


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _copy_owner(old: os.stat_result, descriptor: int) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) == (old.st_uid, old.st_gid):
        return
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        pass  # Only the superuser may change owners; the content matters more.


def flush_folder_to_disk(folder: Path) -> None:
    """Flushes a folder to the disk, because a new name is only durable with it; systems that cannot do that raise an
    error."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)
