"""Going through a text line by line without holding the interpreter for long, and without a list of all lines."""

from collections.abc import Iterator

from tools.filemap.watch import Deadline

BLOCK = 32 * 1024


class WholeLines:
    """Pieces of a source that end with a line, each with its first row and first byte."""

    def __init__(self, source: bytes, watch: Deadline, size: int = BLOCK) -> None:
        self._source, self._watch, self._size = source, watch, size

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        source, start, row = self._source, 0, 0
        length = len(source)
        while start < length:
            self._watch.check()
            end = start + self._size
            if end < length:
                end = source.find(b"\n", end) + 1 or length
            block = source[start:end]
            yield row, start, block
            row += block.count(b"\n")
            start = end


class SourceLines:
    """Row, first byte and text (without its end) of every line."""

    def __init__(self, source: bytes, watch: Deadline) -> None:
        self._source, self._watch = source, watch

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        for first, begin, block in WholeLines(self._source, self._watch):
            start = begin
            row = first
            lines = block.split(b"\n")
            if block.endswith(b"\n"):
                lines.pop()
            for line in lines:
                yield row, start, line
                start += len(line) + 1
                row += 1


def text_of(line: bytes, limit: int = 200) -> str:
    return line[: limit * 4].decode("utf-8", "replace").strip()[:limit]


def counted(count: int, thing: str) -> str:
    """`1 row`, `3,218 rows`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
