"""Describes how a file's outline has changed, so that a reader with the old map does not need it again."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from tools.filemap.file_map import FileMap, Symbol
from tools.filemap.rendering.map_symbol_lines import format_line_range

_MAX_OUTLINE_CHANGE_LINES = 24
"""The maximum number of changes that are described; if there are more, a new map is clearer."""


class _LineShift(msgspec.Struct, kw_only=True):
    """A run of neighbouring symbols that all moved by the same number of lines."""

    first: int
    last: int
    offset: int


def outline_digest(outline: FileMap) -> str:
    """Returns a digest of a file's outline, which is equal for equal outlines."""
    told = msgspec.msgpack.encode((outline.total_lines, outline.symbols, outline.imports, outline.notes))
    return hashlib.blake2b(told, digest_size=12).hexdigest()


def describe_outline_changes(before: FileMap, after: FileMap) -> list[str] | None:
    """Describes the changes between two outlines of a file, one line for each; None if too much has changed."""
    old, new = _symbols_by_key(before.symbols), _symbols_by_key(after.symbols)
    lines = [f"- {_symbol_label(old[key])}" for key in old if key not in new]
    lines += [f"+ {_symbol_label(new[key])}" for key in new if key not in old]
    both = [(old[key], new[key]) for key in old if key in new]
    lines += [
        f"{_symbol_label(now)}, was {format_line_range(was.start_line, was.end_line)}"
        for was, now in both
        if _has_changed_declaration(was, now)
    ]
    lines += [
        f"what stood in lines {move.first:,} to {move.last:,} moved by {move.offset:+,}"
        for move in _find_line_shifts(
            (was, now) for was, now in both if not _has_changed_declaration(was, now)
        )
    ]
    return lines if len(lines) <= _MAX_OUTLINE_CHANGE_LINES else None


def _symbols_by_key(symbols: Sequence[Symbol]) -> dict[tuple[str, ...], Symbol]:
    """Returns symbols by a key of kind, owner names and name; equal ones are numbered."""
    found: dict[tuple[str, ...], Symbol] = {}
    for symbol in symbols:
        path, at, steps = [symbol.name], symbol.parent, 0
        while at is not None and steps < len(symbols):
            path.append(symbols[at].name)
            at, steps = symbols[at].parent, steps + 1
        number, key = 0, (symbol.kind, *path)
        while key in found:
            number += 1
            key = (symbol.kind, *path, f"#{number}")
        found[key] = symbol
    return found


def _has_changed_declaration(was: Symbol, now: Symbol) -> bool:
    """Returns whether a symbol has another number of lines or another declaration than before."""
    return was.end_line - was.start_line != now.end_line - now.start_line or was.signature != now.signature


def _find_line_shifts(pairs: Iterable[tuple[Symbol, Symbol]]) -> list[_LineShift]:
    moves: list[_LineShift] = []
    for was, now in sorted(pairs, key=lambda pair: pair[0].start_line):
        by = now.start_line - was.start_line
        if moves and moves[-1].offset == by:
            moves[-1].last = max(moves[-1].last, was.end_line)
        else:
            moves.append(_LineShift(first=was.start_line, last=was.end_line, offset=by))
    return [move for move in moves if move.offset]


def _symbol_label(symbol: Symbol) -> str:
    return f"{symbol.kind} {symbol.name} {format_line_range(symbol.start_line, symbol.end_line)}"
