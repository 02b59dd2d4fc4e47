"""Which programs are a project's own: what lies in it, and what its manifests name, as it stood when the session began.

A program that nobody knows is asked about unless it is one of these. What is written while the session goes on counts
not: else an agent could name the program first, and run it then. Nothing is looked at before such a program comes up.
"""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from tools.patterns import late

_KEPT_IN = (
    "node_modules/.bin",
    ".venv/bin",
    "venv/bin",
    ".venv/Scripts",
    "vendor/bin",
    "bin",
    "exe",
    "cmd",
    "target/debug",
    "target/release",
)
"""Where programs of a project lie; `cmd` has a folder for each that Go makes."""
_OF_OTHERS = frozenset({"node_modules", "vendor", ".venv", "venv", "site-packages", "target", ".git"})
"""Folders of what was fetched: what stands in them is not the project's word."""
_MOST_ENTRIES = 5_000
_NAME = late(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,200}")


class OwnPrograms:
    """Of one workspace, known from the beginning of a session."""

    def __init__(self) -> None:
        self._began = time.time_ns()
        self._named: dict[str, frozenset[str]] = {}
        """What the manifests of a folder name; once known it stays."""

    def have(self, workspace: str, name: str, folders: Sequence[str]) -> bool:
        """Whether one of that name is there, for one who stands in one of these folders (or in the workspace)."""
        return _NAME.fullmatch(name) is not None and any(
            name in self._names(folder) or self._lies_in(workspace, folder, name)
            for folder in _upwards(workspace, folders)
        )

    def _names(self, folder: str) -> frozenset[str]:
        known = self._named.get(folder)
        if known is None:
            known = frozenset(name for named in self._manifests(folder) for name in named)
            self._named[folder] = known
        return known

    def _manifests(self, folder: str) -> Iterator[frozenset[str]]:
        # The readers are needed when a program comes up that nobody knows, and not at the start.
        from app.permits.manifests import MOST_BYTES, is_manifest, named_in  # noqa: PLC0415

        try:
            entries = list(islice(os.scandir(folder), _MOST_ENTRIES))
        except OSError:
            return
        for entry in entries:
            if not is_manifest(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            try:
                if self.is_old(entry.stat(follow_symlinks=False)):
                    yield named_in(entry.name, _text(entry.path, MOST_BYTES + 1))
            except OSError:
                continue

    def _lies_in(self, workspace: str, folder: str, name: str) -> bool:
        for kept in _KEPT_IN:
            path = f"{folder}/{kept}/{name}"
            try:
                known = os.lstat(path)
            except (OSError, ValueError):
                continue
            real = os.path.realpath(path)
            is_program = os.path.exists(real) if kept == "cmd" else os.path.isfile(real)  # noqa: PTH110, PTH113
            if is_program and self.is_old(known) and real.startswith(workspace + "/"):
                return True
        return False

    def is_old(self, known: os.stat_result) -> bool:
        """It stood so when the session began. No program can put this time back, and moving a file changes it too."""
        return known.st_ctime_ns < self._began


def _upwards(workspace: str, folders: Sequence[str]) -> list[str]:
    """The workspace, and each folder on the way to where one stands."""
    found = [workspace]
    for folder in folders:
        inside = folder.removeprefix(workspace + "/")
        parts = inside.split("/")
        if inside == folder or _OF_OTHERS.intersection(parts):
            continue
        found += [f"{workspace}/{'/'.join(parts[:size])}" for size in range(1, min(len(parts), 8) + 1)]
    return list(dict.fromkeys(found))


def _text(path: str, most: int) -> str:
    with open(path, "rb") as file:  # noqa: PTH123  (a plain text, as scandir gives it)
        return file.read(most).decode("utf-8", "replace")
