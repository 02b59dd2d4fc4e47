"""Stores full tool outputs that are too long for a result, on disk beside the session, named `artifact://ID`.

The size per command and per session is limited, so that a runaway command cannot fill the disk."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tools.files.private_folders import create_private_folder, fallback_temporary_folder
from tools.lazy_patterns import lazy_regex

ARTIFACT_SCHEME = "artifact://"
_ARTIFACT_FILE_NAME_PATTERN = lazy_regex(r"(\d+)\.[\w-]+\.log")
MAX_ARTIFACT_BYTES: Final = 100_000_000
MAX_ARTIFACT_BYTES_OF_SESSION: Final = 500_000_000
_CHARACTERS_INVALID_IN_ARTIFACT_NAME = lazy_regex(r"[^\w-]+")


class OutputArtifact(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    path: Path

    @property
    def uri(self) -> str:
        return f"{ARTIFACT_SCHEME}{self.number}"


class OutputArtifacts:
    """The stored full outputs of one session; without a session file they are in a private folder. The folder is
    created with the first artifact; numbers continue those of earlier runs of the session."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        above: Path | None = None,
        working: Path | None = None,
        command_bytes: int = MAX_ARTIFACT_BYTES,
        session_bytes: int = MAX_ARTIFACT_BYTES_OF_SESSION,
        before_first: Callable[[], object] = lambda: None,
    ) -> None:
        """Creates the store. `before_first` is called once before the first artifact is written; it may delete old
        files of other sessions. `above` is the folder of the session that this one was forked from, to whose
        artifacts it may refer. `working` is where a private folder is created."""
        self._command_bytes = command_bytes
        self._session_bytes = session_bytes
        self._on_first_artifact = before_first
        self._folder = folder
        self._parent_folder = above
        self._working_folder = working
        self._is_temporary = folder is None
        self._next_number: int | None = None
        self._unfinished_files: set[Path] = set()
        self._lock = threading.Lock()

    def assign_to_session(self, folder: Path | None, above: Path | None) -> None:
        """Makes further artifacts belong to another session. Artifacts that are still being written keep growing in
        their old place."""
        with self._lock:
            self.close()
            self._folder, self._parent_folder, self._is_temporary = folder, above, folder is None
            self._next_number = None

    def create(self, tool: str) -> tuple[OutputArtifact, int]:
        """Creates an artifact and returns it with a descriptor to write to; only the owner can read it. Report its
        end with `has_ended`."""
        with self._lock:
            if self._next_number is None:
                self._on_first_artifact()
            folder = self._make_folder()
            self._delete_oldest(folder)
            while True:
                number = (
                    self._next_number if self._next_number is not None else self._first_free_number(folder)
                )
                self._next_number = number + 1
                path = (
                    folder / f"{number}.{_CHARACTERS_INVALID_IN_ARTIFACT_NAME.sub('-', tool) or 'tool'}.log"
                )
                try:
                    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                except FileExistsError:
                    continue
                self._unfinished_files.add(path)
                return OutputArtifact(number=number, path=path), descriptor

    @property
    def next_artifact_size_limit(self) -> int:
        """Returns the maximum size in bytes of one artifact; it shrinks while several are being written."""
        return min(self._command_bytes, self._session_bytes // max(1, len(self._unfinished_files)))

    def mark_artifact_complete(self, artifact: OutputArtifact) -> None:
        with self._lock:
            self._unfinished_files.discard(artifact.path)

    def _delete_oldest(self, folder: Path) -> None:
        """Deletes the oldest artifacts of this session if another one could exceed the session's size limit."""
        sizes = {
            path: path.stat().st_size
            for path in folder.iterdir()
            if _ARTIFACT_FILE_NAME_PATTERN.fullmatch(path.name)
        }
        used = sum(sizes.values()) + len(self._unfinished_files) * self._command_bytes
        for path in sorted(
            sizes.keys() - self._unfinished_files, key=lambda path: int(path.name.partition(".")[0])
        ):
            if used + self._command_bytes <= self._session_bytes:
                return
            path.unlink(missing_ok=True)
            used -= sizes[path]

    def find(self, number: int) -> Path | None:
        for folder in filter(None, (self._folder, self._parent_folder)):
            if found := sorted(folder.glob(f"{number}.*.log")):
                return found[0]
        return None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Returns the folders that contain artifacts."""
        return tuple(filter(None, (self._folder, self._parent_folder)))

    @property
    def set_aside_folder(self) -> Path:
        """Returns the folder for files that were moved out of the workspace because they would run code later; they
        outlast a session without a file, because they may be the user's own."""
        return (fallback_temporary_folder() if self._is_temporary else self._make_folder()) / "set-aside"

    def close(self) -> None:
        """Deletes the artifacts that belong to no session file."""
        if self._is_temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _make_folder(self) -> Path:
        if self._folder is None:
            self._folder = create_private_folder(self._working_folder, "artifacts")
        else:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder

    def _first_free_number(self, folder: Path) -> int:
        """Returns the first artifact number above all of this session and of its parent session, so that each number is
        unique."""
        folders = (
            folder,
            *(
                [self._parent_folder]
                if self._parent_folder is not None and self._parent_folder.is_dir()
                else []
            ),
        )
        numbers = [
            int(match[1])
            for one in folders
            for path in one.iterdir()
            if (match := _ARTIFACT_FILE_NAME_PATTERN.fullmatch(path.name))
        ]
        return max(numbers, default=-1) + 1
