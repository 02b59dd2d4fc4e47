"""Makes foreign text safe to draw, measures it in cells and wraps it. It knows characters and widths, but no styles,
Markdown or Textual."""

import re
from functools import lru_cache

from rich.cells import cell_len, split_graphemes

from tools.lazy_patterns import lazy_regex

TAB_CELLS = 4

_VISIBLE_SIGN_BY_CONTROL_CHARACTER: dict[int, str | None] = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t\r"},
    0x0D: None,
    0x7F: "␡",
    **{code: "�" for code in range(0x80, 0xA0)},
    **{code: "�" for code in range(0xD800, 0xE000)},
    **dict.fromkeys((0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF), None),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), None),
    0x2028: " ",
    0x2029: " ",
    0x10EEEE: "�",
}
"""Replacements: controls become visible signs, direction overrides and invisible marks are
removed, and surrogates and the placeholder of terminal images (`graphics.kitty`) are replaced."""

_WIDE_CHARACTER_CLASS = (
    "[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]"
)
_WIDE_CHARACTER_PATTERN = lazy_regex(_WIDE_CHARACTER_CLASS)
_SIMPLE_TEXT_PATTERN = lazy_regex(
    f"(?:[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u2500-\u25fc]|{_WIDE_CHARACTER_CLASS})*"
)
_ZERO_WIDTH_JOINER = "\u200d"
_EMOJI_SELECTOR = "\ufe0f"
_JOINING_CHARACTERS = lazy_regex("[\u200d\ufe0f]")


def clean(text: str) -> str:
    """Returns a text safe to draw: control characters become visible signs, and invisible or direction-changing
    characters are removed."""
    return text.translate(_VISIBLE_SIGN_BY_CONTROL_CHARACTER)


def cells(text: str) -> int:
    """Returns the width of a text in terminal cells; tabs are not expanded."""
    return len(text) if text.isascii() else cell_len(text)


def has_joining_characters(text: str) -> bool:
    """Returns whether a text has characters whose width depends on their neighbours."""
    return not text.isascii() and _JOINING_CHARACTERS.search(text) is not None


def safe_cut_position(text: str, at: int) -> int:
    """Returns the first position from `at` on where the text can be cut without changing its width."""
    end = len(text)
    while 0 < at < end and (
        text[at] in (_ZERO_WIDTH_JOINER, _EMOJI_SELECTOR) or text[at - 1] == _ZERO_WIDTH_JOINER
    ):
        at += 1
    return at


@lru_cache(256)
def _row_pattern(width: int) -> re.Pattern[str]:
    return re.compile(f".{{1,{width}}}(?: +|$)|{_slash_pattern(width)}|.{{{width}}}", re.DOTALL)


def _slash_pattern(width: int) -> str:
    """Returns a pattern for a row that ends with a slash: a path is broken there and not inside a name."""
    return f".{{{width // 3},{max(width // 3, width - 1)}}}/"


@lru_cache(256)
def _shadow_row_pattern(width: int) -> re.Pattern[str]:
    whole_cell = "(?!\x02)"
    return re.compile(
        f".{{1,{width}}}{whole_cell}(?: +|$)|{_slash_pattern(width)}"
        f"|.{{{width}}}{whole_cell}|.{{{max(1, width - 1)}}}{whole_cell}|.",
        re.DOTALL,
    )


_MIN_CELLS_AFTER_INDENT = 8


def wrap_line_into_ranges(line: str, width: int) -> list[tuple[int, int]]:
    """Splits a line into ranges that each fit the width without trailing blanks.

    Breaks after blanks; inside a word only if the word is too long for a row, or for the row after
    the line's indent: then after a slash, if there is one."""
    width = max(1, width)
    rows = _wrap_without_indent(line, width)
    if len(rows) > 1 and not line[: rows[0][1]].strip(" \t"):
        return _wrap_with_indent(line, width) or rows
    return rows


def _wrap_with_indent(line: str, width: int) -> list[tuple[int, int]]:
    """Wraps a line so that its first word is in the same row as the indent; empty if that leaves too little room."""
    begins = len(line) - len(line.lstrip(" \t"))
    room = width - len(expand_tabs(line[:begins], 0))
    if room < _MIN_CELLS_AFTER_INDENT or begins == len(line):
        return []
    ends = begins + _wrap_without_indent(line[begins:], room)[0][1]
    return [
        (0, ends),
        *((ends + start, ends + end) for start, end in _wrap_without_indent(line[ends:], width)),
    ]


def _wrap_without_indent(line: str, width: int) -> list[tuple[int, int]]:
    if line.isascii() and "\t" not in line:
        if len(line) <= width:
            return [(0, len(line))]
        return [match.span() for match in _row_pattern(width).finditer(line)]
    if width >= 4 and _SIMPLE_TEXT_PATTERN.fullmatch(line):
        return _wrap_wide(line, width)
    return _wrap_slowly(line, width)


def _wrap_wide(line: str, width: int) -> list[tuple[int, int]]:
    """Wraps a line of one- and two-cell characters, by a stand-in text with one character per cell."""
    shadow = _WIDE_CHARACTER_PATTERN.sub("\x01\x02", line)
    if len(shadow) <= width:
        return [(0, len(line))]
    rows = []
    start = 0
    for match in _shadow_row_pattern(width).finditer(shadow):
        row = match.group()
        end = start + len(row) - row.count("\x02")
        rows.append((start, end))
        start = end
    return rows


def _wrap_slowly(line: str, width: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    start = column = 0
    after_blank = after_slash = -1
    spans, _ = split_graphemes(line)
    index = 0
    while index < len(spans):
        first, last, size = spans[index]
        if line[first] == "\t":
            size = TAB_CELLS - column % TAB_CELLS
        elif not size:  # joiners without a character before them count for the next one
            size = max(map(cell_len, line[first:last]))
        is_blank = line[first:last] in (
            " ",
            "\t",
        )  # a blank with a joiner is drawn, so it does not count as blank
        if column + size > width and not (is_blank and line[first] == " ") and first > start:
            is_path = after_slash > start + width // 3
            cut = after_blank if after_blank > start else after_slash if is_path else first
            rows.append((start, cut))
            start = cut
            column = 0
            after_blank = after_slash = -1
            while index and spans[index - 1][0] >= start:
                index -= 1
            if spans[index][0] < start:
                index += 1
            continue
        column += size
        if is_blank:
            after_blank = last
        elif line[first:last] == "/":
            after_slash = last
        index += 1
    rows.append((start, len(line)))
    return rows


def expand_tabs(text: str, column: int) -> str:
    """Replaces the tabs of a text that begins at a column of the row by blanks."""
    out = []
    for char in text:
        if char == "\t":
            size = TAB_CELLS - column % TAB_CELLS
            out.append(" " * size)
            column += size
        else:
            out.append(char)
            column += cells(char)
    return "".join(out)


def cut_end_to_fit(text: str, width: int) -> str:
    """Returns the start of the text that fits, with an ellipsis if it is cut."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    if text.isascii():
        return text[: width - 1] + "…"
    used = 0
    for start, _end, size in split_graphemes(text)[0]:
        if used + size > width - 1:
            return text[:start] + "…"
        used += size
    return text


def cut_start_to_fit(text: str, width: int) -> str:
    """Returns the end of the text that fits, with a leading ellipsis if it is cut; for paths, which are cut before a
    slash."""
    if cells(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    used = 0
    for start, end, size in reversed(split_graphemes(text)[0]):
        if used + size > width - 1:
            kept = text[end:]
            return "…" + kept[max(0, kept.find("/")) :]
        used += size
        del start
    return text
