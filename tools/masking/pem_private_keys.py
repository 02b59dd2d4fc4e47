"""Finds private keys in text: `-----BEGIN … PRIVATE KEY-----`, lines of base64, an end line. Each body line is
masked as a separate secret, so that a text keeps its lines and each line can be unmasked by itself."""

import base64
import binascii
from collections.abc import Iterator

import msgspec

from tools.lazy_patterns import lazy_regex

PEM_PRIVATE_KEY_LITERAL = "PRIVATE KEY"
BASE64_OF_PEM_BEGIN = "LS0tLS1CRUdJTi"
"""`-----BEGIN` in base64, as Kubernetes and environment variables hold keys."""
_KEY_BEGIN_PATTERN = lazy_regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END_PATTERN = lazy_regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_ONE_LINE_KEY_PATTERN = lazy_regex(r"(?:\\+[rn]|[\"'+,\s\\])*((?:[A-Za-z0-9+/=]|\\+[rn]){40,7000})")
_KEY_BODY_LINE_PATTERN = lazy_regex(
    r".{0,400}?(?<![A-Za-z0-9+/])([A-Za-z0-9+/]{16,}={0,2})(?:\\+[rn])*[\"'`,;+\\ \t\r)]*"
)
_LAST_KEY_BODY_LINE_PATTERN = lazy_regex(
    r".{0,400}?(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{1,64}={0,2})(?:\\+[rn])*[\"'`,;+\\ \t\r)]*"
)
_BASE64_ENCODED_KEY_PATTERN = lazy_regex(r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,7000}={0,2}")
_KEY_HEADER_PATTERN = lazy_regex(r"\W{0,8}(?:Proc-Type|DEK-Info|Version|Comment|Hash):.*|\W{0,8}")
_MAX_KEY_BODY_LINES = 600


class PrivateKeySpans(msgspec.Struct, frozen=True):
    """The spans of private keys in a text, and whether the text ends within a key."""

    spans: tuple[tuple[int, int], ...] = ()
    is_open: bool = False


def find_private_keys(text: str, *, is_within: bool = False) -> PrivateKeySpans:
    """Finds the private keys in a text; `is_within` means that the text begins within a key."""
    spans: list[tuple[int, int]] = []
    is_open = False
    at = 0
    if is_within:
        at, is_open = _body_lines(text, 0, spans)
    elif (end := _KEY_END_PATTERN.search(text)) and not _KEY_BEGIN_PATTERN.search(text, 0, end.start()):
        spans += _body_lines_before(text, end.start())
    while (head := _next_head(text, at)) is not None:
        begin, is_encoded = head
        if is_encoded:
            found = _BASE64_ENCODED_KEY_PATTERN.match(text, begin)
            if found is None or not _looks_like_key(found[0]):
                at = begin + len(BASE64_OF_PEM_BEGIN)
                continue
            spans.append(found.span())
            at, is_open = _key_after_head(text, found.end(), spans)
            continue
        at, is_open = _key_after_head(text, begin, spans)
    return PrivateKeySpans(tuple(spans), is_open)


def _next_head(text: str, at: int) -> tuple[int, bool] | None:
    """Returns the position after the `BEGIN` line of the next private key, or the start of a base64-encoded key."""
    plain = _KEY_BEGIN_PATTERN.search(text, at)
    encoded = text.find(BASE64_OF_PEM_BEGIN, at)
    if plain is not None and (encoded < 0 or plain.start() < encoded):
        return plain.end(), False
    return (encoded, True) if encoded >= 0 else None


def _key_after_head(text: str, at: int, spans: list[tuple[int, int]]) -> tuple[int, bool]:
    """Finds the lines of a private key after its `BEGIN` line: on the same line, or on the following lines."""
    line_end = text.find("\n", at)
    rest = text[at : line_end if line_end >= 0 else len(text)]
    inline = _ONE_LINE_KEY_PATTERN.match(rest)
    if inline is not None:
        begin, end = inline.span(1)
        while end > begin and rest[end - 1] in "\\nr" and rest[begin:end].endswith(("\\n", "\\r")):
            end -= 2
        spans.append((at + begin, at + end))
        return at + end, False
    if line_end < 0:
        return len(text), not rest.strip("\r\"'\\n+, ")
    if rest.strip("\r\"'`\\nr+,; \t)"):
        return line_end, False  # a text that mentions keys
    return _body_lines(text, line_end + 1, spans)


def _body_lines(text: str, at: int, spans: list[tuple[int, int]]) -> tuple[int, bool]:
    """Finds the base64 lines of a private key from a position; returns where they end, and whether the text ends before
    they do."""
    before = len(spans)
    for _ in range(_MAX_KEY_BODY_LINES):
        if at >= len(text):
            return at, True
        end = text.find("\n", at)
        stop = end if end >= 0 else len(text)
        line = text[at:stop]
        found = _KEY_BODY_LINE_PATTERN.fullmatch(line)
        if (
            found is None
            and len(spans) > before
            and "-----END" not in line
            and "-----END" in text[stop : stop + 80]
        ):
            found = _LAST_KEY_BODY_LINE_PATTERN.fullmatch(line)
        if found is not None:
            spans.append((at + found.start(1), at + found.end(1)))
        elif not _KEY_HEADER_PATTERN.fullmatch(line):
            return at, False
        at = stop + 1
    return min(at, len(text)), False


def _body_lines_before(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Yields the base64 lines of a private key above its `END` line, if the `BEGIN` line was cut off."""
    stop = text.rfind("\n", 0, end)
    pattern = _LAST_KEY_BODY_LINE_PATTERN
    short: tuple[int, int] | None = None
    for _ in range(_MAX_KEY_BODY_LINES):
        if stop <= 0:
            return
        begin = text.rfind("\n", 0, stop) + 1
        found = pattern.fullmatch(text[begin:stop])
        if found is None:
            return
        span = begin + found.start(1), begin + found.end(1)
        if pattern is _LAST_KEY_BODY_LINE_PATTERN:
            short = span
        else:
            yield span
            if short is not None:
                yield short
            short = None
        pattern, stop = _KEY_BODY_LINE_PATTERN, begin - 1


def _looks_like_key(text: str) -> bool:
    head = text[:80]
    try:
        return b"PRIVATE" in base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
