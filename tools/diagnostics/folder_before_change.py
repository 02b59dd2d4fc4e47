"""Rebuilds a folder as it was before some files changed, for programs that only check folders: links to unchanged
files, and the old text of changed ones.

Only the folders on the way to a changed file are created; everything else is a link. `.git` is left out, so that
git does not take the image for a work tree."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.diagnostics.code_problems import FileChangeTexts

_FOLDERS_NOT_LINKED: Final = frozenset({".git", ".hg", ".svn"})
_MAX_LINKED_ENTRIES: Final = 100_000


class FolderBeforeChange:
    """A temporary copy of a folder as it was before some files changed, filled in a thread and removed by `close`."""

    def __init__(self, folder: Path) -> None:
        """Takes the empty `folder` that will hold the copy and nothing else."""
        self.root = os.path.realpath(folder)
        self._entry_count = 0

    def fill_folder(self, root: str, changed: Sequence[FileChangeTexts]) -> None:
        below = {one.path[len(root.rstrip("/")) + 1 :]: one.old_content for one in changed}
        self._fill_subfolder(Path(root), Path(self.root), below)

    def _fill_subfolder(self, real: Path, image: Path, below: dict[str, bytes | None]) -> None:
        """Creates links to a folder's unchanged entries and writes the old content of changed files, which `below` has
        by relative path."""
        inner: dict[str, dict[str, bytes | None]] = {}
        here: dict[str, bytes | None] = {}
        for path, before in below.items():
            name, slash, rest = path.partition("/")
            if slash:
                inner.setdefault(name, {})[rest] = before
            else:
                here[name] = before
        try:
            names = os.listdir(real)  # noqa: PTH208  (names alone)
        except FileNotFoundError:
            names = []
        for name in names:
            self._entry_count += 1
            if self._entry_count > _MAX_LINKED_ENTRIES:
                raise OSError("The folders of what was changed hold too much")
            if name not in here and name not in inner and name not in _FOLDERS_NOT_LINKED:
                (image / name).symlink_to(real / name)
        for name, rest in inner.items():
            if any(before is not None for before in rest.values()) or (real / name).is_dir():
                (image / name).mkdir()
                self._fill_subfolder(real / name, image / name, rest)
        for name, before in here.items():
            if before is not None:
                (image / name).write_bytes(before)

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
