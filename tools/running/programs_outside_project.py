"""Finds programs that bayou starts by itself, never one from the project's folder."""

import os
from collections.abc import Mapping
from pathlib import Path

from tools.files.path_existence import is_file


def find_program_outside_project(
    name: str, *, outside: Path, env: Mapping[str, str] = os.environ
) -> str | None:
    """Returns the first program of that name in `PATH`, skipping relative entries and those below `outside`."""
    forbidden = os.path.realpath(outside)
    for entry in env.get("PATH", os.defpath).split(os.pathsep):
        place = os.path.realpath(entry)
        if not os.path.isabs(entry) or _is_path_below(place, forbidden):  # noqa: PTH117  (an empty entry is no Path)
            continue
        program = Path(entry) / name
        is_program = is_file(program) and os.access(program, os.X_OK)
        if is_program and not _is_path_below(os.path.realpath(program), forbidden):
            return str(program)
    return None


def _is_path_below(place: str, folder: str) -> bool:
    return folder != os.sep and (place == folder or place.startswith(folder.rstrip(os.sep) + os.sep))
