"""Limits the size of tool results: the one place where lines and bytes are counted and text is truncated.

Each tool words its own truncation notice."""

from typing import Any, Literal

import msgspec

MAX_TOOL_RESULT_LINES = 2_000
MAX_TOOL_RESULT_BYTES = 50 * 1024
MAX_MATCH_LINE_CHARS = 500
"""The maximum length of a `grep` match in characters; longer lines are clipped."""


class TruncatedText(msgspec.Struct, frozen=True, kw_only=True):
    """A text truncated to the limits of lines and bytes, with the numbers of lines and bytes before."""

    content: str
    truncated_by: Literal["lines", "bytes"] | None = None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool = False
    first_line_exceeds_limit: bool = False
    max_lines: int = MAX_TOOL_RESULT_LINES
    max_bytes: int = MAX_TOOL_RESULT_BYTES

    @property
    def truncated(self) -> bool:
        return self.truncated_by is not None

    def details(self) -> dict[str, Any]:
        """Returns the data about a truncation that is stored in a result's details. The content is already in the
        result and is not repeated."""
        return {
            "content": "",
            "truncated": self.truncated,
            "truncatedBy": self.truncated_by,
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.output_bytes,
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds_limit,
            "maxLines": self.max_lines,
            "maxBytes": self.max_bytes,
        }


def count_lines(text: str) -> int:
    """Counts the lines of a text, including a last line without a line feed."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def utf8_byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def format_size(count: int) -> str:
    """Formats a byte count for people and models: `512B`, `50.0KB`, `1.5MB`."""
    if count < 1024:
        return f"{count}B"
    size = count / 1024
    for unit in ("KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.1f}{unit}"
        size /= 1024
    raise AssertionError("unreachable")


def clip_to_utf8_bytes(text: str, limit: int) -> str:
    """Returns the longest beginning of `text` whose UTF-8 form has at most `limit` bytes."""
    if len(text) * 4 <= limit:
        return text
    data = text[: limit + 1].encode("utf-8", "replace")
    return text if len(data) <= limit and len(text) <= limit else data[:limit].decode("utf-8", "ignore")


def clip_to_last_utf8_bytes(text: str, limit: int) -> str:
    """Returns the longest end of `text` whose UTF-8 form has at most `limit` bytes."""
    data = text[-limit - 1 :].encode("utf-8", "replace") if limit else b""
    if len(data) <= limit and len(text) <= limit:
        return text
    data = data[-limit:] if limit else b""
    start = 0
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8")


def clip_result_line(line: str, limit: int = MAX_MATCH_LINE_CHARS) -> tuple[str, bool]:
    """Clips a line of a tool result to a number of characters, and returns whether it was clipped."""
    if len(line) <= limit:
        return line, False
    return f"{line[:limit]}... [truncated, {len(line):,} characters]", True


def keep_first_lines(
    text: str, max_lines: int = MAX_TOOL_RESULT_LINES, max_bytes: int = MAX_TOOL_RESULT_BYTES
) -> TruncatedText:
    """Truncates a text to its first lines within the limits; if the first line exceeds the limit, keeps its
    beginning."""
    total_lines, total_bytes = count_lines(text), utf8_byte_length(text)
    if total_lines <= max_lines and total_bytes <= max_bytes:
        return _make_untruncated(text, total_lines, total_bytes, max_lines, max_bytes)
    kept: list[str] = []
    size = 0
    reason: Literal["lines", "bytes"] = "lines"
    for line in text.split("\n", max_lines)[:max_lines]:
        length = utf8_byte_length(line)
        if size + length > max_bytes:
            reason = "bytes"
            break
        kept.append(line)
        size += length + 1
    partial = not kept
    content = clip_to_utf8_bytes(text.split("\n", 1)[0], max_bytes) if partial else "\n".join(kept)
    return TruncatedText(
        content=content,
        truncated_by=reason,
        total_lines=total_lines,
        total_bytes=total_bytes,
        output_lines=1 if partial else len(kept),
        output_bytes=utf8_byte_length(content),
        last_line_partial=partial,
        first_line_exceeds_limit=partial,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def keep_last_lines(
    text: str,
    max_lines: int = MAX_TOOL_RESULT_LINES,
    max_bytes: int = MAX_TOOL_RESULT_BYTES,
    *,
    total_lines: int | None = None,
    total_bytes: int | None = None,
) -> TruncatedText:
    """Truncates a text to its last lines within the limits; if the last line exceeds the limit, keeps its end. The
    totals give the full size where `text` is only the end of a longer text."""
    own_lines, own_bytes = count_lines(text), utf8_byte_length(text)
    lines_in_all = own_lines if total_lines is None else total_lines
    bytes_in_all = own_bytes if total_bytes is None else total_bytes
    if own_lines <= max_lines and own_bytes <= max_bytes and lines_in_all <= own_lines:
        return _make_untruncated(text, lines_in_all, bytes_in_all, max_lines, max_bytes)
    end = "\n" if text.endswith("\n") else ""
    body = text[: len(text) - len(end)]
    kept: list[str] = []
    size = 0
    reason: Literal["lines", "bytes"] = "lines" if lines_in_all > max_lines else "bytes"
    for line in reversed(body.rsplit("\n", max_lines)[-max_lines:] if max_lines else []):
        length = utf8_byte_length(line)
        if size + length + len(end) > max_bytes:
            reason = "bytes"
            break
        kept.append(line)
        size += length + 1
    partial = not kept
    if partial:
        content = clip_to_last_utf8_bytes(body.rsplit("\n", 1)[-1], max_bytes)
    else:
        content = "\n".join(reversed(kept)) + end
    return TruncatedText(
        content=content,
        truncated_by=reason,
        total_lines=lines_in_all,
        total_bytes=bytes_in_all,
        output_lines=1 if partial else len(kept),
        output_bytes=utf8_byte_length(content),
        last_line_partial=partial,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def _make_untruncated(text: str, lines: int, size: int, max_lines: int, max_bytes: int) -> TruncatedText:
    return TruncatedText(
        content=text,
        total_lines=lines,
        total_bytes=size,
        output_lines=lines,
        output_bytes=utf8_byte_length(text),
        max_lines=max_lines,
        max_bytes=max_bytes,
    )
