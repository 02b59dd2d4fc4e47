"""What commands do to the folder: a scan before the first that runs, one whenever one begins or ends.

What is different between two scans is put down to the command that ended, or to the oldest that runs; which others ran
meanwhile is said. What tools and restores did in between is known, and is nobody's.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.undo.git_scan import Failed
from app.undo.images import Change, FileImage, Uncovered, joined, shown
from app.undo.scanners import TooMany
from app.undo.scans import Delta, FolderScanner, Scan, Seen, delta, unheld

Open = Callable[[], "FolderScanner | str"]
"""The scanner to scan the folder now, opened; or why there is none. Blocks."""


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """What a command did."""

    changes: tuple[Change, ...] = ()
    uncovered: tuple[Uncovered, ...] = ()
    head: tuple[str, str] | None = None
    beside: tuple[str, ...] = ()


class _Running(msgspec.Struct, kw_only=True):
    changes: list[Change]
    uncovered: list[Uncovered]
    beside: set[str]


class Watch:
    """Of one folder."""

    def __init__(self, open_scanner: Open) -> None:
        self._open = open_scanner
        self._scanner: FolderScanner | None = None
        self._why = ""
        self._last: Scan | None = None
        self._running: dict[str, _Running] = {}
        self._turn = asyncio.Lock()

    async def begin(self, call_id: str) -> None:
        """Before the command starts."""
        async with self._turn:
            if not self._running:
                await self._start()
            else:
                oldest = next(iter(self._running.values()))
                self._put_down(oldest, await self._difference())
            running = _Running(changes=[], uncovered=[], beside=set(self._running))
            for other in self._running.values():
                other.beside.add(call_id)
            self._running[call_id] = running

    async def end(self, call_id: str) -> Happened:
        """Behind its end."""
        async with self._turn:
            running = self._running[call_id]
            try:
                self._put_down(running, await self._difference())
                head = self._scanner.moved_head() if self._scanner is not None else None
            finally:
                del self._running[call_id]
                if not self._running:
                    await self._stop()
            return Happened(
                changes=joined(running.changes),
                uncovered=tuple(dict.fromkeys(running.uncovered)),
                head=head,
                beside=tuple(sorted(running.beside)),
            )

    async def unheld(self, places: Sequence[str], *, ignored: bool) -> tuple[Uncovered, ...]:
        """What could not be put back if a command removed or changed everything at or below these real paths.

        `ignored`: it reaches what git ignores, and repositories within.
        """
        async with self._turn:
            scanner = await asyncio.to_thread(self._open)
            if isinstance(scanner, str):
                return (Uncovered(path=".", why=scanner),)
            try:
                named = {place: scanner.name_at(place) for place in places}
                names = [name for name in named.values() if name is not None]
                found = await unheld(await scanner.scan(), scanner, names, ignored=ignored)
            except (Failed, TooMany) as problem:
                return (Uncovered(path=".", why=str(problem)),)
            finally:
                await scanner.close()
        outside = [place for place, name in named.items() if name is None]
        return (
            *(
                Uncovered(path=shown(place), why="it lies outside of the session's folder")
                for place in outside
            ),
            *(Uncovered(path=shown(name), why=why) for name, why in sorted(found.items())),
        )

    def learn(self, name: str, image: FileImage | None) -> None:
        """A tool or a restore made this of a file while commands run."""
        if self._last is None:
            return
        before = self._last.seen.get(name)
        is_clean = before.is_clean_before if before is not None else False
        self._last.seen[name] = Seen(image=image, is_clean_before=is_clean, is_young=True)

    async def _start(self) -> None:
        opened = await asyncio.to_thread(self._open)
        if isinstance(opened, str):
            self._scanner, self._why, self._last = None, opened, None
            return
        self._scanner, self._why = opened, ""
        try:
            self._last = await opened.scan()
        except (Failed, TooMany) as problem:
            await opened.close()
            self._scanner, self._why, self._last = None, str(problem), None

    async def _difference(self) -> Delta:
        if self._scanner is None or self._last is None:
            return Delta(uncovered=(Uncovered(path=".", why=self._why),))
        try:
            new = await self._scanner.scan()
            found = await delta(self._last, new, self._scanner)
        except (Failed, TooMany) as problem:
            return Delta(uncovered=(Uncovered(path=".", why=str(problem)),))
        self._last = new
        return found

    def _put_down(self, running: _Running, found: Delta) -> None:
        running.changes += found.changes
        running.uncovered += found.uncovered

    async def _stop(self) -> None:
        if self._scanner is not None:
            await self._scanner.close()
        self._scanner = self._last = None
