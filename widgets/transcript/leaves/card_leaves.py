"""Draws the content of tool cards as leaves (units of layout): each kind of result has a drawing function."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, assert_never

import msgspec

from tools.tool_result_values import (
    Block,
    Card,
    CommandBlock,
    DiffBlock,
    FileBlock,
    ImageBlock,
    ListBlock,
    MapBlock,
    MarkdownBlock,
    TableBlock,
    TextBlock,
    TreeBlock,
    TreeNode,
)
from widgets.transcript.leaves import ansi_text
from widgets.transcript.leaves.code_leaf import CodeLeaf
from widgets.transcript.leaves.diff_leaf import DiffLeaf
from widgets.transcript.leaves.highlight import language_of_file
from widgets.transcript.leaves.image_leaf import ImageLeaf
from widgets.transcript.leaves.layout_leaf import LayoutLeaf, OneLineLeaf, StyledPiece, StyleRun
from widgets.transcript.leaves.safe_text import clean
from widgets.transcript.leaves.table_leaf import TableCell, TableLeaf
from widgets.transcript.markdown.markdown_stream import parse_bounded

_OUTPUT_CHUNK_LINES = 400
MAX_PREVIEWED_CARD_PARTS = 3
"""The number of parts of a card that a preview shows."""


MAX_REASON_LINES, MAX_REASON_CHARS = 3, 400
"""The limits of a failed call's reason that is shown in a closed card."""


class DrawnTextLimit(NamedTuple):
    """The maximum number of lines and characters of a tool result that are drawn; a note counts what is
    left out."""

    lines: int
    characters: int


CARD_PREVIEW_LIMIT = DrawnTextLimit(8, 20_000)
CARD_DIFF_PREVIEW_LIMIT = DrawnTextLimit(12, 20_000)
COMMAND_OUTPUT_TAIL_LIMIT = DrawnTextLimit(5, 20_000)
"""The limit for a command's output, of which the last lines are shown."""
OPEN_CARD_LIMIT = DrawnTextLimit(200, 100_000)
SEARCHED_CARD_LIMIT = DrawnTextLimit(3_000, 400_000)
"""The limit for a result in which a search found something."""
RUNNING_OUTPUT_LIMIT = DrawnTextLimit(12, 100_000)
"""The limit for a running command's output when it is fully opened."""
FULL_SCREEN_CARD_LIMIT = DrawnTextLimit(50_000, 2_000_000)
"""The limit on a separate screen."""


class FileContentLeaf(CodeLeaf):
    """A unit of layout with the code of a file and its line numbers."""

    __slots__ = ("_digits", "_numbers", "first_line")

    def __init__(self, plain: str, language: str, first_line: int) -> None:
        super().__init__(plain, language, key="code", fill="code")
        self.first_line = first_line
        self._digits = len(str(first_line + plain.count("\n")))
        self._numbers: list[int] = []

    def _lay_out(self, width: int) -> list[tuple[int, int]]:
        rows = self._break_lines(0, max(1, self._room(width) - self._digits - 1))
        number = self.first_line - 1
        self._numbers = []
        for start, _ in rows:
            starts_line = start == 0 or self.plain[start - 1] == "\n"
            number += starts_line
            self._numbers.append(number if starts_line else 0)
        return rows

    def pieces(self, row: int) -> list[StyledPiece]:
        start, end = self._rows[row]
        label = StyledPiece(f"{self._numbers[row] or '':>{self._digits}} ", "dim|code")
        text = self._text_pieces(start, start + len(self.plain[start:end].rstrip(" ")))
        return [*self._before(row), label, *text]


def card_failure_reason(card: Card) -> str:
    """Returns the first lines of a failed call's error; empty if the card shows a command's output."""
    if any(isinstance(block, CommandBlock) for block in card.blocks):
        return ""
    text = next((block.text for block in card.blocks if isinstance(block, TextBlock)), "")
    return "\n".join(text.strip().split("\n")[:MAX_REASON_LINES])[:MAX_REASON_CHARS]


def has_rows(block: Block) -> bool:
    """Returns whether there is something to draw of a part of a card: a command may have no output."""
    if isinstance(block, CommandBlock):
        return bool(block.output.strip()) or "\n" in block.command.strip()
    return not isinstance(block, TextBlock | MarkdownBlock) or bool(block.text.strip())


