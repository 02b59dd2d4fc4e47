"""The anchor dialect: changes at lines named by number and tag, as they were shown.

An anchor refers to the shown line: a file that changed since is aligned with the whole text that the model saw,
and a line is the same if it and its neighbours are in one unchanged run. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from tools.base import ToolError
from tools.edits.aligning import moved_line
from tools.edits.dialects.anchors import (
    KnownAnchors,
    LineAnchor,
    anchored_row,
    read_anchor,
    strip_anchors,
    tag_of,
)
from tools.edits.dialects.matching import Span
from tools.edits.dialects.replacing import PlacedEdits
from tools.edits.texts import Editable
from tools.files.snapshots import FileSnapshot
from tools.limits import clip_line
from tools.text import escape_controls, one_line

AnchorPlace = Literal["replace", "before", "after"]
_CONTEXT_ROWS: Final = 3
_MAX_ROWS: Final = 80
_MIN_GLUED_LINES: Final = 10
_START_WORDS: Final = frozenset({"start", "bof", "top", "0"})
_END_WORDS: Final = frozenset({"end", "eof", "bottom"})


class AnchoredEdit(msgspec.Struct, frozen=True, kw_only=True):
    first: str
    """An anchor, `start` or `end`."""
    last: str | None = None
    place: AnchorPlace = "replace"
    lines: tuple[str, ...] = ()


class StaleAnchors(ToolError):
    """The anchored lines have changed since they were shown; the message contains their present rows."""

    def __init__(self, message: str, rows: Sequence[int]) -> None:
        super().__init__(message)
        self.rows = tuple(rows)
        """The numbers of the lines that the message shows."""


class _LineRange(msgspec.Struct, frozen=True):
    """Line indexes in the current file, from 0, both included."""

    first: int
    last: int


def place_anchored_edits(
    target: Editable, edits: Sequence[AnchoredEdit], path: str, versions: Sequence[FileSnapshot]
) -> PlacedEdits:
    """Places the edits. `versions` are the shown versions of the file, newest first. Raises `ToolError` or
    `StaleAnchors`."""
    return _AnchoredPlacement(target, path, versions).place(edits)


class _AnchoredPlacement:
    """Places the changes of one file."""

    def __init__(self, target: Editable, path: str, versions: Sequence[FileSnapshot]) -> None:
        self._target = target
        self._path = one_line(path)
        self._versions = versions
        self._lines = _without_last_line_feed(target.text.split("\n"))

    def place(self, edits: Sequence[AnchoredEdit]) -> PlacedEdits:
        known = KnownAnchors(version.lines for version in self._versions)
        found: list[tuple[Span, ...]] = []
        notes: list[str] = []
        for number, edit in enumerate(edits, 1):
            which = f"Change {number} of {len(edits)}: " if len(edits) > 1 else ""
            lines = list(edit.lines)
            if len(lines) == 1 and "\n" in lines[0]:
                lines = lines[0].removesuffix("\n").split("\n")
            lines = [self._target.with_line_feeds(line).removesuffix("\n") for line in lines]
            bare = strip_anchors(lines, known)
            if bare is not None:
                lines = bare
                notes.append(f"{which}Left out the anchors before the new lines.")
            span, moved_from = self._span(edit, lines, which)
            if moved_from is not None:
                notes.append(f"{which}The file has changed since: the lines are at {moved_from} now.")
            if self._target.text[span.start : span.end] == span.new_text:
                notes.append(f"{which}Nothing to do: the lines already read like this.")
                found.append(())
                continue
            found.append((span,))
        return PlacedEdits(found=tuple(found), strategies=("exact",) * len(found), notes=tuple(notes))

    def _span(self, edit: AnchoredEdit, lines: list[str], which: str) -> tuple[Span, int | None]:
        word = edit.first.strip().lower()
        if word in _START_WORDS or word in _END_WORDS:
            return self._at_end(lines, at_start=word in _START_WORDS), None
        ends = [self._anchor(text, which) for text in (edit.first, edit.last or edit.first)]
        if ends[1].number < ends[0].number:
            raise ToolError(f"{which}{ends[0]} to {ends[1]} ends before it starts. Nothing was changed.")
        place = self._find_lines(ends[0], ends[1], which)
        if edit.place == "replace":
            self._refuse_glued(edit, lines, place, which)
            lines = _spaces_to_tabs(self._lines[place.first : place.last + 1], lines)
        at = place.first + 1 if place.first + 1 != ends[0].number else None
        return self._replacement_span(edit.place, place, lines), at

    def _anchor(self, text: str, which: str) -> LineAnchor:
        found = read_anchor(text)
        if found is None:
            raise ToolError(
                f'{which}expected an anchor as read shows it, such as "41th", or "start" or "end"; got '
                f'"{one_line(text[:60])}". Nothing was changed.'
            )
        return found

    # Finding lines

    def _find_lines(self, first: LineAnchor, last: LineAnchor, which: str) -> _LineRange:
        for version in self._versions:
            lines = _without_last_line_feed(version.lines)
            if not _matches_line(first, lines) or not _matches_line(last, lines):
                continue
            wanted = range(first.number, last.number + 1)
            if any(number not in version.shown for number in wanted):
                continue
            if lines == self._lines:
                return _LineRange(first.number - 1, last.number - 1)
            place = moved_line(lines, self._lines, first.number - 1, last.number - 1)
            if place is not None:
                return _LineRange(place, place + last.number - first.number)
            break
        raise self._stale_error(first, last, which)

    def _stale_error(self, first: LineAnchor, last: LineAnchor, which: str) -> StaleAnchors:
        count = len(self._lines)
        if first.number > count or last.number > count:
            beyond = max(first.number, last.number)
            what = f"Line {beyond} does not exist ({self._path} has {count} lines)."
        elif _matches_line(first, self._lines) and _matches_line(last, self._lines):
            what = f"Lines {first.number}-{last.number} of {self._path} were not all shown to you as they are now."
        else:
            wrong = [str(one) for one in (first, last) if not _matches_line(one, self._lines)]
            named = " and ".join(dict.fromkeys(wrong))
            what = f"{named} {'is' if first == last or len(wrong) == 1 else 'are'} not what is there now."
        numbers = self._rows_around(first.number, last.number)
        shown = _rows(self._lines, numbers)
        return StaleAnchors(
            f"{which}{what} Nothing was changed. These are the lines, with their anchors:\n{shown}", numbers
        )

    def _rows_around(self, first: int, last: int) -> list[int]:
        count = len(self._lines)
        first, last = min(first, count), min(last, count)
        wanted = range(max(1, first - _CONTEXT_ROWS), min(count, last + _CONTEXT_ROWS) + 1)
        if len(wanted) <= _MAX_ROWS:
            return list(wanted)
        return [number for number in wanted if min(abs(number - first), abs(number - last)) <= _CONTEXT_ROWS]

    def _refuse_glued(self, edit: AnchoredEdit, lines: list[str], place: _LineRange, which: str) -> None:
        """Rejects a whole new text for one line: it is a range whose end was forgotten."""
        if edit.last is None and len(lines) > _MIN_GLUED_LINES and lines[0] == self._lines[place.first]:
            raise ToolError(
                f'{which}You gave {len(lines)} lines for line {place.first + 1} alone. Give "to" as well. '
                "Nothing was changed."
            )

    # Building spans

    def _start_of(self, index: int) -> int:
        return sum(map(len, self._lines[:index])) + index

    def _replacement_span(self, place: AnchorPlace, at: _LineRange, lines: list[str]) -> Span:
        text, new = self._target.text, "".join(f"{line}\n" for line in lines)
        start = self._start_of(at.first)
        end = min(len(text), self._start_of(at.last + 1))
        if place == "before":
            return _span(start, start, new)
        has_end = end > start and text[end - 1 : end] == "\n"
        if place == "after":
            return _span(end, end, new) if has_end else _span(end, end, f"\n{new[:-1]}" if new else "")
        if not has_end:
            new = new.removesuffix("\n")
            if not lines and start and text[start - 1] == "\n":
                return _span(start, end, "")
        return _span(start, end, new)

    def _at_end(self, lines: list[str], *, at_start: bool) -> Span:
        text, new = self._target.text, "".join(f"{line}\n" for line in lines)
        if at_start:
            return _span(0, 0, new)
        has_end = not text or text.endswith("\n")
        return _span(len(text), len(text), new if has_end else f"\n{new.removesuffix(chr(10))}")


def _span(start: int, end: int, new: str) -> Span:
    return Span(start=start, end=end, new_text=new, strategy="exact")


def _without_last_line_feed(lines: Sequence[str]) -> list[str]:
    """Drops the empty line behind the last line feed."""
    return list(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)


def _rows(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Formats lines of a file as rows, with dots for the lines between."""
    out: list[str] = []
    for before, number in zip([0, *numbers], numbers, strict=False):
        if before and number > before + 1:
            out.append("...")
        out.append(escape_controls(clip_line(anchored_row(number, lines[number - 1]))[0]))
    return "\n".join(out)


