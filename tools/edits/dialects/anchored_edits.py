"""The anchor dialect: changes at lines named by number and tag, as they were shown.

An anchor refers to the shown line: a file that changed since is aligned with the whole text that the model saw,
and a line is the same if it and its neighbours are in one unchanged run. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from tools.edits.dialects.line_anchors import (
    LineAnchor,
    ShownAnchorCheck,
    compute_anchor_tag,
    format_anchored_row,
    parse_line_anchor,
    strip_anchors_from_new_lines,
)
from tools.edits.dialects.old_text_matching import TextEdit
from tools.edits.dialects.old_text_replacement import LocatedEdits
from tools.edits.editable_text import EditableText
from tools.edits.line_alignment import find_position_of_moved_lines
from tools.files.shown_file_versions import ShownFileVersionText
from tools.result_limits import clip_result_line
from tools.text_sanitizing import escape_controls, one_line
from tools.tool_definition import ToolError

AnchoredEditPosition = Literal["replace", "before", "after"]
_ROWS_SHOWN_AROUND_STALE_ANCHORS: Final = 3
_MAX_ROWS_SHOWN_FOR_STALE_ANCHORS: Final = 80
_MIN_LINES_FOR_FORGOTTEN_LAST_ANCHOR: Final = 10
_ANCHOR_WORDS_FOR_FILE_START: Final = frozenset({"start", "bof", "top", "0"})
_ANCHOR_WORDS_FOR_FILE_END: Final = frozenset({"end", "eof", "bottom"})


class AnchoredEdit(msgspec.Struct, frozen=True, kw_only=True):
    first_anchor: str
    """The anchor of the first line of the edit's range, or `start` or `end` of the file."""
    last_anchor: str | None = None
    position: AnchoredEditPosition = "replace"
    new_lines: tuple[str, ...] = ()


class StaleAnchorsError(ToolError):
    """The anchored lines have changed since they were shown; the message contains their present rows."""

    def __init__(self, message: str, rows: Sequence[int]) -> None:
        super().__init__(message)
        self.row_numbers = tuple(rows)
        """The numbers of the lines that the error message shows."""


class _LineRange(msgspec.Struct, frozen=True):
    """A range of lines in the current file as indexes from 0, both ends included."""

    first: int
    last: int


def locate_anchored_edits(
    target: EditableText, edits: Sequence[AnchoredEdit], path: str, versions: Sequence[ShownFileVersionText]
) -> LocatedEdits:
    """Finds the lines in the current file that anchored edits refer to. `versions` are the shown versions of the file,
    newest first. Raises `ToolError` or `StaleAnchorsError`."""
    return _AnchoredPlacement(target, path, versions).locate_edits(edits)


