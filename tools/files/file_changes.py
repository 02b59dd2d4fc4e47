"""Changes files for all tools: in call order, each change reported afterwards, for undo and totals.

Several files can be one change: all or nothing, under the locks of all of them. Each tool computes the new content
itself."""

import asyncio
import errno
import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tools.file_and_process_operations import (
    ConflictCheckedReplacement,
    ExecutableBitOperations,
    FileOperations,
    FileRemovalOperations,
    FileStat,
)
from tools.files.atomic_replacement import FileChangedMeanwhile, FileVersionStamp
from tools.thread_work import run_in_thread_to_completion
from tools.tool_definition import FileChange

FileChangeListener = Callable[[FileChange], None]
_MAX_FILE_CHANGE_ATTEMPTS = 50
"""The maximum number of attempts to change a file that another program keeps changing."""
_SECONDS_OF_RECENT_FOREIGN_WRITE = 2.0
"""Seconds after another program's write to a file in which that program is expected to write again."""
MAX_CHANGED_FILE_BYTES = 256 << 20
"""The maximum size of a file that tools change, in bytes; larger files are not loaded."""

FileLockKey = tuple[str, object]


class FileStateBeforeChange(msgspec.Struct, frozen=True, kw_only=True):
    """The content and metadata of a file before a change."""

    data: bytes
    stat: FileStat


ChangeInfo = TypeVar("ChangeInfo")


class NewFileContent(msgspec.Struct, frozen=True, kw_only=True):
    """The new content of a file."""

    data: bytes | None
    """The file's new bytes; None to remove the file."""
    added: int = 0
    removed: int = 0
    info: object = None
    """A value of the tool that is passed back to it in `AppliedFileChange`."""
    is_executable: bool | None = None
    """Whether the file becomes executable; None leaves it as it is."""


class PendingFileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file change that is about to be written."""

    path: str
    real_path: str
    """The path of the file with links resolved."""
    call_id: str
    before: FileStateBeforeChange | None
    before_hash: str | None
    data: bytes | None
    """The bytes to write to the file; None to remove it."""
    after_hash: str | None
    new_folders: tuple[str, ...] = ()
    """Parent folders that were just created for the file, outermost first."""


class AppliedFileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file change that has been written, with the new state of the file."""

    change: FileChange
    stat: FileStat | None
    """The metadata of the file after the change; None if it was removed."""
    info: object

    @property
    def version(self) -> FileVersionStamp:
        """Returns the version of the written file."""
        assert self.stat is not None
        return self.stat.version


ComputeNewContents = Callable[[Sequence[FileStateBeforeChange | None]], "Sequence[NewFileContent | None]"]
"""A function that computes the new contents of some files (None: unchanged) from their present states (None:
missing). It is called again if another program changed a file before the result was written."""


