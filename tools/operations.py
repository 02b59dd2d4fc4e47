"""What the tools need of the place where the project lives: its files and its processes.

Local here; a project behind ssh, in a container or in a test is another object with these methods. File
operations may block: tools call them off the event loop. Processes write into a file descriptor that the caller
holds, so that a remote one is simply a local process that forwards.
"""

import errno
import os
import stat as stat_module
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable

import msgspec

from tools.box.policy import Box
from tools.files.replacing import (
    Version,
    locked_files,
    replace_atomically,
    replace_unchanged,
    swap_or_overwrite,
)


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    mode: int
    """Permission bits."""
    device: int = 0
    inode: int = 0
    """Zero where the place has none."""
    links: int = 1

    @property
    def version(self) -> Version:
        """Equal as long as nobody changed the file."""
        return (self.device, self.inode, self.size, self.mtime_ns)


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    is_directory: bool


class FileOperations(Protocol):
    """Files, by absolute path. Failures are `OSError`s."""

    def stat(self, path: str) -> FileStat: ...

    def real_path(self, path: str) -> str: ...

    def open(self, path: str) -> BinaryIO:
        """A regular file for reading. Anything else is an error, never a wait."""
        ...

    def entries(self, path: str) -> list[DirectoryEntry]: ...

    def modified(self, folder: str, names: list[str]) -> list[int]:
        """When each was changed last, in nanoseconds; 0 for one that is gone. Names may hold slashes."""
        ...

    def make_directory(self, path: str) -> None:
        """With its parents; already there is fine."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Makes `data` the file's content, all or nothing, keeping its mode and what links to it."""
        ...


@runtime_checkable
class RemovesFiles(Protocol):
    """File operations that can take a file away; not every place has that."""

    def remove(self, path: str) -> None: ...


@runtime_checkable
class GuardsFiles(Protocol):
    """File operations that notice when another program changes a file meanwhile; not every place has that."""

    def locked(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        """Holds the files against other bayou processes."""
        ...

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: Version | None, *, is_shared: bool
    ) -> None:
        """`replace`, of a file that is still `old` and of this version (None: not there). Raises `ChangedMeanwhile`."""
        ...


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    box: Box | None = None
    """What it may do; None: whatever its user may."""


class RunningProcess(Protocol):
    """A started command with all its descendants."""

    @property
    def pid(self) -> int: ...

    async def wait(self) -> int:
        """Its exit code; negative for the signal that ended it."""
        ...

    async def end(self) -> None:
        """Ends it and everything that it started."""
        ...

    def kill(self) -> None:
        """The same at once, without waiting."""
        ...

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        """After its end: whether something that it started still runs.

        `is_output_open`: somebody still holds what it wrote to, which for a shared shell is all that can tell.
        """
        ...


class ProcessOperations(Protocol):
    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> RunningProcess:
        """Starts `command` in a process group of its own; stdout and stderr go to `output`, stdin is empty.

        With `errors`, stderr goes there instead.

        With `terminal` (a pseudo-terminal's descriptor) all three are that, and it is the controlling one.
        """
        ...

    def find_program(self, name: str) -> str | None: ...


class LocalFiles:
    """This machine's files."""

    def stat(self, path: str) -> FileStat:
        found = Path(path).stat()
        if stat_module.S_ISREG(found.st_mode):
            kind = "file"
        elif stat_module.S_ISDIR(found.st_mode):
            kind = "directory"
        else:
            kind = "other"
        return FileStat(
            kind=kind,
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            mode=stat_module.S_IMODE(found.st_mode),
            device=found.st_dev,
            inode=found.st_ino,
            links=found.st_nlink,
        )

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def open(self, path: str) -> BinaryIO:
        # Non-blocking, because a file may have become a FIFO since anyone looked.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if stat_module.S_ISREG(mode):
            return os.fdopen(descriptor, "rb", buffering=0)  # pyright: ignore[reportReturnType]  (FileIO reads)
        os.close(descriptor)
        code = errno.EISDIR if stat_module.S_ISDIR(mode) else errno.EINVAL
        raise OSError(code, "Not a regular file", path)

    def entries(self, path: str) -> list[DirectoryEntry]:
        with os.scandir(path) as found:
            return [DirectoryEntry(name=entry.name, is_directory=_is_directory(entry)) for entry in found]

    def modified(self, folder: str, names: list[str]) -> list[int]:
        lstat = os.lstat
        try:
            return [lstat(f"{folder}/{name}").st_mtime_ns for name in names]
        except OSError:
            return [_mtime_ns(f"{folder}/{name}") for name in names]

    def make_directory(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def replace(self, path: str, data: bytes) -> None:
        target = os.path.realpath(path)
        try:
            old = Path(target).stat()
        except FileNotFoundError:
            old = None
        swap_or_overwrite(
            target, data, old, path, lambda: replace_atomically(Path(target), data, durable=False)
        )

    def locked(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        return locked_files([os.path.realpath(path) for path in paths])

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: Version | None, *, is_shared: bool
    ) -> None:
        target = os.path.realpath(path)
        if version is None:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        replace_unchanged(target, path, data, old, version, is_shared=is_shared)


def _mtime_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
