"""Groups matches for people: each file once, line numbers in one column, matches highlighted.

The model's result has each line with its path; this is derived from those lines."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex
from tools.tool_result_values import ListBlock, ToolResult

_MATCH_ROW_PATTERN: Final = lazy_regex(r"(.+?)([:-])(\d+)(?:\2 |([a-z]{2})\|)")
"""Matches `path:12: text`, `path-13- text` and `path:12ab|text`."""
HighlightedMatch = tuple[int, int, int]
"""The position of a highlighted match: the index of the line, and the start and end in it."""


def read_stored_match_highlights(result: ToolResult | None) -> list[HighlightedMatch]:
    """Returns the highlighted matches that the details of a search result have; none for results of other programs."""
    stored = (result.details or {}).get("hits") if result is not None else None
    try:
        return msgspec.convert(stored or [], list[HighlightedMatch])
    except msgspec.ValidationError:
        return []


def group_match_lines_by_file(
    block: ListBlock, hits: Sequence[HighlightedMatch], where: str = ""
) -> ListBlock:
    """Returns the lines of a search result grouped by file, for people. `where` is the path that was searched; if
    it is a file, it is not named again."""
    items: list[str] = []
    marks: list[HighlightedMatch] = []
    of_line: dict[int, list[tuple[int, int]]] = {}
    for line, start, end in hits:
        of_line.setdefault(line, []).append((start, end))
    for path, lines in _group_rows_by_file(block.items):
        if path and path != where:
            marks.append((len(items), 0, len(path)))
            items.append(path)
        digits = max((len(number) for _, number, _ in lines), default=0)
        for at, number, begins in lines:
            text = block.items[at][begins:]
            before = f"{number:>{digits}}  " if number else ""
            shift = len(before) - begins
            spans = of_line.get(at, ())
            marks += ((len(items), start + shift, end + shift) for start, end in spans if start >= begins)
            items.append("…" if text == "--" else before + text)
    return ListBlock(items=tuple(items), note=block.note, marks=tuple(marks))


def _group_rows_by_file(items: Sequence[str]) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
    """Yields each file of a search result with its lines: item index, line number, start of the text. Other rows have
    neither path nor number."""
    path = ""
    lines: list[tuple[int, str, int]] = []
    for at, item in enumerate(items):
        found = _MATCH_ROW_PATTERN.match(item)
        if found is not None and found[1] != path and (path or lines):
            yield path, lines
            lines = []
        path = found[1] if found is not None else path
        lines.append((at, f"{found[3]}{found[4] or ''}", found.end()) if found is not None else (at, "", 0))
    yield path, lines
