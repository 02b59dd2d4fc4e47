"""Finds the functions, classes and other symbols that a diff touches."""

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

from app.undo.change_lists import ChangedFileList, ChangedFileRow
from tools.filemap.file_map import Symbol

_MAX_FILES, _MAX_BYTES, _MAX_SECONDS = 30, 1 << 20, 2.0
_MAX_NAMED_SYMBOLS = 8
_HUNK_HEADER = re.compile(r"@@ -\S+ \+(\d+)(?:,\d+)? @@")


async def changed_symbols(found: ChangedFileList) -> dict[str, str]:
    """Returns the functions, classes and other symbols that a diff touches, by path (`Boat.row, oars and 3
    more`), for the first files and within two seconds."""
    return await asyncio.to_thread(_find_symbols, found)


def _find_symbols(found: ChangedFileList) -> dict[str, str]:
    ends = time.monotonic() + _MAX_SECONDS
    told: dict[str, str] = {}
    for file in found.files[:_MAX_FILES]:
        if time.monotonic() > ends:
            break
        source = found.source(file.path)
        names = list(dict.fromkeys(_symbol_names(file, found.patch(file.path).text, source)))
        if names:
            more = f" and {len(names) - _MAX_NAMED_SYMBOLS} more" if len(names) > _MAX_NAMED_SYMBOLS else ""
            told[file.path] = ", ".join(names[:_MAX_NAMED_SYMBOLS]) + more
    return told


def _symbol_names(file: ChangedFileRow, patch: str, source: bytes | None) -> Iterator[str]:
    from tools.filemap.file_mapper import make_file_map_of_text  # noqa: PLC0415  (parsers are loaded when there is something to parse)

    lines = _changed_line_numbers(patch)
    try:
        place = Path(file.absolute_path)
        if not lines or not file.absolute_path:
            return
        if source is None and place.stat().st_size <= _MAX_BYTES:
            source = place.read_bytes()
        if source is None or len(source) > _MAX_BYTES:
            return
        symbols = make_file_map_of_text(source, place.name, deadline_seconds=0.5).symbols
    except OSError:
        return
    for line in lines:
        around = [one for one in symbols if one.start_line <= line <= one.end_line]
        if around:
            innermost = min(around, key=lambda one: one.end_line - one.start_line)
            yield _qualified_name(innermost, symbols)


def _qualified_name(symbol: Symbol, symbols: tuple[Symbol, ...]) -> str:
    names = [symbol.name]
    while symbol.parent is not None:
        symbol = symbols[symbol.parent]
        names.insert(0, symbol.name)
    return ".".join(names)


def _changed_line_numbers(patch: str) -> list[int]:
    """Returns the numbers of the lines that a patch added in the new file, and of the lines before which it
    removed others."""
    found: list[int] = []
    at = 0
    for line in patch.splitlines():
        matched = _HUNK_HEADER.match(line)
        if matched is not None:
            at = int(matched[1])
        elif at and line.startswith("+"):
            found.append(at)
            at += 1
        elif at and line.startswith("-"):
            found.append(at)
        elif at and line.startswith(" "):
            at += 1
    return found
