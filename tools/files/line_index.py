"""Finds lines in files of any size, and reads pages out of the middle, in constant memory."""

import bisect
from array import array
from collections import OrderedDict
from typing import BinaryIO, Final

import msgspec

from tools.thread_work import StopFlag

LINE_INDEX_BLOCK_BYTES: Final = 64 * 1024
_MAX_CACHED_LINE_INDEXES: Final = 32
_LINE_FEED: Final = b"\n"


class FileShrankSinceIndexed(Exception):
    """Raised if a file has fewer lines than when its index was built."""


class LineIndex:
    """An index of a file's lines: the number of line feeds before each block of the file."""

    def __init__(self, line_feeds: "array[int]", size: int, *, ends_with_line_feed: bool) -> None:
        self._line_feeds = line_feeds
        """The number of line feeds before each block; the last entry is the total."""
        self.size = size
        self.total_lines = line_feeds[-1] + (0 if ends_with_line_feed or not size else 1)

    def block_and_lines_before(self, line: int) -> tuple[int, int]:
        """Returns the block in which `line` (from 1) begins, and how many of its line feeds come before that line."""
        needed = line - 1
        if needed <= 0:
            return 0, 0
        block = bisect.bisect_left(self._line_feeds, needed) - 1
        return block, needed - self._line_feeds[block]


def build_line_index(file: BinaryIO, stop: StopFlag) -> LineIndex:
    buffer = bytearray(LINE_INDEX_BLOCK_BYTES)
    counts = array("Q", [0])
    size = found = 0
    last = b""
    while count := _fill_buffer(file, buffer):
        stop.raise_if_stopped()
        found += buffer.count(_LINE_FEED, 0, count)
        counts.append(found)
        size += count
        last = bytes(buffer[count - 1 : count])
    return LineIndex(counts, size, ends_with_line_feed=last == _LINE_FEED)


def _fill_buffer(file: BinaryIO, buffer: bytearray) -> int:
    """Reads from a file until the buffer is full or the file ends."""
    filled = 0
    while filled < len(buffer) and (piece := file.read(len(buffer) - filled)):
        buffer[filled : filled + len(piece)] = piece
        filled += len(piece)
    return filled


class RawFilePage(msgspec.Struct, frozen=True, kw_only=True):
    """Whole lines of a file, as bytes, without their line feeds."""

    first_line: int
    lines: tuple[bytes, ...]
    clipped_bytes: int = 0
    """The length in bytes of a line that is too long for a page, if the page is only its beginning; 0 otherwise."""
    is_cut_by_bytes: bool = False


def read_raw_file_page(
    file: BinaryIO, index: LineIndex, first_line: int, max_lines: int, max_bytes: int
) -> RawFilePage:
    """Reads a page of a file: as many whole lines from `first_line` as fit; if the first does not fit, its
    beginning."""
    data, is_end = _read_line_start(file, index, first_line, max_bytes)
    lines: list[bytes] = []
    position = size = 0
    while len(lines) < max_lines and position < len(data):
        end = data.find(_LINE_FEED, position)
        is_whole = is_end or end >= 0
        end = end if end >= 0 else len(data)
        length = end - position
        if not is_whole or size + length > max_bytes:
            if lines:
                return RawFilePage(first_line=first_line, lines=tuple(lines), is_cut_by_bytes=True)
            return RawFilePage(
                first_line=first_line,
                lines=(data[position : position + max_bytes],),
                clipped_bytes=length if is_whole else _line_length(file, index, first_line),
                is_cut_by_bytes=True,
            )
        lines.append(data[position:end])
        size += length + 1
        position = end + 1
    return RawFilePage(first_line=first_line, lines=tuple(lines))


def _find_line_start(file: BinaryIO, index: LineIndex, line: int, buffer: bytearray) -> tuple[int, int, int]:
    """Reads the block of a file in which a line begins into the buffer; returns the block's number, the line's position
    in it, and how much was read."""
    block, skip = index.block_and_lines_before(line)
    file.seek(block * LINE_INDEX_BLOCK_BYTES)
    count = _fill_buffer(file, buffer)
    position = 0
    for _ in range(skip):
        found = buffer.find(_LINE_FEED, position, count)
        if found < 0:
            raise FileShrankSinceIndexed
        position = found + 1
    return block, position, count


def _read_line_start(file: BinaryIO, index: LineIndex, line: int, wanted: int) -> tuple[bytes, bool]:
    """Reads at least `wanted` bytes and a line feed of a file from the start of `line`; also returns whether the file
    ends there."""
    buffer = bytearray(LINE_INDEX_BLOCK_BYTES)
    block, position, count = _find_line_start(file, index, line, buffer)
    data = bytearray(buffer[position:count])
    while len(data) <= wanted + 1:
        more = _fill_buffer(file, buffer)
        if not more:
            return bytes(data), True
        data += buffer[:more]
    return bytes(data), block * LINE_INDEX_BLOCK_BYTES + position + len(data) >= index.size


def _line_length(file: BinaryIO, index: LineIndex, line: int) -> int:
    """Returns the length in bytes of a line of a file, without keeping the line in memory."""
    buffer = bytearray(LINE_INDEX_BLOCK_BYTES)
    _, position, count = _find_line_start(file, index, line, buffer)
    length = 0
    while count:
        end = buffer.find(_LINE_FEED, position, count)
        if end >= 0:
            return length + end - position
        length += count - position
        position = 0
        count = _fill_buffer(file, buffer)
    return length


class LineIndexCache:
    """Caches the line indexes of the files read last, while the files are unchanged."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[str, tuple[object, LineIndex]] = OrderedDict()

    def line_index_of(self, path: str, version: object, file: BinaryIO, stop: StopFlag) -> LineIndex:
        known = self._indexes.get(path)
        if known and known[0] == version:
            self._indexes.move_to_end(path)
            return known[1]
        file.seek(0)
        index = build_line_index(file, stop)
        self._indexes[path] = (version, index)
        self._indexes.move_to_end(path)
        while len(self._indexes) > _MAX_CACHED_LINE_INDEXES:
            self._indexes.popitem(last=False)
        return index