def draw_card_preview(card: Card) -> list[LayoutLeaf]:
    """Draws the short form of a card's content: its first lines, or the last lines of a command's output."""
    leaves = _draw_blocks(card, card.blocks[:MAX_PREVIEWED_CARD_PARTS], _draw_part_preview)
    if (others := len(card.blocks) - MAX_PREVIEWED_CARD_PARTS) > 0:
        leaves.append(LayoutLeaf(f"… {others} more below", key="hint", link="toggle"))
    return link_omissions_to_card(leaves)


def link_omissions_to_card(leaves: list[LayoutLeaf]) -> list[LayoutLeaf]:
    """Makes the rows that say how much is omitted open the card in place when clicked, instead of a separate screen."""
    for leaf in leaves:
        if leaf.link == "full":
            leaf.link = "toggle"
    return leaves


def _draw_blocks(
    card: Card, blocks: Iterable[Block], draw_one: Callable[[Block], list[LayoutLeaf]]
) -> list[LayoutLeaf]:
    """Draws the parts of a card with blank rows between them; if it has changes of several files, each gets the file's
    name above."""
    names_files = sum(isinstance(block, DiffBlock) for block in card.blocks) > 1
    leaves: list[LayoutLeaf] = []
    for block in blocks:
        drawn = draw_one(block)
        if names_files and isinstance(block, DiffBlock):
            drawn = [LayoutLeaf(clean(block.path), key="path"), *drawn]
        if leaves and drawn:
            drawn[0].blank = max(drawn[0].blank, 1)
        leaves.extend(drawn)
    return leaves


def _draw_part_preview(block: Block) -> list[LayoutLeaf]:
    if isinstance(block, CommandBlock):
        return draw_program_output(
            ansi_text.add_ansi_colours(block.output, block.colours),
            tail=True,
            limit=COMMAND_OUTPUT_TAIL_LIMIT,
            is_cut=block.is_cut,
        )
    if isinstance(block, DiffBlock):
        return draw_card_part(block, CARD_DIFF_PREVIEW_LIMIT, COMMAND_OUTPUT_TAIL_LIMIT)
    if isinstance(block, MarkdownBlock):
        text, left_out = _cut_to_limit(block.text.strip(), CARD_PREVIEW_LIMIT, tail=False)
        return parse_bounded(clean(text)) + ([_omission_note(left_out, "below")] if left_out else [])
    if isinstance(block, TableBlock):
        left_out = len(block.rows) - CARD_PREVIEW_LIMIT.lines
        drawn = draw_card_part(
            msgspec.structs.replace(block, rows=block.rows[: CARD_PREVIEW_LIMIT.lines]),
            CARD_PREVIEW_LIMIT,
            COMMAND_OUTPUT_TAIL_LIMIT,
        )
        return drawn + ([_omission_note(left_out, "below")] if left_out > 0 else [])
    return draw_card_part(block, CARD_PREVIEW_LIMIT, COMMAND_OUTPUT_TAIL_LIMIT)


def card_preview_omits_text(card: Card) -> bool:
    """Returns whether the short form of a card leaves anything out, so that opening it shows more."""
    return any(
        isinstance(block, CommandBlock) and "\n" in block.command.strip() for block in card.blocks
    ) or any(leaf.link == "toggle" for leaf in draw_card_preview(card))


def draw_card_body(
    card: Card, *, is_running: bool = False, is_whole: bool = False, is_searched: bool = False
) -> list[LayoutLeaf]:
    """Draws the content of an opened card, without its header."""
    limit = FULL_SCREEN_CARD_LIMIT if is_whole else SEARCHED_CARD_LIMIT if is_searched else OPEN_CARD_LIMIT
    tail = RUNNING_OUTPUT_LIMIT if is_running and not is_whole else limit
    return _draw_blocks(card, card.blocks, lambda block: draw_card_part(block, limit, tail))


def draw_python_cell_results(card: Card, lines: int) -> list[LayoutLeaf]:
    """Draws the content of a closed Python cell: its results without the code, with at most `lines` lines each."""
    limit = OPEN_CARD_LIMIT._replace(lines=lines)
    parts = (part for part in card.blocks if not isinstance(part, FileBlock))
    return link_omissions_to_card([leaf for part in parts for leaf in draw_card_part(part, limit, limit)])