class _AnchoredPlacement:
    """Finds the places of the anchored edits of one file."""

    def __init__(self, target: EditableText, path: str, versions: Sequence[ShownFileVersionText]) -> None:
        self._target = target
        self._path = one_line(path)
        self._versions = versions
        self._lines = _drop_last_empty_line(target.text.split("\n"))

    def locate_edits(self, edits: Sequence[AnchoredEdit]) -> LocatedEdits:
        known = ShownAnchorCheck(version.lines for version in self._versions)
        found: list[tuple[TextEdit, ...]] = []
        notes: list[str] = []
        for number, edit in enumerate(edits, 1):
            which = f"Change {number} of {len(edits)}: " if len(edits) > 1 else ""
            lines = list(edit.new_lines)
            if len(lines) == 1 and "\n" in lines[0]:
                lines = lines[0].removesuffix("\n").split("\n")
            lines = [self._target.to_line_feeds(line).removesuffix("\n") for line in lines]
            bare = strip_anchors_from_new_lines(lines, known)
            if bare is not None:
                lines = bare
                notes.append(f"{which}Left out the anchors before the new lines.")
            span, moved_from = self._make_edit_span(edit, lines, which)
            if moved_from is not None:
                notes.append(f"{which}The file has changed since: the lines are at {moved_from} now.")
            if self._target.text[span.start : span.end] == span.new_text:
                notes.append(f"{which}Nothing to do: the lines already read like this.")
                found.append(())
                continue
            found.append((span,))
        return LocatedEdits(
            spans_by_edit=tuple(found), strategies=("exact",) * len(found), notes=tuple(notes)
        )

    def _make_edit_span(
        self, edit: AnchoredEdit, lines: list[str], which: str
    ) -> tuple[TextEdit, int | None]:
        word = edit.first_anchor.strip().lower()
        if word in _ANCHOR_WORDS_FOR_FILE_START or word in _ANCHOR_WORDS_FOR_FILE_END:
            return self._make_file_end_span(lines, at_start=word in _ANCHOR_WORDS_FOR_FILE_START), None
        ends = [
            self._parse_anchor(text, which)
            for text in (edit.first_anchor, edit.last_anchor or edit.first_anchor)
        ]
        if ends[1].number < ends[0].number:
            raise ToolError(f"{which}{ends[0]} to {ends[1]} ends before it starts. Nothing was changed.")
        place = self._find_anchored_lines(ends[0], ends[1], which)
        if edit.position == "replace":
            self._refuse_forgotten_end(edit, lines, place, which)
            lines = _convert_spaces_to_tabs(self._lines[place.first : place.last + 1], lines)
        at = place.first + 1 if place.first + 1 != ends[0].number else None
        return self._make_replacement_span(edit.position, place, lines), at

    def _parse_anchor(self, text: str, which: str) -> LineAnchor:
        found = parse_line_anchor(text)
        if found is None:
            raise ToolError(
                f'{which}expected an anchor as read shows it, such as "41th", or "start" or "end"; got '
                f'"{one_line(text[:60])}". Nothing was changed.'
            )
        return found

    # Finding lines

    def _find_anchored_lines(self, first: LineAnchor, last: LineAnchor, which: str) -> _LineRange:
        for version in self._versions:
            lines = _drop_last_empty_line(version.lines)
            if not _does_anchor_match_line(first, lines) or not _does_anchor_match_line(last, lines):
                continue
            wanted = range(first.number, last.number + 1)
            if any(number not in version.shown for number in wanted):
                continue
            if lines == self._lines:
                return _LineRange(first.number - 1, last.number - 1)
            place = find_position_of_moved_lines(lines, self._lines, first.number - 1, last.number - 1)
            if place is not None:
                return _LineRange(place, place + last.number - first.number)
            break
        raise self._make_stale_error(first, last, which)

    def _make_stale_error(self, first: LineAnchor, last: LineAnchor, which: str) -> StaleAnchorsError:
        count = len(self._lines)
        if first.number > count or last.number > count:
            beyond = max(first.number, last.number)
            what = f"Line {beyond} does not exist ({self._path} has {count} lines)."
        elif _does_anchor_match_line(first, self._lines) and _does_anchor_match_line(last, self._lines):
            what = f"Lines {first.number}-{last.number} of {self._path} were not all shown to you as they are now."
        else:
            wrong = [str(one) for one in (first, last) if not _does_anchor_match_line(one, self._lines)]
            named = " and ".join(dict.fromkeys(wrong))
            what = f"{named} {'is' if first == last or len(wrong) == 1 else 'are'} not what is there now."
        numbers = self._rows_around(first.number, last.number)
        shown = _format_rows(self._lines, numbers)
        return StaleAnchorsError(
            f"{which}{what} Nothing was changed. These are the lines, with their anchors:\n{shown}", numbers
        )

    def _rows_around(self, first: int, last: int) -> list[int]:
        count = len(self._lines)
        first, last = min(first, count), min(last, count)
        wanted = range(
            max(1, first - _ROWS_SHOWN_AROUND_STALE_ANCHORS),
            min(count, last + _ROWS_SHOWN_AROUND_STALE_ANCHORS) + 1,
        )
        if len(wanted) <= _MAX_ROWS_SHOWN_FOR_STALE_ANCHORS:
            return list(wanted)
        return [
            number
            for number in wanted
            if min(abs(number - first), abs(number - last)) <= _ROWS_SHOWN_AROUND_STALE_ANCHORS
        ]

    def _refuse_forgotten_end(
        self, edit: AnchoredEdit, lines: list[str], place: _LineRange, which: str
    ) -> None:
        """Raises an error for an anchored edit that replaces a single line by a long text, because the end of its
        range was probably forgotten."""
        if (
            edit.last_anchor is None
            and len(lines) > _MIN_LINES_FOR_FORGOTTEN_LAST_ANCHOR
            and lines[0] == self._lines[place.first]
        ):
            raise ToolError(
                f'{which}You gave {len(lines)} lines for line {place.first + 1} alone. Give "to" as well. '
                "Nothing was changed."
            )

    # Building spans

    def _line_start_position(self, index: int) -> int:
        return sum(map(len, self._lines[:index])) + index

    def _make_replacement_span(
        self, place: AnchoredEditPosition, at: _LineRange, lines: list[str]
    ) -> TextEdit:
        text, new = self._target.text, "".join(f"{line}\n" for line in lines)
        start = self._line_start_position(at.first)
        end = min(len(text), self._line_start_position(at.last + 1))
        if place == "before":
            return _make_exact_span(start, start, new)
        has_end = end > start and text[end - 1 : end] == "\n"
        if place == "after":
            return (
                _make_exact_span(end, end, new)
                if has_end
                else _make_exact_span(end, end, f"\n{new[:-1]}" if new else "")
            )
        if not has_end:
            new = new.removesuffix("\n")
            if not lines and start and text[start - 1] == "\n":
                return _make_exact_span(start, end, "")
        return _make_exact_span(start, end, new)

    def _make_file_end_span(self, lines: list[str], *, at_start: bool) -> TextEdit:
        text, new = self._target.text, "".join(f"{line}\n" for line in lines)
        if at_start:
            return _make_exact_span(0, 0, new)
        has_end = not text or text.endswith("\n")
        return _make_exact_span(len(text), len(text), new if has_end else f"\n{new.removesuffix(chr(10))}")


