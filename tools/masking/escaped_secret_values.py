"""Finds a known value however programs write its punctuation: escaped, doubled, as character codes, as entities, as
bytes.

Letters and digits are never changed by that, so the longest run of them is searched for; around it, each character
may be written in any of these ways. Texts are searched without their line breaks (`joined_text`).
"""

import re
from functools import cache, lru_cache
from typing import NamedTuple

from tools.lazy_patterns import lazy_regex

_MAX_WRITTEN_CHARACTER_LENGTH = 64
_BACKSLASH_RUN_REGEX = r"\\{0,16}+"
_ESCAPE_LETTERS_BY_CHARACTER = {
    "\n": "n",
    "\t": "t",
    "\r": "r",
    "\b": "b",
    "\f": "f",
    "\v": "v",
    "\x1b": "eE",
}
_ALPHANUMERIC_RUN_PATTERN = lazy_regex(r"[A-Za-z0-9]+")
_REPEATED_CHARACTER_PATTERN = lazy_regex(r"(\\*)(([^\\])\3*)|\\+", re.DOTALL)
_STARTED_CHARACTER_FORM_PATTERN = lazy_regex(r"[\\%&'\"][\w\\%&#;{}'\"]{0,63}|")
"""Matches the possible beginning of a character that is written in several."""


class _Unit(NamedTuple):
    text: str
    """The character, with the backslashes before it, because these cannot be told apart from backslashes that
    escape it."""
    run_length: int
    """The number of times that the character is repeated: programs double either all of a run or none."""


class EscapedValueMatcher:
    """A value with punctuation, in all ways in which programs may write it."""

    def __init__(self, value: str, *, as_bytes: bool) -> None:
        """Compiles the value. `as_bytes` is for texts in which each character stands for one byte."""
        value = value.strip()
        start, end = max(
            (found.span() for found in _ALPHANUMERIC_RUN_PATTERN.finditer(value)),
            key=lambda span: span[1] - span[0],
            default=(0, 0),
        )
        self.anchor = value[start:end]
        """The part of the value that is searched for literally; empty if it has no letters and digits."""
        self._units_before = _units(value[:start])[::-1]
        """The characters before the anchor, the nearest first."""
        self._units_behind = _units(value[end:])
        self._units = _units(value)
        self._as_bytes = as_bytes
        self.start = _start_expression(self._units, as_bytes)
        """A regular expression for the places where the value may begin."""
        self._start_pattern = re.compile(self.start)

    def find_start_crossing_border(self, text: str, begin: int, border: int) -> int:
        """Returns the first position between `begin` and `border` from which the value continues, or may continue,
        after `border`; `border` if there is none."""
        for found in self._start_pattern.finditer(text, begin, border):
            before = self._units[0]
            last = at = found.start()
            for unit in self._units:
                following = _compile_unit(unit, self._as_bytes, is_before=False).match(text, at)
                if following is None:
                    # The last sign may be the beginning of a longer form of it: `&` of `&amp;`.
                    if self._is_started(unit, text, at) or self._is_started(before, text, last):
                        return found.start()
                    break
                if following.end() > at:
                    before, last = unit, at
                at = following.end()
            else:
                if at > border:
                    return found.start()
        return border

    def _is_started(self, unit: _Unit, text: str, at: int) -> bool:
        """Returns whether a text ends within a unit that begins at this position."""
        if unit.run_length > 1 and (part := _compile_part(unit, self._as_bytes).match(text, at)):
            at = part.end()
        if len(text) - at > _MAX_WRITTEN_CHARACTER_LENGTH:
            return False
        # The first bytes of a character.
        data = unit.text.encode("utf-8", "replace").decode("latin-1") if self._as_bytes else ""
        return _STARTED_CHARACTER_FORM_PATTERN.fullmatch(text, at) is not None or data.startswith(text[at:])

    def find_value_around_anchor(self, text: str, at: int) -> tuple[int, int] | None:
        """Returns the span of the value around an anchor that begins at this position; None if there is only the
        anchor."""
        start, end = at, at + len(self.anchor)
        for unit in self._units_behind:
            found = _compile_unit(unit, self._as_bytes, is_before=False).match(text, end)
            if found is None:
                return None
            end = found.end()
        for unit in self._units_before:
            begin = max(0, start - _MAX_WRITTEN_CHARACTER_LENGTH * unit.run_length)
            found = _compile_unit(unit, self._as_bytes, is_before=True).search(text, begin, start)
            if found is None:
                return None
            start = found.start()
        return start, end


