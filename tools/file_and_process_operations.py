"""Defines the file and process operations that tools need from the place where the project is, and implements them for
this machine. A project behind ssh, in a container or in a test provides another object with these methods. File
operations may block: tools call them off the event loop. Processes write into a file descriptor that the caller has, so
a remote process is a local process that forwards."""

import errno
import os
import stat as stat_module
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable

import msgspec

from tools.box.sandbox_policy import SandboxPolicy
from tools.files.atomic_replacement import (
    FileVersionStamp,
    lock_files,
    replace_file_atomically,
    replace_unchanged,
    swap_or_overwrite_file,
)


class FileStat(msgspec.Struct, frozen=True, kw_only=True):
    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    mode: int
    """The permission bits of a file."""
    device: int = 0
    inode: int = 0
    """The file's inode number; zero where the file system has none."""
    links: int = 1

    @property
    def version(self) -> FileVersionStamp:
        """Identifies a version of the file by device, inode, size and modification time: equal as long as the file
        is unchanged."""
        return (self.device, self.inode, self.size, self.mtime_ns)


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    is_directory: bool


class FileOperations(Protocol):
    """The interface of file operations (read, write, list …), which take absolute paths and raise `OSError`."""

    def stat(self, path: str) -> FileStat: ...

    def real_path(self, path: str) -> str: ...

    def open(self, path: str) -> BinaryIO:
        """Opens a regular file for reading. Raises an error for anything else, such as a named pipe, and so never
        blocks."""
        ...

    def entries(self, path: str) -> list[DirectoryEntry]: ...

    def modified(self, folder: str, names: list[str]) -> list[int]:
        """Returns the modification time of each file in nanoseconds, 0 for a missing file. Names may contain
        slashes."""
        ...

    def make_directory(self, path: str) -> None:
        """Creates the directory and its missing parents; does nothing if it exists."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Replaces the file's content with `data` atomically, and keeps its mode and links."""
        ...


@runtime_checkable
class FileRemovalOperations(Protocol):
    """The interface of file operations that can also remove files."""

    def remove(self, path: str) -> None: ...


@runtime_checkable
class ExecutableBitOperations(Protocol):
    """The interface of file operations that can set and clear a file's executable bit."""

    def set_executable(self, path: str, is_executable: bool) -> None: ...


@runtime_checkable
class ConflictCheckedReplacement(Protocol):
    """The interface of file operations that detect changes by other programs."""

    def locked(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        """Locks the files against other bayou processes."""
        ...

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: FileVersionStamp | None, *, is_shared: bool
    ) -> None:
        """Replaces the file's content atomically, if it still has the content `old` and this version (None: missing).
        Raises `FileChangedMeanwhile`."""
        ...


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    box: SandboxPolicy | None = None
    """The sandbox policy; None means no restriction beyond those of the user account."""


class RunningProcess(Protocol):
    """The interface of a started command with all its descendants."""

    @property
    def pid(self) -> int: ...

    async def wait(self) -> int:
        """Waits until the process has ended and returns its exit code; the negative signal number if a signal ended
        it."""
        ...

    async def end(self) -> None:
        """Ends the process and all its descendants."""
        ...

    def kill(self) -> None:
        """Kills the process and all its descendants, without waiting."""
        ...

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        """Returns whether a descendant still runs after the process has ended.

        `is_output_open`: some process still holds the output descriptor, which is the only evidence for a shared
        shell."""
        ...


class ProcessOperations(Protocol):
    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> RunningProcess:
        """Starts `command` in its own process group; stdout and stderr go to `output`, stdin is empty.

        `errors` receives stderr separately. `terminal` is a pseudo-terminal's descriptor that replaces all three
        streams and becomes the controlling terminal."""
        ...

    def find_program(self, name: str) -> str | None: ...


class LocalFileOperations:
    """File operations on this machine."""

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

    def set_executable(self, path: str, is_executable: bool) -> None:
        mode = stat_module.S_IMODE(Path(path).stat().st_mode)
        can_run = (mode & 0o444) >> 2  # for those who may read it
        Path(path).chmod(mode | can_run if is_executable else mode & ~0o111)

    def replace(self, path: str, data: bytes) -> None:
        target = os.path.realpath(path)
        try:
            old = Path(target).stat()
        except FileNotFoundError:
            old = None
        swap_or_overwrite_file(
            target,
            data,
            old,
            path,
            lambda: replace_file_atomically(Path(target), data, durable=False),
        )

    def locked(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        return lock_files([os.path.realpath(path) for path in paths])

    def replace_unchanged(
        self, path: str, data: bytes, old: bytes, version: FileVersionStamp | None, *, is_shared: bool
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
