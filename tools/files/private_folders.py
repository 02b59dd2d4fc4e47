"""Private folders for shell scripts, outputs and folder images, which no command may touch.

They are in bayou's own folder, which every sandbox hides, and not in `/tmp`, which every sandboxed command may
write."""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_TEMPORARY_FOLDERS_PARENT: Final = "/tmp"
"""The folder in which all sessions of this user create their temporary folders, whatever `TMPDIR` is, so that each
session can hide those of the others from its commands."""
_STALE_PRIVATE_FOLDER_SECONDS: Final = 86_400
_MAX_TRIED_FOLDER_NAMES: Final = 10
"""The maximum number of folder names that are tried if other programs already use them."""


def create_private_folder(above: Path | None, kind: str) -> Path:
    """Creates a folder that only this user may access, without links in its path. `above` is bayou's folder; None if
    there is none."""
    if above is not None:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_stale_folders(above)
    return Path(tempfile.mkdtemp(prefix=f"bayou-{kind}-{os.getpid()}-", dir=above)).resolve()


def fallback_temporary_folder() -> Path:
    """Returns a folder among temporary files, for data that cannot be written anywhere else."""
    found = _temporary_folder(_kept_paths())
    return found or Path(tempfile.mkdtemp(prefix=f"bayou-kept-{os.getuid()}-")).resolve()


def temporary_folder_of_sessions(own: Path) -> Path:
    """Returns the folder in which each session has its own for temporary files: in `/tmp`, or else in bayou's folder
    `own`."""
    found = _temporary_folder(_temporary_paths("bayou", _TEMPORARY_FOLDERS_PARENT))
    if found is None:
        found = own / "temporary"
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def existing_temporary_folders_of_bayou() -> tuple[str, ...]:
    """Returns bayou's existing temporary folders, which sandboxes hide from commands."""
    paths = (*_kept_paths(), *_temporary_paths("bayou", _TEMPORARY_FOLDERS_PARENT))
    return tuple(str(path) for path in paths if _is_private_folder(path))


def _temporary_folder(paths: Iterable[Path]) -> Path | None:
    """Returns the first of these folders that only this user can access and that is not a link, because another
    user may have created the name. Creates the folder if it is missing."""
    for path in paths:
        with suppress(OSError):
            path.mkdir(mode=0o700)
        if _is_private_folder(path):
            return path
    return None


def _kept_paths() -> tuple[Path, ...]:
    folders = dict.fromkeys((_TEMPORARY_FOLDERS_PARENT, tempfile.gettempdir()))
    return tuple(path for folder in folders for path in _temporary_paths("bayou-kept", folder))


def _temporary_paths(kind: str, folder: str) -> tuple[Path, ...]:
    above = Path(folder).resolve()
    return tuple(
        above / f"{kind}-{os.getuid()}{end}"
        for end in ("", *(f".{n}" for n in range(1, _MAX_TRIED_FOLDER_NAMES)))
    )


def _is_private_folder(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    mode = stat.S_IMODE(found.st_mode)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not mode & 0o077


def _remove_stale_folders(above: Path) -> None:
    """Removes the private folders that killed bayou processes left behind."""
    oldest = time.time() - _STALE_PRIVATE_FOLDER_SECONDS
    for folder in above.glob("bayou-*-*-*"):
        process = folder.name.split("-")[-2]
        with suppress(OSError):
            if process.isdecimal() and folder.lstat().st_mtime < oldest and not _is_running(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
