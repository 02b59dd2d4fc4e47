"""Finds the headings of Markdown (both forms) with the range of their section, code blocks, and front matter."""

import re
from html import unescape

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.one_line_text import MAX_STORED_SYMBOL_NAME_CHARS
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline
from tools.filemap.scanners.source_lines import decode_and_shorten_line, iterate_source_lines

_ATX_HEADING_PATTERN = re.compile(rb" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*\r?$")
_MARKDOWN_CODE_FENCE_PATTERN = re.compile(
    rb"(?: {0,3}|(?:[ ]*(?:[-*+]|\d+[.)])[ ]+)|[ ]{2,}|(?: {0,3}>[ ]?)+)(`{3,}|~{3,})([^\r\n]*)\r?$"
)
_MARKDOWN_HEADING_UNDERLINE_PATTERN = re.compile(rb" {0,3}(=+|-+)[ \t]*\r?$")
_NOT_A_MARKDOWN_PARAGRAPH_PATTERN = re.compile(
    rb"\s*(?:[-*+][ \t]|\d+[.)][ \t]|>|\||<!--|#{1,6}(?:\s|$)|`{3}|~{3}|(?:    |\t))"
)
_MARKDOWN_LINK_PATTERN = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKDOWN_INLINE_CODE_PATTERN = re.compile(r"(`+)(.+?)\1")
_MARKDOWN_MARKUP_PATTERN = re.compile(r"\\(?P<meant>[!-/:-@\[-`{-~])|[*`]+|<[^>]+>")

_MAX_SHARED_HEADING_TEXTS = 1000


class _MarkdownOutline:
    def __init__(self) -> None:
        self.found = OutlineBuilder()
        self.open_fence = b""
        self.open_code_block: FoundSymbol | None = None
        """The open code block, which continues up to its closing fence."""
        self.last_paragraph: tuple[int, int, bytes] | None = None
        """The row, position and text of the previous line, if an underline below it would make it a heading; None
        otherwise."""
        self.interned_texts: dict[str, str] = {}

    def intern_text(self, text: str) -> str:
        """Returns one shared copy of a heading or language name that occurs repeatedly, to save memory."""
        if len(self.interned_texts) < _MAX_SHARED_HEADING_TEXTS:
            return self.interned_texts.setdefault(text, text)
        return self.interned_texts.get(text, text)

    def add_heading(self, level: int, name: str, row: int, start: int) -> None:
        signature = self.intern_text("#" * level + " " + name)
        self.found.open_symbol(level, self.intern_text(name), "heading", row, start, signature)

    def begin_code(self, row: int, start: int, mark: bytes, info: bytes) -> None:
        words = decode_and_shorten_line(info, 60).strip("{} ")
        name = self.intern_text(words.split()[0].rstrip(",")) if words else "code"
        self.open_fence = mark
        self.open_code_block = self.found.add_leaf_symbol(
            name, "code", row, start, name if words == name else words
        )

    def end_code(self, row: int) -> None:
        if self.open_code_block is not None:
            self.open_code_block.end_row = row
        self.open_fence, self.open_code_block = b"", None


def strip_heading_markup(text: str) -> str:
    """Removes the marks of emphasis, links and HTML from a Markdown heading."""
    text = _MARKDOWN_LINK_PATTERN.sub(r"\1", text)
    pieces: list[str] = []
    at = 0
    for code in _MARKDOWN_INLINE_CODE_PATTERN.finditer(text):
        pieces += _strip_markup(text[at : code.start()]), code[2]
        at = code.end()
    pieces.append(_strip_markup(text[at:]))
    return (" ".join("".join(pieces).split()) or text)[:160]


def _strip_markup(text: str) -> str:
    return unescape(_MARKDOWN_MARKUP_PATTERN.sub(lambda match: match["meant"] or "", text))


def outline_markdown(source: bytes, watch: MapDeadline) -> ScannedOutline:
    state = _MarkdownOutline()
    row = -1
    matter_end = _find_front_matter_end(source)
    if matter_end:
        state.found.add_leaf_symbol("front matter", "metadata", 0, 0).end_row = matter_end
    for row, start, line in iterate_source_lines(source, watch):
        if matter_end and row <= matter_end:
            continue
        _scan_markdown_line(state, row, start, line)
    state.end_code(row)
    state.found.close_symbols(0, row)
    return ScannedOutline(state.found.symbols)


def _scan_markdown_line(state: _MarkdownOutline, row: int, start: int, line: bytes) -> None:
    head = line[:4].lstrip()[:1]
    if state.open_fence:
        stripped = line.strip().lstrip(b"> ")
        if stripped.startswith(state.open_fence) and not stripped.strip(state.open_fence[:1]):
            state.end_code(row)
        return
    before, state.last_paragraph = state.last_paragraph, None
    if b"```" in line or b"~~~" in line:
        match = _MARKDOWN_CODE_FENCE_PATTERN.match(line)
        if match is not None and not (match[1].startswith(b"`") and b"`" in match[2]):
            state.begin_code(row, start, match[1], match[2])
            return
    if head == b"#":
        match = _ATX_HEADING_PATTERN.match(line)
        if match is not None:
            state.add_heading(
                len(match[1]),
                strip_heading_markup(decode_and_shorten_line(match[2] or b"", MAX_STORED_SYMBOL_NAME_CHARS)),
                row,
                start,
            )
            return
    if head in (b"=", b"-") and before is not None and _MARKDOWN_HEADING_UNDERLINE_PATTERN.match(line):
        level = 1 if head == b"=" else 2
        state.add_heading(
            level,
            strip_heading_markup(decode_and_shorten_line(before[2], MAX_STORED_SYMBOL_NAME_CHARS)),
            before[0],
            before[1],
        )
        return
    if line.strip() and not _NOT_A_MARKDOWN_PARAGRAPH_PATTERN.match(line):
        state.last_paragraph = before if before is not None else (row, start, line)


def _find_front_matter_end(source: bytes) -> int:
    """Returns the last row of a Markdown file's front matter, the YAML between `---` lines at the top; 0 if there is
    none."""
    if not source.startswith((b"---\n", b"---\r\n")):
        return 0
    for row, line in enumerate(source[:65536].split(b"\n")):
        if row and line.rstrip() in (b"---", b"..."):
            return row
    return 0
