"""Chooses the symbols of a file map that get a line when not all fit; the rest is summarised in groups.

Long symbols come first, because they most likely contain what a reader looks for; then exported ones; one-line fields
and variables last."""

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from tools.filemap.rendering.symbol_lines import MapLine, SymbolTree, byte_size, indent
from tools.filemap.symbols import Symbol, is_minor

_GROUP_SHARE = 0.2
"""Share of the room for summaries of omitted symbols."""
_GROUP_BYTES = 110
"""Approximate size of a group line."""
_MAX_NAMED_KINDS = 3
_MAX_NAME = 32
_SIGNATURE_SHARE = 0.4
"""Beside a page, signatures are added until the map takes this share of its room."""
_EXPORTED_WEIGHT = 1.5


class ChosenLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a file map that fit into its budget."""

    lines: tuple[MapLine, ...]
    shown_symbols: int
    """Number of symbols with a line."""
    is_complete: bool
    """Whether only already known symbols were omitted."""


def choose_lines(nesting: SymbolTree, room: int, *, without: tuple[int, int] | None = None) -> ChosenLines:
    """Returns the lines of a file map that fit into `room` bytes. Symbols completely within the lines `without` are
    already known to the reader."""
    wanted = [
        index
        for index, symbol in enumerate(nesting.symbols)
        if without is None or not (without[0] <= symbol.start_line and symbol.end_line <= without[1])
    ]
    everything = _add_owners(nesting, wanted)
    cost = _total_line_bytes(nesting, everything, room)
    if cost <= room:
        share = 1.0 if without is None else _SIGNATURE_SHARE
        detailed = nesting.choose_signatures(everything, int(room * share) - cost)
        return _chosen_lines(nesting, len(wanted), everything, detailed, {})
    chosen, cost = _best_fitting(nesting, wanted, int(room * (1 - _GROUP_SHARE)))
    groups = _group_lines(nesting, set(wanted) - chosen, chosen, room - cost)
    return _chosen_lines(nesting, len(wanted), chosen, set(), groups)


def _chosen_lines(
    nesting: SymbolTree, wanted: int, chosen: set[int], detailed: set[int], groups: dict[int, MapLine]
) -> ChosenLines:
    lines: list[MapLine] = []
    for index in nesting.depth_first():
        if index in groups:
            lines.append(groups[index])
        if index in chosen:
            lines.append(nesting.line(index, is_detailed=index in detailed))
    return ChosenLines(
        lines=tuple(lines), shown_symbols=len(chosen), is_complete=not groups and len(chosen) >= wanted
    )


def _add_owners(nesting: SymbolTree, indices: Iterable[int]) -> set[int]:
    chosen = set[int]()
    for index in indices:
        chosen.update(_unshown_ancestors(nesting, index, chosen))
    return chosen


def _unshown_ancestors(nesting: SymbolTree, index: int, chosen: set[int]) -> list[int]:
    """Returns the indexes of a symbol and of those of its owners that have no line in the map yet."""
    found: list[int] = []
    at: int | None = index
    while at is not None and at not in chosen:
        found.append(at)
        at = nesting.symbols[at].parent
    return found


def _total_line_bytes(nesting: SymbolTree, indices: Iterable[int], room: int) -> int:
    cost = 0
    for index in indices:
        cost += nesting.line_bytes(index)
        if cost > room:
            break
    return cost


def _best_fitting(nesting: SymbolTree, wanted: Sequence[int], room: int) -> tuple[set[int], int]:
    """Returns the highest ranked symbols up to the first that does not fit, so that more room only adds symbols."""
    chosen, cost = set[int](), 0
    for index in sorted(wanted, key=lambda each: _symbol_rank(nesting.symbols[each])):
        added = _unshown_ancestors(nesting, index, chosen)
        more = sum(nesting.line_bytes(each) for each in added)
        if cost + more > room:
            break
        cost += more
        chosen.update(added)
    return chosen, cost


def _symbol_rank(symbol: Symbol) -> tuple[int, float, int]:
    lines = symbol.end_line - symbol.start_line + 1
    if lines > 1:
        return 0, -lines * (_EXPORTED_WEIGHT if symbol.is_exported else 1.0), symbol.start_line
    return (2 if is_minor(symbol) else 1), 0 if symbol.is_exported else 1, symbol.start_line


def _group_lines(nesting: SymbolTree, hidden: set[int], chosen: set[int], room: int) -> dict[int, MapLine]:
    """Returns lines that summarise the omitted children of each owner: their kinds, range of names, and lines."""
    owners: dict[int | None, list[int]] = {}
    for index in sorted(hidden):
        owner = nesting.symbols[index].parent
        if owner is None or owner in chosen:
            owners.setdefault(owner, []).append(index)
    ordered = sorted(owners.values(), key=lambda indices: -_line_count(nesting, indices))
    total = sum(len(indices) for indices in ordered)
    groups: dict[int, MapLine] = {}
    for indices in ordered:
        share = max(1, room // _GROUP_BYTES * len(indices) // total) if total else 0
        for part in _split_evenly(indices, min(share, len(indices))):
            line = _group_line(nesting, part)
            cost = byte_size(line.text) + 1
            if cost > room:
                return groups
            room -= cost
            groups[part[0]] = line
        total -= len(indices)
    return groups


def _line_count(nesting: SymbolTree, indices: Sequence[int]) -> int:
    return sum(nesting.symbols[index].end_line - nesting.symbols[index].start_line + 1 for index in indices)


def _split_evenly(indices: list[int], parts: int) -> list[list[int]]:
    """Splits a list into equal parts, in order."""
    count = len(indices)
    edges = [count * part // parts for part in range(parts + 1)]
    return [indices[first:last] for first, last in itertools.pairwise(edges)]


def _group_line(nesting: SymbolTree, indices: Sequence[int]) -> MapLine:
    symbols = [nesting.symbols[index] for index in indices]
    by_kind: dict[str, list[str]] = {}
    for symbol in symbols:
        by_kind.setdefault(symbol.kind, []).append(symbol.name)
    kinds = sorted(by_kind, key=lambda kind: -len(by_kind[kind]))
    told = [_kind_summary(kind, by_kind[kind]) for kind in kinds[:_MAX_NAMED_KINDS]]
    rest = sum(len(by_kind[kind]) for kind in kinds[_MAX_NAMED_KINDS:])
    if rest:
        told.append(f"{rest:,} others")
    first, last = symbols[0].start_line, max(symbol.end_line for symbol in symbols)
    before = indent(nesting.depth[indices[0]])
    return MapLine(text=f"{' ' * before}… {', '.join(told)} in lines {first:,} to {last:,}", indent=before)


def _kind_summary(kind: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{kind} {_shortened(names[0])}"
    return f"{len(names):,} {kind}: {_shortened(min(names))} … {_shortened(max(names))}"


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