def _matches_line(anchor: LineAnchor, lines: Sequence[str]) -> bool:
    number = anchor.number
    return 0 < number <= len(lines) and tag_of(number, lines[number - 1]) == anchor.tag


def _spaces_to_tabs(old: Sequence[str], new: list[str]) -> list[str]:
    """Converts spaces to the tabs that the replaced lines are indented with, if one tab width explains both."""
    tabbed = [line for line in old if line.startswith("\t")]
    if not tabbed or any(line.startswith(" ") for line in old) or any(line.startswith("\t") for line in new):
        return new
    spaced = [line for line in new if line.startswith(" ")]
    depth = len(tabbed[0]) - len(tabbed[0].lstrip("\t"))
    blanks = len(spaced[0]) - len(spaced[0].lstrip(" ")) if spaced else 0
    width = blanks // depth
    if not spaced or width not in (2, 4, 8) or any(_indent_width(line) % width for line in spaced):
        return new
    return ["\t" * (_indent_width(line) // width) + line[_indent_width(line) :] for line in new]


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def anchored_rows_around(
    text: str, spans: Sequence[tuple[int, int]], around: int = 2
) -> tuple[str, tuple[int, ...]]:
    """Returns rows around places in a text (first and last line, from 1), and the numbers of the lines in them."""
    lines = _without_last_line_feed(text.split("\n"))
    numbers = sorted(
        {
            number
            for first, last in spans
            for number in range(max(1, first - around), min(len(lines), last + around) + 1)
        }
    )
    if len(numbers) > _MAX_ROWS:
        numbers = numbers[: _MAX_ROWS // 2] + numbers[-_MAX_ROWS // 2 :]
    return _rows(lines, numbers), tuple(numbers)
