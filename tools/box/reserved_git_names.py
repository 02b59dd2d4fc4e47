"""Reserves the names `commondir` and `config.worktree` in git folders while commands run, with files of neutral
content that are removed at the end.

A missing name cannot be protected by a mount. Git uses the configuration of the folder that `commondir` names,
and `config.worktree` is configuration itself."""

import fcntl
import os
from collections.abc import Iterable
from typing import Final

from tools.box.git_sandbox_paths import NEUTRAL_CONTENT_BY_GIT_FILE

_MAX_PLACEHOLDER_FILE_BYTES: Final = 16


class ReservedGitFileNames:
    """The file names that one session has reserved in git folders. Several sessions share a name: the last one removes
    the file."""

    def __init__(self) -> None:
        self._handles: dict[str, int] = {}

    def create_placeholder_files(self, paths: Iterable[str]) -> None:
        """Creates the missing files among `paths`, as far as possible, so that commands cannot."""
        for path in paths:
            self._reserve_name(path)

    def _reserve_name(self, path: str) -> None:
        for _ in range(3):
            known = self._handles.get(path)
            if known is not None and _is_same_file(known, path):
                return
            if known is not None:
                os.close(self._handles.pop(path))
            try:
                opened = os.open(
                    path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644
                )
            except OSError:
                return
            try:
                fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                pass  # Another program holds an exclusive lock: the file stays when this session ends.
            self._handles[path] = opened
            if os.fstat(opened).st_size == 0:
                os.write(opened, _reserved_content(path))

    def close(self) -> None:
        for path, opened in self._handles.items():
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_same_file(opened, path) and os.pread(
                    opened, _MAX_PLACEHOLDER_FILE_BYTES, 0
                ) == _reserved_content(path):
                    os.unlink(path)  # noqa: PTH108  (a text)
            except OSError:
                pass  # Another session still uses the file, or it is gone.
            os.close(opened)
        self._handles.clear()


def _reserved_content(path: str) -> bytes:
    said = NEUTRAL_CONTENT_BY_GIT_FILE[path.rpartition("/")[2]]
    return f"{said}\n".encode() if said else b""


def _is_same_file(opened: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(opened), os.lstat(path))
    except OSError:
        return False
