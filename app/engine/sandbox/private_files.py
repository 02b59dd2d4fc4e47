"""Finds files of programs in the home that only their owner may read, or whose names say that they have keys.

Programs that store keys make such files, so that a program no table names is covered. Where all files are made private
(umask 077), the mode says nothing, and only names count."""

import os
import stat
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from tools.box.sandbox_policy import innermost_containing
from tools.files.paths import real_path
from tools.protected.autorun_files import HOME_AUTORUN_FILES
from tools.protected.credential_file_signs import (
    FOLDERS_WITHOUT_CREDENTIALS,
    HOME_FOLDERS_WITH_PROGRAM_FOLDERS,
    has_credential_name,
)
from tools.protected.credential_tables import CREDENTIAL_PLACES

PRIVATE_FILES_CACHE_SECONDS: Final = 5.0
_MAX_PRIVATE_FOLDER_DEPTH: Final = 2
"""The maximum depth of searched folders below a program's folder."""
_MAX_PRIVATE_FOLDERS: Final = 500
_MAX_PRIVATE_FOLDER_ENTRIES: Final = 200
"""The maximum number of entries of one folder that are searched."""
_MAX_HIDDEN_PRIVATE_FILES: Final = 100
"""The maximum number of private files that are hidden one by one; beyond it, folders with many are hidden as a
whole, as are folders with nothing but such files."""


