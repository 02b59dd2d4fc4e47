"""bayou's own folders are readable for their person only: made so, and put right where they are wider."""

import os
import stat
from pathlib import Path

from app.resources.paths import Paths
from tools.protected.keys import SHOWN_OWN_FILES

_PRIVATE = 0o700


def keep_private(paths: Paths) -> None:
    """The agent folder, the sessions' and the folders in them; what cannot be made or changed stays as it is."""
    _keep(paths.agent_dir, is_made=True)
    _keep(paths.sessions_dir, is_made=not paths.sessions_dir.is_relative_to(paths.agent_dir))
    try:
        with os.scandir(paths.agent_dir) as entries:
            inside = [
                entry.path
                for entry in entries
                if entry.name not in SHOWN_OWN_FILES and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for folder in inside:
        _keep(Path(folder), is_made=False)


def _keep(folder: Path, *, is_made: bool) -> None:
    try:
        if is_made:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & 0o077:
            folder.chmod(mode & _PRIVATE)
    except OSError:
        pass  # A home that cannot be written, or a folder of someone else: told where something is kept in it.
