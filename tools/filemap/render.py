"""A map as the text that a model gets: as much detail as the budget allows, and a header that says how much that is."""

import re
from array import array
from collections.abc import Iterable

import msgspec

from tools.filemap.cli import map_json_line
from tools.filemap.scanners.lines import counted
from tools.filemap.symbols import FileMap, Symbol

__all__ = ["LEVELS", "MAX_MAP_BYTES", "RenderedMap", "budget_for_window", "map_json_line", "render_map"]

LEVELS = ("full", "compact", "minimal", "outline", "truncated")
MAX_MAP_BYTES = 100 * 1024
"""No map is larger, whatever is asked for."""
_SHARES = {"full": 0.1, "compact": 0.2, "minimal": 0.25, "outline": 0.5, "truncated": 1.0}
_SMALLEST = 1024
_WINDOW_BYTES_A_TOKEN = 0.5
"""A model's window of 200,000 tokens or more gets the largest maps; a smaller one in proportion."""
_NAMED_IMPORTS = 12
_LONGEST_PATH = 120
_FEWEST_ENDS = 4
"""Fewer children of a symbol that has too many are not worth their lines."""
_LEAST_SHARE = 400
"""With less room than this for each of them, the shorter symbols with too many children show none."""
_FEWEST_MARKS = 5
_SHORTEST_LINE = _FEWEST_MARKS + 3
_DEEPEST = 20
"""Indentation grows no further."""
_SMALLEST_DETAIL = 16
"""With less room than this no signature is looked at any more."""
_RANGE_LIKE = re.compile(r"\[(\d+(?:-\d+)?)\]")
_FOOT = "Read a part with offset=LINE and limit=N, or one symbol with symbol=NAME."
_NOISE = frozenset({"exported", "default"})


