"""Replacing a file in one step: a reader sees the old or the new content, never half of it, also after a crash."""

import os
import stat
from pathlib import Path


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
    beside = target.with_name(f".bayou-{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        try:
            write_all(descriptor, data)
            if old is not None:
                _take_over_owner(descriptor, old)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _take_over_owner(descriptor: int, old: os.stat_result) -> None:
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
