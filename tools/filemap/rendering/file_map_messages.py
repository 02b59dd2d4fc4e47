"""Builds the message on a file's outline for a reader: the map, the changes since the map that it has, or that this map
is still valid."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec

from tools.filemap.file_map import FileMap
from tools.filemap.rendering.file_map_rendering import RenderedFileMap, render_file_map
from tools.filemap.rendering.outline_changes import describe_outline_changes, outline_digest

_MAX_OUTLINES_KNOWN_TO_READERS = 16
_MAX_CARD_PATH_CHARS = 60


class ReaderOutlineState(msgspec.Struct, frozen=True, kw_only=True):
    """The digests of what the reader was told of a file's outline."""

    map_digest: str
    """The digest of the last map of the file that the reader got."""
    message_digest: str
    """The digest of the outline that the latest message described: the map, or later changes to it."""


class FileMapMessage(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    details: dict[str, Any]


class OutlinesKnownToReaders:
    """A bounded cache of the outlines that readers got, to describe later changes to them. May be shared by threads."""

    def __init__(self) -> None:
        self._outlines: OrderedDict[str, FileMap] = OrderedDict()

    def get(self, digest: str) -> FileMap | None:
        return self._outlines.get(digest)

    def put(self, digest: str, outline: FileMap) -> None:
        self._outlines[digest] = outline
        while len(self._outlines) > _MAX_OUTLINES_KNOWN_TO_READERS:
            self._outlines.popitem(last=False)


def make_file_map_message(
    outline: FileMap,
    path: Path,
    *,
    budget_bytes: int,
    page: tuple[int, int] | None,
    standing: ReaderOutlineState | None,
    known: OutlinesKnownToReaders,
) -> FileMapMessage:
    """Returns the message on a file's outline. `outline` has the path as the reader names it, `path` is the file's
    location."""
    digest = outline_digest(outline)
    if standing is not None and standing.message_digest == digest:
        which = (
            "as told above" if standing.map_digest != standing.message_digest else "stands above, unchanged"
        )
        return _make_short_message(
            f"The map of {_shorten_card_path(outline.path)} {which}.",
            outline,
            path,
            standing.map_digest,
            digest,
        )
    before = known.get(standing.map_digest) if standing is not None else None
    if standing is not None and before is not None:
        lines = describe_outline_changes(before, outline)
        if lines is not None:
            head = (
                f"File map: {outline.path}, what moved since its map above ({outline.total_lines:,} lines):"
            )
            text = "\n".join([head, *lines])
            if len(text.encode("utf-8", "replace")) <= budget_bytes // 4:
                return _make_short_message(text, outline, path, standing.map_digest, digest)
    known.put(digest, outline)
    rendered = render_file_map(outline, budget_bytes=budget_bytes, without=page)
    details = {
        **_map_details(outline, path, digest),
        "level": rendered.level,
        "symbols": _symbol_row_details(outline, rendered),
    }
    return FileMapMessage(text=rendered.text, details=details)


def _make_short_message(text: str, outline: FileMap, path: Path, of_map: str, digest: str) -> FileMapMessage:
    return FileMapMessage(text=text, details={**_map_details(outline, path, digest), "since": of_map})


def _map_details(outline: FileMap, path: Path, digest: str) -> dict[str, Any]:
    return {
        "filePath": str(path),
        "totalLines": outline.total_lines,
        "totalBytes": outline.total_bytes,
        "symbolCount": len(outline.symbols),
        "language": outline.language,
        "elapsedMs": outline.elapsed_ms,
        "parser": outline.parser,
        "digest": digest,
    }


def _symbol_row_details(outline: FileMap, rendered: RenderedFileMap) -> list[list[int]]:
    """Returns for each symbol line of a rendered map its row, start and length of its label, first and last line."""
    return [
        [
            row,
            shown.indent,
            shown.label_chars,
            outline.symbols[shown.index].start_line,
            outline.symbols[shown.index].end_line,
        ]
        for row, shown in enumerate(rendered.lines, rendered.first_symbol_row)
        if shown.index >= 0
    ]


def _shorten_card_path(path: str) -> str:
    return path if len(path) <= _MAX_CARD_PATH_CHARS else "…" + path[1 - _MAX_CARD_PATH_CHARS :]
