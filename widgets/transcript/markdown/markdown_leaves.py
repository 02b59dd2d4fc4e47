"""Converts Markdown, parsed by markdown-it, to leaves (units of layout) with style runs.

Every decision depends only on a block and the line above it, so that a suffix of a document gives the same leaves as
inside the whole document. `markdown_stream` relies on that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.lazy_patterns import lazy_regex
from widgets.transcript.leaves.layout_leaf import MAX_PROSE_CELLS, LayoutLeaf, StyledPiece, StyleRun
from widgets.transcript.leaves.table_leaf import TableCell, TableLeaf
from widgets.transcript.markdown.diagram import make_fence_leaf
from widgets.transcript.markdown.misleading_links import misleading_target

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

QUOTE_PREFIX = "▎ "
_STYLE_FLAGS = {"strong": "b", "em": "i", "s": "s"}
_BULLETS = ("• ", "◦ ", "▪ ")
_URL = lazy_regex(r"https?://[^\s<>\"'`\x00-\x1f]{1,1900}[^\s<>\"'`.,;:!?)\]}\x00-\x1f]")
_LINK_SCHEMES = lazy_regex(r"(?:https?|ftp|mailto|file):", re.IGNORECASE)
_BLOCK_TOKENS = frozenset(
    (
        "paragraph_open",
        "heading_open",
        "fence",
        "code_block",
        "hr",
        "html_block",
        "table_open",
        "bullet_list_open",
        "ordered_list_open",
        "blockquote_open",
        "list_item_open",
    )
)


class SourceContext(NamedTuple):
    """What is above a part of a Markdown source that is parsed separately: whether it continues a list, and after a
    blank line."""

    is_first: bool = True
    """Whether the part is the beginning of the document."""
    in_list: bool = False
    """Whether the part continues a list."""
    blank_above: bool = False
    number: int | None = None
    """The number of the next item, if that list is numbered."""


@lru_cache(1)
def markdown_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415  (a tenth of the start; needed with the first answer)

    made = MarkdownIt("commonmark", {"maxNesting": 24}).enable(["table", "strikethrough"])
    made.inline.ruler.before("escape", "math", _parse_math)
    return made


_MATH_PATTERN = lazy_regex(
    r"\$\$[^$]+\$\$|\$(?![\s$])[^$\n]*[\\^_{}=][^$\n]*(?<!\s)\$(?!\d)|\\\((?:[^\\]|\\(?!\)))+\\\)|\\\[(?:[^\\]|\\(?!\]))+\\\]"
)


def _formula_text(formula: str) -> str:
    from widgets.transcript.markdown.latex_formula import formula_to_unicode  # noqa: PLC0415  (with the first formula)

    return formula_to_unicode(formula).replace("\n", " ")


def _parse_math(state: StateInline, silent: bool) -> bool:
    """The markdown-it rule that reads a LaTeX formula as one token, so that nothing in it is an escape or emphasis."""
    if state.src[state.pos] not in "$\\":
        return False
    match = _MATH_PATTERN.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content = match.group()
    state.pos = match.end()
    return True


class RuleLeaf(LayoutLeaf):
    """A unit of layout that is a horizontal rule."""

    __slots__ = ()

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        del width
        return [(0, len(self.plain))]

    def pieces(self, row: int) -> list[StyledPiece]:
        return [*self._before(row), StyledPiece("─" * self._room(self._width), "rule")]


def inline_text_and_runs(children: Sequence[Token], base: str) -> tuple[str, list[StyleRun]]:
    """Converts the inline tokens of a Markdown block to plain text and style runs."""
    writer = _InlineConverter(base)
    for token in children:
        writer.add(token)
    return "".join(writer.parts), writer.runs


class _InlineConverter:
    def __init__(self, base: str) -> None:
        self.base = base
        self.parts: list[str] = []
        self.runs: list[StyleRun] = []
        self.at = 0
        self.flags: list[str] = []
        self.href = ""
        self.words_from = 0
        """The index of the part where the text of the open link begins."""

    def add(self, token: Token) -> None:
        match token.type:
            case "text":
                self._text(token.content)
            case "softbreak":
                self._append_run(" ", self._style_key())
            case "hardbreak":
                self._append_run("\n", self._style_key())
            case "code_inline":
                self._append_run(token.content, self._style_key("code-inline"))
            case "math_inline":
                self._append_run(_formula_text(token.content), self._style_key("math"))
            case "link_open":
                href = str(token.attrs.get("href", ""))
                self.href = href if _LINK_SCHEMES.match(href) else ""
                self.flags.append("l")
                self.words_from = len(self.parts)
            case "link_close":
                target = misleading_target("".join(self.parts[self.words_from :]), self.href)
                self.href = ""
                self._close("l")
                if target:
                    self._append_run(f" (links to {target})", self._style_key())
            case "image":
                self._append_run(f"[image: {token.content or token.attrs.get('src', '')}]", self._style_key())
            case "html_inline":
                self._append_run(token.content, self._style_key("html"))
            case _ if token.type.removesuffix("_open") in _STYLE_FLAGS:
                self.flags.append(_STYLE_FLAGS[token.type.removesuffix("_open")])
            case _ if token.type.removesuffix("_close") in _STYLE_FLAGS:
                self._close(_STYLE_FLAGS[token.type.removesuffix("_close")])

    def _close(self, flag: str) -> None:
        if flag in self.flags:
            self.flags.remove(flag)

    def _style_key(self, base: str = "") -> str:
        flags = "".join(sorted(set(self.flags)))
        key = (base or self.base) + (f"+{flags}" if flags else "")
        return f"@{self.href}\0{key}" if self.href else key

    def _text(self, text: str) -> None:
        if self.href or "://" not in text:
            self._append_run(text, self._style_key())
            return
        at = 0
        for match in _URL.finditer(text):
            self._append_run(text[at : match.start()], self._style_key())
            self.href = match.group()
            self.flags.append("l")
            self._append_run(match.group(), self._style_key())
            self.href = ""
            self._close("l")
            at = match.end()
        self._append_run(text[at:], self._style_key())

    def _append_run(self, text: str, key: str) -> None:
        if not text:
            return
        end = self.at + len(text)
        if key != self.base:
            if self.runs and self.runs[-1][1] == self.at and self.runs[-1][2] == key:
                self.runs[-1] = (self.runs[-1][0], end, key)
            else:
                self.runs.append((self.at, end, key))
        self.parts.append(text)
        self.at = end


class _OpenLevel:
    """A Markdown list item or quote that is open while its content is converted, with the prefix of its rows."""

    __slots__ = ("is_quote", "marker", "rest")

    def __init__(self, marker: str, rest: str, *, is_quote: bool = False) -> None:
        self.marker = marker
        """The marker of the item, until its first leaf has taken it."""
        self.rest = rest
        self.is_quote = is_quote


class LeafBuilder:
    """Converts the block tokens of Markdown to leaves (units of layout)."""

    def __init__(self, lines: list[str], lead: SourceContext, base: str, gutter: str = "") -> None:
        self.lines = lines
        self.gutter = gutter
        self.lead = lead
        self.base = base
        self.leaves: list[LayoutLeaf] = []
        self.levels: list[_OpenLevel] = []
        self.lists: list[int | None] = []
        """The number of the next item of each open list; None for bullets."""
        self.number: int | None = None
        """The number of the item after the last one of the top-level list."""
        self.above: tuple[_OpenLevel, ...] = ()
        """The levels around the last leaf."""
        self.blank = 0
        self.heading = ""
        self.row: list[TableCell] | None = None
        self.rows: list[list[TableCell]] = []
        self.aligns: list[str] = []

    def build(self, tokens: Sequence[Token]) -> list[LayoutLeaf]:
        for token in tokens:
            if token.type in _BLOCK_TOKENS and token.map:
                self._set_blank_above(token)
            self._add(token)
        return self.leaves

    def _set_blank_above(self, token: Token) -> None:
        line = token.map[0] if token.map else 0
        if token.level == 0:
            goes_on = self.lead.in_list and not self.leaves and token.type.endswith("_list_open")
            if goes_on:
                self.blank = int(self.lead.blank_above)
            elif self.leaves or not self.lead.is_first:
                self.blank = 1
        elif 0 < line <= len(self.lines) and self.leaves and not self.lines[line - 1].strip(" \t>"):
            self.blank = 1

    def _add(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self.heading = token.tag
            case "heading_close":
                self.heading = ""
            case "inline":
                self._add_inline(token)
            case "fence" | "code_block":
                self._add_code(token)
            case "hr":
                self._emit_leaf(RuleLeaf("---"))
            case "html_block":
                self._emit_leaf(LayoutLeaf(token.content.rstrip("\n"), key="html"))
            case "bullet_list_open":
                self.lists.append(None)
            case "ordered_list_open":
                self.lists.append(self._first_number(token))
            case "bullet_list_close" | "ordered_list_close":
                self.number = self.lists.pop()
            case "list_item_open":
                self._open_item()
            case "list_item_close" | "blockquote_close":
                self._close_level()
            case "blockquote_open":
                self.levels.append(_OpenLevel("", QUOTE_PREFIX, is_quote=True))
            case _:
                self._add_table(token)

    def _first_number(self, token: Token) -> int:
        if token.level == 0 and not self.leaves and self.lead.in_list and self.lead.number is not None:
            return self.lead.number
        return int(token.attrs.get("start", 1))

    def _open_item(self) -> None:
        number = self.lists[-1]
        if number is None:
            marker = _BULLETS[min(len(self.lists), len(_BULLETS)) - 1]
        else:
            marker = f"{number}. "
            self.lists[-1] = number + 1
        self.levels.append(_OpenLevel(marker, " " * len(marker)))

    def _close_level(self) -> None:
        if self.levels[-1].marker:  # an empty item
            self._emit_leaf(LayoutLeaf("", key=self.base))
        self.levels.pop()

    def _add_table(self, token: Token) -> None:
        match token.type:
            case "table_open":
                self.rows = []
                self.aligns = []
            case "tr_open":
                self.row = []
            case "th_open":
                self.aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            case "tr_close":
                self.rows.append(self.row or [])
                self.row = None
            case "table_close":
                self._emit_leaf(TableLeaf(self.rows, self.aligns))

    def _add_inline(self, token: Token) -> None:
        if self.row is not None:
            base = self.base if self.rows else "table-header"
            plain, runs = inline_text_and_runs(token.children or (), base)
            self.row.append(TableCell(plain.replace("\n", " "), tuple(runs)))
            return
        in_quote = any(level.is_quote for level in self.levels)
        base = self.heading or ("quote" if in_quote and self.base == "text" else self.base)
        plain, runs = inline_text_and_runs(token.children or (), base)
        self._emit_leaf(LayoutLeaf(plain, runs, key=base))

    def _add_code(self, token: Token) -> None:
        code = token.content.removesuffix("\n")
        self._emit_leaf(make_fence_leaf(code, fence_language(token.info)))

    def _emit_leaf(self, leaf: LayoutLeaf) -> None:
        rest = "".join(level.rest for level in self.levels)
        first = rest
        marker = self.levels[-1].marker if self.levels else ""
        if any(level.marker for level in self.levels):
            first = "".join(level.marker or level.rest for level in self.levels)
            inner = "".join(level.rest for level in self.levels[:-1])
            outer_are_plain = not any(level.marker for level in self.levels[:-1])
            if (
                marker
                and outer_are_plain
                and type(leaf) is LayoutLeaf
                and leaf.plain
                and "\n" not in leaf.plain
            ):
                _prepend_marker(leaf, marker)
                first = rest = inner
            for level in self.levels:
                level.marker = ""
        if self.blank and self._is_in_same_quote():
            bar = self.gutter + rest
            self.leaves.append(LayoutLeaf("", first=bar, rest=bar, prefix_key="quote-mark"))
            self.blank = 0
        self.above = tuple(self.levels)
        leaf.first = self.gutter + first
        leaf.rest = self.gutter + rest
        leaf.blank = self.blank
        if any(level.is_quote for level in self.levels):
            leaf.prefix_key = "quote-mark"
        elif type(leaf) is LayoutLeaf:
            leaf.copied_indent = first
        if type(leaf) is LayoutLeaf:
            leaf.measure = MAX_PROSE_CELLS
        self.blank = 0
        self.leaves.append(leaf)

    def _is_in_same_quote(self) -> bool:
        return any(level.is_quote and level in self.above for level in self.levels)


def _prepend_marker(leaf: LayoutLeaf, marker: str) -> None:
    """Adds a list marker to the start of an item's text, so that it is copied too. A task's box replaces a bullet."""
    for box, sign in (("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")):
        if leaf.plain.startswith(box) and (not leaf.runs or leaf.runs[0][0] >= len(box)):
            marker = sign if marker in _BULLETS else marker + sign
            shift = -len(box)
            leaf.plain = leaf.plain[len(box) :]
            leaf.runs = [(start + shift, end + shift, key) for start, end, key in leaf.runs]
            break
    size = len(marker)
    leaf.plain = marker + leaf.plain
    leaf.runs = [(0, size, "marker"), *((start + size, end + size, key) for start, end, key in leaf.runs)]
    leaf.hang = size


def fence_language(info: str) -> str:
    """Returns the language that a code fence's info string names; empty if it names none."""
    words = info.split()
    return words[0].strip("{}.").lower()[:40] if words else ""


def parse_markdown(
    source: str,
    *,
    base: str = "text",
    gutter: str = "",
    lead: SourceContext | None = None,
    env: dict[str, Any] | None = None,
) -> list[LayoutLeaf]:
    """Converts a whole Markdown source to leaves (units of layout)."""
    tokens = markdown_parser().parse(source, env if env is not None else {})
    return LeafBuilder(source.split("\n"), lead or SourceContext(), base, gutter).build(tokens)
