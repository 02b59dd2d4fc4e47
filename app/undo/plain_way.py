"""Scanning a folder without git: every file is looked at, and held while it is small enough.

Folders that programs fill are not gone into; a folder with too many files is not covered at all.

"""

import asyncio
import os
import time
from pathlib import Path

from app.undo.holding import Holder, Limits
from app.undo.images import FileImage
from app.undo.scans import Scan, Seen
from app.values.unable import Unable
from tools.files.replacing import is_beside

MOST_FILES = 20_000
_LIMITS = Limits(file_bytes=1 << 20, all_bytes=200 << 20, files=MOST_FILES)
_FILLED = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".tox",
    )
)


class TooMany(Unable):
    """The folder is larger than what can be looked at before each command."""


class PlainWay:
    def __init__(self, holder: Holder, *, root: Path, outside: Path) -> None:
        """`outside`: bayou's own folder, which is not part of what it records."""
        self._holder = holder
        self._root = str(root)
        self._outside = os.path.realpath(outside)

    async def scan(self) -> Scan:
        return await asyncio.to_thread(self._scanned)

    def _scanned(self) -> Scan:
        """Raises `TooMany`."""
        started = time.time()
        files, folders = self._walk()
        seen = self._holder.hold(
            [(name, f"{self._root}/{name}") for name in files], _LIMITS, was_clean=frozenset()
        )
        seen.update(
            self._holder.hold(
                [(f"{name}/", f"{self._root}/{name}") for name in folders], _LIMITS, was_clean=frozenset()
            )
        )
        return Scan(seen=seen, started=started)

    def _walk(self) -> tuple[list[str], list[str]]:
        """Files and links, and the folders that are not gone into."""
        files: list[str] = []
        left_out: list[str] = []
        waiting = [""]
        while waiting:
            below = waiting.pop()
            try:
                with os.scandir(f"{self._root}/{below}") as entries:
                    for entry in entries:
                        name = f"{below}{entry.name}"
                        if not entry.is_dir(follow_symlinks=False):
                            if not is_beside(entry.name):
                                files.append(name)
                        elif entry.name in _FILLED or entry.path == self._outside:
                            left_out.append(name)
                        else:
                            waiting.append(f"{name}/")
            except OSError:
                left_out.append(below.rstrip("/") or ".")
            if len(files) > MOST_FILES:
                raise TooMany(f"it holds more than {MOST_FILES:,} files and is no git repository")
        return files, [name for name in left_out if not name.endswith(".git")]

    async def originals(self, names: list[str]) -> dict[str, FileImage | str]:
        return {}

    async def present(self, names: list[str]) -> dict[str, Seen]:
        places = [(name, f"{self._root}/{name}") for name in names]
        return await asyncio.to_thread(self._holder.hold, places, _LIMITS, was_clean=frozenset())

    async def unheld(self, names: list[str], *, ignored: bool) -> dict[str, str]:
        return {}  # every file is listed

    def name_at(self, place: str) -> str | None:
        if place == self._root:
            return ""
        inside = f"{self._root.rstrip('/')}/"
        return place[len(inside) :] if place.startswith(inside) else None

    def place(self, name: str) -> str:
        return f"{self._root}/{name}"

    def text(self, image: FileImage | None) -> str | None:
        return self._holder.text(image)

    def moved_head(self) -> tuple[str, str] | None:
        return None

    async def close(self) -> None:
        return