def _units(text: str) -> list[_Unit]:
    found: list[_Unit] = []
    for run in _REPEATED_CHARACTER_PATTERN.finditer(text):
        chars = run[2] or ""
        first = run[0][: len(run[0]) - len(chars) + 1]
        if is_written_in_one_way(chars):
            found += [_Unit(first, 1), *(_Unit(one, 1) for one in chars[1:])]
        else:
            found.append(_Unit(first, max(1, len(chars))))
    return found


@lru_cache(4096)
def _compile_unit(unit: _Unit, as_bytes: bool, is_before: bool) -> re.Pattern[str]:
    """Returns a regular expression for a unit of the value. White space and backslashes may be missing: where lines
    are joined, they are taken for a part of the line break."""
    slashes = len(unit.text) - len(unit.text.lstrip("\\"))
    written = ""
    if slashes:
        numbers = _written_sign("\\", as_bytes)
        written = rf"(?:(?:{numbers}){{{slashes}}}|\\{{{slashes},{16 * slashes}}}+)?"
    if rest := unit.text[slashes:]:
        written += (
            re.escape(rest) if is_written_in_one_way(rest) else _written_run(rest, unit.run_length, as_bytes)
        )
    return re.compile(rf"(?:{written})\Z" if is_before else written)


def _written_run(sign: str, length: int, as_bytes: bool) -> str:
    once = _written_sign(sign, as_bytes)
    run = rf"(?:(?:{re.escape(sign)}){{{2 * length}}}|(?:{once}){{{length}}})"
    return f"{run}?" if sign.isspace() else run


def _start_expression(units: list[_Unit], as_bytes: bool) -> str:
    first, second = (*units, _Unit("\n", 1))[:2]
    if not is_written_in_one_way(first.text):
        return f"(?={_compile_unit(first._replace(run_length=1), as_bytes, is_before=False).pattern})"
    following = rf"{second.text}|\Z" if is_written_in_one_way(second.text) else r"[^A-Za-z0-9]|\Z"
    return f"{first.text}(?={following})"


def is_written_in_one_way(text: str) -> bool:
    """Returns whether a text is the same in all the ways in which programs write values, because it has no
    punctuation."""
    return text.isascii() and text.isalnum()


@lru_cache(4096)
def _compile_part(unit: _Unit, as_bytes: bool) -> re.Pattern[str]:
    """Returns a regular expression for the first characters of a run, which may continue."""
    sign = _written_sign(unit.text.lstrip("\\"), as_bytes)
    return re.compile(rf"{_BACKSLASH_RUN_REGEX}(?:{sign}){{0,{2 * unit.run_length - 1}}}")


def _written_sign(char: str, as_bytes: bool) -> str:
    """Returns a regular expression for one character in all its written forms; for a backslash, without the forms
    that consist of backslashes."""
    code, data = ord(char), char.encode("utf-8", "replace")
    ampersand = rf"(?:&(?:amp;){{0,3}}|{_BACKSLASH_RUN_REGEX}(?i:u0026|x26))"
    numbers = [rf"[ux]\{{?0{{0,6}}{code:x}\}}?", _each_byte("x{:02x}", data, _BACKSLASH_RUN_REGEX)]
    if code > 0xFFFF:
        high, low = divmod(code - 0x10000, 0x400)
        numbers.append(rf"u{0xD800 + high:x}{_BACKSLASH_RUN_REGEX}u{0xDC00 + low:x}")
    numbers.append(_each_byte("{:03o}", data, _BACKSLASH_RUN_REGEX))
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
    bare = [re.escape(one) for one in dict.fromkeys((*plain, *_ESCAPE_LETTERS_BY_CHARACTER.get(char, "")))]
    return "|".join([*ways, rf"{_BACKSLASH_RUN_REGEX}(?:{'|'.join(bare)}|(?i:{'|'.join(numbers)}))"])


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
