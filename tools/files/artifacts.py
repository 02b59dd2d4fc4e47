"""Full outputs that were too long for a result, on disk beside the session, named `artifact://ID`."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import msgspec

SCHEME = "artifact://"
_NAME = re.compile(r"(\d+)\.[\w-]+\.log")
_TOOL = re.compile(r"[^\w-]+")


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    path: Path

    @property
    def uri(self) -> str:
        return f"{SCHEME}{self.number}"


class Artifacts:
    """The artifacts of one session. Without a session file they live in a private temporary folder.

    A folder is made when the first artifact is; numbers go on where an earlier run of the session stopped.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._is_temporary = folder is None
        self._next: int | None = None

    def create(self, tool: str) -> tuple[Artifact, int]:
        """A new artifact and a descriptor to write it with; readable for its owner only."""
        folder = self._make_folder()
        while True:
            number = self._next if self._next is not None else self._first_free(folder)
            self._next = number + 1
            path = folder / f"{number}.{_TOOL.sub('-', tool) or 'tool'}.log"
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            return Artifact(number=number, path=path), descriptor

    def find(self, number: int) -> Path | None:
        if self._folder is None:
            return None
        return next(iter(sorted(self._folder.glob(f"{number}.*.log"))), None)

    def close(self) -> None:
        """Removes what belongs to no session file."""
        if self._is_temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _make_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="bayou-artifacts-"))
        else:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder

    @staticmethod
    def _first_free(folder: Path) -> int:
        numbers = [int(match[1]) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        return max(numbers, default=-1) + 1
