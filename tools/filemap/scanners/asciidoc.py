"""Finds the section titles of AsciiDoc (both forms), outside of listings, literals and comments."""

import re

from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_ASCIIDOC_TITLE_PATTERN = re.compile(
    rb"(?P<mark>={1,6}|#{1,6})[ \t]+(?P<title>\S.*?)(?:[ \t]+(?P=mark))?\s*$"
)
_ASCIIDOC_BLOCK_DELIMITER_PATTERN = re.compile(rb"(?:(?P<mark>[-.+/])(?P=mark){3,}|`{3}\S*|--)\s*$")
_ASCIIDOC_TITLE_UNDERLINE_PATTERN = re.compile(rb"(?P<mark>[-=~^+])(?P=mark)+\s*$")
_ASCIIDOC_UNDERLINE_LEVELS = b"=-~^+"
_NOT_AN_ASCIIDOC_TITLE_PATTERN = re.compile(rb"[\s.:\[|*/]|//|--|={2}")
_ASCIIDOC_ANCHOR_PATTERN = re.compile(r"\[\[[^\]]*\]\]|\[#[^\]]*\]")
_ASCIIDOC_EMPHASIS_PATTERN = re.compile(r"(?<!\w)([*_`#]{1,2})(?P<said>\S|\S.*?\S)\1(?!\w)")
_ASCIIDOC_LINK_PATTERN = re.compile(r"(?:link:|https?://|\{url[\w-]*\})[^\s\[]*\[(?P<said>[^\]]+)\]")


def outline_asciidoc(source: bytes, watch: MapDeadline) -> ScannedOutline:
    found = OutlineBuilder()
    row, fence = -1, b""
    before: tuple[int, int, bytes] | None = None
    is_after_blank = True
    for row, start, line in iterate_source_lines(source, watch):
        text = line.rstrip()
        if fence:
            fence = b"" if text == fence else fence
            continue
        underline = _ASCIIDOC_TITLE_UNDERLINE_PATTERN.match(text) if before is not None else None
        if before is not None and underline is not None and _is_underline_as_long_as_title(before[2], text):
            _open_asciidoc_section(
                found,
                _ASCIIDOC_UNDERLINE_LEVELS.index(underline["mark"]) + 1,
                before[2],
                before[0],
                before[1],
            )
            before = None
            continue
        title = _ASCIIDOC_TITLE_PATTERN.match(text)
        if title is not None:
            _open_asciidoc_section(found, len(title["mark"]), title["title"], row, start)
        elif text != b"--" and (verbatim := _ASCIIDOC_BLOCK_DELIMITER_PATTERN.match(text)) is not None:
            fence = b"```" if verbatim[0].startswith(b"```") else text
        can_be_title = (
            text
            and is_after_blank
            and title is None
            and not fence
            and not _NOT_AN_ASCIIDOC_TITLE_PATTERN.match(text)
        )
        before = (row, start, text) if can_be_title else None
        is_after_blank = not text or text.startswith((b"[", b"//"))
    found.close_symbols(0, row)
    return ScannedOutline(found.symbols)


def _is_underline_as_long_as_title(title: bytes, underline: bytes) -> bool:
    return abs(len(title.decode("utf-8", "replace")) - len(underline)) <= 1


def _open_asciidoc_section(found: OutlineBuilder, level: int, title: bytes, row: int, start: int) -> None:
    said = _ASCIIDOC_LINK_PATTERN.sub(
        r"\g<said>",
        _ASCIIDOC_ANCHOR_PATTERN.sub("", decode_and_shorten_line(title, MAX_STORED_SYMBOL_NAME_CHARS)),
    )
    name = _ASCIIDOC_EMPHASIS_PATTERN.sub(r"\g<said>", said).strip() or decode_and_shorten_line(
        title, MAX_STORED_SYMBOL_NAME_CHARS
    )
    found.open_symbol(level, name, "heading", row, start, "=" * level + " " + name)
