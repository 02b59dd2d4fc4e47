"""Keeps bayou's folders readable for their user only: creates them so and tightens wider permissions."""

import os
import stat
from pathlib import Path

from app.resources.paths import BayouPaths
from tools.protected.credential_tables import BAYOU_FILES_VISIBLE_IN_SANDBOX

_PRIVATE_FOLDER_MODE = 0o700


def make_bayou_folders_private(paths: BayouPaths) -> None:
    """Tightens the agent folder, the sessions folder and the folders in the agent folder; folders that cannot
    be created or changed are skipped."""
    _make_private(paths.agent_dir, is_made=True)
    _make_private(paths.sessions_dir, is_made=not paths.sessions_dir.is_relative_to(paths.agent_dir))
    try:
        with os.scandir(paths.agent_dir) as entries:
            inside = [
                entry.path
                for entry in entries
                if entry.name not in BAYOU_FILES_VISIBLE_IN_SANDBOX and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for folder in inside:
        _make_private(Path(folder), is_made=False)


def _make_private(folder: Path, *, is_made: bool) -> None:
    try:
        if is_made:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=_PRIVATE_FOLDER_MODE, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077:
            folder.chmod(mode & _PRIVATE_FOLDER_MODE)
    except OSError:
        pass  # A read-only home or another user's folder: writers of files in it report the error.
