"""The files of a folder as ripgrep lists them: without ignored ones, without `.git`, nothing followed."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.running.own_programs import find_own_program
from tools.running.withheld import own_variables
from tools.searching.ripgrep import ALWAYS, bundled_ripgrep

MOST_FILES = 200_000
_PIECE = 1 << 16


def is_below(path: str, folder: str) -> bool:
    """Both as the index names them; the root is the empty name."""
    return not folder or path == folder or path.startswith(folder.rstrip("/") + "/")


def list_files(
    root: Path,
    most: int = MOST_FILES,
    is_stopped: Callable[[], bool] = lambda: False,
    hides: Callable[[str], bool] = lambda path: False,
) -> list[str]:
    """Paths below the root, sorted. At most so many; more are not listed. `hides`: files that nobody is to know."""
    return [path for path in _listed(root, most, is_stopped) if not hides(path)]


def _listed(root: Path, most: int, is_stopped: Callable[[], bool]) -> list[str]:
    program = bundled_ripgrep() or find_own_program("rg", outside=root)
    if program is None:
        return _walked(root, most)
    # Links are not followed unless asked for.
    listing = subprocess.Popen(
        [program, *ALWAYS, "--files", "--null"],
        cwd=root,
        env=own_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    found: list[str] = []
    rest = b""
    assert listing.stdout is not None
    try:
        while (piece := listing.stdout.read(_PIECE)) and len(found) <= most and not is_stopped():
            *paths, rest = (rest + piece).split(b"\0")
            found += [os.fsdecode(path) for path in paths]
    finally:
        listing.kill()
        listing.stdout.close()
        listing.wait()
    return sorted(found[: most + 1])


def _walked(root: Path, most: int) -> list[str]:
    """Where there is no ripgrep: everything but hidden folders."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        below = os.path.relpath(folder, root)
        found += [name if below == "." else f"{below}/{name}" for name in sorted(names)]
        if len(found) > most:
            break
    return sorted(found[: most + 1])
