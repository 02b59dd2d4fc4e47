"""Finds the file changes of commands: scans before the first command, and whenever one begins or ends.

A difference between two scans counts for the oldest command that ended, or else the oldest that runs;
concurrent commands are noted. Changes by tools and restores in the meantime are known and left out."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.undo.change_records import (
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    merge_file_changes,
    readable_file_name,
)
from app.undo.folder_scanners import TooManyFilesToScan
from app.undo.folder_scans import (
    FolderScan,
    FolderScanDifference,
    FolderScanner,
    ScannedFileState,
    compare_folder_scans,
    unrestorable_files,
)
from app.undo.git_scan import GitScanFailed

OpenScanner = Callable[[], "FolderScanner | str"]
"""A function that opens a scanner of the folder as it is now, or returns why there is none. Blocks."""


class CommandFileChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The file changes of one command."""

    changes: tuple[RecordedFileChange, ...] = ()
    unstored_files: tuple[FileWithoutStoredContent, ...] = ()
    head_move: tuple[str, str] | None = None
    concurrent_calls: tuple[str, ...] = ()


class _RunningCommandChanges(msgspec.Struct, kw_only=True):
    """The file changes found so far for a running command."""

    changes: list[RecordedFileChange]
    unstored_files: list[FileWithoutStoredContent]
    concurrent_calls: set[str]


class _ScanRequest(msgspec.Struct, kw_only=True):
    """A command that begins or has ended and waits for a scan of the folder."""

    call_id: str
    is_end: bool
    result: CommandFileChanges | None = None
    is_done: bool = False


class CommandFileWatcher:
    """Finds the file changes of the commands that run in one folder. One scan serves all commands that wait for
    it."""

    def __init__(self, open_scanner: OpenScanner) -> None:
        self._open_scanner = open_scanner
        self._scanner: FolderScanner | None = None
        self._failure = ""
        self._last_scan: FolderScan | None = None
        self._running: dict[str, _RunningCommandChanges] = {}
        self._waiting_requests: list[_ScanRequest] = []
        self._scan_lock = asyncio.Lock()

    async def scan_before(self, call_id: str) -> None:
        """Scans the folder before a command starts."""
        await self._take_scan_result(_ScanRequest(call_id=call_id, is_end=False))

    async def scan_after(self, call_id: str) -> CommandFileChanges:
        """Scans the folder after a command has ended and returns the command's file changes."""
        request = _ScanRequest(call_id=call_id, is_end=True)
        try:
            await self._take_scan_result(request)
        finally:
            self._running.pop(call_id, None)
        return request.result or CommandFileChanges()

    async def _take_scan_result(self, request: _ScanRequest) -> None:
        self._waiting_requests.append(request)
        try:
            async with self._scan_lock:
                if not request.is_done:
                    await self._scan_for_all()
        finally:
            self._waiting_requests = [one for one in self._waiting_requests if one is not request]

    async def _scan_for_all(self) -> None:
        """Scans the folder once for all waiting commands; later requests need another scan."""
        served = list(self._waiting_requests)
        if not self._running:
            await self._open_and_scan()
        else:
            found = await self._difference_since_last_scan()
            ended = {one.call_id for one in served if one.is_end}
            oldest = next((key for key in self._running if key in ended), next(iter(self._running), None))
            if oldest is not None:
                self._running[oldest].changes += found.changes
                self._running[oldest].unstored_files += found.unstored_files
        head = self._scanner.moved_git_head() if self._scanner is not None else None
        for one in served:
            if one.is_end and (running := self._running.pop(one.call_id, None)) is not None:
                one.result = _command_changes(running, head)
        for one in served:
            if not one.is_end:
                beside = set(self._running)
                for other in self._running.values():
                    other.concurrent_calls.add(one.call_id)
                self._running[one.call_id] = _RunningCommandChanges(
                    changes=[], unstored_files=[], concurrent_calls=beside
                )
            one.is_done = True
        if not self._running:
            await self._close_scanner()

    async def list_unrestorable_files(
        self, places: Sequence[str], *, ignored: bool
    ) -> tuple[FileWithoutStoredContent, ...]:
        """Returns the files that could not be restored if a command changed everything at or below these
        real paths.

        `ignored`: the command reaches files that git ignores, and nested repositories."""
        async with self._scan_lock:
            scanner = await asyncio.to_thread(self._open_scanner)
            if isinstance(scanner, str):
                return (FileWithoutStoredContent(path=".", why=scanner),)
            try:
                named = {place: scanner.file_name_at_path(place) for place in places}
                names = [name for name in named.values() if name is not None]
                found = await unrestorable_files(await scanner.scan(), scanner, names, ignored=ignored)
            except (GitScanFailed, TooManyFilesToScan) as problem:
                return (FileWithoutStoredContent(path=".", why=str(problem)),)
            finally:
                await scanner.close()
        outside = [place for place, name in named.items() if name is None]
        return (
            *(
                FileWithoutStoredContent(
                    path=readable_file_name(place), why="it is outside the session's folder"
                )
                for place in outside
            ),
            *(
                FileWithoutStoredContent(path=readable_file_name(name), why=why)
                for name, why in sorted(found.items())
            ),
        )

    def note_change_by_others(self, name: str, image: StoredFileState | None) -> None:
        """Notes that a tool or a restore changed a file while commands run, so that the change is not counted for a
        command."""
        if self._last_scan is None:
            return
        before = self._last_scan.names.get(name)
        is_clean = before.is_clean_before if before is not None else False
        self._last_scan.names[name] = ScannedFileState(image=image, is_clean_before=is_clean, is_recent=True)

    async def _open_and_scan(self) -> None:
        await self._close_scanner()
        opened = await asyncio.to_thread(self._open_scanner)
        if isinstance(opened, str):
            self._scanner, self._failure, self._last_scan = None, opened, None
            return
        self._scanner, self._failure = opened, ""
        try:
            self._last_scan = await opened.scan()
        except (GitScanFailed, TooManyFilesToScan) as problem:
            await opened.close()
            self._scanner, self._failure, self._last_scan = None, str(problem), None

    async def _difference_since_last_scan(self) -> FolderScanDifference:
        if self._scanner is None or self._last_scan is None:
            return FolderScanDifference(
                unstored_files=(FileWithoutStoredContent(path=".", why=self._failure),)
            )
        try:
            new = await self._scanner.scan()
            found = await compare_folder_scans(self._last_scan, new, self._scanner)
        except (GitScanFailed, TooManyFilesToScan) as problem:
            return FolderScanDifference(
                unstored_files=(FileWithoutStoredContent(path=".", why=str(problem)),)
            )
        self._last_scan = new
        return found

    async def _close_scanner(self) -> None:
        if self._scanner is not None:
            await self._scanner.close()
        self._scanner = self._last_scan = None


def _command_changes(running: _RunningCommandChanges, head: tuple[str, str] | None) -> CommandFileChanges:
    return CommandFileChanges(
        changes=merge_file_changes(running.changes),
        unstored_files=tuple(dict.fromkeys(running.unstored_files)),
        head_move=head,
        concurrent_calls=tuple(sorted(running.concurrent_calls)),
    )
