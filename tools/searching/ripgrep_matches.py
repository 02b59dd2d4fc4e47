"""Collects matches from ripgrep by file, and clips long lines."""

import base64
from collections.abc import Callable
from typing import Final

import msgspec

from tools.result_limits import MAX_MATCH_LINE_CHARS
from tools.searching.path_globs import GlobFileFilter
from tools.text_sanitizing import escape_controls

MAX_COUNTED_MATCHES: Final = 10_000
"""The maximum number of matches of a search that are counted."""
_MAX_CHARS_SHOWN_BEFORE_MATCH: Final = 150
"""The number of characters of a long line that are shown before its match."""


class FoundSearchLine(msgspec.Struct, frozen=True):
    number: int
    text: str
    is_match: bool
    is_clipped: bool
    starts_match: bool
    """Whether a match begins in this line; a match of several lines continues on the next ones."""
    matched_spans: tuple[tuple[int, int], ...] = ()
    """The spans of the line's text that match, if the text is not clipped."""


class _RipgrepText(msgspec.Struct):
    """A text in ripgrep's JSON output, which is base64 if it is not UTF-8."""

    text: str | None = None
    bytes: str | None = None

    def value(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "replace")


class _Submatch(msgspec.Struct):
    start: int
    end: int


class _RipgrepRecordData(msgspec.Struct):
    path: _RipgrepText | None = None
    lines: _RipgrepText | None = None
    line_number: int | None = None
    submatches: list[_Submatch] = msgspec.field(default_factory=list[_Submatch])


class _RipgrepRecord(msgspec.Struct):
    type: str
    data: _RipgrepRecordData


class RipgrepMatchCollector:
    """Collects ripgrep's matches by file as they arrive, in any order of files."""

    def __init__(
        self,
        wanted: GlobFileFilter,
        mask: Callable[[str], str] = str,
        is_kept_back: Callable[[str], bool] = lambda path: False,
    ) -> None:
        """Creates the collector. `mask` masks secrets in a line before it is clipped, so that no part of a secret
        is left at its ends. Matches in files for which `is_kept_back` returns True are neither shown nor counted.
        """
        self.lines_by_file: dict[str, list[FoundSearchLine]] = {}
        self.match_count = 0
        self._file_filter = wanted
        self._mask = mask
        self._is_withheld = is_kept_back
        self._decoder = msgspec.json.Decoder(_RipgrepRecord)
        self._skipped_path = ""

    def take_matches(self, records: list[bytes]) -> bool:
        for record in records:
            if record.startswith((b'{"type":"match"', b'{"type":"context"')):
                self._add_record(record)
                if self.match_count >= MAX_COUNTED_MATCHES:
                    return False
        return True

    def drop_matches_of_file(self, path: str) -> None:
        self.match_count -= sum(line.starts_match for line in self.lines_by_file.pop(path, ()))

    def _add_record(self, record: bytes) -> None:
        found = self._decoder.decode(record)
        path = (found.data.path or _RipgrepText()).value().removeprefix("./")
        if path not in self.lines_by_file:
            if path == self._skipped_path:
                return
            if not self._file_filter.matches_path(path) or self._is_withheld(path):
                self._skipped_path = path
                return
        is_match = found.type == "match"
        text = (found.data.lines or _RipgrepText()).value()
        starts = _find_match_starts(text, [one.start for one in found.data.submatches])
        spans = _find_match_spans(text, found.data.submatches)
        self.match_count += len(starts)
        first = found.data.line_number or 1
        kept = self.lines_by_file.setdefault(path, [])
        for offset, line in enumerate(text.removesuffix("\n").split("\n")):
            line, at = line.removesuffix("\r"), starts.get(offset, 0)
            if len(line) > MAX_MATCH_LINE_CHARS and (masked := self._mask(line)) != line:
                at = min(len(self._mask(line[:at])), len(masked))
                line = masked
            shown, is_clipped = clip_line_around_match(line, at)
            told = escape_controls(shown)
            own = tuple(spans.get(offset, ())) if told == line and not is_clipped else ()
            kept.append(FoundSearchLine(first + offset, told, is_match, is_clipped, offset in starts, own))


def _find_match_starts(text: str, positions: list[int]) -> dict[int, int]:
    """Returns the lines of a ripgrep record in which matches begin, with the first character of each. Positions are in
    bytes."""
    data = None if text.isascii() else text.encode("utf-8", "replace")
    found: dict[int, int] = {}
    for position in positions:
        at = position if data is None else len(data[:position].decode("utf-8", "ignore"))
        line = min(text.count("\n", 0, at), max(0, text.count("\n") - text.endswith("\n")))
        found.setdefault(line, at - text.rfind("\n", 0, at) - 1)
    return found


def _find_match_spans(text: str, matches: list[_Submatch]) -> dict[int, list[tuple[int, int]]]:
    """Returns the matched spans in each line of a ripgrep record, in characters."""
    data = None if text.isascii() else text.encode("utf-8", "replace")
    found: dict[int, list[tuple[int, int]]] = {}
    for match in matches:
        start, end = match.start, match.end
        if data is not None:
            start, end = (len(data[:at].decode("utf-8", "ignore")) for at in (start, end))
        line = text.count("\n", 0, start)
        begin = text.rfind("\n", 0, start) + 1
        for part in text[start:end].split("\n"):
            if part.rstrip("\r"):
                found.setdefault(line, []).append((start - begin, start - begin + len(part.rstrip("\r"))))
            start += len(part) + 1
            begin, line = start, line + 1
    return found


def clip_line_around_match(line: str, at: int) -> tuple[str, bool]:
    """Clips a found line around the position `at` of its match; also returns whether it was clipped."""
    if len(line) <= MAX_MATCH_LINE_CHARS:
        return line, False
    begin = (
        at - _MAX_CHARS_SHOWN_BEFORE_MATCH if at + _MAX_CHARS_SHOWN_BEFORE_MATCH > MAX_MATCH_LINE_CHARS else 0
    )
    before = f"[from character {begin + 1:,}] ..." if begin else ""
    end = begin + MAX_MATCH_LINE_CHARS
    after = "..." if end < len(line) else ""
    return f"{before}{line[begin:end]}{after} [truncated, {len(line):,} characters]", True
