"""Reads a page of a text file: which lines are requested, which are shown, and how to continue.

`tools.files.line_index` finds lines in bytes."""

import codecs
import shlex
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from tools.files.files_shown_to_model import ShownFileVersion
from tools.files.line_index import LineIndexCache, RawFilePage, read_raw_file_page
from tools.files.text_encoding import ENCODING_SAMPLE_BYTES, TextEncoding, detect_encoding
from tools.result_limits import (
    MAX_TOOL_RESULT_BYTES,
    MAX_TOOL_RESULT_LINES,
    TruncatedText,
    clip_to_utf8_bytes,
    format_size,
)
from tools.text_sanitizing import escape_controls, render_plain_output
from tools.thread_work import StopFlag


class CannotReadBinaryFile(Exception):
    """Raised if a file to read is binary."""


class FilePageRequest(msgspec.Struct, frozen=True, kw_only=True):
    offset: int | None = None
    limit: int | None = None
    tail: int | None = None
    """The number of requested lines from the end of the file; used instead of `offset`."""
    symbol: str = ""
    """The name of the symbol in the requested lines, if it was requested by name."""
    is_output: bool = False
    """Whether the file is a recorded output, which may contain escape sequences."""

    @property
    def requests_line_range(self) -> bool:
        return any(one is not None for one in (self.offset, self.limit, self.tail))

    def with_surrounding_lines(self, lines: int) -> "FilePageRequest":
        """Returns the request with `lines` more lines before and after the requested range; unchanged if it is no
        range."""
        if self.symbol or self.tail is not None or not self.requests_line_range:
            return self
        first = max(1, (self.offset or 1) - lines)
        more = (self.offset or 1) - first + lines
        limit = None if self.limit is None else self.limit + more
        return msgspec.structs.replace(self, offset=first, limit=limit)


class FilePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a text file: some of its lines, and where they are in the file."""

    lines: tuple[str, ...]
    """The lines of the page as in the file."""
    text: str
    """The lines of the page as they are shown to the model."""
    first_line: int
    total_lines: int
    total_bytes: int
    encoding: TextEncoding
    is_cut_by_bytes: bool = False
    clipped_bytes: int = 0
    """The length in bytes of a line that is too long to show whole, if the page is its beginning; 0 otherwise."""
    is_anchored: bool = False
    """Whether each line of the page's text begins with its anchor."""

    @property
    def last_line(self) -> int:
        return self.first_line + len(self.lines) - 1

    @property
    def is_whole_file(self) -> bool:
        return self.first_line == 1 and self.last_line >= self.total_lines and not self.clipped_bytes

    def truncation(self) -> TruncatedText | None:
        """Returns the details of what did not fit on a page, for the stored result; None if everything requested is
        there."""
        if not self.is_cut_by_bytes and not (
            len(self.lines) >= MAX_TOOL_RESULT_LINES and self.last_line < self.total_lines
        ):
            return None
        return TruncatedText(
            content="",
            truncated_by="bytes" if self.is_cut_by_bytes else "lines",
            total_lines=self.total_lines,
            total_bytes=self.total_bytes,
            output_lines=len(self.lines),
            output_bytes=len(self.text.encode("utf-8", "replace")),
            last_line_partial=bool(self.clipped_bytes),
            first_line_exceeds_limit=bool(self.clipped_bytes),
        )


def read_file_page(
    file: BinaryIO,
    path: str,
    version: ShownFileVersion,
    request: FilePageRequest,
    indexes: LineIndexCache,
    stop: StopFlag,
) -> FilePage:
    """Reads a page of a text file. Raises `CannotReadBinaryFile` for a binary file."""
    sample = file.read(ENCODING_SAMPLE_BYTES)
    encoding = detect_encoding(sample, is_whole=len(sample) < ENCODING_SAMPLE_BYTES)
    if encoding is None:
        raise CannotReadBinaryFile
    count = min(request.limit or request.tail or MAX_TOOL_RESULT_LINES, MAX_TOOL_RESULT_LINES)
    if encoding.has_single_byte_line_feeds:
        index = indexes.line_index_of(path, version, file, stop)
        total = index.total_lines
        first = _first_requested_line(request, total)
        if first > total:
            return _empty_page(first, total, version[2], encoding)
        raw = read_raw_file_page(file, index, first, count, MAX_TOOL_RESULT_BYTES)
        lines = tuple(_decode_lines(raw, encoding))
    else:
        total = _decode_wide_page(file, encoding, 1, 0, stop)[2] if request.tail is not None else 0
        first = _first_requested_line(request, total)
        raw, lines, total = _decode_wide_page(file, encoding, first, count, stop)
        if first > total:
            return _empty_page(first, total, version[2], encoding)
    show = render_plain_output if request.is_output else escape_controls
    return FilePage(
        lines=lines,
        text=show("\n".join(lines)),
        first_line=first,
        total_lines=total,
        total_bytes=version[2],
        encoding=encoding,
        is_cut_by_bytes=raw.is_cut_by_bytes,
        clipped_bytes=raw.clipped_bytes,
    )


