"""File operations within the session's sandbox policy: bayou's own tools obey the same policy as commands.

A path is checked without links, and an opened file is checked again: a link created in between leads nowhere, also
where there is no sandbox. Exceptions that the user granted apply."""

import errno
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from tools.box.policy import Box, covering_place
from tools.files.hard_links import other_names
from tools.files.replacing import Version, replace_at, replace_unchanged, swap_or_overwrite
from tools.operations import LocalFiles

_DESCRIPTOR_LINKS: Final = "/proc/self/fd"
_MAX_JUDGED: Final = 2_000


class DeniedByBox(PermissionError):
    """The sandbox policy denies bayou's own tools this path."""


class JudgedPaths:
    """Where the paths of calls led when the calls were judged."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}

    def note(self, paths: Iterable[str]) -> None:
        """Called right before a call with these paths is judged, so that a link swapped in meanwhile is noticed."""
        for path in paths:
            self._real.pop(path, None)
            while len(self._real) >= _MAX_JUDGED:
                self._real.pop(next(iter(self._real)), None)
            self._real[path] = os.path.realpath(path)

    def get(self, path: str) -> str | None:
        """Returns None if no call with the path was judged."""
        return self._real.get(path)


class BoxedFiles(LocalFiles):
    """Checks every operation against the policy that `box` returns (None means no policy), and against where the path
    led when the call was judged: another program may have put a link there meanwhile."""

    def __init__(
        self,
        box: Callable[[], Box | None],
        judged: JudgedPaths | None = None,
        places: Callable[[], Iterable[str]] = lambda: (),
    ) -> None:
        """`places`: the session's folders. A file in one of them that has a further name elsewhere is replaced."""
        self._box = box
        self._judged = judged or JudgedPaths()
        self._places = places

    def open(self, path: str) -> BinaryIO:
        box = self._box()
        if box is not None:
            _check(box.may_read(os.path.realpath(path)), path, _HIDDEN_REASON)
        opened = super().open(path)
        try:
            real = _opened_path(opened.fileno(), path)
            self._check_judged(path, real)
            _check(box is None or box.may_read(real), path, _HIDDEN_REASON)
        except OSError:
            opened.close()
            raise
        return opened

    def make_directory(self, path: str) -> None:
        box = self._box()
        if box is not None and not os.path.isdir(path):  # noqa: PTH112  (a text)
            _check(box.may_write(os.path.realpath(path)), path, _NOT_WRITABLE_REASON)
        super().make_directory(path)

    def remove(self, path: str) -> None:
        box = self._box()
        if box is None and self._judged.get(path) is None:
            super().remove(path)
            return
        folder, _, name = path.rstrip("/").rpartition("/")
        with self._held_name(box, f"{os.path.realpath(folder or '/')}/{name}", path) as place:
            Path(place).unlink()

    def set_executable(self, path: str, is_executable: bool) -> None:
        box = self._box()
        if box is None:
            super().set_executable(path, is_executable)
            return
        with self._held_name(box, os.path.realpath(path), path) as place:
            _check_no_link(place, path)
            super().set_executable(place, is_executable)

    def replace(self, path: str, data: bytes) -> None:
        box = self._box()
        if box is None:
            super().replace(path, data)
            return
        target = os.path.realpath(path)
        with self._held_name(box, target, path) as place:
            _replace(place, path, data, _names_share_place(box.writable, target))

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: Version | None, *, is_shared: bool
    ) -> None:
        box = self._box()
        if box is None and self._judged.get(path) is None:
            super().replace_unchanged(path, data, old, version, is_shared=is_shared)
            return
        target = os.path.realpath(path)
        self._check_judged(path, target)
        keeps_names = self._keeps_names(target) if box is None else _names_share_place(box.writable, target)
        with self._held_name(box, target, path) as place:
            _check_no_link(place, path)
            replace_unchanged(place, path, data, old, version, is_shared=is_shared, keeps_names=keeps_names)

    def _keeps_names(self, target: str) -> Callable[[], bool]:
        places = [os.path.realpath(place) for place in self._places()]
        return _names_share_place(places, target) if covering_place(target, places) else lambda: True

    def _check_judged(self, path: str, real: str) -> None:
        judged = self._judged.get(path)
        _check(judged is None or judged == real, path, _SWAPPED_REASON)

    @contextmanager
    def _held_name(self, box: Box | None, target: str, path: str) -> Generator[str]:
        """Yields a name for `target` (without links) below its opened folder, so that nothing can take its place."""
        _check(box is None or box.may_write(target), path, _NOT_WRITABLE_REASON)
        folder, _, name = target.rpartition("/")
        os.makedirs(folder or "/", exist_ok=True)  # noqa: PTH103  (a text)
        held = os.open(folder or "/", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            really = f"{_opened_path(held, folder or '/').rstrip('/')}/{name}"
            _check(box is not None or really == target, path, _SWAPPED_REASON)
            _check(box is None or box.may_write(really), path, _NOT_WRITABLE_REASON)
            has_names = os.path.isdir(f"{_DESCRIPTOR_LINKS}/{held}")  # noqa: PTH112  (a text)
            yield f"{_DESCRIPTOR_LINKS}/{held}/{name}" if has_names else target
        finally:
            os.close(held)


_HIDDEN_REASON: Final = "the sandbox hides it from the agent"
_SWAPPED_REASON: Final = "it leads elsewhere than when the call was judged; call again if that is right"
_NOT_WRITABLE_REASON: Final = "it is outside of what the sandbox lets the agent change"


def _check(may: bool, path: str, words: str) -> None:
    if not may:
        raise DeniedByBox(errno.EACCES, words, path)


def _opened_path(descriptor: int, path: str) -> str:
    """Returns the real path of an open file; where the system does not provide it, the path's present target."""
    try:
        return os.readlink(f"{_DESCRIPTOR_LINKS}/{descriptor}")  # noqa: PTH115  (a text)
    except OSError:
        return os.path.realpath(path)


def _check_no_link(place: str, path: str) -> None:
    if os.path.islink(place):  # noqa: PTH114  (a text)
        raise DeniedByBox(errno.EACCES, "it has become a symbolic link meanwhile", path)


def _names_share_place(places: Iterable[str], target: str) -> Callable[[], bool]:
    """Returns a check whether all names of a file are in the same writable place. A file that a cache or another
    project shares is replaced by a separate file under this name."""

    def look() -> bool:
        place = covering_place(target, places)
        return place is not None and other_names(target, place)[1]

    return look


def _replace(place: str, path: str, data: bytes, keeps_names: Callable[[], bool]) -> None:
    try:
        old = os.lstat(place)
    except FileNotFoundError:
        old = None
    _check_no_link(place, path)
    swap_or_overwrite(place, data, old, path, lambda: replace_at(place, data, old), keeps_names)
