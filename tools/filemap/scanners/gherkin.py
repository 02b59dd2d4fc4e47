"""Finds the features, rules and scenarios of Gherkin files, in any language of the keywords."""

import re

from tools.filemap.deadline import Deadline
from tools.filemap.one_line_text import MAX_STORED_NAME_CHARS
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScanResult
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_KEYWORD_PATTERN = re.compile(
    rb"\s*(?P<word>[^\s\W\d_|@#\"\x27*:][^:|\"#]{0,40}?)\s*:(?:\s+(?P<title>.*?))?\s*$"
)
_LANGUAGE_COMMENT_PATTERN = re.compile(rb"\s*#\s*language\s*:\s*(?P<language>[\w-]+)")
_ENGLISH_KEYWORDS = {
    "feature": (0, "feature"), "business need": (0, "feature"), "ability": (0, "feature"), "rule": (1, "rule"),
    "background": (2, "background"), "scenario": (2, "scenario"), "example": (2, "scenario"),
    "scenario outline": (2, "scenario"), "scenario template": (2, "scenario"), "examples": (3, "examples"),
    "scenarios": (3, "examples"),
}  # fmt: skip


def scan_gherkin(source: bytes, watch: Deadline) -> ScanResult:
    found = OutlineBuilder()
    row, fence, is_english = -1, b"", True
    for row, start, line in iterate_source_lines(source, watch):
        text = line.strip()
        if text.startswith((b'"""', b"```")):
            fence = b"" if text[:3] == fence else fence or text[:3]
            continue
        if fence or not text:
            continue
        language = _LANGUAGE_COMMENT_PATTERN.match(line)
        if language is not None and not found.symbols:
            is_english = language["language"].startswith(b"en")
        keyword = _KEYWORD_PATTERN.match(line)
        if keyword is None:
            continue
        word = decode_and_shorten_line(keyword["word"])
        known = _ENGLISH_KEYWORDS.get(word.lower()) if is_english else (min(2, len(found.symbols) * 2), "")
        if known is not None:
            level, kind = known
            kind = kind or ("scenario" if level else "feature")
            name = decode_and_shorten_line(keyword["title"] or b"", MAX_STORED_NAME_CHARS) or word
            found.open_symbol(level, name, kind, row, start, f"{word}: {name}")
    found.close_symbols(0, row)
    return ScanResult(found.symbols)
