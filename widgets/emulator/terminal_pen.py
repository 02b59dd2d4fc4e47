"""The current colours and attributes of a terminal, as SGR sequences change them."""

import copy
from functools import lru_cache
from typing import Any

from rich.color import Color
from rich.style import Style

_TEXT_ATTRIBUTE_BY_SGR_CODE = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    5: "blink",
    7: "reverse",
    8: "conceal",
    9: "strike",
}
_TEXT_ATTRIBUTES_ENDED_BY_SGR_CODE = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    25: ("blink",),
    27: ("reverse",),
    28: ("conceal",),
    29: ("strike",),
}


class TerminalPen:
    """The text style that an emulated terminal writes with, changed by SGR sequences."""

    def __init__(self) -> None:
        self._reset_style()

    def _reset_style(self) -> None:
        self._color: Color | None = None
        self._background: Color | None = None
        self._attributes: frozenset[str] = frozenset()

    @property
    def style(self) -> Style | None:
        return _make_style(self._color, self._background, self._attributes)

    @property
    def blank_style(self) -> Style | None:
        """The style of cells that a terminal erases now: only the background colour."""
        return _make_style(None, self._background, frozenset())

    def copy(self) -> "TerminalPen":
        return copy.copy(self)

    def apply_sgr(self, parameters: str) -> None:
        codes = [_parse_sgr_codes(part) for part in parameters.split(";")]
        at = 0
        while at < len(codes):
            at += self._apply_code(codes[at], codes[at + 1 :])

    def _apply_code(self, code: list[int], rest: list[list[int]]) -> int:
        """Changes the style by one SGR code; returns how many of the sequence's parameters it used."""
        number = code[0]
        if number == 0:
            self._reset_style()
        elif number == 4 and code[1:2] == [0]:
            self._attributes -= {"underline"}
        elif number in _TEXT_ATTRIBUTE_BY_SGR_CODE:
            self._attributes |= {_TEXT_ATTRIBUTE_BY_SGR_CODE[number]}
        elif number in _TEXT_ATTRIBUTES_ENDED_BY_SGR_CODE:
            self._attributes -= set(_TEXT_ATTRIBUTES_ENDED_BY_SGR_CODE[number])
        elif number in (38, 48):
            # The values are in one parameter with colons, or in the following parameters.
            given = code[1:] if len(code) > 1 else [part[0] for part in rest[:4]]
            color, taken = _parse_extended_color(given)
            if number == 38:
                self._color = color
            else:
                self._background = color
            return 1 if len(code) > 1 else 1 + taken
        elif number == 39:
            self._color = None
        elif number == 49:
            self._background = None
        elif 30 <= number <= 37 or 90 <= number <= 97:
            self._color = Color.from_ansi(number - 30 if number < 90 else number - 82)
        elif 40 <= number <= 47 or 100 <= number <= 107:
            self._background = Color.from_ansi(number - 40 if number < 100 else number - 92)
        return 1


def _parse_sgr_codes(part: str) -> list[int]:
    return [int(code) if code.isdigit() else 0 for code in part[:40].split(":")]


def _parse_extended_color(given: list[int]) -> tuple[Color | None, int]:
    if given[:1] == [5] and len(given) > 1:
        return Color.from_ansi(min(given[1], 255)), 2
    if given[:1] == [2] and len(given) > 3:
        # With colons, a colour space may precede the three values.
        return Color.from_rgb(*(min(value, 255) for value in given[-3:])), 4
    return None, len(given)


@lru_cache(1024)
def _make_style(color: Color | None, background: Color | None, attributes: frozenset[str]) -> Style | None:
    if color is None and background is None and not attributes:
        return None
    on: dict[str, Any] = dict.fromkeys(attributes, True)
    return Style(color=color, bgcolor=background, **on)