def draw_card_part(block: Block, limit: DrawnTextLimit, tail: DrawnTextLimit) -> list[LayoutLeaf]:
    """Draws one part of a card, such as a diff, a list or output. `tail`: the limit for output that is shown from its
    end."""
    match block:
        case TextBlock():
            return draw_program_output(block.text, tail=block.tail, limit=tail if block.tail else limit)
        case MarkdownBlock():
            return parse_bounded(clean(block.text))
        case FileBlock():
            return _draw_file(block, limit)
        case DiffBlock():
            return _draw_diff(block, limit)
        case CommandBlock():
            return _draw_command(block, tail)
        case ListBlock():
            return _draw_list(block, limit) + _note_leaves(block.note)
        case TreeBlock():
            return draw_program_output(
                "\n".join(line for root in block.roots for line in format_tree_lines(root)), limit=limit
            )
        case MapBlock():
            return _draw_map(block, limit)
        case ImageBlock():
            return [ImageLeaf(block, is_large=limit is FULL_SCREEN_CARD_LIMIT)]
        case TableBlock():
            rows = [[TableCell(clean(cell)) for cell in row] for row in (block.header, *block.rows)]
            return [TableLeaf(rows, [])]
        case _:
            assert_never(block)


def draw_program_output(
    text: str, *, tail: bool = False, limit: DrawnTextLimit = OPEN_CARD_LIMIT, is_cut: bool = False
) -> list[LayoutLeaf]:
    """Draws a program's output, cut to a limit; a row says how much is left out. `is_cut`: the program's earlier output
    is already missing."""
    text, left_out = _cut_to_limit(text.rstrip("\n"), limit, tail=tail)
    if not text:
        return []
    plain, runs = ansi_text.parse_ansi(text)
    leaves: list[LayoutLeaf] = [*_split_output(plain, runs)]
    if left_out:
        leaves.insert(
            0 if tail else len(leaves), _omission_note(left_out, "above" if tail else "below", is_cut)
        )
    elif is_cut:
        leaves.insert(0, LayoutLeaf("… beginning omitted", key="hint"))
    return leaves


def _omission_note(count: int, where: str, is_least: bool = False) -> LayoutLeaf:
    over = "over " if is_least else ""
    lines = "line" if count == 1 else "lines"
    return LayoutLeaf(f"… {over}{count:,} more {lines} {where}", key="hint", link="full")


def _cut_to_limit(text: str, limit: DrawnTextLimit, *, tail: bool) -> tuple[str, int]:
    if len(text) <= limit.characters and text.count("\n") < limit.lines:
        return text, 0
    kept = text[-limit.characters :] if tail else text[: limit.characters]
    lines = kept.split("\n")
    lines = lines[-limit.lines :] if tail else lines[: limit.lines]
    kept = "\n".join(lines)
    return kept, max(1, text.count("\n") - kept.count("\n"))


def _split_output(plain: str, runs: list[StyleRun]) -> list[LayoutLeaf]:
    """Splits a program's output into leaves of bounded size, so that a change at the end lays out only the last one."""
    if plain.count("\n") < _OUTPUT_CHUNK_LINES:
        return [LayoutLeaf(plain, runs, key="output")]
    leaves = []
    at = 0
    lines = plain.split("\n")
    for first in range(0, len(lines), _OUTPUT_CHUNK_LINES):
        part = "\n".join(lines[first : first + _OUTPUT_CHUNK_LINES])
        end = at + len(part)
        inner = [(max(a, at) - at, min(b, end) - at, key) for a, b, key in runs if b > at and a < end]
        leaves.append(LayoutLeaf(part, inner, key="output"))
        at = end + 1
    return leaves


def _note_leaves(note: str) -> list[LayoutLeaf]:
    return [LayoutLeaf(clean(note), key="hint")] if note else []


