"""Replacing a file in one step: a reader sees the old or the new content, never half of it, also after a crash."""

import os
from pathlib import Path


def replace(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Makes the folders on the way. A symbolic link stays one; without `mode` the file keeps its own.

    `durable`: it is on the disk when this returns. Raises `OSError`, with everything as it was.
    """
    import tempfile  # noqa: PLC0415  (who only reads must not pay for writing)

    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.chmod(_mode_of(target) if mode is None else mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)


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


def _mode_of(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0o644
