"""Finds the file changes of commands: scans before the first command, and whenever one begins or ends.

A difference between two scans counts for the oldest command that ended, or else the oldest that runs;
concurrent commands are noted. Changes by tools and restores in the meantime are known and left out."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.undo.change_records import Change, FileImage, UnheldFile, display_path, merge_changes
from app.undo.folder_scanners import TooManyFiles
from app.undo.folder_scans import FolderScanner, Scan, ScanDifference, ScannedName, compare_scans, unheld
from app.undo.git_scan import GitScanFailed

OpenScanner = Callable[[], "FolderScanner | str"]
"""Opens the scanner that scans the folder now, or returns why there is none. Blocks."""


class CommandChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The file changes of one command."""

    changes: tuple[Change, ...] = ()
    uncovered: tuple[UnheldFile, ...] = ()
    head: tuple[str, str] | None = None
    beside: tuple[str, ...] = ()


class _RunningCommand(msgspec.Struct, kw_only=True):
    """The changes found so far for a running command."""

    changes: list[Change]
    uncovered: list[UnheldFile]
    beside: set[str]


class _ScanRequest(msgspec.Struct, kw_only=True):
    """A command that begins or has ended and waits for a scan."""

    call_id: str
    is_end: bool
    happened: CommandChanges | None = None
    is_done: bool = False


class CommandWatch:
    """Watches the commands that run in one folder. One scan serves all commands that wait for it."""

    def __init__(self, open_scanner: OpenScanner) -> None:
        self._open = open_scanner
        self._scanner: FolderScanner | None = None
        self._why = ""
        self._last: Scan | None = None
        self._running: dict[str, _RunningCommand] = {}
        self._waiting: list[_ScanRequest] = []
        self._turn = asyncio.Lock()

    async def begin(self, call_id: str) -> None:
        """Scans before a command starts."""
        await self._scanned_for(_ScanRequest(call_id=call_id, is_end=False))

    async def end(self, call_id: str) -> CommandChanges:
        """Scans after a command has ended and returns its changes."""
        request = _ScanRequest(call_id=call_id, is_end=True)
        try:
            await self._scanned_for(request)
        finally:
            self._running.pop(call_id, None)
        return request.happened or CommandChanges()

    async def _scanned_for(self, request: _ScanRequest) -> None:
        self._waiting.append(request)
        try:
            async with self._turn:
                if not request.is_done:
                    await self._scan_for_all()
        finally:
            self._waiting = [one for one in self._waiting if one is not request]

    async def _scan_for_all(self) -> None:
        """Scans once for all waiting commands; later requests need another scan."""
        served = list(self._waiting)
        if not self._running:
            await self._start()
        else:
            found = await self._difference()
            ended = {one.call_id for one in served if one.is_end}
            oldest = next((key for key in self._running if key in ended), next(iter(self._running), None))
            if oldest is not None:
                self._running[oldest].changes += found.changes
                self._running[oldest].uncovered += found.uncovered
        head = self._scanner.moved_head() if self._scanner is not None else None
        for one in served:
            if one.is_end and (running := self._running.pop(one.call_id, None)) is not None:
                one.happened = _command_changes(running, head)
        for one in served:
            if not one.is_end:
                beside = set(self._running)
                for other in self._running.values():
                    other.beside.add(one.call_id)
                self._running[one.call_id] = _RunningCommand(changes=[], uncovered=[], beside=beside)
            one.is_done = True
        if not self._running:
            await self._stop()

    async def unheld(self, places: Sequence[str], *, ignored: bool) -> tuple[UnheldFile, ...]:
        """Returns the files that could not be restored if a command changed everything at or below these
        real paths.

        `ignored`: the command reaches files that git ignores, and nested repositories."""
        async with self._turn:
            scanner = await asyncio.to_thread(self._open)
            if isinstance(scanner, str):
                return (UnheldFile(path=".", why=scanner),)
            try:
                named = {place: scanner.name_at(place) for place in places}
                names = [name for name in named.values() if name is not None]
                found = await unheld(await scanner.scan(), scanner, names, ignored=ignored)
            except (GitScanFailed, TooManyFiles) as problem:
                return (UnheldFile(path=".", why=str(problem)),)
            finally:
                await scanner.close()
        outside = [place for place, name in named.items() if name is None]
        return (
            *(
                UnheldFile(path=display_path(place), why="it is outside the session's folder")
                for place in outside
            ),
            *(UnheldFile(path=display_path(name), why=why) for name, why in sorted(found.items())),
        )

    def learn(self, name: str, image: FileImage | None) -> None:
        """Notes that a tool or a restore changed a file while commands run, so that no command is blamed."""
        if self._last is None:
            return
        before = self._last.seen.get(name)
        is_clean = before.is_clean_before if before is not None else False
        self._last.seen[name] = ScannedName(image=image, is_clean_before=is_clean, is_young=True)

    async def _start(self) -> None:
        await self._stop()
        opened = await asyncio.to_thread(self._open)
        if isinstance(opened, str):
            self._scanner, self._why, self._last = None, opened, None
            return
        self._scanner, self._why = opened, ""
        try:
            self._last = await opened.scan()
        except (GitScanFailed, TooManyFiles) as problem:
            await opened.close()
            self._scanner, self._why, self._last = None, str(problem), None

    async def _difference(self) -> ScanDifference:
        if self._scanner is None or self._last is None:
            return ScanDifference(uncovered=(UnheldFile(path=".", why=self._why),))
        try:
            new = await self._scanner.scan()
            found = await compare_scans(self._last, new, self._scanner)
        except (GitScanFailed, TooManyFiles) as problem:
            return ScanDifference(uncovered=(UnheldFile(path=".", why=str(problem)),))
        self._last = new
        return found

    async def _stop(self) -> None:
        if self._scanner is not None:
            await self._scanner.close()
        self._scanner = self._last = None


def _command_changes(running: _RunningCommand, head: tuple[str, str] | None) -> CommandChanges:
    return CommandChanges(
        changes=merge_changes(running.changes),
        uncovered=tuple(dict.fromkeys(running.uncovered)),
        head=head,
        beside=tuple(sorted(running.beside)),
    )