def _make_exact_span(start: int, end: int, new: str) -> TextEdit:
    return TextEdit(start=start, end=end, new_text=new, strategy="exact")


def _drop_last_empty_line(lines: Sequence[str]) -> list[str]:
    """Returns the lines of a text without the last one if it is empty, as after a final line feed."""
    return list(lines[:-1] if len(lines) > 1 and not lines[-1] else lines)


def _format_rows(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Formats some lines of a file as rows with anchors, with dots for the lines in between."""
    out: list[str] = []
    for before, number in zip([0, *numbers], numbers, strict=False):
        if before and number > before + 1:
            out.append("...")
        out.append(escape_controls(clip_result_line(format_anchored_row(number, lines[number - 1]))[0]))
    return "\n".join(out)


def _does_anchor_match_line(anchor: LineAnchor, lines: Sequence[str]) -> bool:
    number = anchor.number
    return 0 < number <= len(lines) and compute_anchor_tag(number, lines[number - 1]) == anchor.tag


def _convert_spaces_to_tabs(old: Sequence[str], new: list[str]) -> list[str]:
    """Converts the indentation of new lines from spaces to tabs, if the replaced lines use tabs and one tab width
    explains both."""
    tabbed = [line for line in old if line.startswith("\t")]
    if not tabbed or any(line.startswith(" ") for line in old) or any(line.startswith("\t") for line in new):
        return new
    spaced = [line for line in new if line.startswith(" ")]
    depth = len(tabbed[0]) - len(tabbed[0].lstrip("\t"))
    blanks = len(spaced[0]) - len(spaced[0].lstrip(" ")) if spaced else 0
    width = blanks // depth
    if not spaced or width not in (2, 4, 8) or any(_indent_columns(line) % width for line in spaced):
        return new
    return ["\t" * (_indent_columns(line) // width) + line[_indent_columns(line) :] for line in new]


def _indent_columns(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def format_anchored_rows_around(
    text: str, spans: Sequence[tuple[int, int]], around: int = 2
) -> tuple[str, tuple[int, ...]]:
    """Returns the anchored rows around changed ranges of a text (first and last line, from 1), and the numbers of the
    lines in them."""
    lines = _drop_last_empty_line(text.split("\n"))
    numbers = sorted(
        {
            number
            for first, last in spans
            for number in range(max(1, first - around), min(len(lines), last + around) + 1)
        }
    )
    if len(numbers) > _MAX_ROWS_SHOWN_FOR_STALE_ANCHORS:
        numbers = (
            numbers[: _MAX_ROWS_SHOWN_FOR_STALE_ANCHORS // 2]
            + numbers[-_MAX_ROWS_SHOWN_FOR_STALE_ANCHORS // 2 :]
        )
    return _format_rows(lines, numbers), tuple(numbers)
