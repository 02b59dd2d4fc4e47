"""A page of a text file: which lines are asked for, which are shown, and how to go on.

Where lines begin in the bytes is known in `tools.files.lines`.
"""

import codecs
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from tools.files.encoding import SAMPLE_BYTES, Encoding, detect
from tools.files.lines import LineIndexes, RawPage, read_page
from tools.files.readcache import ReadCache, Version
from tools.limits import MAX_BYTES, MAX_LINES, Truncation, clip_bytes, format_size
from tools.text import plain, visible
from tools.threads import Stop


class NotText(Exception):
    """The file is binary."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    offset: int | None = None
    limit: int | None = None
    context: int = 0
    """Lines shown around an asked-for range."""
    is_output: bool = False
    """A recorded output, which may hold escape sequences, rather than a file somebody wrote."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file as text."""

    lines: tuple[str, ...]
    """As they are in the file."""
    text: str
    """As they are shown."""
    first_line: int
    asked_first: int
    asked_last: int
    """Without the lines around."""
    total_lines: int
    total_bytes: int
    encoding: Encoding
    is_cut_by_bytes: bool = False
    clipped_bytes: int = 0
    """Set when a single line is too long to show: how long it is."""

    @property
    def last_line(self) -> int:
        return self.first_line + len(self.lines) - 1

    @property
    def is_whole(self) -> bool:
        return self.first_line == 1 and self.last_line >= self.total_lines and not self.clipped_bytes

    def truncation(self) -> Truncation | None:
        """What did not fit, in the stored form; None when all that was asked for is there."""
        if not self.is_cut_by_bytes and not (
            len(self.lines) >= MAX_LINES and self.last_line < self.total_lines
        ):
            return None
        return Truncation(
            content="",
            truncated_by="bytes" if self.is_cut_by_bytes else "lines",
            total_lines=self.total_lines,
            total_bytes=self.total_bytes,
            output_lines=len(self.lines),
            output_bytes=len(self.text.encode("utf-8", "replace")),
            last_line_partial=bool(self.clipped_bytes),
            first_line_exceeds_limit=bool(self.clipped_bytes),
        )


def load_page(
    file: BinaryIO,
    path: str,
    version: Version,
    request: Request,
    indexes: LineIndexes,
    cache: ReadCache,
    stop: Stop,
) -> Page:
    """Reads what `request` asks for. Raises `NotText` for a binary file."""
    sample = file.read(SAMPLE_BYTES)
    encoding = detect(sample, is_whole=len(sample) < SAMPLE_BYTES)
    if encoding is None:
        raise NotText
    lead, trail = _context(request, path, version, cache)
    first = max(1, request.offset or 1)
    wanted = min(request.limit or MAX_LINES, MAX_LINES)
    while True:
        start = first - lead
        count = min(wanted + lead + trail, MAX_LINES)
        if encoding.has_single_byte_line_feeds:
            index = indexes.index(path, version, file, stop)
            total = index.total_lines
            if first > total:
                return _nothing(first, total, version[2], encoding)
            raw = read_page(file, index, start, count, MAX_BYTES)
            lines = tuple(_decoded(raw, encoding))
        else:
            raw, lines, total = _wide_page(file, encoding, start, count, stop)
            if first > total:
                return _nothing(first, total, version[2], encoding)
        if raw.first_line + len(lines) > first or not lead:
            break
        lead = 0  # The lines before are so long that nothing asked for is left: go without them.
    show = plain if request.is_output else visible
    asked_last = min(first + wanted - 1, start + len(lines) - 1)
    return Page(
        lines=lines,
        text=show("\n".join(lines)),
        first_line=start,
        asked_first=first,
        asked_last=asked_last,
        total_lines=total,
        total_bytes=version[2],
        encoding=encoding,
        is_cut_by_bytes=raw.is_cut_by_bytes,
        clipped_bytes=raw.clipped_bytes,
    )


