"""Renders the map of a file for a model: as much detail as the budget allows, with a header that states the level."""

from collections.abc import Sequence

import msgspec

from tools.filemap.file_map import FileMap
from tools.filemap.rendering.map_line_choice import choose_map_lines
from tools.filemap.rendering.map_symbol_lines import (
    MIN_MAP_LINE_BYTES,
    FileMapLine,
    MapSymbolTree,
    utf8_byte_count,
)
from tools.filemap.scanners.source_lines import format_count_with_noun

MAP_DETAIL_LEVELS = ("full", "compact", "minimal", "outline", "ranked")
MAX_FILE_MAP_BYTES = 100 * 1024
"""The maximum size in bytes of any file map, also of one that was requested."""
_MIN_FILE_MAP_BYTES = 1024
_FILE_MAP_SHARE_OF_CONTEXT_WINDOW = 0.02
_ESTIMATED_BYTES_PER_TOKEN = 3.6
_REQUESTED_FILE_MAP_FACTOR = 4
_MAX_SHOWN_IMPORTS = 12
_MAX_HEADER_PATH_CHARS = 120
_FILE_MAP_READ_HINT = "Read a part with offset=LINE and limit=N, or one symbol with symbol=NAME."


class RenderedFileMap(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    level: str
    shown_symbol_count: int
    """The number of symbols that have a line in the map."""
    first_symbol_row: int
    """The row of the text, from 0, at which the lines of symbols begin."""
    lines: tuple[FileMapLine, ...]


def file_map_byte_budget(
    tokens: int | None, most: int = MAX_FILE_MAP_BYTES, *, is_asked: bool = False
) -> int:
    """Returns how many bytes a file map may take of the model's context window (None: unknown). A requested map may be
    larger."""
    if tokens is None:
        return most
    share = _FILE_MAP_SHARE_OF_CONTEXT_WINDOW * (_REQUESTED_FILE_MAP_FACTOR if is_asked else 1)
    return max(_MIN_FILE_MAP_BYTES, min(most, int(tokens * share * _ESTIMATED_BYTES_PER_TOKEN)))


def render_file_map(
    file_map: FileMap,
    *,
    budget_bytes: int = MAX_FILE_MAP_BYTES,
    level: str | None = None,
    without: tuple[int, int] | None = None,
) -> RenderedFileMap:
    """Renders a file map at the most detailed level that fits `budget_bytes`, which the text never exceeds. A requested
    `level` is used if it fits, otherwise the next one. Symbols in the lines `without`, which the reader has, are
    omitted."""
    budget = min(MAX_FILE_MAP_BYTES, budget_bytes)
    nesting = MapSymbolTree(file_map.symbols)
    wanted = ("full",) if level is None else MAP_DETAIL_LEVELS[MAP_DETAIL_LEVELS.index(level) : -1]
    for each in wanted if without is None else ():
        made = _render_all_symbols(file_map, nesting, each, budget)
        if made is not None:
            return made
    return _render_ranked_symbols(file_map, nesting, budget, without)


def _render_all_symbols(
    file_map: FileMap, nesting: MapSymbolTree, level: str, budget: int
) -> RenderedFileMap | None:
    """Renders all symbols of a file map at a level, or returns None if they do not fit."""
    symbols = file_map.symbols
    deepest = {"full": 1 << 30, "compact": 1 << 30, "minimal": 1, "outline": 0}[level]
    is_full = level == "full"
    room = budget - utf8_byte_count(_format_header_and_footer(file_map, level, len(symbols), len(symbols)))
    if MIN_MAP_LINE_BYTES * nesting.count_to_depth(deepest) > room:
        return None
    chosen: set[int] = set()
    for index, depth in enumerate(nesting.depth):
        if depth <= deepest:
            room -= nesting.detailed_line_bytes(index) if is_full else nesting.line_bytes(index)
            if room < 0:
                return None
            chosen.add(index)
    if len(chosen) < len(symbols):
        room -= len(f"{len(symbols):,} of ")
        if room < 0:
            return None
    lines = [nesting.line(index, is_detailed=is_full) for index in nesting.depth_first() if index in chosen]
    return _assemble_map(file_map, level, lines, len(chosen), budget)


def _render_ranked_symbols(
    file_map: FileMap, nesting: MapSymbolTree, budget: int, without: tuple[int, int] | None
) -> RenderedFileMap:
    total = len(file_map.symbols)
    room = budget - utf8_byte_count(_format_header_and_footer(file_map, "ranked", total, total + 1, without))
    choice = choose_map_lines(nesting, room, without=without)
    level = "compact" if choice.is_complete else "ranked"
    return _assemble_map(file_map, level, choice.lines, choice.shown_symbol_count, budget, without)


def _format_header_and_footer(
    file_map: FileMap, level: str, shown: int, total: int, without: tuple[int, int] | None = None
) -> str:
    return (
        "\n".join(
            [*_format_header_lines(file_map, level, shown, total, without), "", _FILE_MAP_READ_HINT, ""]
        )
        + "\n"
    )


def _format_header_lines(
    file_map: FileMap,
    level: str,
    shown: int,
    total: int,
    without: tuple[int, int] | None,
    *,
    has_imports: bool = True,
) -> list[str]:
    lines = format_count_with_noun(file_map.total_lines, "line")
    symbols = format_count_with_noun(total, "symbol") if shown == total else f"{shown:,} of {total:,} symbols"
    head = [
        f"File map: {_shorten_header_path(file_map.path)}",
        f"{lines} | {format_file_size(file_map.total_bytes)} | {file_map.language} | {symbols}",
        f"Level: {level} | Parser: {file_map.parser}",
    ]
    head.extend(f"Note: {note}" for note in file_map.notes)
    if without is not None:
        head.append(f"Note: what lies in lines {without[0]} to {without[1]} is not told again")
    if has_imports and file_map.imports and without is None and level in ("full", "compact", "minimal"):
        named = ", ".join(file_map.imports[:_MAX_SHOWN_IMPORTS])
        more = len(file_map.imports) - _MAX_SHOWN_IMPORTS
        head.extend(["", f"Imports: {named}" + (f", and {more} more" if more > 0 else "")])
    return [*head, ""]


def _assemble_map(
    file_map: FileMap,
    level: str,
    lines: Sequence[FileMapLine],
    shown: int,
    budget: int,
    without: tuple[int, int] | None = None,
) -> RenderedFileMap:
    total = len(file_map.symbols)
    if lines:
        told = [line.text for line in lines]
    elif total:
        told = ["(no symbols in the other lines)" if without is not None else "(no room for its symbols)"]
    else:
        told = ["(no symbols found)"]
    head = _format_header_lines(file_map, level, shown, total, without)
    text = "\n".join([*head, *told, "", _FILE_MAP_READ_HINT])
    if utf8_byte_count(text) > budget:  # the choice of symbols did not include the imports
        head = _format_header_lines(file_map, level, shown, total, without, has_imports=False)
        text = "\n".join([*head, *told, "", _FILE_MAP_READ_HINT])
    if utf8_byte_count(text) > budget:
        text = _cut_to_budget(text, budget)
        lines = lines[: max(0, text.count("\n") + 1 - len(head))]
        shown = sum(line.index >= 0 for line in lines)
    return RenderedFileMap(
        text=text, level=level, shown_symbol_count=shown, first_symbol_row=len(head), lines=tuple(lines)
    )


def _cut_to_budget(text: str, budget: int) -> str:
    """Cuts a rendered map to a number of bytes: keeps the first lines that fit, or the beginning of the first."""
    kept = text.encode("utf-8", "replace")[: max(0, budget) + 1]
    whole = kept.rpartition(b"\n")[0] if b"\n" in kept else kept[: max(0, budget)]
    return whole.decode("utf-8", "ignore")


def _shorten_header_path(path: str) -> str:
    """Keeps the end of a very long path, because the folders distinguish files of one name."""
    text = path if len(path) <= _MAX_HEADER_PATH_CHARS else "…" + path[1 - _MAX_HEADER_PATH_CHARS :]
    return "".join(mark if mark.isprintable() else "�" for mark in text)


def format_file_size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KB"
    return f"{count / (1024 * 1024):.1f} MB"