def _draw_list(block: ListBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    text = "\n".join(block.items)
    if not block.marks or clean(text) != text:
        return draw_program_output(text, limit=limit) if block.items else []
    text, left_out = _cut_to_limit(text, limit, tail=False)
    begins = [0]
    for item in block.items:
        begins.append(begins[-1] + len(item) + 1)
    runs = [(begins[at] + start, begins[at] + end, "text+b") for at, start, end in block.marks]
    leaves = _split_output(text, [run for run in runs if run[1] <= len(text)])
    return [*leaves, _omission_note(left_out, "below")] if left_out else leaves


def _draw_file(block: FileBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    if block.folds and limit is not FULL_SCREEN_CARD_LIMIT and block.text.count("\n") > block.folds + 1:
        limit = DrawnTextLimit(block.folds, limit.characters)
    text, left_out = _cut_to_limit(block.text.removesuffix("\n"), limit, tail=False)
    left_out += block.more
    leaves: list[LayoutLeaf] = [FileContentLeaf(clean(text), language_of_file(block.path), block.first_line)]
    if left_out:
        leaves.append(_omission_note(left_out, "below"))
    return leaves + _note_leaves(block.note)


def _draw_diff(block: DiffBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    if not block.diff.strip():
        return []
    head, found, hunks = block.diff.partition("@@")
    text, left_out = _cut_to_limit(
        found + hunks, DrawnTextLimit(limit.lines + 1, limit.characters), tail=False
    )
    left_out += block.more
    leaves: list[LayoutLeaf] = [DiffLeaf(clean(head + text), language_of_file(block.path))]
    return [*leaves, _omission_note(left_out, "below")] if left_out else leaves


def _draw_command(block: CommandBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    leaves: list[LayoutLeaf] = [CodeLeaf(clean(block.command), "bash", first="$ ", rest="  ")]
    leaves += draw_program_output(
        ansi_text.add_ansi_colours(block.output, block.colours), tail=True, limit=limit, is_cut=block.is_cut
    )
    ending = []
    if block.exit_code is not None:
        ending.append(f"exit {block.exit_code}")
    if block.note and block.note != f"Command exited with code {block.exit_code}":
        ending.append(clean(block.note))  # the model's note is shown as a number here
    if ending:
        leaves.append(LayoutLeaf(" · ".join(ending), key="note-error" if block.exit_code else "hint"))
    return leaves


def format_tree_lines(root: TreeNode) -> list[str]:
    lines = [clean(root.label)]
    open_nodes: list[tuple[TreeNode, str, bool]] = []

    def push(node: TreeNode, indent: str) -> None:
        count = len(node.children)
        for index, child in reversed(list(enumerate(node.children))):
            open_nodes.append((child, indent, index == count - 1))

    push(root, "")
    while open_nodes:
        node, indent, is_last = open_nodes.pop()
        lines.append(f"{indent}{'└─ ' if is_last else '├─ '}{clean(node.label)}")
        push(node, (indent + ("   " if is_last else "│  "))[:60])
    return lines


def _draw_map(block: MapBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    """Draws a file map as the model got it, with its symbols as links; as a list of symbols if the text does not name
    them."""
    if not block.symbols:
        return draw_program_output(block.text, limit=limit)
    named = {symbol.row: index for index, symbol in enumerate(block.symbols) if symbol.row >= 0}
    if not named:
        return _draw_symbols(block, limit)
    leaves: list[LayoutLeaf] = []
    lines = clean(block.text).split("\n")
    if limit is OPEN_CARD_LIMIT:  # the model's part of a file has a separate limit
        limit = SEARCHED_CARD_LIMIT
    for row, line in enumerate(lines[: limit.lines]):
        if row in named:
            kind, _, rest = line.lstrip().partition(" ")
            indent = line[: len(line) - len(line.lstrip())]
            parts = [(indent, "output"), (f"{kind} ", "syntax-keyword|page"), (rest, "output")]
            leaves.append(OneLineLeaf(parts, flexible=2, link=f"symbol {named[row]}"))
        else:
            leaves.append(OneLineLeaf([(line, "dim")], flexible=0))
    if (left_out := len(lines) - limit.lines) > 0:
        leaves.append(_omission_note(left_out, "below"))
    return leaves


def _draw_symbols(block: MapBlock, limit: DrawnTextLimit) -> list[LayoutLeaf]:
    digits = max(len(f"{symbol.first_line}-{symbol.last_line}") for symbol in block.symbols)
    leaves: list[LayoutLeaf] = []
    for index, symbol in enumerate(block.symbols[: limit.lines]):
        span = f"{symbol.first_line}-{symbol.last_line}"
        indent = "  " * min(symbol.depth, 12)
        parts = [
            (f"{span:>{digits}}  ", "dim"),
            (indent, "output"),
            (f"{clean(symbol.kind)} " if symbol.kind else "", "syntax-keyword|page"),
            (clean(symbol.label.replace("\n", " ")), "output"),
        ]
        leaves.append(OneLineLeaf(parts, flexible=3, link=f"symbol {index}"))
    if (left_out := len(block.symbols) - limit.lines) > 0:
        leaves.append(_omission_note(left_out, "below"))
    return leaves
