"""Formats the line of a symbol in a map, and computes its size. `map_rendering` and `line_choice` choose the lines."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.one_line_text import MAX_SHOWN_SYMBOL_NAME_CHARS

_MIN_MAP_LINE_MARK_BYTES = 5
MIN_MAP_LINE_BYTES = _MIN_MAP_LINE_MARK_BYTES + 3
MAX_MAP_INDENT_DEPTH = 20
"""The maximum depth of indentation; deeper levels are indented no further."""
_RANGE_LIKE_NAME_PATTERN = re.compile(r"\[(\d+(?:-\d+)?)\]")
_MODIFIERS_OMITTED_FROM_MAP = frozenset({"exported", "default"})


class FileMapLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of a rendered file map, for one symbol or for a group of them."""

    text: str
    index: int = -1
    """The index of the symbol in its map; -1 for a line that stands for a group."""
    indent: int = 0
    label_chars: int = 0
    """The number of characters after the indentation that form the symbol's name in the line."""


class MapSymbolTree:
    """The hierarchy of a map's symbols, and the size of each symbol's line, computed on demand."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self.symbols = symbols
        self.roots: list[int] = []
        self.children: dict[int, list[int]] = {}
        self.depth = array("H", bytes(2 * len(symbols)))
        self._line_byte_counts = array("I", bytes(4 * len(symbols)))
        is_parent_first = True
        for index, symbol in enumerate(symbols):
            parent = symbol.parent
            if parent is None:
                self.roots.append(index)
                continue
            is_parent_first = is_parent_first and parent < index
            self.depth[index] = self.depth[parent] + 1
            below = self.children.get(parent)
            if below is None:
                self.children[parent] = [index]
            else:
                below.append(index)
        if not is_parent_first:
            self._measure_depths()

    def _measure_depths(self) -> None:
        """Computes the depth of each symbol in the hierarchy; methods may precede the type that they belong to."""
        pending = list(self.roots)
        while pending:
            index = pending.pop()
            below = self.children.get(index, ())
            for child in below:
                self.depth[child] = self.depth[index] + 1
            pending.extend(below)

    def count_to_depth(self, deepest: int) -> int:
        """Counts the symbols of a map up to a depth of the hierarchy."""
        if deepest == 0:
            return len(self.roots)
        if deepest >= MAX_MAP_INDENT_DEPTH:
            return len(self.depth)
        return sum(depth <= deepest for depth in self.depth)

    def line_bytes(self, index: int) -> int:
        """Returns how many bytes a symbol's line takes without its signature."""
        cost = self._line_byte_counts[index]
        if not cost:
            cost = self._line_byte_counts[index] = _line_bytes(self.symbols[index], self.depth[index])
        return cost

    def detailed_line_bytes(self, index: int) -> int:
        return utf8_byte_count(self.line(index, is_detailed=True).text) + 1

    def line(self, index: int, *, is_detailed: bool) -> FileMapLine:
        return _format_line(self.symbols[index], index, self.depth[index], is_detailed)

    def depth_first(self) -> Iterator[int]:
        """Yields the indexes of symbols in depth-first order: each after its owner, siblings in file order."""
        pending = list(reversed(self.roots))
        while pending:
            index = pending.pop()
            yield index
            pending.extend(reversed(self.children.get(index, ())))

    def choose_signatures(self, chosen: Iterable[int], room: int) -> set[int]:
        """Returns the symbols whose signatures fit: outer levels first, long symbols before short ones."""
        symbols, detailed = self.symbols, set[int]()
        for index in sorted(
            chosen, key=lambda each: (self.depth[each], symbols[each].start_line - symbols[each].end_line)
        ):
            if room < _MIN_SIGNATURE_BYTES_IN_MAP:
                break
            more = self.detailed_line_bytes(index) - self.line_bytes(index)
            if more <= room:
                room -= more
                detailed.add(index)
        return detailed


_MIN_SIGNATURE_BYTES_IN_MAP = 16
"""The number of free bytes below which no further signature is tried."""


def indentation_width(depth: int) -> int:
    return 2 * min(depth, MAX_MAP_INDENT_DEPTH)


def utf8_byte_count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def format_line_range(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}-{last}]"


def shorten_shown_name(symbol: Symbol) -> str:
    name = symbol.name
    return name if len(name) <= MAX_SHOWN_SYMBOL_NAME_CHARS else f"{name[: MAX_SHOWN_SYMBOL_NAME_CHARS - 1]}…"


def _line_bytes(symbol: Symbol, depth: int) -> int:
    # Two brackets, two spaces and the line end; longer by one if a name looks like a range.
    first, last, name = symbol.start_line, symbol.end_line, shorten_shown_name(symbol)
    length = len(symbol.kind) + utf8_byte_count(name) + _MIN_MAP_LINE_MARK_BYTES
    length += len(f"{first}") if first == last else len(f"{first}-{last}")
    if depth:
        length += indentation_width(depth)
    return length + name.count("[") if "[" in name else length


def _format_line(symbol: Symbol, index: int, depth: int, is_detailed: bool) -> FileMapLine:
    label = _symbol_label(symbol) if is_detailed else f"{symbol.kind} {shorten_shown_name(symbol)}"
    if "[" in label:
        label = _RANGE_LIKE_NAME_PATTERN.sub(r"[\1 ]", label)
    doc = f" — {symbol.doc}" if is_detailed and symbol.doc else ""
    before = indentation_width(depth)
    text = f"{' ' * before}{label} {format_line_range(symbol.start_line, symbol.end_line)}{doc}"
    return FileMapLine(text=text, index=index, indent=before, label_chars=len(label))


def _symbol_label(symbol: Symbol) -> str:
    signature, name = symbol.signature, shorten_shown_name(symbol)
    if not signature or (name is not symbol.name and name[:-1] in signature):
        declared = name
    elif symbol.name in signature:
        declared = signature
    else:
        declared = f"{name}: {signature}"
    declared = _without_kind(declared, symbol)
    words = [
        word
        for word in symbol.modifiers
        if word not in _MODIFIERS_OMITTED_FROM_MAP and not _repeats_word(word, declared)
    ]
    if symbol.is_exported and "export" in symbol.modifiers and "export" not in words:
        words.insert(0, "export")
    return " ".join([symbol.kind, *words, declared])


def _without_kind(declared: str, symbol: Symbol) -> str:
    """Removes a symbol's kind from its declaration where that states it: `class Cart` in an unknown language, `Cart
    struct` in Go."""
    kind, rest = symbol.kind, declared
    if declared.startswith(f"{kind} "):
        rest = declared[len(kind) + 1 :]
    elif declared.endswith(f" {kind}"):
        rest = declared[: -len(kind)].rstrip(" =:")
    return rest if symbol.name in rest else declared


def _repeats_word(word: str, declared: str) -> bool:
    return re.search(rf"(?:^|\s){re.escape(word)}\b", declared) is not None
