"""Scans AsciiDoc: section titles (both forms), outside of listings, literals and comments."""

import re

from tools.filemap.scanners.lines import decode_line, source_lines
from tools.filemap.scanners.nesting import Nesting
from tools.filemap.scanners.result import Scanned
from tools.filemap.watch import Deadline
from tools.filemap.wording import MAX_NAME_LENGTH

_TITLE = re.compile(rb"(?P<mark>={1,6}|#{1,6})[ \t]+(?P<title>\S.*?)(?:[ \t]+(?P=mark))?\s*$")
_BLOCK_DELIMITER = re.compile(rb"(?:(?P<mark>[-.+/])(?P=mark){3,}|`{3}\S*|--)\s*$")
_UNDERLINE = re.compile(rb"(?P<mark>[-=~^+])(?P=mark)+\s*$")
_LEVELS = b"=-~^+"
_NOT_A_TITLE = re.compile(rb"[\s.:\[|*/]|//|--|={2}")
_ANCHOR = re.compile(r"\[\[[^\]]*\]\]|\[#[^\]]*\]")
_MARKS = re.compile(r"(?<!\w)([*_`#]{1,2})(?P<said>\S|\S.*?\S)\1(?!\w)")
_LINK = re.compile(r"(?:link:|https?://|\{url[\w-]*\})[^\s\[]*\[(?P<said>[^\]]+)\]")


def scan_asciidoc(source: bytes, watch: Deadline) -> Scanned:
    found = Nesting()
    row, fence = -1, b""
    before: tuple[int, int, bytes] | None = None
    is_after_blank = True
    for row, start, line in source_lines(source, watch):
        text = line.rstrip()
        if fence:
            fence = b"" if text == fence else fence
            continue
        underline = _UNDERLINE.match(text) if before is not None else None
        if before is not None and underline is not None and _is_as_long(before[2], text):
            _open_section(found, _LEVELS.index(underline["mark"]) + 1, before[2], before[0], before[1])
            before = None
            continue
        title = _TITLE.match(text)
        if title is not None:
            _open_section(found, len(title["mark"]), title["title"], row, start)
        elif text != b"--" and (verbatim := _BLOCK_DELIMITER.match(text)) is not None:
            fence = b"```" if verbatim[0].startswith(b"```") else text
        can_be_title = (
            text and is_after_blank and title is None and not fence and not _NOT_A_TITLE.match(text)
        )
        before = (row, start, text) if can_be_title else None
        is_after_blank = not text or text.startswith((b"[", b"//"))
    found.close(0, row)
    return Scanned(found.drafts)


def _is_as_long(title: bytes, underline: bytes) -> bool:
    return abs(len(title.decode("utf-8", "replace")) - len(underline)) <= 1


def _open_section(found: Nesting, level: int, title: bytes, row: int, start: int) -> None:
    said = _LINK.sub(r"\g<said>", _ANCHOR.sub("", decode_line(title, MAX_NAME_LENGTH)))
    name = _MARKS.sub(r"\g<said>", said).strip() or decode_line(title, MAX_NAME_LENGTH)
    found.open(level, name, "heading", row, start, "=" * level + " " + name)
