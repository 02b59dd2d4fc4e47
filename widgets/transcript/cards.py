"""The blocks of a tool's card as leaves: each kind of result has its own drawing."""

from typing import assert_never

from tools.results import (
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
from widgets.transcript import ansi
from widgets.transcript.code import CodeLeaf
from widgets.transcript.diff import DiffLeaf
from widgets.transcript.highlight import language_of
from widgets.transcript.leaf import Leaf, OneLine, Piece, Run
from widgets.transcript.picture import PictureLeaf
from widgets.transcript.stream import parse_bounded
from widgets.transcript.table import Cell, TableLeaf
from widgets.transcript.text import clean

LIVE_ROWS = 12
"""Lines of a running command's output that are shown."""
MOST_LINES = 3_000
MOST_CHARACTERS = 400_000
_CHUNK_LINES = 400


class FileLeaf(CodeLeaf):
    """Code with the numbers of its lines."""

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

    def pieces(self, row: int) -> list[Piece]:
        start, end = self._rows[row]
        number = self._numbers[row]
        prefix = self._prefix(row, self._width)
        label = Piece(f"{number or '':>{self._digits}} ", "dim|code")
        text = self._text_pieces(start, start + len(self.plain[start:end].rstrip(" ")))
        return [Piece(prefix, self.prefix_key), label, *text] if prefix else [label, *text]


def body(card: Card, *, is_running: bool = False) -> list[Leaf]:
    """The leaves of an opened card, without its header."""
    leaves: list[Leaf] = []
    has_many_diffs = sum(isinstance(block, DiffBlock) for block in card.blocks) > 1
    for block in card.blocks:
        drawn = draw(block, is_running=is_running)
        if isinstance(block, DiffBlock) and has_many_diffs:
            drawn.insert(0, Leaf(clean(block.path), key="path"))
        if leaves and drawn:
            drawn[0].blank = max(drawn[0].blank, 1)
        leaves.extend(drawn)
    return leaves


def draw(block: Block, *, is_running: bool = False) -> list[Leaf]:
    match block:
        case TextBlock():
            return output(
                block.text, tail=block.tail, most=LIVE_ROWS if is_running and block.tail else MOST_LINES
            )
        case MarkdownBlock():
            return parse_bounded(clean(block.text))
        case FileBlock():
            return _file(block)
        case DiffBlock():
            return [DiffLeaf(clean(block.diff), language_of(block.path))] if block.diff.strip() else []
        case CommandBlock():
            return _command(block, is_running=is_running)
        case ListBlock():
            leaves = output("\n".join(block.items)) if block.items else []
            return leaves + _note(block.note)
        case TreeBlock():
            return [Leaf("\n".join(line for root in block.roots for line in _tree(root)), key="output")]
        case MapBlock():
            return _map(block)
        case ImageBlock():
            return [PictureLeaf(block)]
        case TableBlock():
            rows = [[Cell(clean(cell)) for cell in row] for row in (block.header, *block.rows)]
            return [TableLeaf(rows, [])]
        case _:
            assert_never(block)


def output(text: str, *, tail: bool = False, most: int = MOST_LINES) -> list[Leaf]:
    """A program's output, cut to what can be read here."""
    text, left_out = _bounded(text.rstrip("\n"), tail=tail, most=most)
    if not text:
        return []
    plain, runs = ansi.read(text)
    leaves: list[Leaf] = [*_chunks(plain, runs)]
    if left_out:
        where = "above" if tail else "below"
        hint = Leaf(f"… {left_out:,} more lines {where}", key="hint", link="full")
        leaves.insert(0 if tail else len(leaves), hint)
    return leaves


def _bounded(text: str, *, tail: bool, most: int) -> tuple[str, int]:
    if len(text) <= MOST_CHARACTERS and text.count("\n") < most:
        return text, 0
    kept = text[-MOST_CHARACTERS:] if tail else text[:MOST_CHARACTERS]
    lines = kept.split("\n")
    lines = lines[-most:] if tail else lines[:most]
    kept = "\n".join(lines)
    return kept, max(1, text.count("\n") - kept.count("\n"))


def _chunks(plain: str, runs: list[Run]) -> list[Leaf]:
    """Leaves of bounded size, so that a change at the end lays out only the last of them."""
    if plain.count("\n") < _CHUNK_LINES:
        return [Leaf(plain, runs, key="output")]
    leaves = []
    at = 0
    lines = plain.split("\n")
    for first in range(0, len(lines), _CHUNK_LINES):
        part = "\n".join(lines[first : first + _CHUNK_LINES])
        end = at + len(part)
        inner = [(max(a, at) - at, min(b, end) - at, key) for a, b, key in runs if b > at and a < end]
        leaves.append(Leaf(part, inner, key="output"))
        at = end + 1
    return leaves


def _note(note: str) -> list[Leaf]:
    return [Leaf(clean(note), key="hint")] if note else []


def _file(block: FileBlock) -> list[Leaf]:
    text, left_out = _bounded(block.text.removesuffix("\n"), tail=False, most=MOST_LINES)
    leaves: list[Leaf] = [FileLeaf(clean(text), language_of(block.path), block.first_line)]
    if left_out:
        leaves.append(Leaf(f"… {left_out:,} more lines below", key="hint", link="full"))
    return leaves + _note(block.note)


def _command(block: CommandBlock, *, is_running: bool) -> list[Leaf]:
    leaves: list[Leaf] = [CodeLeaf(clean(block.command), "bash", first="$ ", rest="  ")]
    leaves += output(block.output, tail=True, most=LIVE_ROWS if is_running else MOST_LINES)
    ending = []
    if block.exit_code is not None:
        ending.append(f"exit {block.exit_code}")
    if block.note:
        ending.append(clean(block.note))
    if ending:
        leaves.append(Leaf(" · ".join(ending), key="note-error" if block.exit_code else "hint"))
    return leaves


def _tree(root: TreeNode) -> list[str]:
    lines = [clean(root.label)]
    open_nodes: list[tuple[TreeNode, str, bool]] = []

    def push(node: TreeNode, indent: str) -> None:
        count = len(node.children)
        for index, child in reversed(list(enumerate(node.children))):
            open_nodes.append((child, indent, index == count - 1))

    push(root, "")
    while open_nodes and len(lines) < MOST_LINES:
        node, indent, is_last = open_nodes.pop()
        lines.append(f"{indent}{'└─ ' if is_last else '├─ '}{clean(node.label)}")
        push(node, (indent + ("   " if is_last else "│  "))[:60])
    return lines


def _map(block: MapBlock) -> list[Leaf]:
    """The text as the model has it, its symbols to be chosen; without a text that names them, a list of them."""
    if not block.symbols:
        return output(block.text)
    named = {symbol.row: index for index, symbol in enumerate(block.symbols) if symbol.row >= 0}
    if not named:
        return _symbols(block)
    leaves: list[Leaf] = []
    for row, line in enumerate(clean(block.text).split("\n")):
        if row in named:
            kind, _, rest = line.lstrip().partition(" ")
            indent = line[: len(line) - len(line.lstrip())]
            parts = [(indent, "output"), (f"{kind} ", "syntax-keyword"), (rest, "output")]
            leaves.append(OneLine(parts, flexible=2, link=f"symbol {named[row]}"))
        else:
            leaves.append(OneLine([(line, "dim")], flexible=0))
    return leaves


def _symbols(block: MapBlock) -> list[Leaf]:
    digits = max(len(f"{symbol.first_line}-{symbol.last_line}") for symbol in block.symbols)
    leaves: list[Leaf] = []
    for index, symbol in enumerate(block.symbols[:MOST_LINES]):
        span = f"{symbol.first_line}-{symbol.last_line}"
        indent = "  " * min(symbol.depth, 12)
        parts = [
            (f"{span:>{digits}}  ", "dim"),
            (indent, "output"),
            (f"{clean(symbol.kind)} " if symbol.kind else "", "syntax-keyword|page"),
            (clean(symbol.label.replace("\n", " ")), "output"),
        ]
        leaves.append(OneLine(parts, flexible=3, link=f"symbol {index}"))
    return leaves
