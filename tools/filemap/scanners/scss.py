"""Outlines SCSS by its braces, so that interpolation and newer syntax, which no grammar supports, do not matter."""

import re

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.outline_builder import OutlineBuilder
from tools.filemap.scanners.scan_result import ScannedOutline

_SCSS_TOKEN_PATTERN = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|url\([^)\"'\n]*\)|#\{|[{};\n]",
    re.S,
)
_SCSS_COMMENT_PATTERN = re.compile(rb"/\*.*?\*/|(?<!:)//[^\n]*", re.S)
_SCSS_VARIABLE_PATTERN = re.compile(rb"\s*(\$[\w-]+|--[\w-]+)\s*:\s*(.*)", re.S)
_SCSS_IMPORT_PATTERN = re.compile(rb"\s*@(?:use|import|forward)\s+(.+)", re.S)
_SCSS_NAMED_RULE_PATTERN = re.compile(rb"@(mixin|function|keyframes)\s+([\w-]+)\s*(\(.*)?", re.S)
_SCSS_CONTROL_RULES = (b"@include", b"@if", b"@else", b"@each", b"@for", b"@while")
_MAX_SCSS_NAME_CHARS = 120
_MAX_SCSS_SELECTOR_BYTES = 20_000


class _ScssOutline:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found = OutlineBuilder()
        self.depth = 0
        self.symbol_depths: list[int] = []
        """The nesting depths of the open blocks that are symbols."""
        self.interpolation_depth = 0
        self.start = 0
        self.row = self.start_row = 0
        self.pending_doc = ""
        self.imports: list[str] = []

    def handle_token(self, token: bytes, at: int) -> None:
        if token.startswith((b"//", b"/*")):
            self._handle_comment(token, at)
        elif token == b"\n":
            self.row += 1
        elif token == b"#{":
            self.interpolation_depth += 1
        elif token == b"}" and self.interpolation_depth:
            self.interpolation_depth -= 1
        elif token == b"{":
            self._open_block(at)
        elif token == b"}":
            self._close_block(at)
        elif token == b";":
            self._end_statement(at)
        else:
            self.row += token.count(b"\n")

    def _handle_comment(self, token: bytes, at: int) -> None:
        if at - self.start < _MAX_SCSS_SELECTOR_BYTES and not self.source[self.start : at].strip():
            self.pending_doc = (
                token.decode("utf-8", "replace").strip("/* \t\r\n").split("\n")[0][:_MAX_SCSS_NAME_CHARS]
            )
            self.start = at + len(token)
        self.row += token.count(b"\n")

    def _current_statement(self, at: int) -> tuple[bytes, int, int]:
        """Returns the SCSS text since the last statement, its first byte and its row."""
        self.start = max(self.start, at - _MAX_SCSS_SELECTOR_BYTES)
        raw = self.source[self.start : at]
        begin = self.start + len(raw) - len(raw.lstrip())
        head = _SCSS_COMMENT_PATTERN.sub(b"", raw).strip() if b"/" in raw else raw.strip()
        return head, begin, self.row - self.source.count(b"\n", begin, at)

    def _open_block(self, at: int) -> None:
        head, begin, row = self._current_statement(at)
        if head and not head.startswith(_SCSS_CONTROL_RULES):
            text = " ".join(head.decode("utf-8", "replace").split())
            draft = self._add_symbol(head, text, row, begin)
            draft.doc = self.pending_doc
            self.symbol_depths.append(self.depth)
        self.depth += 1
        self._begin_statement(at)

    def _add_symbol(self, head: bytes, text: str, row: int, begin: int) -> FoundSymbol:
        level = len(self.symbol_depths)
        named = _SCSS_NAMED_RULE_PATTERN.match(head)
        if named is not None:
            name = named[2].decode("utf-8", "replace")
            arguments = " ".join((named[3] or b"").decode("utf-8", "replace").split())
            return self.found.open_symbol(
                level, name, named[1].decode(), row, begin, f"{name}{arguments}"[:160]
            )
        kind = "rule"
        if text.startswith("@"):
            word = text[1:].split(None, 1)[0].split("(")[0]
            kind = word if word in ("media", "supports", "layer", "container") else "at-rule"
        return self.found.open_symbol(level, text[:_MAX_SCSS_NAME_CHARS], kind, row, begin, text[:160])

    def _close_block(self, at: int) -> None:
        self._end_statement(at)
        self.depth = max(0, self.depth - 1)
        if self.symbol_depths and self.symbol_depths[-1] == self.depth:
            self.symbol_depths.pop()
            self.found.close_symbols(len(self.symbol_depths), self.row)

    def _end_statement(self, at: int) -> None:
        head, begin, row = self._current_statement(at)
        variable = _SCSS_VARIABLE_PATTERN.match(head)
        if variable is not None and (not self.depth or head.startswith(b"--")):
            text = " ".join(head.decode("utf-8", "replace").split())
            self.found.add_leaf_symbol(
                variable[1].decode("utf-8", "replace"), "variable", row, begin, text[:100]
            )
        imported = _SCSS_IMPORT_PATTERN.match(head) if head.startswith(b"@") else None
        if imported is not None and len(self.imports) < 200:
            self.imports.append(imported[1].split()[0].decode("utf-8", "replace").strip("\"';,"))
        self._begin_statement(at)

    def _begin_statement(self, at: int) -> None:
        self.start, self.pending_doc = at + 1, ""


def outline_scss(source: bytes, watch: MapDeadline) -> ScannedOutline:
    styles = _ScssOutline(source)
    for steps, match in enumerate(_SCSS_TOKEN_PATTERN.finditer(source)):
        if steps % 4096 == 0:
            watch.raise_if_deadline_over()
        styles.handle_token(match[0], match.start())
    styles.found.close_symbols(0, styles.row)
    return ScannedOutline(styles.found.symbols, imports=tuple(styles.imports))
