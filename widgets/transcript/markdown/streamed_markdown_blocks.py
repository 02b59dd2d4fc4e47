"""Markdown blocks that grow at their end without being parsed again: fences, tables, paragraphs, plain text.

Each takes text with `feed` and returns None while it belongs to the block, else the remaining text. If `is_closed` is
true then, its leaves (units of layout) are final; otherwise its whole `source` must be parsed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.lazy_patterns import lazy_regex
from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, LongTextLeaf, StyleRun
from widgets.transcript.leaves.table_leaf import TableLeaf
from widgets.transcript.markdown.diagram import make_fence_leaf
from widgets.transcript.markdown.markdown_leaves import (
    fence_language,
    inline_text_and_runs,
    markdown_parser,
    parse_markdown,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE = lazy_regex(r"(`{3,}|~{3,})[ \t]*([^\n]*)\n")
GROWING_TABLE_MIN_ROWS = 24
"""Body rows from which a table grows row by row."""
GROWING_PARAGRAPH_MIN_CHARS = 1_200
_MIN_SETTLED_CHARS = 400
_PLAIN_LEAF_CHARS = 16_000
_MAX_PLAIN_CHARS = 64_000


class GrowingFence:
    """A Markdown code fence that is being received: text is appended to its code until the closing line."""

    is_closed = True

    def __init__(self, marker: str, leaf: CodeLeaf) -> None:
        self.marker = marker
        self.leaf = leaf
        self.source = ""
        self._line = ""
        """The incomplete line, while it may become the closing one."""
        self._in_line = False
        self._newline = ""
        """A newline that is added only when text follows, since the last one is not part of the code."""

    @classmethod
    def start(cls, tail: str, live: LayoutLeaf) -> GrowingFence | None:
        match = _FENCE.match(tail)
        if match is None:
            return None
        leaf = make_fence_leaf(
            "",
            fence_language(match.group(2)),
            first=live.first,
            rest=live.rest,
            blank=live.blank,
            is_open=True,
        )
        fence = cls(match.group(1), leaf)
        rest = fence.feed(tail[match.end() :])
        return fence if rest is None else None

    def feed(self, text: str) -> str | None:
        out: list[str] = []
        rest = None
        text = self._line + text
        self._line = ""
        at = 0
        while at < len(text):
            newline = text.find("\n", at)
            end = len(text) if newline < 0 else newline
            line = text[at:end]
            if not self._in_line:
                if self._closes(line) and newline >= 0:
                    rest = text[newline + 1 :]
                    break
                if newline < 0 and (self._may_close(line) or not line.strip()):
                    self._line = line
                    break
            out.append(self._newline + line)
            self._newline = "\n" if newline >= 0 else ""
            self._in_line = newline < 0
            at = end + 1
        if written := "".join(out):
            self.leaf.extend(written)
        if rest is not None:
            self.leaf.close()
        return rest

    def finish(self) -> None:
        if self._line.strip() and not self._closes(self._line):  # markdown-it ignores a last line of blanks
            self.leaf.extend(self._newline + self._line)
        self.leaf.close()

    def _may_close(self, line: str) -> bool:
        bare = line.lstrip(" ")
        return len(line) - len(bare) <= 3 and not bare.rstrip(" \t").strip(self.marker[0])

    def _closes(self, line: str) -> bool:
        return self._may_close(line) and len(line.strip()) >= len(self.marker)


class GrowingTable:
    """A long Markdown table that is being received: only new rows are parsed."""

    def __init__(self, head: str, source: str, rows: int, leaf: TableLeaf, base: str) -> None:
        self.is_closed = True
        self.source = source
        self._head = head
        self._rows = rows
        """The complete rows of the table, including its header."""
        self._line = ""
        """The incomplete row."""
        self._leaf = leaf
        self._base = base

    @classmethod
    def start(cls, tail: str, tokens: list[Token], live: LayoutLeaf, base: str) -> GrowingTable | None:
        if not isinstance(live, TableLeaf) or len(live.rows) <= GROWING_TABLE_MIN_ROWS:
            return None
        lines = tail.split("\n")
        span = tokens[0].map or [0, 0]
        if span[0] != 0 or span[1] < len(lines) - 1 or (span[1] == len(lines) - 1 and lines[-1]):
            return None
        is_partial = bool(lines[-1])
        grown = cls("\n".join(lines[:2]) + "\n", "", len(live.rows) - int(is_partial), live, base)
        grown._line = lines[-1]
        return grown

    def feed(self, text: str) -> str | None:
        source = self._line + text
        tokens = markdown_parser().parse(self._head + source, {})
        others = [
            token for token in tokens if token.level == 0 and token.type not in ("table_open", "table_close")
        ]
        complete = source.count("\n")
        ends_at = (tokens[0].map or [0, 0])[1] - 2
        if others or ends_at < complete:
            rows = _body_rows(
                parse_markdown(self._head + "\n".join(source.split("\n")[:ends_at]), base=self._base)
            )
            self._leaf.replace_table_rows(self._rows, rows)
            return "\n".join(source.split("\n")[ends_at:])
        rows = _body_rows(parse_markdown(self._head + source, base=self._base))
        self._leaf.replace_table_rows(self._rows, rows)
        self._rows += complete
        self._line = source.rsplit("\n", 1)[-1]
        return None


def _body_rows(leaves: list[LayoutLeaf]) -> list[Any]:
    table = leaves[0]
    return table.rows[1:] if isinstance(table, TableLeaf) else []


class GrowingParagraph:
    """A long Markdown paragraph that is being received: text before a safe blank is final, and only the rest is parsed
    again."""

    is_closed = False

    def __init__(self, source: str, leaf: LayoutLeaf, base: str, env: dict[str, Any]) -> None:
        self._parts = [source]
        self._leaf = leaf
        self._base = base
        self._env = env
        self._open = ""
        """The source that is not final yet."""
        self._at = 0
        """The number of final characters in the leaf."""
        self._runs: list[StyleRun] = []
        self._ends_line = False

    @property
    def source(self) -> str:
        return "".join(self._parts)

    @classmethod
    def start(cls, tail: str, leaf: LayoutLeaf, base: str, env: dict[str, Any]) -> GrowingParagraph | None:
        if len(tail) < GROWING_PARAGRAPH_MIN_CHARS or tail != tail.strip() or leaf.hang or "\n " in tail:
            return None
        grown = cls(tail, leaf, base, env)
        grown._open = tail
        grown._finish_settled_part()
        return grown if grown._at else None

    def feed(self, text: str) -> str | None:
        joined = self._open[-1:] + ("\n" if self._ends_line else "") + text
        if _UNSAFE_CONTINUATION.search(joined) or (self._ends_line and not text[0].isalpha()):
            return ("\n" if self._ends_line else "") + text
        if self._ends_line:
            text = "\n" + text
        self._ends_line = text.endswith("\n")
        text = text.removesuffix("\n")
        self._parts.append(text)
        self._open += text
        plain, runs = self._parse_inline(self._open)
        shifted = [(start + self._at, end + self._at, key) for start, end, key in runs]
        self._leaf.replace_text_end(self._at, plain, self._runs + shifted)
        if len(self._open) > 2 * _MIN_SETTLED_CHARS:
            self._finish_settled_part()
        return None

    def _parse_inline(self, source: str) -> tuple[str, list[StyleRun]]:
        return inline_text_and_runs(self._inline_tokens(source), self._base)

    def _inline_tokens(self, source: str) -> list[Token]:
        return markdown_parser().parseInline(source, self._env)[0].children or []

    def _finish_settled_part(self) -> None:
        cut = self._settled_length()
        if not cut:
            return
        children = self._inline_tokens(self._open[:cut])
        if not _is_settled(children, self._open[:cut]):
            return
        plain, runs = inline_text_and_runs(children, self._base)
        self._runs += [(start + self._at, end + self._at, key) for start, end, key in runs]
        self._at += len(plain)
        self._open = self._open[cut:]

    def _settled_length(self) -> int:
        """Returns how much of the paragraph's open source can become final: up to a blank between two words, some way
        before the end; up to a place within a word that is extremely long; else 0."""
        blanks = [match.end() for match in _SAFE_BREAK.finditer(self._open, 0, len(self._open) - 40)]
        if blanks:
            return blanks[-1]
        if len(self._open) > 8_000 and self._open[4_000:4_002].isalnum():
            return 4_001
        return 0


_SAFE_BREAK = lazy_regex(r"(?<=[^\s*_`~\[\]<>!\\$&])[ \n](?=[^\s*_`~\[\]<>!\\$&])")
"""Matches a blank whose neighbours cannot begin or end any markup."""
_BRACKET_PAIR = lazy_regex(r"\[[^\[\]]*\]")
_OPEN_DELIMITER = lazy_regex(
    r"(?<!\s)\*|\*(?!\s)"  # a star that may open or close
    r"|(?<![^\W_])_|_(?![^\W_])"  # an underscore that is not inside a word
    r"|`|\[|~~|\$\$|<(?=[A-Za-z/!?])|<$"
)
_OPEN_FORMULA = lazy_regex(r"\\[(\[]|\$[^\n]*\Z")


def _is_settled(children: list[Token], source: str) -> bool:
    """Returns whether text received later cannot change how these Markdown tokens are read, since no delimiter is
    open."""
    for token in children:
        if token.type == "math_inline":
            source = source.replace(token.content, "", 1)
        elif token.type == "text" and _OPEN_DELIMITER.search(_BRACKET_PAIR.sub("", token.content)):
            return False
    return _OPEN_FORMULA.search(source) is None


_UNSAFE_CONTINUATION = lazy_regex(r"\n(?![^\W\d_])(?!\Z)|\s\n| {2}|\t")


class GrowingPlain:
    """The part of a message after the Markdown limit, as plain text in leaves (units of layout) of bounded size."""

    is_closed = False
    source = ""

    def __init__(self, base: str, gutter: str) -> None:
        self.leaves: list[LayoutLeaf] = [LongTextLeaf("", key=base, first=gutter, rest=gutter, blank=1)]
        self._base = base
        self._gutter = gutter

    def feed(self, text: str) -> str | None:
        leaf = self.leaves[-1]
        known = len(leaf.plain)
        plain = leaf.plain + text
        at = 0  # start of the leaf: text before it is not copied again for each of thousands
        while (cut := _plain_cut(plain, at)) is not None:
            end, start = cut
            keep = min(known, end - at)
            leaf.replace_text_end(keep, plain[at + keep : end], [])
            at, known = start, 0
            leaf = LongTextLeaf("", key=self._base, first=self._gutter, rest=self._gutter)
            self.leaves.append(leaf)
        leaf.replace_text_end(known, plain[at + known :], [])
        return None


def _plain_cut(plain: str, at: int) -> tuple[int, int] | None:
    """Returns where the plain leaf that begins at a position ends and the next one begins; None if it can still
    grow."""
    newline = plain.find("\n", at + _PLAIN_LEAF_CHARS, at + _MAX_PLAIN_CHARS)
    if newline >= 0:
        return newline, newline + 1
    longest = at + _MAX_PLAIN_CHARS
    return (longest, longest) if len(plain) > longest else None
