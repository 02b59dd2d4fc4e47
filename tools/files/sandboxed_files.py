"""Restricts the file operations of bayou's own tools to the session's sandbox policy, which commands obey too.

A path is checked without links, and an opened file is checked again, so that a link created in between leads nowhere. A
file with several names is written under all of them only if the tools may write each. Exceptions that the user granted
apply."""

import errno
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from tools.box.sandbox_policy import SandboxPolicy, innermost_containing
from tools.file_and_process_operations import LocalFileOperations
from tools.files.atomic_replacement import (
    FileVersionStamp,
    replace_file_at_resolved_path,
    replace_unchanged,
    swap_or_overwrite_file,
)
from tools.files.hard_links import find_other_hard_links
from tools.files.paths import real_path

_DeviceAndInode = tuple[int, int]
_PROC_DESCRIPTOR_FOLDER: Final = "/proc/self/fd"
_MAX_JUDGED_PATHS: Final = 2_000


class DeniedBySandbox(PermissionError):
    """Raised if the sandbox policy denies bayou's own tools a path."""


class PathsJudgedByGate:
    """Records where the paths of tool calls led when the permission gate judged the calls, and which paths need a
    question."""

    def __init__(self) -> None:
        self.is_protected: Callable[[str], bool] = lambda path: False
        """A function that returns whether writing a path needs the user's permission, because the file is run later."""
        self._judged: dict[str, tuple[str, _DeviceAndInode | None, bool]] = {}

    def record_before_judging(self, paths: Iterable[str]) -> None:
        """Records where these paths of a tool call lead, right before the call is judged, so that a link swapped in
        meanwhile is noticed."""
        for path in paths:
            self._judged.pop(path, None)
            while len(self._judged) >= _MAX_JUDGED_PATHS:
                self._judged.pop(next(iter(self._judged)), None)
            real = real_path(path)
            self._judged[path] = real, _inode_of(real), self.is_protected(real)

    def became_autorun_file_since_judging(self, path: str, real: str) -> bool:
        """Returns whether a path was judged as writable and has since become an autorun file, for example because a
        command turned its folder into a repository."""
        known = self._judged.get(path)
        return known is not None and not known[2] and self.is_protected(real)

    def is_changed_since_judging(self, path: str, real: str, opened: os.stat_result | None = None) -> bool:
        """Returns whether a path leads elsewhere than when its call was judged; for an opened file with several names,
        also whether another file was judged."""
        known = self._judged.get(path)
        if known is None:
            return False
        if known[0] != real or opened is None or opened.st_nlink < 2:
            return known[0] != real
        return known[1] != (opened.st_dev, opened.st_ino)


