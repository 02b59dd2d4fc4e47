"""Detects the encoding of a file's bytes, and decodes and encodes them without loss.

Byte order marks are checked first, then UTF-8, then plausible encodings that source files still use. No
dependencies."""

import codecs
from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex

ENCODING_SAMPLE_BYTES: Final = 64 * 1024

_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Code points of typical text in an encoding, besides ASCII; a wrong guess is far outside of them.
_COMMON_CODE_POINTS_BY_ASIAN_ENCODING: Final = {
    "gb18030": ((0x4E00, 0x9FFF), (0x3000, 0x303F), (0xFF00, 0xFF65)),
    "euc_jp": ((0x3040, 0x30FF), (0x4E00, 0x9FFF), (0x3000, 0x303F), (0xFF00, 0xFF65)),
    "shift_jis": ((0x3040, 0x30FF), (0x4E00, 0x9FFF), (0x3000, 0x303F), (0xFF00, 0xFF65)),
    "euc_kr": ((0xAC00, 0xD7A3), (0x3000, 0x303F)),
    "big5": ((0x4E00, 0x9FFF), (0x3000, 0x303F), (0xFF00, 0xFF65)),
}
# Their usual characters are pairs of such bytes; Western words have single ones between letters.
_ENCODINGS_WITH_HIGH_BYTE_PAIRS: Final = ("gb18030", "euc_jp", "euc_kr")
_HIGH_BYTE_PAIRS_PATTERN: Final = lazy_regex(rb"[\xa1-\xfe]{2,}")
_MIN_SHARE_OF_PAIRED_BYTES: Final = 0.85
_BIG5_CHARACTER_PATTERN: Final = lazy_regex(rb"([\xa1-\xf9])[\x40-\x7e\xa1-\xfe]")
_LAST_COMMON_BIG5_LEAD: Final = b"\xc6"
"""The largest first byte of common Big5 characters; accented Latin letters are larger bytes."""
_HIGH_BYTE_RUN_PATTERN: Final = lazy_regex(rb"[\x80-\xff]{2,}")
_CYRILLIC_ENCODINGS: Final = ("cp1251", "koi8_r")
_MIN_ENCODING_SCORE: Final = 0.9


class TextEncoding(msgspec.Struct, frozen=True, kw_only=True):
    """The text encoding of a file: its name, byte order mark, and how bytes are decoded and encoded."""

    name: str
    byte_order_mark: bytes = b""
    is_exact: bool = True
    """Whether the bytes are valid in this encoding; False for UTF-8 with invalid bytes, which an edit preserves."""

    @property
    def is_utf8(self) -> bool:
        return self.name == "utf-8"

    @property
    def has_single_byte_line_feeds(self) -> bool:
        """Whether a line feed is the byte 0x0A and nothing else, so that lines can be found in bytes."""
        return not self.name.startswith(("utf-16", "utf-32"))

    @property
    def label(self) -> str:
        """Returns the encoding's name for results of tools; empty for plain UTF-8."""
        return f"{self.name} with byte order mark" if self.byte_order_mark else self.name

    def decode(self, data: bytes) -> str:
        """Decodes a file's bytes without the byte order mark; invalid bytes become lone surrogates, which `encode`
        restores."""
        body = data[len(self.byte_order_mark) :]
        return body.decode(self.name, "surrogateescape" if self.is_utf8 else "strict")

    def decode_for_reading(self, data: bytes) -> str:
        return data.decode(self.name, "replace")

    def encode(self, text: str) -> bytes:
        """Encodes a text in the encoding of its file. Raises `UnicodeEncodeError` for a character that the encoding
        lacks."""
        return self.byte_order_mark + text.encode(self.name, "surrogateescape" if self.is_utf8 else "strict")


UTF8_ENCODING: Final = TextEncoding(name="utf-8")


def detect_encoding(sample: bytes, *, is_whole: bool = True) -> TextEncoding | None:
    """Returns the encoding of a file that begins with `sample`, or None for a binary file."""
    for mark, name in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return TextEncoding(name=name, byte_order_mark=mark)
    wide = _utf16_without_mark(sample) if b"\0" in sample else ""
    if wide:
        return TextEncoding(name=wide)
    if _is_utf8(sample, is_whole):
        return None if _looks_binary(sample) else UTF8_ENCODING
    if _looks_binary(sample):
        return None
    return _legacy_encoding(sample, is_whole)


def _is_utf8(sample: bytes, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, is_whole)
    except UnicodeDecodeError:
        return False
    return True


