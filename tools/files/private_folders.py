"""Private folders for shell scripts, outputs and folder images, which no command may touch.

They are in bayou's own folder, which every sandbox hides, and not in `/tmp`, which every sandboxed command may
write."""

import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_STALE_SECONDS: Final = 86_400


def private_folder(above: Path | None, kind: str) -> Path:
    """Creates a folder that only this user may access, without links in its path. `above` is bayou's folder; None if
    there is none."""
    if above is not None:
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_stale_folders(above)
    return Path(tempfile.mkdtemp(prefix=f"bayou-{kind}-{os.getpid()}-", dir=above)).resolve()


def last_resort_folder() -> Path:
    """Returns a folder among temporary files, for data that cannot be written anywhere else. Only this user may
    access it, and every sandbox hides it."""
    folder = last_resort_path()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
            folder.chmod(0o700)
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix=f"{folder.name}-")).resolve()


def last_resort_path() -> Path:
    """Returns the usual path of the folder among temporary files; the folder may be missing, or taken by another
    user."""
    return Path(tempfile.gettempdir()).resolve() / f"bayou-kept-{os.getuid()}"


def _remove_stale_folders(above: Path) -> None:
    """Removes the private folders that killed bayou processes left behind."""
    oldest = time.time() - _STALE_SECONDS
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
