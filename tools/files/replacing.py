"""Replacing a file in one step: a reader sees the old or the new content, never half of it, also after a crash."""

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.patterns import late

_BESIDE = late(r"\.bayou-(\d{1,10})-[0-9a-f]{16}\.tmp\Z")


def replace(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Makes the folders on the way. A symbolic link stays one; the file keeps its owner and, without `mode`, its own.

    `durable`: it is on the disk when this returns. Raises `OSError`, with everything as it was.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        old = target.stat()
    except OSError:
        old = None
    if mode is None and old is not None:
        mode = stat.S_IMODE(old.st_mode)
    keep_owner = partial(_take_over_owner, old) if old is not None else None
    swap_in(str(target), data, mode=mode, finish=keep_owner, durable=durable)
    if durable:
        sync_folder(target.parent)


def replace_name(place: str, data: bytes, old: os.stat_result | None) -> None:
    """The same for a name without links, of which it is known what it was; not kept on the disk before it returns."""
    mode = stat.S_IMODE(old.st_mode) if old is not None else None
    keep_owner = partial(_take_over_owner, old) if old is not None else None
    swap_in(place, data, mode=mode, finish=keep_owner)


def swap_in(
    place: str,
    data: bytes,
    *,
    mode: int | None,
    finish: Callable[[int], None] | None = None,
    durable: bool = False,
) -> None:
    """Makes the very name this file: a link there is replaced, not followed. Its folder has to be there.

    `mode`: None: as the umask says. `finish`: what is done to the new file before it has its name. `durable`: the
    content is on the disk before that. Raises `OSError`, with everything as it was.
    """
    beside = _beside(place)
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
        os.replace(beside, place)  # noqa: PTH105  (bytes of the name as they are)
    except BaseException:
        _drop(beside)
        raise


def swap_in_link(place: str, target: str) -> None:
    """Makes the very name a symbolic link, as `swap_in` does."""
    beside = _beside(place)
    os.symlink(target, beside)  # noqa: PTH211  (as above)
    try:
        os.replace(beside, place)  # noqa: PTH105  (as above)
    except BaseException:
        _drop(beside)
        raise


def overwrite(place: str, data: bytes, *, mode: int | None = None) -> None:
    """In place, for files whose inode has to stay: those with several names, in a folder that takes no new file.

    Space is reserved first; a failure puts the old bytes back.
    """
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


def swap_or_overwrite(
    place: str, data: bytes, old: os.stat_result | None, path: str, swap: Callable[[], None]
) -> None:
    """By `swap`, unless it has several names, or that fails for the folder takes no new file or it is a mount point.

    `old`: what is there (None: nothing). Raises `OSError`; for a file that is read-only one that names `path`.
    """
    if old is not None and not (old.st_mode & 0o222 and os.access(place, os.W_OK)):
        raise PermissionError(errno.EACCES, "The file is read-only", path)
    if old is not None and old.st_nlink > 1:
        overwrite(place, data)
        return
    try:
        swap()
    except OSError as problem:
        if old is None or problem.errno not in (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV):
            raise
        overwrite(place, data)


def _beside(place: str) -> str:
    """A new name in the same folder."""
    own = f".bayou-{os.getpid()}-{os.urandom(8).hex()}.tmp"
    return f"{os.path.dirname(place)}/{own}"  # noqa: PTH120  (as above)


def is_beside(name: str) -> bool:
    """Whether a file's name is one under which new content is written."""
    return _BESIDE.match(name) is not None


def drop_left_behind(folder: str) -> None:
    """Takes away what a process that is no more was writing in this folder when it was ended."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  (as above)
    except OSError:
        return
    for name in names:
        found = _BESIDE.match(name)
        if found is not None and not _runs(int(found[1])):
            _drop(f"{folder}/{name}")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _drop(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108  (as above)
    except OSError:
        return


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _take_over_owner(old: os.stat_result, descriptor: int) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) == (old.st_uid, old.st_gid):
        return
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        pass  # Only the superuser may give files away; the content matters more.


def sync_folder(folder: Path) -> None:
    """A new name is only safe once its folder is; systems that cannot do that say so by an error."""
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
