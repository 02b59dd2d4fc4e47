"""Iterates over the lines of a text without blocking the interpreter for long, and without a list of all lines."""

from collections.abc import Iterator

from tools.filemap.map_deadline import MapDeadline

_SOURCE_LINE_CHUNK_BYTES = 32 * 1024


def iterate_line_chunks(source: bytes, watch: MapDeadline) -> Iterator[tuple[int, int, bytes]]:
    """Yields chunks of a source that end with a line, each with its first row and first byte."""
    start = row = 0
    length = len(source)
    while start < length:
        watch.raise_if_deadline_over()
        end = start + _SOURCE_LINE_CHUNK_BYTES
        if end < length:
            end = source.find(b"\n", end) + 1 or length
        block = source[start:end]
        yield row, start, block
        row += block.count(b"\n")
        start = end


def iterate_source_lines(source: bytes, watch: MapDeadline) -> Iterator[tuple[int, int, bytes]]:
    """Yields the row, the first byte and the text (without its end) of every line of a source."""
    for row, start, block in iterate_line_chunks(source, watch):
        lines = block.split(b"\n")
        if block.endswith(b"\n"):
            lines.pop()
        for line in lines:
            yield row, start, line
            start += len(line) + 1
            row += 1


class SourceRowCounter:
    """Converts byte positions of a source to rows, in ascending order, so that lines are counted once."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._row = self._counted = 0

    def row_of(self, place: int) -> int:
        if place > self._counted:
            self._row += self._source.count(b"\n", self._counted, place)
            self._counted = place
        return self._row


def decode_and_shorten_line(line: bytes, limit: int = 200) -> str:
    return line[: limit * 4].decode("utf-8", "replace").strip()[:limit]


def format_count_with_noun(count: int, thing: str) -> str:
    """Returns a count with its noun: `1 row`, `3,218 rows`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