_CONTROL_BYTES_OF_BINARY_FILES: Final = bytes((*range(1, 8), *range(14, 27), 28, 29, 30, 31))
"""Control bytes that hardly occur in text, so that many of them mean a binary file."""


def _looks_binary(sample: bytes) -> bool:
    head = sample[:8192]
    if b"\0" in head:
        return True
    odd = len(head) - len(head.translate(None, _CONTROL_BYTES_OF_BINARY_FILES))
    return odd * 10 > len(head)


def _utf16_without_mark(sample: bytes) -> str:
    """Detects UTF-16 without a byte order mark: the high bytes of Latin text are zero."""
    head = sample[: len(sample[:4096]) // 2 * 2]
    if len(head) < 4:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = len(head) // 2
    if odd > half * 0.7 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.7 and odd < half * 0.05:
        return "utf-16-be"
    return ""


def _legacy_encoding(sample: bytes, is_whole: bool) -> TextEncoding:
    high = sum(byte >= 0x80 for byte in sample[:8192])
    sound, bad = _count_utf8_evidence(sample)
    if sound >= max(10 * bad, 1):
        return TextEncoding(name="utf-8", is_exact=False)
    best, best_score = "", 0.0
    for name, ranges in _COMMON_CODE_POINTS_BY_ASIAN_ENCODING.items():
        if not _looks_like_encoding(name, sample[:8192], high):
            continue
        score = _score_encoding(sample, name, ranges, is_whole)
        if score > best_score + 0.02:
            best, best_score = name, score
    if best_score >= _MIN_ENCODING_SCORE:
        return TextEncoding(name=best)
    if sound >= max(bad, 1):
        return TextEncoding(name="utf-8", is_exact=False)
    return TextEncoding(name=_single_byte_encoding(sample))


def _looks_like_encoding(name: str, sample: bytes, high: int) -> bool:
    """Returns whether bytes are probably text in this Asian encoding, and not Western words, which it could decode
    as well."""
    if name in _ENCODINGS_WITH_HIGH_BYTE_PAIRS:
        return (
            sum(len(run) // 2 * 2 for run in _HIGH_BYTE_PAIRS_PATTERN.findall(sample))
            >= high * _MIN_SHARE_OF_PAIRED_BYTES
        )
    if name == "big5":
        leads = _BIG5_CHARACTER_PATTERN.findall(sample)
        return sum(lead <= _LAST_COMMON_BIG5_LEAD for lead in leads) > len(leads) * 0.6
    return True


def _count_utf8_evidence(sample: bytes) -> tuple[int, int]:
    """Counts the evidence that bytes are UTF-8 with some invalid bytes, and counts those invalid bytes. A valid
    sequence of several bytes is hardly ever a coincidence, the longer the less."""
    text = sample.decode("utf-8", "surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in text)
    sound = sum(
        1 if char < "\u0800" else 2 for char in text if char > "\x7f" and not "\udc80" <= char <= "\udcff"
    )
    return sound, bad


def _score_encoding(sample: bytes, name: str, ranges: tuple[tuple[int, int], ...], is_whole: bool) -> float:
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample, is_whole)
    except (UnicodeDecodeError, LookupError):
        return 0.0
    codes = [ord(char) for char in text if char > "\x7f"]
    if not codes:
        return 0.0
    inside = sum(any(low <= code <= high for low, high in ranges) for code in codes)
    common = sum(0x3040 <= code <= 0x30FF or 0xAC00 <= code <= 0xD7A3 for code in codes)
    return (inside + 0.05 * common) / len(codes)


def _single_byte_encoding(sample: bytes) -> str:
    """Returns which single-byte encoding a file has: Cyrillic if most letters are in that range, otherwise Western;
    both decode every byte."""
    best, best_score = "", 0.0
    for name in _CYRILLIC_ENCODINGS:
        text = sample.decode(name, "replace")
        high = [char for char in text if char > "\x7f"]
        lower = sum("а" <= char <= "я" for char in high)
        score = lower / max(1, len(high))
        if score > best_score:
            best, best_score = name, score
    high_share = sum(byte >= 0x80 for byte in sample) / max(1, len(sample))
    in_words = (
        sum(len(run) for run in _HIGH_BYTE_RUN_PATTERN.findall(sample))
        > sum(byte >= 0x80 for byte in sample) * 0.6
    )
    if best_score > 0.7 and high_share > 0.2 and in_words:
        return best
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