def _first_requested_line(request: FilePageRequest, total: int) -> int:
    return max(1, total - request.tail + 1 if request.tail is not None else request.offset or 1)


def _empty_page(first: int, total: int, size: int, encoding: TextEncoding) -> FilePage:
    """Returns an empty page for a request behind the end of the file."""
    return FilePage(
        lines=(), text="", first_line=first, total_lines=total, total_bytes=size, encoding=encoding
    )


def _decode_lines(raw: RawFilePage, encoding: TextEncoding) -> Iterator[str]:
    for number, line in enumerate(raw.lines, raw.first_line):
        if number == 1:
            line = line.removeprefix(encoding.byte_order_mark)
        text = encoding.decode_for_reading(line)
        if raw.clipped_bytes:
            text = clip_to_utf8_bytes(text.rstrip("\ufffd"), MAX_TOOL_RESULT_BYTES)
        yield text.removesuffix("\r")


def _decode_wide_page(
    file: BinaryIO, encoding: TextEncoding, first: int, count: int, stop: StopFlag
) -> tuple[RawFilePage, tuple[str, ...], int]:
    """Reads a page of a file whose encoding has line feeds of several bytes: decodes from the start, piece by piece."""
    file.seek(len(encoding.byte_order_mark))
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    lines: list[str] = []
    total = size = clipped = 0
    is_cut = False
    rest = ""
    rest_bytes = 0
    while True:
        stop.raise_if_stopped()
        data = file.read(ENCODING_SAMPLE_BYTES)
        *complete, rest_piece = (rest + decoder.decode(data, not data)).split("\n")
        for line in [*complete, rest_piece] if not data and rest_piece else complete:
            total += 1
            if total < first or len(lines) >= count or is_cut:
                continue
            length = len(line.encode("utf-8", "replace"))
            if size + length > MAX_TOOL_RESULT_BYTES:
                is_cut = True
                if not lines:
                    lines.append(clip_to_utf8_bytes(line, MAX_TOOL_RESULT_BYTES))
                    clipped = max(length, rest_bytes)
                continue
            lines.append(line.removesuffix("\r"))
            size += length + 1
        # A line without end is not held completely: beyond the limit it is only counted.
        rest_bytes = rest_bytes + len(data) if not complete else len(rest_piece)
        rest = rest_piece[: MAX_TOOL_RESULT_BYTES + 1]
        if not data:
            raw = RawFilePage(first_line=first, lines=(), clipped_bytes=clipped, is_cut_by_bytes=is_cut)
            return raw, tuple(lines), total


def format_page_notice(page: FilePage, request: FilePageRequest, path: str) -> str:
    """Returns a notice for the model on which lines of the file a page shows and how to continue; empty if everything
    is shown."""
    if page.clipped_bytes:
        return _long_line_notice(page, path)
    is_over = page.last_line >= page.total_lines
    if is_over and not request.requests_line_range:
        return ""
    limit = f" ({format_size(MAX_TOOL_RESULT_BYTES)} limit)" if page.is_cut_by_bytes else ""
    shown = format_line_range_notice(page.first_line, page.last_line, page.total_lines) + limit
    asked = request.limit if request.symbol else None
    if asked is not None:  # a symbol: the lines after it were not requested
        rest = page.first_line + asked - 1 - page.last_line
        more = f" Use offset={page.last_line + 1} and limit={rest} for the rest of it." if rest > 0 else ""
        return f"{shown}: {request.symbol}.{more}"
    return f"{shown}." if is_over else f"{shown}. Use offset={page.last_line + 1} to continue."


def format_line_range_notice(first: int, last: int, total: int) -> str:
    return f"Showing line {first} of {total}" if first == last else f"Showing lines {first}-{last} of {total}"


def _long_line_notice(page: FilePage, path: str) -> str:
    number = page.first_line
    text = (
        f"Line {number} of {page.total_lines} is {format_size(page.clipped_bytes)}, exceeds "
        f"{format_size(MAX_TOOL_RESULT_BYTES)} limit; its beginning is shown."
    )
    if number < page.total_lines:
        text += f" Use offset={number + 1} to continue with the next line."
    command = (
        f"sed -n '{number}p' {shlex.quote(path)} "
        f"| tail -c +{MAX_TOOL_RESULT_BYTES + 1} | head -c {MAX_TOOL_RESULT_BYTES}"
    )
    return f"{text} The rest of it comes with bash: `{command}`."
