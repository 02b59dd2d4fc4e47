"""Copies files and folders of other programs in one step; links that lead out of their folder are refused."""

import os
import shutil
from pathlib import Path


def copy_atomically(source: Path, target: Path) -> None:
    """Copies a file or folder through a temporary name, so that the target is complete or absent. Raises `OSError`,
    also when the target exists."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if source.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(source, draft, symlinks=True)
        else:
            shutil.copy2(source, draft)
        if os.path.lexists(target):
            raise FileExistsError(f"{target} already exists")
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True) if draft.is_dir() else draft.unlink(missing_ok=True)


def link_target_outside_folder(source: Path, folder: Path) -> str:
    """Says where a path, or a link inside of it, leads out of the folder; a copy of its target, a key for example,
    would be shown to the agent. Empty if all stays inside."""
    top = os.path.realpath(folder)
    inside = (Path(place, name) for place, names, files in os.walk(source) for name in (*names, *files))
    for path in (source, *(one for one in inside if one.is_symlink())):
        target = os.path.realpath(path)
        if not Path(target).is_relative_to(top):
            return f"{path} is a link to {target}; copy that by hand"
    return ""
