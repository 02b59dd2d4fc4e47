"""Anchors: names of lines made of their number and two letters, `41th|text`.

The letters do not locate a line; they distinguish a number that was read from one that was computed."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex

_EXCLUDED_ANCHOR_TAGS: Final = frozenset(
    "bq gk gq jv jz kq kz lq nq qf qg qj qk qv qz rj tq wq wz xg xj xk xq xv xw yq zj zq zv".split()  # noqa: SIM905
)
_ANCHOR_TAG_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
ANCHOR_TAGS: Final = tuple(
    pair
    for first in _ANCHOR_TAG_LETTERS
    for second in _ANCHOR_TAG_LETTERS
    if (pair := first + second) not in _EXCLUDED_ANCHOR_TAGS
)
_ANCHOR_PATTERN: Final = lazy_regex(r"\s*[*+-]?(\d{1,8})([a-z]{2})(?:\|.*)?\s*", 0)
_ANCHORED_ROW_PREFIX_PATTERN: Final = lazy_regex(r"[ *+]?(\d{1,8})([a-z]{2})\|")
_UINT32_MASK: Final = 0xFFFFFFFF
_XXHASH_PRIMES: Final = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


class LineAnchor(msgspec.Struct, frozen=True):
    number: int
    """The number of the anchored line, counted from 1."""
    tag: str

    def __str__(self) -> str:
        return f"{self.number}{self.tag}"


def compute_anchor_tag(number: int, line: str) -> str:
    """Returns the two letters of a line's anchor, computed from its text; for a line without letters or digits also
    from its number."""
    text = line.replace("\r", "").rstrip()
    seed = 0 if any(char.isalnum() for char in text) else number
    return ANCHOR_TAGS[_xxhash32(text.encode("utf-8", "surrogatepass"), seed) % len(ANCHOR_TAGS)]


def format_anchored_row(number: int, line: str) -> str:
    return f"{number}{compute_anchor_tag(number, line)}|{line}"


def format_anchored_rows(lines: Sequence[str], first: int) -> str:
    """Formats lines as rows with anchors, numbered from `first`."""
    return "\n".join(format_anchored_row(number, line) for number, line in enumerate(lines, first))


def parse_line_anchor(text: str) -> LineAnchor | None:
    """Parses an anchor from `41th`, or from a whole copied row."""
    match = _ANCHOR_PATTERN.fullmatch(text.split("\n", 1)[0])
    return None if match is None else LineAnchor(int(match[1]), match[2])


def strip_anchors_from_new_lines(lines: Sequence[str], is_known: "ShownAnchorCheck") -> list[str] | None:
    """Removes the anchors from new lines that were given as whole rows; None if they are not rows of this file."""
    body = [line for line in lines if line.strip()]
    found = [_ANCHORED_ROW_PREFIX_PATTERN.match(line) for line in body]
    if not body or not all(match and is_known(int(match[1]), match[2]) for match in found):
        return None
    return [
        line[match.end() :] if (match := _ANCHORED_ROW_PREFIX_PATTERN.match(line)) else line for line in lines
    ]


def remove_anchors_from_rows(text: str) -> str:
    """Removes the anchors from rows of a file, for people."""
    return "\n".join(_ANCHORED_ROW_PREFIX_PATTERN.sub("", line, count=1) for line in text.split("\n"))


class ShownAnchorCheck:
    """Checks whether the model was shown a line with this anchor, in any of the known versions of the file."""

    def __init__(self, versions: Iterable[Sequence[str]]) -> None:
        self._versions = tuple(versions)

    def __call__(self, number: int, tag: str) -> bool:
        return any(
            0 < number <= len(lines) and compute_anchor_tag(number, lines[number - 1]) == tag
            for lines in self._versions
        )


def _xxhash32(data: bytes, seed: int) -> int:
    """Computes the xxHash32 checksum of data."""
    one, two, three, four, five = _XXHASH_PRIMES
    size, at = len(data), 0
    if size >= 16:
        lanes = [
            (seed + one + two) & _UINT32_MASK,
            (seed + two) & _UINT32_MASK,
            seed & _UINT32_MASK,
            (seed - one) & _UINT32_MASK,
        ]
        while at <= size - 16:
            for lane in range(4):
                word = int.from_bytes(data[at : at + 4], "little")
                lanes[lane] = _rotate_left(lanes[lane] + word * two, 13) * one & _UINT32_MASK
                at += 4
        value = (
            _rotate_left(lanes[0], 1)
            + _rotate_left(lanes[1], 7)
            + _rotate_left(lanes[2], 12)
            + _rotate_left(lanes[3], 18)
        )
    else:
        value = seed + five
    value = (value + size) & _UINT32_MASK
    while at <= size - 4:
        value = (
            _rotate_left(value + int.from_bytes(data[at : at + 4], "little") * three, 17) * four
            & _UINT32_MASK
        )
        at += 4
    for byte in data[at:]:
        value = _rotate_left(value + byte * five, 11) * one & _UINT32_MASK
    value = (value ^ value >> 15) * two & _UINT32_MASK
    value = (value ^ value >> 13) * three & _UINT32_MASK
    return value ^ value >> 16


def _rotate_left(value: int, by: int) -> int:
    value &= _UINT32_MASK
    return (value << by | value >> 32 - by) & _UINT32_MASK