class SandboxedFiles(LocalFileOperations):
    """File operations that check every path against the sandbox policy that `box` returns (None means no policy), and
    against where it led when the call was judged: another program may have put a link there meanwhile."""

    def __init__(
        self,
        box: Callable[[], SandboxPolicy | None],
        judged: PathsJudgedByGate | None = None,
        places: Callable[[], Iterable[str]] = lambda: (),
    ) -> None:
        """Creates the file operations. `places` returns the session's folders. A file with hard links outside these
        folders, or with a name whose change needs permission, is replaced only under its own name."""
        self._box = box
        self._judged = judged or PathsJudgedByGate()
        self._places = places

    def open(self, path: str) -> BinaryIO:
        box = self._box()
        if box is not None:
            _check_path(box.may_read(real_path(path)), path, _HIDDEN_PATH_REASON)
        opened = super().open(path)
        try:
            real = _opened_path(opened.fileno(), path)
            is_elsewhere = self._judged.is_changed_since_judging(path, real, os.fstat(opened.fileno()))
            _check_path(not is_elsewhere, path, _SWAPPED_PATH_REASON)
            _check_path(box is None or box.may_read(real), path, _HIDDEN_PATH_REASON)
        except OSError:
            opened.close()
            raise
        return opened

    def make_directory(self, path: str) -> None:
        box = self._box()
        if box is not None and not os.path.isdir(path):  # noqa: PTH112  (a text)
            _check_path(box.may_write(real_path(path)), path, _PATH_NOT_WRITABLE_REASON)
        super().make_directory(path)

    def remove(self, path: str) -> None:
        folder, _, name = path.rstrip("/").rpartition("/")
        with self._name_in_opened_folder(self._box(), f"{real_path(folder or '/')}/{name}", path) as place:
            Path(place).unlink()

    def set_executable(self, path: str, is_executable: bool) -> None:
        with self._name_in_opened_folder(self._box(), real_path(path), path) as place:
            _check_no_link(place, path)
            super().set_executable(place, is_executable)

    def replace(self, path: str, data: bytes) -> None:
        box = self._box()
        target = real_path(path)
        with self._name_in_opened_folder(box, target, path) as place:
            _replace_in_place(place, path, data, self._keeps_names(box, target))

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: FileVersionStamp | None, *, is_shared: bool
    ) -> None:
        box = self._box()
        target = real_path(path)
        _check_path(not self._judged.is_changed_since_judging(path, target), path, _SWAPPED_PATH_REASON)
        _check_path(
            not self._judged.became_autorun_file_since_judging(path, target), path, _BECAME_AUTORUN_REASON
        )
        with self._name_in_opened_folder(box, target, path) as place:
            _check_no_link(place, path)
            names = self._keeps_names(box, target)
            replace_unchanged(place, path, data, old, version, is_shared=is_shared, keeps_names=names)

    def _keeps_names(self, box: SandboxPolicy | None, target: str) -> Callable[[], bool]:
        """Returns a function that says whether writing a file changes it under all its names: only if these are in
        the same writable place and the tools may write each of them."""

        def look() -> bool:
            places = box.writable if box is not None else tuple(map(real_path, self._places()))
            place = innermost_containing(target, places)
            if place is None:
                return False
            names, are_all = find_other_hard_links(target, place)
            if not are_all or (box is not None and target in box.granted):
                return are_all
            return not any(
                self._judged.is_protected(name) or (box is not None and not box.may_write(name))
                for name in names
            )

        return look

    @contextmanager
    def _name_in_opened_folder(self, box: SandboxPolicy | None, target: str, path: str) -> Generator[str]:
        """Yields a path of the file below its opened parent folder, so that no other folder can be swapped in
        meanwhile. `target` is a path without links."""
        _check_path(box is None or box.may_write(target), path, _PATH_NOT_WRITABLE_REASON)
        folder, _, name = target.rpartition("/")
        os.makedirs(folder or "/", exist_ok=True)  # noqa: PTH103  (a text)
        held = os.open(folder or "/", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            really = f"{_opened_path(held, folder or '/').rstrip('/')}/{name}"
            _check_path(box is not None or really == target, path, _SWAPPED_PATH_REASON)
            _check_path(box is None or box.may_write(really), path, _PATH_NOT_WRITABLE_REASON)
            has_names = os.path.isdir(f"{_PROC_DESCRIPTOR_FOLDER}/{held}")  # noqa: PTH112  (a text)
            yield f"{_PROC_DESCRIPTOR_FOLDER}/{held}/{name}" if has_names else target
        finally:
            os.close(held)


_HIDDEN_PATH_REASON: Final = "the sandbox hides it from the agent"
_SWAPPED_PATH_REASON: Final = "it leads elsewhere than when the call was judged; call again if that is right"
_BECAME_AUTORUN_REASON: Final = (
    "it runs later now, unlike when the call was judged; call again if that is right"
)
_PATH_NOT_WRITABLE_REASON: Final = "it is outside of what the sandbox lets the agent change"


def _check_path(may: bool, path: str, words: str) -> None:
    if not may:
        raise DeniedBySandbox(errno.EACCES, words, path)


def _opened_path(descriptor: int, path: str) -> str:
    """Returns the real path of an open file; where the system does not provide it, the path's present target."""
    try:
        return os.readlink(f"{_PROC_DESCRIPTOR_FOLDER}/{descriptor}")  # noqa: PTH115  (a text)
    except OSError:
        return real_path(path)


def _check_no_link(place: str, path: str) -> None:
    if os.path.islink(place):  # noqa: PTH114  (a text)
        raise DeniedBySandbox(errno.EACCES, "it has become a symbolic link meanwhile", path)


def _inode_of(path: str) -> _DeviceAndInode | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _replace_in_place(place: str, path: str, data: bytes, keeps_names: Callable[[], bool]) -> None:
    try:
        old = os.lstat(place)
    except FileNotFoundError:
        old = None
    _check_no_link(place, path)
    swap_or_overwrite_file(
        place, data, old, path, lambda: replace_file_at_resolved_path(place, data, old), keeps_names
    )
