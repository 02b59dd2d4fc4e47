"""Converts Markdown to leaves (units of layout) while it is received: finished blocks are frozen, and only the
unfinished end is parsed again. Growing fences, tables and paragraphs are extended without parsing (`growing_blocks`).
However the text is split, the leaves equal those of parsing the whole text.

`format_for_print` formats Markdown as plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.markdown.markdown_leaves import (
    LeafBuilder,
    SourceContext,
    markdown_parser,
    parse_markdown,
)
from widgets.transcript.markdown.streamed_markdown_blocks import (
    GrowingFence,
    GrowingParagraph,
    GrowingPlain,
    GrowingTable,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_MARKDOWN_CHARS = 200_000
"""The number of characters of a message that are parsed as Markdown; the rest is drawn as plain text."""
_MARKDOWN_LIMIT_SLACK = 50_000

_GrowingBlock = GrowingFence | GrowingTable | GrowingParagraph | GrowingPlain


def parse_bounded(source: str, base: str = "text", gutter: str = "") -> list[LayoutLeaf]:
    """Converts a whole message to leaves (units of layout): as Markdown up to a limit, the text after it as plain
    text."""
    cut = markdown_end(source)
    if cut is None:
        return parse_markdown(source, base=base, gutter=gutter)
    leaves = parse_markdown(source[:cut], base=base, gutter=gutter)
    plain = GrowingPlain(base, gutter)
    plain.feed(source[cut:])
    return leaves + plain.leaves


def markdown_end(source: str) -> int | None:
    """Returns the index where the Markdown part of a very long message ends; None if all of it is parsed."""
    if len(source) <= MAX_MARKDOWN_CHARS:
        return None
    newline = source.find("\n", MAX_MARKDOWN_CHARS, MAX_MARKDOWN_CHARS + _MARKDOWN_LIMIT_SLACK)
    if newline >= 0:
        return newline + 1
    return (
        MAX_MARKDOWN_CHARS + _MARKDOWN_LIMIT_SLACK
        if len(source) > MAX_MARKDOWN_CHARS + _MARKDOWN_LIMIT_SLACK
        else None
    )


class MarkdownStream:
    """Converts Markdown that is received in pieces to leaves (units of layout): frozen ones and those of the open
    end."""

    def __init__(self, base: str = "text", gutter: str = "") -> None:
        self.base = base
        self.gutter = gutter
        self.frozen: list[LayoutLeaf] = []
        """Leaves that never change again, unless `generation` does."""
        self.live: list[LayoutLeaf] = []
        self.generation = 0
        self._parts: list[str] = []
        self._size = 0
        self._tail = ""
        self._lead = SourceContext()
        self._growing: _GrowingBlock | None = None
        self._references: dict[str, Any] = {}
        """Link references defined above the tail."""
        self._known_references: dict[str, str] = {}
        """The link references that the frozen leaves were created with."""
        self._has_brackets = False

    @property
    def leaves(self) -> list[LayoutLeaf]:
        return self.frozen + self.live

    @property
    def source(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def feed(self, text: str) -> None:
        """Adds received text, which is already safe to draw, and updates the leaves."""
        if not text:
            return
        self._parts.append(text)
        self._size += len(text)
        self._has_brackets = self._has_brackets or "[" in text
        before = self._size - len(text)
        if isinstance(self._growing, GrowingPlain):
            self._grow(self._growing, text)
        elif self._size > MAX_MARKDOWN_CHARS and (cut := markdown_end(self.source)) is not None:
            self._feed_growing_or_tail(text[: max(0, cut - before)])
            self.finish()
            self._growing = GrowingPlain(self.base, self.gutter)
            self._grow(self._growing, self.source[max(cut, before) :])
        else:
            self._feed_growing_or_tail(text)

    def _feed_growing_or_tail(self, text: str) -> None:
        while text:
            if self._growing is None:
                self._tail += text
                self._parse()
                return
            text = self._grow(self._growing, text)

    def _grow(self, growing: _GrowingBlock, text: str) -> str:
        """Passes received text to the block that grows; returns the text that belongs after the block, empty if there
        is none."""
        rest = growing.feed(text)
        if isinstance(growing, GrowingPlain):
            self.frozen.extend(growing.leaves[:-1])
            del growing.leaves[:-1]
            self.live = list(growing.leaves)
            return ""
        if rest is None:
            return ""
        self._growing = None
        if growing.is_closed:
            self._finish_leaves(self.live)
            self._lead = SourceContext(is_first=not self.frozen)
            self._tail = ""
            return rest
        self._tail = growing.source + rest
        self._parse()
        return ""

    def finish(self) -> None:
        """Ends the Markdown stream: all leaves become final."""
        if isinstance(self._growing, GrowingFence):
            self._growing.finish()
        self._growing = None
        self._finish_leaves(self.live)
        self._tail = ""

    def _finish_leaves(self, leaves: list[LayoutLeaf]) -> None:
        self.frozen.extend(leaves)
        if leaves is self.live:
            self.live = []

    def _parse(self) -> None:
        """Parses the unfrozen end of the source again, freezes everything above its last block, and starts extending
        that block without parsing if possible."""
        env: dict[str, Any] = {"references": dict(self._references)}
        tokens = markdown_parser().parse(self._tail, env)
        references: dict[str, Any] = env["references"]
        if self._has_new_links(references):
            self._parse_everything_again()
            return
        lines = self._tail.split("\n")
        boundary = _last_boundary(tokens, lines)
        if boundary is not None:
            self._freeze_above(tokens, boundary, lines, references)
            tokens, lines = _tokens_below(tokens, *boundary), lines[boundary[1] :]
        self.live = LeafBuilder(lines, self._lead, self.base, self.gutter).build(tokens)
        self._growing = self._start_growing(tokens, env)
        if isinstance(self._growing, GrowingFence):
            self.live = [self._growing.leaf]

    def _freeze_above(
        self, tokens: list[Token], boundary: tuple[int, int], lines: list[str], references: dict[str, Any]
    ) -> None:
        index, line = boundary
        builder = LeafBuilder(lines, self._lead, self.base, self.gutter)
        in_list = tokens[index].type == "list_item_open"
        self._finish_leaves(builder.build(tokens[:index]))
        blank_above = not lines[line - 1].strip(" \t>")
        number = builder.lists[0] if in_list and builder.lists else None
        self._lead = SourceContext(
            is_first=not self.frozen, in_list=in_list, blank_above=blank_above, number=number
        )
        self._references = {
            label: link for label, link in references.items() if "map" not in link or link["map"][0] < line
        }
        for link in self._references.values():
            link.pop("map", None)
        self._tail = "\n".join(lines[line:])

    def _has_new_links(self, references: dict[str, Any]) -> bool:
        known = {label: f"{link.get('href')}" for label, link in references.items()}
        if known == self._known_references:
            return False
        self._known_references = known
        return self._has_brackets

    def _parse_everything_again(self) -> None:
        """Parses the whole source again, because a new link definition changed the text above it; all leaves become
        new."""
        self.generation += 1
        self.frozen = []
        self.live = []
        self._lead = SourceContext()
        self._tail = self.source
        self._references = {}
        self._parse()

    def _start_growing(self, tokens: list[Token], env: dict[str, Any]) -> _GrowingBlock | None:
        if not tokens:
            return None
        last = tokens[-1]
        if last.level:
            return None
        if last.type == "fence" and len(tokens) == 1:
            return GrowingFence.start(self._tail, self.live[-1]) if self.live else None
        if last.type == "table_close" and tokens[0].type == "table_open" and self.live:
            return GrowingTable.start(self._tail, tokens, self.live[-1], self.base)
        is_all = tokens[0].map == [0, self._tail.count("\n") + 1]
        if last.type == "paragraph_close" and is_all and len(tokens) == 3 and self.live:
            return GrowingParagraph.start(self._tail, self.live[-1], self.base, env)
        return None


def _tokens_below(tokens: list[Token], index: int, line: int) -> list[Token]:
    """Returns the Markdown tokens from a boundary on, with lines counted from there, as parsing from there would give
    them."""
    rest = tokens[index:]
    if rest[0].type == "list_item_open":
        rest.insert(0, next(token for token in reversed(tokens[:index]) if token.level == 0))
    for token in rest:
        if token.map:
            token.map = [max(0, token.map[0] - line), token.map[1] - line]
    return rest


def _is_certain_block(lines: list[str], line: int) -> bool:
    """Returns whether the Markdown block that starts on a line cannot change any more: an incomplete line may continue
    the block above, and a number may become a list item."""
    if line < len(lines) - 1:
        return True
    return not lines[line - 1].strip(" \t>") and not lines[line].strip(" \t>").isdecimal()


def _last_boundary(tokens: list[Token], lines: list[str]) -> tuple[int, int] | None:
    """Returns the token and the line of the last block, or of the last item of a list at the end, whose start is
    certain; None if there is none."""
    starts = [
        index for index, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0 and token.map
    ]
    if starts and tokens[starts[-1]].type.endswith("_list_open"):
        items = range(starts[-1] + 2, len(tokens))
        starts += [at for at in items if tokens[at].level == 1 and tokens[at].type == "list_item_open"]
    for index in reversed(starts):
        span = tokens[index].map
        if index and span and span[0] and _is_certain_block(lines, span[0]):
            return index, span[0]
    return None


def format_for_print(text: str, width: int) -> str:
    rows: list[str] = []
    for leaf in parse_bounded(clean(text), gutter=""):
        rows += [""] * (leaf.blank if rows else 0)
        rows += [
            "".join(piece.text for piece in leaf.pieces(row)).rstrip()
            for row, _ in enumerate(leaf.layout(width))
        ]
    return "\n".join(rows)