class RenderedMap(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    level: str
    shown: int
    """How many of the symbols stand in the text."""


class _Tree:
    """Who belongs to whom, and what each symbol's line costs: asked only for those that may be shown."""

    def __init__(self, symbols: tuple[Symbol, ...]) -> None:
        self.symbols = symbols
        self.roots: list[int] = []
        self.children: dict[int, list[int]] = {}
        self.depth = array("H", bytes(2 * len(symbols)))
        self._costs = array("I", bytes(4 * len(symbols)))
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
            self._measure_depth()

    def _measure_depth(self) -> None:
        """Methods may stand before the type that they belong to."""
        pending = list(self.roots)
        while pending:
            index = pending.pop()
            below = self.children.get(index, ())
            for child in below:
                self.depth[child] = self.depth[index] + 1
            pending.extend(below)

    def count_to(self, deepest: int) -> int:
        """How many stand no deeper."""
        if deepest == 0:
            return len(self.roots)
        if deepest >= _DEEPEST:
            return len(self.depth)
        return sum(depth <= deepest for depth in self.depth)

    def cost(self, index: int) -> int:
        """Bytes of the symbol's line without detail."""
        cost = self._costs[index]
        if not cost:
            cost = self._costs[index] = _cost(self.symbols[index], self.depth[index])
        return cost

    def cost_of(self, indices: Iterable[int], room: int) -> int:
        """Of all of them, counted no farther than there is room."""
        cost = 0
        for index in indices:
            cost += self.cost(index)
            if cost > room:
                break
        return cost


def budget_for_window(tokens: int | None) -> int:
    """Bytes that a map may take of a model's window; None: the window is not known."""
    if tokens is None:
        return MAX_MAP_BYTES
    return max(_SMALLEST, min(MAX_MAP_BYTES, int(tokens * _WINDOW_BYTES_A_TOKEN)))


def render_map(
    file_map: FileMap, *, budget_bytes: int = MAX_MAP_BYTES, level: str | None = None
) -> RenderedMap:
    """The most detailed level that fits. A `level` asked for is kept when it fits `budget_bytes`; else the next one."""
    budget = max(_SMALLEST, min(MAX_MAP_BYTES, budget_bytes))
    tree = _Tree(file_map.symbols)
    wanted = LEVELS[LEVELS.index(level) :] if level is not None else LEVELS
    for each in wanted[:-1] if wanted[-1] == "truncated" else wanted:
        share = 1.0 if level is not None else _SHARES[each]
        made = _at_level(file_map, tree, each, int(budget * share), fill=level is None)
        if made is not None:
            return made
    if level is None:
        made = _at_level(file_map, tree, "outline", budget, fill=True)
        if made is not None:
            return made
    return _truncated(file_map, tree, budget)


def _at_level(file_map: FileMap, tree: _Tree, level: str, budget: int, *, fill: bool) -> RenderedMap | None:
    symbols = file_map.symbols
    deepest = {"full": 1 << 30, "compact": 1 << 30, "minimal": 1, "outline": 0}[level]
    is_full = level == "full"
    room = budget - _size(_frame(file_map, level, len(symbols), len(symbols)))
    if _SHORTEST_LINE * tree.count_to(deepest) > room:
        return None
    chosen: set[int] = set()
    for index, depth in enumerate(tree.depth):
        if depth <= deepest:
            room -= _detailed_cost(symbols[index], depth) if is_full else tree.cost(index)
            if room < 0:
                return None
            chosen.add(index)
    if len(chosen) < len(symbols):
        room -= len(f"{len(symbols):,} of ")
        if room < 0:
            return None
    detailed = set(chosen) if is_full else set()
    gaps: dict[int, str] = {}
    if fill and not is_full:
        room, gaps = _fill_depth(symbols, tree, chosen, room)
        _fill_detail(symbols, tree, chosen, detailed, room)
    lines = _lines(symbols, tree, chosen, detailed, gaps)
    return _finished(file_map, level, lines, len(chosen))


def _fill_depth(
    symbols: tuple[Symbol, ...], tree: _Tree, chosen: set[int], room: int
) -> tuple[int, dict[int, str]]:
    """Room that is left goes to what stands deeper: all children of the longest symbols first, then both ends of what
    has too many. Also tells what stands instead of the first one left out.
    """
    gaps: dict[int, str] = {}
    pending = sorted(chosen, key=lambda index: symbols[index].start_line - symbols[index].end_line)
    while pending:
        below: list[int] = []
        large: list[list[int]] = []
        for index in pending:
            missing = [child for child in tree.children.get(index, ()) if child not in chosen]
            cost = tree.cost_of(missing, room)
            if cost > room:
                large.append(missing)
            elif missing:
                room -= cost
                chosen.update(missing)
                below.extend(missing)
        large = large[: max(1, room // _LEAST_SHARE)]
        for left, missing in enumerate(large):
            share = room // (len(large) - left)
            gap_cost = _gap_cost(symbols, missing, tree.depth[missing[0]])
            shown, cost = _both_ends(tree, missing, share - gap_cost)
            if len(shown) < _FEWEST_ENDS:
                continue
            room -= cost + gap_cost
            chosen.update(shown)
            hidden = [child for child in missing if child not in chosen]
            gaps[hidden[0]] = _gap(symbols, hidden, tree.depth[hidden[0]])
        pending = sorted(below, key=lambda index: symbols[index].start_line - symbols[index].end_line)
    return room, gaps


def _both_ends(tree: _Tree, siblings: list[int], room: int) -> tuple[list[int], int]:
    """As many of the first and the last as fit, and what they cost."""
    front, back, cost = 0, 0, 0
    while front + back < len(siblings):
        is_front = front <= back
        more = tree.cost(siblings[front if is_front else len(siblings) - 1 - back])
        if cost + more > room:
            break
        cost += more
        front, back = (front + 1, back) if is_front else (front, back + 1)
    return siblings[:front] + siblings[len(siblings) - back :], cost


def _gap(symbols: tuple[Symbol, ...], hidden: list[int], depth: int) -> str:
    first, last = symbols[hidden[0]].start_line, max(symbols[index].end_line for index in hidden)
    return _gap_line(len(hidden), first, last, depth)


def _gap_line(count: int, first: int, last: int, depth: int) -> str:
    return f"{'  ' * min(depth, _DEEPEST)}… {count:,} more symbols in lines {first:,} to {last:,} …"


def _gap_cost(symbols: tuple[Symbol, ...], siblings: list[int], depth: int) -> int:
    """What a gap among them takes at most."""
    last = max((symbols[index].end_line for index in siblings), default=0)
    return _size(_gap_line(len(siblings), last, last, depth)) + 1


def _fill_detail(
    symbols: tuple[Symbol, ...], tree: _Tree, chosen: set[int], detailed: set[int], room: int
) -> None:
    """Then to signatures: the outer levels first, long symbols before short ones."""
    for index in sorted(
        chosen, key=lambda each: (tree.depth[each], symbols[each].start_line - symbols[each].end_line)
    ):
        if room < _SMALLEST_DETAIL:
            return
        more = _detailed_cost(symbols[index], tree.depth[index]) - tree.cost(index)
        if more <= room:
            room -= more
            detailed.add(index)


def _lines(
    symbols: tuple[Symbol, ...], tree: _Tree, chosen: set[int], detailed: set[int], gaps: dict[int, str]
) -> list[str]:
    lines = []
    pending = list(reversed(tree.roots))
    while pending:
        index = pending.pop()
        if index in chosen:
            lines.append(_line(symbols[index], tree.depth[index], index in detailed))
            pending.extend(reversed(tree.children.get(index, ())))
        elif index in gaps:
            lines.append(gaps[index])
    return lines


def _detailed_cost(symbol: Symbol, depth: int) -> int:
    return _size(_line(symbol, depth, True)) + 1


def _cost(symbol: Symbol, depth: int) -> int:
    # Two brackets, two spaces and the line end; longer by one where a name looks like a range.
    first, last, name = symbol.start_line, symbol.end_line, symbol.name
    length = len(symbol.kind) + _size(name) + _FEWEST_MARKS
    length += len(f"{first}") if first == last else len(f"{first}-{last}")
    if depth:
        length += 2 * min(depth, _DEEPEST)
    return length + name.count("[") if "[" in name else length


def _line(symbol: Symbol, depth: int, is_detailed: bool) -> str:
    label = _label(symbol) if is_detailed else f"{symbol.kind} {symbol.name}"
    if "[" in label:
        label = _RANGE_LIKE.sub(r"[\1 ]", label)
    first, last = symbol.start_line, symbol.end_line
    span = f"[{first}]" if first == last else f"[{first}-{last}]"
    doc = f" — {symbol.doc}" if is_detailed and symbol.doc else ""
    return f"{'  ' * min(depth, _DEEPEST)}{label} {span}{doc}"


def _label(symbol: Symbol) -> str:
    signature = symbol.signature
    if not signature:
        declared = symbol.name
    elif symbol.name in signature:
        declared = signature
    else:
        declared = f"{symbol.name}: {signature}"
    declared = _without_kind(declared, symbol)
    words = [word for word in symbol.modifiers if word not in _NOISE and not _is_said(word, declared)]
    if symbol.is_exported and "export" in symbol.modifiers and "export" not in words:
        words.insert(0, "export")
    return " ".join([symbol.kind, *words, declared])


def _without_kind(declared: str, symbol: Symbol) -> str:
    """Some declarations say it themselves: `class Cart` in no known language, `Cart struct` in Go."""
    kind, rest = symbol.kind, declared
    if declared.startswith(f"{kind} "):
        rest = declared[len(kind) + 1 :]
    elif declared.endswith(f" {kind}"):
        rest = declared[: -len(kind)].rstrip(" =:")
    return rest if symbol.name in rest else declared


def _is_said(word: str, declared: str) -> bool:
    return re.search(rf"(?:^|\s){re.escape(word)}\b", declared) is not None


def _frame(file_map: FileMap, level: str, shown: int, total: int) -> str:
    return "\n".join([*_head(file_map, level, shown, total), "", _FOOT, ""]) + "\n"


def _head(file_map: FileMap, level: str, shown: int, total: int) -> list[str]:
    lines = counted(file_map.total_lines, "line")
    symbols = counted(total, "symbol") if shown == total else f"{shown:,} of {total:,} symbols"
    head = [
        f"File map: {_plain(file_map.path)}",
        f"{lines} | {size_text(file_map.total_bytes)} | {file_map.language} | {symbols}",
        f"Level: {level} | Parser: {file_map.parser}",
    ]
    head.extend(f"Note: {note}" for note in file_map.notes)
    if file_map.imports and level not in ("outline", "truncated"):
        named = ", ".join(file_map.imports[:_NAMED_IMPORTS])
        more = len(file_map.imports) - _NAMED_IMPORTS
        head.extend(["", f"Imports: {named}" + (f", and {more} more" if more > 0 else "")])
    return [*head, ""]


def _finished(file_map: FileMap, level: str, lines: list[str], shown: int) -> RenderedMap:
    if not lines:
        lines = ["(no symbols found)"]
    head = _head(file_map, level, shown, len(file_map.symbols))
    return RenderedMap(text="\n".join([*head, *lines, "", _FOOT]), level=level, shown=shown)


def _truncated(file_map: FileMap, tree: _Tree, budget: int) -> RenderedMap:
    """Both ends of the top level; the most that fits."""
    symbols, roots = file_map.symbols, tree.roots
    room = budget - _size(_frame(file_map, "truncated", len(symbols), len(symbols) + 1))
    # Two empty lines stand around the gap.
    chosen, _ = _both_ends(tree, roots, room - _gap_cost(symbols, roots, 0) - 2)
    hidden = sorted(set(roots) - set(chosen))
    gaps = {hidden[0]: f"\n{_gap(symbols, hidden, 0)}\n"} if hidden else {}
    lines = _lines(symbols, tree, set(chosen), set(), gaps)
    return _finished(file_map, "truncated", lines, len(chosen))


def _plain(path: str) -> str:
    """Of a very long path the end: two files of one name are told apart by what stands before it."""
    text = path if len(path) <= _LONGEST_PATH else "…" + path[1 - _LONGEST_PATH :]
    return "".join(mark if mark.isprintable() else "�" for mark in text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def size_text(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KB"
    return f"{count / (1024 * 1024):.1f} MB"
