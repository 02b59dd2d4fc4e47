"""Chooses the symbols of a file map that get a line when not all fit; the rest is summarised in groups.

Long symbols come first, because they most likely contain what a reader looks for; then exported ones; one-line fields
and variables last."""

import itertools
from collections.abc import Iterable, Sequence

import msgspec

from tools.filemap.file_map import Symbol, is_one_line_member
from tools.filemap.rendering.map_symbol_lines import (
    FileMapLine,
    MapSymbolTree,
    indentation_width,
    utf8_byte_count,
)

_MAX_SHARE_OF_GROUP_LINES = 0.2
"""The share of the map's space that summaries of omitted symbols may take."""
_ESTIMATED_GROUP_LINE_BYTES = 110
"""The approximate size in bytes of a line that summarises a group of omitted symbols."""
_MAX_KINDS_IN_GROUP_LINE = 3
_MAX_NAME_IN_GROUP_LINE = 32
_MAX_SHARE_OF_SIGNATURES = 0.4
"""The share of its space up to which a map shown beside a page of the file is filled with signatures."""
_LINE_WEIGHT_OF_EXPORTED_SYMBOL = 1.5


class ChosenMapLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a file map that fit into its budget."""

    lines: tuple[FileMapLine, ...]
    shown_symbol_count: int
    """The number of symbols that have a line in the map."""
    is_complete: bool
    """Whether the map omits no symbols but those that the reader already knows."""


def choose_map_lines(
    nesting: MapSymbolTree, room: int, *, without: tuple[int, int] | None = None
) -> ChosenMapLines:
    """Returns the lines of a file map that fit into `room` bytes. Symbols completely within the lines `without` are
    already known to the reader."""
    wanted = [
        index
        for index, symbol in enumerate(nesting.symbols)
        if without is None or not (without[0] <= symbol.start_line and symbol.end_line <= without[1])
    ]
    everything = _add_owner_symbols(nesting, wanted)
    cost = _total_line_bytes(nesting, everything, room)
    if cost <= room:
        share = 1.0 if without is None else _MAX_SHARE_OF_SIGNATURES
        detailed = nesting.choose_signatures(everything, int(room * share) - cost)
        return _build_chosen_lines(nesting, len(wanted), everything, detailed, {})
    chosen, cost = _highest_ranked_that_fit(nesting, wanted, int(room * (1 - _MAX_SHARE_OF_GROUP_LINES)))
    groups = _format_group_lines(nesting, set(wanted) - chosen, chosen, room - cost)
    return _build_chosen_lines(nesting, len(wanted), chosen, set(), groups)


def _build_chosen_lines(
    nesting: MapSymbolTree, wanted: int, chosen: set[int], detailed: set[int], groups: dict[int, FileMapLine]
) -> ChosenMapLines:
    lines: list[FileMapLine] = []
    for index in nesting.depth_first():
        if index in groups:
            lines.append(groups[index])
        if index in chosen:
            lines.append(nesting.line(index, is_detailed=index in detailed))
    return ChosenMapLines(
        lines=tuple(lines), shown_symbol_count=len(chosen), is_complete=not groups and len(chosen) >= wanted
    )


def _add_owner_symbols(nesting: MapSymbolTree, indices: Iterable[int]) -> set[int]:
    chosen = set[int]()
    for index in indices:
        chosen.update(_unshown_ancestors(nesting, index, chosen))
    return chosen


def _unshown_ancestors(nesting: MapSymbolTree, index: int, chosen: set[int]) -> list[int]:
    """Returns the indexes of a symbol and of those of its owners that have no line in the map yet."""
    found: list[int] = []
    at: int | None = index
    while at is not None and at not in chosen:
        found.append(at)
        at = nesting.symbols[at].parent
    return found


def _total_line_bytes(nesting: MapSymbolTree, indices: Iterable[int], room: int) -> int:
    cost = 0
    for index in indices:
        cost += nesting.line_bytes(index)
        if cost > room:
            break
    return cost


def _highest_ranked_that_fit(
    nesting: MapSymbolTree, wanted: Sequence[int], room: int
) -> tuple[set[int], int]:
    """Returns the symbols of highest rank, up to the first one that does not fit. So a larger budget only adds
    symbols."""
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
        return 0, -lines * (_LINE_WEIGHT_OF_EXPORTED_SYMBOL if symbol.is_exported else 1.0), symbol.start_line
    return (2 if is_one_line_member(symbol) else 1), 0 if symbol.is_exported else 1, symbol.start_line


def _format_group_lines(
    nesting: MapSymbolTree, hidden: set[int], chosen: set[int], room: int
) -> dict[int, FileMapLine]:
    """Returns lines that summarise the omitted children of each owner: their kinds, range of names, and lines."""
    owners: dict[int | None, list[int]] = {}
    for index in sorted(hidden):
        owner = nesting.symbols[index].parent
        if owner is None or owner in chosen:
            owners.setdefault(owner, []).append(index)
    ordered = sorted(owners.values(), key=lambda indices: -_count_covered_lines(nesting, indices))
    total = sum(len(indices) for indices in ordered)
    groups: dict[int, FileMapLine] = {}
    for indices in ordered:
        share = max(1, room // _ESTIMATED_GROUP_LINE_BYTES * len(indices) // total) if total else 0
        for part in _split_evenly(indices, min(share, len(indices))):
            line = _format_group_line(nesting, part)
            cost = utf8_byte_count(line.text) + 1
            if cost > room:
                return groups
            room -= cost
            groups[part[0]] = line
        total -= len(indices)
    return groups


def _count_covered_lines(nesting: MapSymbolTree, indices: Sequence[int]) -> int:
    return sum(nesting.symbols[index].end_line - nesting.symbols[index].start_line + 1 for index in indices)


def _split_evenly(indices: list[int], parts: int) -> list[list[int]]:
    """Splits a list into equal parts, in order."""
    count = len(indices)
    edges = [count * part // parts for part in range(parts + 1)]
    return [indices[first:last] for first, last in itertools.pairwise(edges)]


def _format_group_line(nesting: MapSymbolTree, indices: Sequence[int]) -> FileMapLine:
    symbols = [nesting.symbols[index] for index in indices]
    by_kind: dict[str, list[str]] = {}
    for symbol in symbols:
        by_kind.setdefault(symbol.kind, []).append(symbol.name)
    kinds = sorted(by_kind, key=lambda kind: -len(by_kind[kind]))
    told = [_format_kind_summary(kind, by_kind[kind]) for kind in kinds[:_MAX_KINDS_IN_GROUP_LINE]]
    rest = sum(len(by_kind[kind]) for kind in kinds[_MAX_KINDS_IN_GROUP_LINE:])
    if rest:
        told.append(f"{rest:,} others")
    first, last = symbols[0].start_line, max(symbol.end_line for symbol in symbols)
    before = indentation_width(nesting.depth[indices[0]])
    return FileMapLine(
        text=f"{' ' * before}… {', '.join(told)} in lines {first:,} to {last:,}", indent=before
    )


def _format_kind_summary(kind: str, names: list[str]) -> str:
    if len(names) == 1:
        return f"{kind} {_shorten_symbol_name(names[0])}"
    return f"{len(names):,} {kind}: {_shorten_symbol_name(min(names))} … {_shorten_symbol_name(max(names))}"


def _shorten_symbol_name(name: str) -> str:
    return name if len(name) <= _MAX_NAME_IN_GROUP_LINE else name[: _MAX_NAME_IN_GROUP_LINE - 1] + "…"
