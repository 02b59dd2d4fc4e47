"""A patch that is arriving: its complete hunks by what carries patches out, the last one line by line."""

from collections.abc import Callable
from typing import Final

from tools.base import ToolError
from tools.edits.arriving_file import ArrivingFile, ArrivingTarget
from tools.edits.diffs import Region, changed_regions
from tools.edits.patching import Hunk, PatchedFile, behind_heads, patched, read_patch
from tools.patterns import late

_BOUNDARY: Final = late(r"^(?:@@|\*\*\* (?:Add File:|Update File:|Delete File:|End Patch))", 8)
_UPDATE: Final = "*** Update File: "


class ArrivingPatch:
    def __init__(self, file: Callable[[str], ArrivingFile]) -> None:
        self._file = file
        self._closed = 0
        """Up to where it was read whole."""
        self._looked = 0
        """Up to where boundaries were looked for."""
        self._files: tuple[PatchedFile, ...] = ()
        self._spot: tuple[int, str, int] | None = None
        """The hunk that is arriving, which old lines of it were found, and where."""
        self.complete = ""
        self.is_read = False
        """Something of it was understood."""

    def take(self, text: str, *, is_over: bool) -> None:
        """All that has come of it."""
        text = text if is_over else text[: text.rfind("\n") + 1]
        closed = self._closed
        for match in _BOUNDARY.finditer(text, self._looked):
            closed = match.start()
        closed = len(text) if is_over else closed
        self._looked = max(closed, text.rfind("\n", 0, max(0, len(text) - 1)) + 1)
        if closed != self._closed:
            self._closed, self.complete = closed, text[:closed]
            self._read(self.complete)
        if not is_over:
            self._grow(text[closed:])

    def _read(self, text: str) -> None:
        try:
            self._files = read_patch(text)
        except ToolError:
            self._files = ()
            return
        self.is_read = True
        for one in self._files:
            file = self._file(one.path)
            if one.kind == "update":
                file.place(
                    len(one.hunks),
                    lambda seen, one=one: patched(seen.target, one.hunks, one.path, seen.shown),
                )
            elif one.kind == "remove" and (seen := file.seen) is not None:
                lines = tuple(f"{line}\n" for line in seen.lines)
                file.become((Region(old_first=0, new_first=0, old=lines, new=()),))
            elif one.kind == "add":
                file.add(one.lines)
            file.rest()

    def _grow(self, text: str) -> None:
        """The part that is arriving: a hunk of the last file, or a new file."""
        if not self.is_read and not text.startswith("***"):
            return
        head = text.split("\n", 1)[0]
        last = self._files[-1] if self._files else None
        is_headed = head.startswith("*** ")
        if not is_headed and (last is None or last.kind != "update"):
            return
        try:
            read = read_patch(text if is_headed else f"{_UPDATE}{last.path if last else ''}\n{text}")
        except ToolError:
            return
        if not read:
            return
        one = read[0]
        file = self._file(one.path)
        if one.kind == "add":
            file.add(one.lines)
        elif one.kind == "update" and one.hunks and file.seen is not None:
            self._hunk(file, file.seen, one.hunks[0])

    def _hunk(self, file: ArrivingFile, seen: ArrivingTarget, hunk: Hunk) -> None:
        text = seen.text
        old = "".join(f"{line}\n" for line in hunk.before)
        new = "".join(f"{line}\n" for line in hunk.after)
        if not old.strip():
            return
        at = None
        if self._spot is not None and self._spot[0] == self._closed and old.startswith(self._spot[1]):
            at = self._spot[2] if text.startswith(old, self._spot[2]) else None
        if at is None:
            at = _only_place(text, old, hunk, file)
        if at is None:
            self._spot = None
            return
        self._spot = (self._closed, old, at)
        regions = changed_regions(text, ((at, at + len(old), new),))
        line = text.count("\n", 0, at)
        file.arrive(regions or (Region(old_first=line, new_first=line, old=(), new=()),))


def _only_place(text: str, old: str, hunk: Hunk, file: ArrivingFile) -> int | None:
    try:
        start = behind_heads(text, hunk.heads, file.path, "")
    except ToolError:
        return None
    found: list[int] = []
    at = text.find(old, start)
    while at >= 0 and len(found) < 2:
        if at == 0 or text[at - 1] == "\n":
            found.append(at)
        at = text.find(old, at + 1)
    return found[0] if len(found) == 1 else None