class PrivateHomePlaces(msgspec.Struct, frozen=True):
    """The private files and folders of a home folder to hide from commands, as real paths."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class _FolderContents(msgspec.Struct, frozen=True):
    stamp: tuple[int, int]
    owner_only_files: tuple[str, ...] = ()
    """The real paths of files that only their owner may read."""
    files_named_as_keys: tuple[str, ...] = ()
    """The real paths of files whose names say that they have keys."""
    other_file_count: int = 0
    """The number of other files in the folder."""
    folders: tuple[str, ...] = ()
    is_incomplete: bool = False


class PrivateHomeFiles:
    """Finds the private files of programs in one home folder."""

    def __init__(self, home: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._home = real_path(home)
        self._known_places = frozenset(
            f"{self._home}/{name}"
            for name in (*FOLDERS_WITHOUT_CREDENTIALS, *(one.name for one in CREDENTIAL_PLACES))
        )
        self._settings = frozenset(f"{self._home}/{one.name}" for one in HOME_AUTORUN_FILES)
        """Start-up files and settings that all programs may read, whose mode therefore says nothing."""
        self._folders: dict[str, _FolderContents] = {}
        self._cached_places: tuple[float, PrivateHomePlaces] | None = None
        self._are_modes_open = not _makes_private_files()

    def find_private_places(self) -> PrivateHomePlaces:
        """Returns all private files and folders; folders that did not change are not read again."""
        now = self._clock()
        if self._cached_places is None or now - self._cached_places[0] >= PRIVATE_FILES_CACHE_SECONDS:
            self._cached_places = (now, self._search_home())
        return self._cached_places[1]

    def is_private_file(self, path: str) -> bool:
        """Whether an absolute path, links resolved, is a private file of a program."""
        if not path.casefold().startswith(self._home.casefold() + "/"):
            return False
        places = self.find_private_places()
        if innermost_containing(path, places.folders) is not None or path in places.files:
            return True
        if not self._belongs_to_program(path):
            return False
        return has_credential_name(path[len(self._home) + 1 :]) or (
            self._are_modes_open and self._is_private(path)
        )

    def has_private_file_below(self, folder: str) -> bool:
        places = self.find_private_places()
        below = folder.rstrip("/") + "/"
        return innermost_containing(folder, places.folders) is not None or any(
            path.startswith(below) for path in (*places.files, *places.folders)
        )

    def _belongs_to_program(self, path: str) -> bool:
        parts = path[len(self._home) + 1 :].split("/")
        return self._depth_in_program_folder(parts) is not None and not self._is_at_or_below(
            path, self._known_places
        )

    def _depth_in_program_folder(self, parts: list[str]) -> int | None:
        """Returns how deep a file is in the folder of its program; None if it belongs to no program. Upper and
        lower case are the same, as on some file systems."""
        for name in HOME_FOLDERS_WITH_PROGRAM_FOLDERS:
            above = name.casefold().split("/")
            if [part.casefold() for part in parts[: len(above)]] == above:
                depth = len(parts) - len(above) - 2
                return depth if depth <= _MAX_PRIVATE_FOLDER_DEPTH else None
        depth = len(parts) - 2
        return depth if parts[0].startswith(".") and depth <= _MAX_PRIVATE_FOLDER_DEPTH else None

    def _is_private(self, path: str) -> bool:
        try:
            status = os.stat(path)  # noqa: PTH116  (a plain text, and many)
        except (OSError, ValueError):
            return False
        return _is_private_mode(status) and not self._is_at_or_below(path, self._settings)

    def _is_at_or_below(self, path: str, places: frozenset[str]) -> bool:
        """Whether a path below the home is one of the places or inside one; there are hundreds of them."""
        while len(path) > len(self._home):
            if path in places:
                return True
            path = path.rpartition("/")[0]
        return False

    def _search_home(self) -> PrivateHomePlaces:
        own = [self._home, *(f"{self._home}/{name}" for name in HOME_FOLDERS_WITH_PROGRAM_FOLDERS)]
        waiting, seen = deque((folder, 0) for folder in own), dict[str, _FolderContents]()
        while waiting and len(seen) < _MAX_PRIVATE_FOLDERS:
            path, depth = waiting.popleft()
            folder = self._read_folder(path)
            if folder is None:
                continue
            seen[path] = folder
            if path == self._home:
                below = [one for one in folder.folders if one[len(path) + 1 :].startswith(".")]
                waiting.extend((one, 1) for one in below if one not in own and not one.endswith("/.local"))
            elif depth <= _MAX_PRIVATE_FOLDER_DEPTH:
                waiting.extend((one, depth + 1) for one in folder.folders)
        if (
            self._cached_places is not None
            and len(seen) == len(self._folders)
            and all(folder is self._folders.get(path) for path, folder in seen.items())
        ):
            return self._cached_places[1]
        self._folders = seen
        return self._hidden_places(seen, own)

    def _hidden_places(self, seen: dict[str, _FolderContents], own: list[str]) -> PrivateHomePlaces:
        files: dict[str, None] = {}
        folders: list[str] = []
        for path, folder in seen.items():
            if self._are_modes_open:
                files.update(dict.fromkeys(folder.owner_only_files))
                is_all = (
                    not folder.other_file_count
                    and not folder.folders
                    and (folder.is_incomplete or len(folder.owner_only_files) > 1)
                )
                if is_all and path not in own:
                    folders.append(path)
            files.update(dict.fromkeys(folder.files_named_as_keys))
        alone = [one for one in files if innermost_containing(one, tuple(folders)) is None]
        if len(alone) > _MAX_HIDDEN_PRIVATE_FILES:
            left = len(alone)
            for path, count in Counter(os.path.dirname(one) for one in alone).most_common():  # noqa: PTH120
                if left <= _MAX_HIDDEN_PRIVATE_FILES or count < 2:
                    break
                if path not in own:
                    folders.append(path)
                    left -= count
        hidden = tuple(folders)
        return PrivateHomePlaces(
            tuple(one for one in alone if innermost_containing(one, hidden) is None), hidden
        )

    def _read_folder(self, path: str) -> _FolderContents | None:
        try:
            status = os.stat(path)  # noqa: PTH116  (a plain text, and many)
            stamp = (status.st_ino, status.st_mtime_ns)
            known = self._folders.get(path)
            if known is not None and known.stamp == stamp:
                return known
            with os.scandir(path) as entries:
                return self._inspect_folder(path, stamp, entries)
        except OSError:
            return None

    def _inspect_folder(
        self, path: str, stamp: tuple[int, int], entries: "Iterable[os.DirEntry[str]]"
    ) -> _FolderContents:
        private: list[str] = []
        named: list[str] = []
        folders: list[str] = []
        others = 0
        is_cut = False
        for count, entry in enumerate(entries):
            if count >= _MAX_PRIVATE_FOLDER_ENTRIES and path != self._home:
                is_cut = True
                break
            if path == self._home and not entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in self._known_places:
                    folders.append(entry.path)
                continue
            if entry.path in self._known_places or not _is_file(entry):
                continue
            real = real_path(entry.path) if entry.is_symlink() else entry.path
            if has_credential_name(entry.path[len(self._home) + 1 :]):
                named.append(real)
            elif self._is_private(entry.path):
                private.append(real)
            else:
                others += 1
        return _FolderContents(stamp, tuple(private), tuple(named), others, tuple(sorted(folders)), is_cut)


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_private_mode(status: os.stat_result) -> bool:
    """Whether a file's mode lets its owner alone read it. Executables and empty files do not count, since they
    hold no keys."""
    return stat.S_ISREG(status.st_mode) and not status.st_mode & 0o177 and status.st_size > 0


def _makes_private_files() -> bool:
    """Returns whether this process's umask, and so that of the user's programs, makes all new files private."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    umask = next((line.split()[1] for line in lines if line.startswith("Umask:")), "0")
    return int(umask, 8) & 0o044 == 0o044