class FileChangeQueue:
    """Makes the file changes of tools: one after the other for each file (by real path and inode, so that links are one
    file), in parallel for different files."""

    def __init__(self, files: FileOperations) -> None:
        self._files = files
        self._last: dict[FileLockKey, asyncio.Future[None]] = {}
        self._enqueue_lock = asyncio.Lock()
        self._listeners: list[FileChangeListener] = []
        self._before: list[Callable[[PendingFileChange], None]] = []
        self._written: dict[str, tuple[FileVersionStamp, float]] = {}
        """The last version of each file that this queue wrote, and the time until which another program may still
        write to its old content."""

    def subscribe(self, listener: FileChangeListener) -> Callable[[], None]:
        """Calls `listener` on the event loop after every file change. Returns a function that unsubscribes."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def subscribe_before_changes(self, listener: Callable[[PendingFileChange], None]) -> None:
        """Calls `listener` right before each file change, in the thread that makes it."""
        self._before.append(listener)

    def use_operations(self, files: FileOperations) -> None:
        """Switches further file changes to other file operations, such as those of a remote machine."""
        self._files = files

    @property
    def is_idle(self) -> bool:
        return not self._last

    async def change_file(
        self, path: str, call_id: str, compute: Callable[[FileStateBeforeChange | None], NewFileContent]
    ) -> AppliedFileChange:
        """Replaces the content of `path` with what `compute` returns for its present state (None: missing).

        `compute` runs in a thread; an exception in it leaves the file unchanged. A change that has begun is
        finished and reported even if its caller is cancelled."""
        [changed] = await self.change_files_together((path,), call_id, lambda states: (compute(states[0]),))
        assert changed is not None
        return changed

    async def change_files_together(
        self, paths: Sequence[str], call_id: str, compute: ComputeNewContents
    ) -> tuple[AppliedFileChange | None, ...]:
        """Changes several files at once: everything is computed before anything is written, and all is written or
        nothing. Unchanged files are not reported. A failed write reverts those before it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        async with self._enqueue_lock:
            keys = await asyncio.to_thread(self._keys_of_all, paths)
            before = {self._last[key] for key in keys if key in self._last}
            for key in keys:
                self._last[key] = done
        try:
            if before:
                await asyncio.wait(before)
            return await self._change_and_report(paths, call_id, compute)
        finally:
            self._release_keys(done, keys, {future for future in before if not future.done()})

    async def _change_and_report(
        self, paths: Sequence[str], call_id: str, compute: ComputeNewContents
    ) -> tuple[AppliedFileChange | None, ...]:
        finished: list[tuple[AppliedFileChange | None, ...]] = []
        try:
            await run_in_thread_to_completion(
                lambda: finished.append(self._change_now(paths, call_id, compute))
            )
        finally:
            for changed in finished:
                for one in changed:
                    if one is not None:
                        self.report_file_change(one.change)
        return finished[0]

    def _change_now(
        self, paths: Sequence[str], call_id: str, compute: ComputeNewContents
    ) -> tuple[AppliedFileChange | None, ...]:
        if not isinstance(self._files, ConflictCheckedReplacement):
            return self._try_change(paths, call_id, compute)
        for attempt in range(1, _MAX_FILE_CHANGE_ATTEMPTS + 1):
            try:
                with self._files.locked(paths):
                    return self._try_change(paths, call_id, compute)
            except FileChangedMeanwhile as problem:
                if attempt == _MAX_FILE_CHANGE_ATTEMPTS:
                    words = "Another program keeps changing it"
                    raise OSError(errno.EBUSY, words, problem.filename) from None
        raise AssertionError

    def _try_change(
        self, paths: Sequence[str], call_id: str, compute: ComputeNewContents
    ) -> tuple[AppliedFileChange | None, ...]:
        """Makes one attempt to change some files. Raises `FileChangedMeanwhile`, with the other program's content in
        place, if one of them was changed meanwhile."""
        states = [self._read_state(path) for path in paths]
        is_asked = bool(self._before)
        missing = [
            self._missing_folders(path) if state is None and is_asked else ()
            for path, state in zip(paths, states, strict=True)
        ]
        contents = compute(states)
        made: dict[int, AppliedFileChange] = {}
        try:
            for number in sorted(range(len(paths)), key=lambda number: paths[number]):
                content = contents[number]
                if content is not None:
                    made[number] = self._write(
                        paths[number], call_id, states[number], missing[number], content
                    )
        except BaseException:
            for number in made:
                self._restore(paths[number], states[number])
            raise
        return tuple(made.get(number) for number in range(len(paths)))

    def _write(
        self,
        path: str,
        call_id: str,
        state: FileStateBeforeChange | None,
        missing: tuple[str, ...],
        content: NewFileContent,
    ) -> AppliedFileChange:
        before_hash = hash_file_content(state.data) if state else None
        after_hash = hash_file_content(content.data) if content.data is not None else None
        if self._before:
            intent = PendingFileChange(
                path=path,
                real_path=self._files.real_path(path),
                call_id=call_id,
                before=state,
                before_hash=before_hash,
                data=content.data,
                after_hash=after_hash,
                new_folders=missing,
            )
            for listener in self._before:
                listener(intent)
        if content.data is None:
            self._remove(path, state)
        else:
            self._replace(path, content.data, state)
            if content.is_executable is not None and isinstance(self._files, ExecutableBitOperations):
                self._files.set_executable(path, content.is_executable)
        stat = self._files.stat(path) if content.data is not None else None
        change = FileChange(
            path=path,
            call_id=call_id,
            before_hash=before_hash,
            after_hash=after_hash,
            mode_before=state.stat.mode if state else None,
            mode_after=stat.mode if stat else None,
            added=content.added,
            removed=content.removed,
        )
        return AppliedFileChange(change=change, stat=stat, info=content.info)

    def _replace(self, path: str, data: bytes, state: FileStateBeforeChange | None) -> None:
        if not isinstance(self._files, ConflictCheckedReplacement):
            self._files.replace(path, data)
            return
        version = state.stat.version if state is not None else None
        known, until = self._written.get(path, (None, 0.0))
        if state is not None and known != version and _was_written_recently(state.stat):
            until = time.monotonic() + _SECONDS_OF_RECENT_FOREIGN_WRITE
        is_shared = time.monotonic() < until
        old = state.data if state is not None else b""
        self._files.replace_unchanged(path, data, old, version, is_shared=is_shared)
        self._written[path] = self._files.stat(path).version, until

    def _remove(self, path: str, state: FileStateBeforeChange | None = None) -> None:
        if state is not None and self._files.stat(path).version != state.stat.version:
            raise FileChangedMeanwhile(errno.EBUSY, "Another program changed it meanwhile", path)
        if not isinstance(self._files, FileRemovalOperations):
            raise OSError(errno.ENOTSUP, "Files cannot be removed here", path)
        self._files.remove(path)

    def _restore(self, path: str, state: FileStateBeforeChange | None) -> None:
        """Restores a file after another file of the same change could not be written."""
        try:
            if state is None:
                self._remove(path)
            else:
                self._files.replace(path, state.data)
        except OSError:
            return  # The undo ledger has the old content; nothing more can be done here.

    def _read_state(self, path: str) -> FileStateBeforeChange | None:
        try:
            stat = self._files.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.kind == "directory":
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        if stat.size > MAX_CHANGED_FILE_BYTES:
            raise OSError(errno.EFBIG, "File too large", path)
        with self._files.open(path) as file:
            return FileStateBeforeChange(data=file.read(), stat=stat)

    def _missing_folders(self, path: str) -> tuple[str, ...]:
        """Returns the parent folders of a path that do not exist yet, outermost first."""
        found: list[str] = []
        folder = str(Path(self._files.real_path(path)).parent)
        while not self._exists(folder):
            found.append(folder)
            folder = str(Path(folder).parent)
        return tuple(reversed(found))

    def _exists(self, path: str) -> bool:
        try:
            self._files.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return path == str(Path(path).parent)
        except OSError:
            return True
        return True

    def _keys_of_all(self, paths: Sequence[str]) -> tuple[FileLockKey, ...]:
        return tuple(dict.fromkeys(key for path in paths for key in self._file_keys(path)))

    def _file_keys(self, path: str) -> tuple[FileLockKey, ...]:
        real = self._files.real_path(path)
        try:
            stat = self._files.stat(path)
        except OSError:
            return (("path", real),)
        if not stat.inode:
            return (("path", real),)
        return ("path", real), ("inode", (stat.device, stat.inode))

    def _release_keys(
        self,
        done: "asyncio.Future[None]",
        keys: tuple[FileLockKey, ...],
        waiting_for: set["asyncio.Future[None]"],
    ) -> None:
        """Lets the next change of these files start: at once, or, if this change was cancelled before its turn,
        after the changes before it."""
        remaining = set(waiting_for)

        def one_done(future: "asyncio.Future[None]") -> None:
            remaining.discard(future)
            finish_if_free()

        def finish_if_free() -> None:
            if remaining or done.done():
                return
            done.set_result(None)
            for key in keys:
                if self._last.get(key) is done:
                    del self._last[key]

        for future in waiting_for:
            future.add_done_callback(one_done)
        finish_if_free()

    def report_file_change(self, change: FileChange) -> None:
        """Reports a file change to all listeners; commands and restores report their changes here too."""
        for listener in tuple(self._listeners):
            try:
                listener(change)
            except Exception as problem:  # noqa: BLE001  (a listener must not undo a change that happened)
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "A listener for file changes failed", "exception": problem}
                )


def _was_written_recently(stat: FileStat) -> bool:
    return abs(time.time() - stat.mtime_ns / 1e9) < _SECONDS_OF_RECENT_FOREIGN_WRITE


def hash_file_content(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
