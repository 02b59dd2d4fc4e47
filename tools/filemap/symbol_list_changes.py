"""Changes lists of found symbols in ways that several languages need: removing, merging, finding owners, sorting."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from itertools import accumulate, islice

from tools.filemap.language_description import FoundRoute, FoundSymbol

_MAX_ROUTE_SYMBOLS = 2000


def remove_symbols(drafts: list[FoundSymbol], removed: Collection[int]) -> list[FoundSymbol]:
    """Returns a list of symbols without some of them; their children move to the nearest remaining ancestor."""
    if not removed:
        return drafts
    gone = set(removed)
    place = [-1] * len(drafts)
    kept: list[FoundSymbol] = []
    for index, draft in enumerate(drafts):
        if index not in gone:
            place[index] = len(kept)
            kept.append(draft)
    for draft in kept:
        above = draft.parent
        while above >= 0 and above in gone:
            above = drafts[above].parent
        draft.parent = place[above] if above >= 0 else -1
    return kept


def sort_symbols_in_file_order(drafts: list[FoundSymbol]) -> list[FoundSymbol]:
    """Returns symbols sorted by position, each before the symbols that it contains."""
    if _is_in_file_order(drafts):
        return drafts
    keys = [(draft.start << 32) - draft.end_row for draft in drafts]
    order = sorted(range(len(drafts)), key=keys.__getitem__)
    place = [0] * len(drafts)
    for new, old in enumerate(order):
        place[old] = new
    for draft in drafts:
        if draft.parent >= 0:
            draft.parent = place[draft.parent]
    return [drafts[index] for index in order]


def _is_in_file_order(drafts: list[FoundSymbol]) -> bool:
    before = -(1 << 32)
    for draft in drafts:
        key = (draft.start << 32) - draft.end_row
        if key < before:
            return False
        before = key
    return True


def merge_clauses_of_functions(
    drafts: list[FoundSymbol], is_same: Callable[[FoundSymbol, FoundSymbol], bool]
) -> list[FoundSymbol]:
    """Merges neighbouring symbols that are clauses of the same function."""
    drafts = sort_symbols_in_file_order(drafts)
    last: dict[int, int] = {}
    removed: dict[int, int] = {}
    for index, draft in enumerate(drafts):
        parent = removed.get(draft.parent, draft.parent)
        draft.parent = parent
        before = last.get(parent)
        if before is not None and is_same(drafts[before], draft):
            first = drafts[before]
            first.end_row = max(first.end_row, draft.end_row)
            first.doc = first.doc or draft.doc
            removed[index] = before
        else:
            last[parent] = index
    return remove_symbols(drafts, removed.keys())


def nest_symbols_by_range(drafts: list[FoundSymbol]) -> list[FoundSymbol]:
    """Sets the parent of each symbol to the smallest symbol around it."""
    drafts = sort_symbols_in_file_order(drafts)
    open_: list[int] = []
    for index, draft in enumerate(drafts):
        while open_ and drafts[open_[-1]].end_row < draft.start_row:
            open_.pop()
        draft.parent = open_[-1] if open_ else -1
        open_.append(index)
    return drafts


def attach_symbols_to_types_by_scope(drafts: list[FoundSymbol], kinds: Collection[str]) -> list[FoundSymbol]:
    """Attaches symbols whose `scope` names a type of this file to that type."""
    types: dict[str, int] = {}
    for index, draft in enumerate(drafts):
        if draft.kind in kinds:
            types.setdefault(draft.name, index)
    for draft in drafts:
        if draft.scope:
            owner = types.get(draft.scope)
            if owner is not None and drafts[owner] is not draft:
                draft.parent = owner
    return drafts


def turn_functions_into_methods(drafts: list[FoundSymbol], owners: Collection[str]) -> list[FoundSymbol]:
    """Turns functions inside of one of these kinds into methods."""
    for draft in drafts:
        if draft.kind == "function" and draft.parent >= 0 and drafts[draft.parent].kind in owners:
            draft.kind = "method"
    return drafts


def add_route_symbols(
    drafts: list[FoundSymbol], source: bytes, routes: Iterable[FoundRoute]
) -> list[FoundSymbol]:
    """Adds web routes to a file's symbols, each below the innermost symbol around it."""
    found = list(islice(routes, _MAX_ROUTE_SYMBOLS))
    if not found:
        return drafts
    rows = list(accumulate((len(line) + 1 for line in source.split(b"\n")), initial=0))
    known = drafts[:]
    for route in found:
        first, last = bisect_right(rows, route.start) - 1, bisect_right(rows, route.end - 1) - 1
        name = f"{route.http_verb} {route.path}".strip()
        signature = f"{name} → {route.handler_name}" if route.handler_name else name
        around = _innermost_symbol_at_row(known, first)
        drafts.append(
            FoundSymbol(name, "route", rows[first], first, last, around, signature, node_type="route")
        )
    return drafts


def _innermost_symbol_at_row(drafts: list[FoundSymbol], row: int) -> int:
    """Returns the smallest symbol that begins before the row and ends after it."""
    around = (at for at, draft in enumerate(drafts) if draft.start_row < row <= draft.end_row)
    return min(around, key=lambda at: (drafts[at].end_row - drafts[at].start_row, -at), default=-1)
