"""Finds the features, rules and scenarios of Gherkin files, in any language of the keywords."""

import re

from tools.filemap.deadline import Deadline
from tools.filemap.one_line_text import MAX_NAME_LENGTH
from tools.filemap.scanners.lines import decode_line, source_lines
from tools.filemap.scanners.nesting import OutlineBuilder
from tools.filemap.scanners.result import ScanResult

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
    for row, start, line in source_lines(source, watch):
        text = line.strip()
        if text.startswith((b'"""', b"```")):
            fence = b"" if text[:3] == fence else fence or text[:3]
            continue
        if fence or not text:
            continue
        language = _LANGUAGE_COMMENT_PATTERN.match(line)
        if language is not None and not found.drafts:
            is_english = language["language"].startswith(b"en")
        keyword = _KEYWORD_PATTERN.match(line)
        if keyword is None:
            continue
        word = decode_line(keyword["word"])
        known = _ENGLISH_KEYWORDS.get(word.lower()) if is_english else (min(2, len(found.drafts) * 2), "")
        if known is not None:
            level, kind = known
            kind = kind or ("scenario" if level else "feature")
            name = decode_line(keyword["title"] or b"", MAX_NAME_LENGTH) or word
            found.open_symbol(level, name, kind, row, start, f"{word}: {name}")
    found.close_symbols(0, row)
    return ScanResult(found.drafts)