def _nothing(first: int, total: int, size: int, encoding: Encoding) -> Page:
    """A page past the end."""
    return Page(
        lines=(),
        text="",
        first_line=first,
        asked_first=first,
        asked_last=first - 1,
        total_lines=total,
        total_bytes=size,
        encoding=encoding,
    )


def _context(request: Request, path: str, version: Version, cache: ReadCache) -> tuple[int, int]:
    """Lines before and after the range. None before it where the model has just read up to it."""
    first = max(1, request.offset or 1)
    lead = min(request.context, first - 1)
    seen = cache.seen(path)
    if lead and seen and seen.version == version and first - 1 in seen.lines:
        lead = 0
    return lead, request.context if request.limit is not None else 0


def _decoded(raw: RawPage, encoding: Encoding) -> Iterator[str]:
    for number, line in enumerate(raw.lines, raw.first_line):
        if number == 1:
            line = line.removeprefix(encoding.mark)
        text = encoding.decode_for_reading(line)
        if raw.clipped_bytes:
            text = clip_bytes(text.rstrip("\ufffd"), MAX_BYTES)
        yield text.removesuffix("\r")


def _wide_page(
    file: BinaryIO, encoding: Encoding, first: int, count: int, stop: Stop
) -> tuple[RawPage, tuple[str, ...], int]:
    """The same for encodings whose line feeds cannot be found in bytes: decoded from the start, a piece at a time."""
    file.seek(len(encoding.mark))
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    lines: list[str] = []
    total = size = clipped = 0
    is_cut = False
    rest = ""
    rest_bytes = 0
    while True:
        stop.check()
        data = file.read(SAMPLE_BYTES)
        *complete, rest_piece = (rest + decoder.decode(data, not data)).split("\n")
        for line in [*complete, rest_piece] if not data and rest_piece else complete:
            total += 1
            if total < first or len(lines) >= count or is_cut:
                continue
            length = len(line.encode("utf-8", "replace"))
            if size + length > MAX_BYTES:
                is_cut = True
                if not lines:
                    lines.append(clip_bytes(line, MAX_BYTES))
                    clipped = max(length, rest_bytes)
                continue
            lines.append(line.removesuffix("\r"))
            size += length + 1
        # A line without end is not held whole: what is over the limit is only counted.
        rest_bytes = rest_bytes + len(data) if not complete else len(rest_piece)
        rest = rest_piece[: MAX_BYTES + 1]
        if not data:
            raw = RawPage(first_line=first, lines=(), clipped_bytes=clipped, is_cut_by_bytes=is_cut)
            return raw, tuple(lines), total


def notice(page: Page, request: Request, path: str, *, can_use_bash: bool = True) -> str:
    """What is shown and how to go on, or nothing when that is everything."""
    after = page.asked_last + 1
    if page.clipped_bytes:
        number = page.first_line
        text = (
            f"Line {number} is {format_size(page.clipped_bytes)}, exceeds {format_size(MAX_BYTES)} limit; "
            "its beginning is shown."
        )
        if can_use_bash:
            text += f" Use bash: sed -n '{number}p' {path} | tail -c +{MAX_BYTES + 1} | head -c {MAX_BYTES}"
        if number < page.total_lines:
            text += f" Use offset={number + 1} to continue with the next line."
        return text
    has_context = page.first_line < page.asked_first or page.last_line > page.asked_last
    around = f" ({page.asked_first}-{page.asked_last} and lines around)" if has_context else ""
    shown = f"Showing lines {page.first_line}-{page.last_line} of {page.total_lines}{around}"
    if page.is_cut_by_bytes:
        return f"{shown} ({format_size(MAX_BYTES)} limit). Use offset={after} to continue."
    if page.last_line < page.total_lines:
        if request.limit is not None and request.limit <= MAX_LINES and not has_context:
            remaining = page.total_lines - page.last_line
            return f"{remaining} more lines in file. Use offset={after} to continue."
        return f"{shown}. Use offset={after} to continue."
    return f"{shown}." if has_context else ""
