"""Finds a known value however programs write its signs: escaped, doubled, as numbers, as entities, as bytes.

The longest run of letters and digits, which all of them leave alone, is searched for; around it each sign may be
written in any of these ways."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from tools.patterns import late

_LONGEST_FORM = 64
_LINE_BREAK = r"(?:\\?\r?\n[ \t]{0,16})?"
_BACKSLASHES = r"\\{0,16}+"
_LETTERS_AFTER_BACKSLASH = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", "\v": "v", "\x1b": "eE"}
_LETTERS_OR_DIGITS = late(r"[A-Za-z0-9]+")
_RUNS = late(r"(\\*)(([^\\])\3*)|\\+", re.DOTALL)
_PART_OF_FORM = late(r"[\\%&'\"][\w\\%&#;{}'\"]{0,63}|\\?\r?\n?[ \t]{0,16}")
"""The beginning of a sign that is written in several characters, or of a line break within a value."""
_LINE = late(r"(?:\n[ \t]{0,16})?([^\r\n]+)")


class _Unit(NamedTuple):
    text: str
    """One character, with the backslashes before it, which nothing else separates from its own."""
    may_be_doubled: bool


class WrittenValue:
    """One value with signs, as it may be written."""

    def __init__(self, value: str, *, as_bytes: bool) -> None:
        """`as_bytes` is for texts in which each character stands for one byte."""
        runs = list(_LETTERS_OR_DIGITS.finditer(value))
        run = max(runs, key=lambda one: (len(one[0]), one.end() < len(value)), default=None)
        before, self.anchor, behind = (
            (value[: run.start()], run[0], value[run.end() :]) if run else ("", "", value)
        )
        self._units = _units(value)
        self._units_before = _units(before)[::-1]
        self._units_behind = _units(behind)
        self._as_bytes = as_bytes

    def unfinished_start(self, text: str, begin: int, end: int) -> int:
        """Returns the first position behind `begin` from which the value may go on behind `end`; `end` if there is
        none."""
        for found in _compile_unit(self._units[0], self._as_bytes, is_before=False).finditer(
            text, begin, end
        ):
            last, at = found.span()
            for unit in self._units[1:]:
                following = _compile_unit(unit, self._as_bytes, is_before=False).match(text, at, end)
                if following is None:
                    # The last sign may be the beginning of a longer form of it: `&` of `&amp;`.
                    is_started = _PART_OF_FORM.fullmatch(text, at, end) or _PART_OF_FORM.fullmatch(
                        text, last, end
                    )
                    if is_started or self._is_part_of(unit, text[at:end]):
                        return found.start()
                    break
                last, at = following.span()
        return end

    def _is_part_of(self, unit: _Unit, rest: str) -> bool:
        """Returns whether a text has the first bytes of a character."""
        data = unit.text.encode("utf-8", "replace").decode("latin-1")
        return self._as_bytes and data.startswith(rest)

    def spans_around(self, text: str, at: int) -> Iterator[tuple[int, int]]:
        """Yields the pieces of the value, one on each line, whose anchor begins at a position."""
        start, end = at, at + len(self.anchor)
        for unit in self._units_behind:
            found = _compile_unit(unit, self._as_bytes, is_before=False).match(text, end)
            if found is None:
                return
            end = found.end()
        for unit in self._units_before:
            begin = max(0, start - _LONGEST_FORM)
            found = _compile_unit(unit, self._as_bytes, is_before=True).search(text, begin, start)
            if found is None:
                return
            start = found.start()
        for piece in _LINE.finditer(text, start, end):
            yield piece.span(1)


def _units(text: str) -> list[_Unit]:
    found: list[_Unit] = []
    for run in _RUNS.finditer(text):
        chars = run[2] or ""
        found.append(_Unit(run[0][: len(run[0]) - len(chars) + 1], may_be_doubled=len(chars) == 1))
        found += [_Unit(one, may_be_doubled=False) for one in chars[1:]]
    return found


@lru_cache(4096)
def _compile_unit(unit: _Unit, as_bytes: bool, is_before: bool) -> re.Pattern[str]:
    """Returns an expression for a unit, with a line break on the side of the anchor."""
    slashes = len(unit.text) - len(unit.text.lstrip("\\"))
    written = ""
    if slashes:
        numbers = _written_sign("\\", as_bytes)
        written = rf"(?:(?:{numbers}){{{slashes}}}|\\{{{slashes},{16 * slashes}}}+)"
    if rest := unit.text[slashes:]:
        is_plain = rest.isascii() and rest.isalnum()
        sign = re.escape(rest) if is_plain else _written_sign(rest, as_bytes)
        doubled = rf"(?:{re.escape(rest)}){{2}}|" if unit.may_be_doubled and not is_plain else ""
        written += rf"(?:{doubled}{sign})"
    return re.compile(rf"{written}{_LINE_BREAK}\Z" if is_before else _LINE_BREAK + written)


def _written_sign(char: str, as_bytes: bool) -> str:
    """Returns an expression for one sign; for a backslash, for its forms other than backslashes."""
    code, data = ord(char), char.encode("utf-8", "replace")
    ampersand = rf"(?:&(?:amp;){{0,3}}|{_BACKSLASHES}(?i:u0026|x26))"
    numbers = [rf"[ux]\{{?0{{0,6}}{code:x}\}}?", _each_byte("x{:02x}", data, _BACKSLASHES)]
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        numbers.append(rf"u{0xD800 + high:x}{_BACKSLASHES}u{0xDC00 + low:x}")
    numbers.append(_each_byte("{:03o}", data, _BACKSLASHES))
    ways = [
        rf"(?i:{_each_byte('%(?:25){{0,3}}{:02x}', data)}|%u{code:04x})",
        rf"{ampersand}(?:#0{{0,6}}{code};|#[xX]0{{0,6}}(?i:{code:x});)",
    ]
    if names := _entity_names().get(char, ()):
        ways.append(rf"{ampersand}(?:{'|'.join(names)})")
    if char == "'":
        ways.append(r"""'(?:"'"|\\{1,16}+')'""")
    if char == " ":
        ways.append(r"\+")
    if char == "\\":
        return "|".join([*ways, rf"\\{{1,16}}+(?i:{'|'.join(numbers)})"])
    # A character of bytes is one of Latin-1 where other characters of the text were written as numbers.
    plain = [char, data.decode("latin-1")] if not as_bytes or code < 256 else [data.decode("latin-1")]
    bare = [re.escape(one) for one in dict.fromkeys((*plain, *_LETTERS_AFTER_BACKSLASH.get(char, "")))]
    return "|".join([*ways, rf"{_BACKSLASHES}(?:{'|'.join(bare)}|(?i:{'|'.join(numbers)}))"])


def _each_byte(form: str, data: bytes, between: str = "") -> str:
    return between.join(form.format(byte) for byte in data)


@cache
def _entity_names() -> dict[str, list[str]]:
    from html.entities import html5  # noqa: PLC0415  (2,000 names; a start without a secret needs none)

    found: dict[str, list[str]] = {}
    for name, char in html5.items():
        if name.endswith(";"):
            found.setdefault(char, []).append(name)
    return found
