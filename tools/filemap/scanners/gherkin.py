"""Finds the features, rules and scenarios of Gherkin files, in any language of the keywords."""

import re

from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_GHERKIN_KEYWORD_PATTERN = re.compile(
    rb"\s*(?P<word>[^\s\W\d_|@#\"\x27*:][^:|\"#]{0,40}?)\s*:(?:\s+(?P<title>.*?))?\s*$"
)
_GHERKIN_LANGUAGE_COMMENT_PATTERN = re.compile(rb"\s*#\s*language\s*:\s*(?P<language>[\w-]+)")
_GHERKIN_LEVEL_BY_ENGLISH_KEYWORD = {
    "feature": (0, "feature"), "business need": (0, "feature"), "ability": (0, "feature"), "rule": (1, "rule"),
    "background": (2, "background"), "scenario": (2, "scenario"), "example": (2, "scenario"),
    "scenario outline": (2, "scenario"), "scenario template": (2, "scenario"), "examples": (3, "examples"),
    "scenarios": (3, "examples"),
}  # fmt: skip


def outline_gherkin(source: bytes, watch: MapDeadline) -> ScannedOutline:
    found = OutlineBuilder()
    row, fence, is_english = -1, b"", True
    for row, start, line in iterate_source_lines(source, watch):
        text = line.strip()
        if text.startswith((b'"""', b"```")):
            fence = b"" if text[:3] == fence else fence or text[:3]
            continue
        if fence or not text:
            continue
        language = _GHERKIN_LANGUAGE_COMMENT_PATTERN.match(line)
        if language is not None and not found.symbols:
            is_english = language["language"].startswith(b"en")
        keyword = _GHERKIN_KEYWORD_PATTERN.match(line)
        if keyword is None:
            continue
        word = decode_and_shorten_line(keyword["word"])
        known = (
            _GHERKIN_LEVEL_BY_ENGLISH_KEYWORD.get(word.lower())
            if is_english
            else (min(2, len(found.symbols) * 2), "")
        )
        if known is not None:
            level, kind = known
            kind = kind or ("scenario" if level else "feature")
            name = decode_and_shorten_line(keyword["title"] or b"", MAX_STORED_SYMBOL_NAME_CHARS) or word
            found.open_symbol(level, name, kind, row, start, f"{word}: {name}")
    found.close_symbols(0, row)
    return ScannedOutline(found.symbols)
