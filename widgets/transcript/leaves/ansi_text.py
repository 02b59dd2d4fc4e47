"""Converts the output of programs to text with style runs: colours are kept, other escape sequences dropped,
overwritten lines resolved."""

import re
from collections.abc import Sequence

from tools.lazy_patterns import lazy_regex
from tools.tool_result_values import ColouredSpan
from widgets.transcript.leaves.layout_leaf import StyleRun
from widgets.transcript.leaves.safe_text import clean

_ANSI_SEQUENCE_PATTERN = lazy_regex(
    r"\x1b\[([0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
_ANSI_COLOUR_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_OVERWRITTEN_TEXT_PATTERN = lazy_regex(r"[^\n]*\r(?!\n|$)", re.MULTILINE)
_BACKSPACED_CHARACTER_PATTERN = lazy_regex(r"[^\n\x08]\x08")


def parse_ansi(text: str) -> tuple[str, list[StyleRun]]:
    """Converts a program's output to the plain text that a terminal would show, and the style runs for its colours."""
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = _OVERWRITTEN_TEXT_PATTERN.sub("", text)
    for _ in range(3):
        if "\x08" not in text:
            break
        text = _BACKSPACED_CHARACTER_PATTERN.sub("", text)
    if "\x1b" not in text and "\x9b" not in text:
        return clean(text), []
    parts: list[str] = []
    runs: list[StyleRun] = []
    pen = _AnsiTextStyle()
    at = size = 0
    for match in _ANSI_SEQUENCE_PATTERN.finditer(text):
        size = _append_text(parts, runs, clean(text[at : match.start()]), pen.key, size)
        if match.group(1) is not None:
            pen.apply_codes(match.group(1))
        at = match.end()
    _append_text(parts, runs, clean(text[at:]), pen.key, size)
    return "".join(parts), runs


def strip_ansi(text: str) -> str:
    """Returns a program's output as plain text, without colours and other sequences."""
    return parse_ansi(text)[0] if not text.isascii() or "\x1b" in text or "\r" in text else text


def _append_text(parts: list[str], runs: list[StyleRun], text: str, key: str, at: int) -> int:
    if text:
        parts.append(text)
        if key != "output":
            runs.append((at, at + len(text), key))
    return at + len(text)


class _AnsiTextStyle:
    def __init__(self) -> None:
        self.key = "output"
        self._reset()

    def _reset(self) -> None:
        self._color = ""
        self._background = ""
        self._flags: set[str] = set()

    def apply_codes(self, parameters: str) -> None:
        codes = [int(code) if code else 0 for code in re.split("[;:]", parameters[:200])]
        at = 0
        while at < len(codes):
            at += self._apply_code(codes[at], codes[at + 1 :])
        name = f"ansi-{self._color}" if self._color else "output"
        flags = "".join(sorted(self._flags))
        background = f"|ansi-{self._background}" if self._background else ""
        self.key = name + (f"+{flags}" if flags else "") + background

    def _apply_code(self, code: int, rest: list[int]) -> int:
        """Changes the current style by one SGR code; returns how many codes of the sequence it used."""
        match code:
            case 0:
                self._reset()
            case 1 | 3 | 9:
                self._flags.add({1: "b", 3: "i", 9: "s"}[code])
            case 22 | 23 | 29:
                self._flags.discard({22: "b", 23: "i", 29: "s"}[code])
            case 38 | 48:
                return self._apply_extended_color(code, rest)
            case 39:
                self._color = ""
            case 49:
                self._background = ""
            case _ if 30 <= code <= 37:
                self._color = _ANSI_COLOUR_NAMES[code - 30]
            case _ if 90 <= code <= 97:
                self._color = f"bright-{_ANSI_COLOUR_NAMES[code - 90]}"
            case _ if 40 <= code <= 47:
                self._background = _ANSI_COLOUR_NAMES[code - 40]
            case _ if 100 <= code <= 107:
                self._background = f"bright-{_ANSI_COLOUR_NAMES[code - 100]}"
        return 1

    def _apply_extended_color(self, code: int, rest: list[int]) -> int:
        if rest[:1] == [5] and len(rest) > 1:
            name, taken = _indexed_color_name(rest[1]), 3
        elif rest[:1] == [2] and len(rest) > 3:
            name, taken = _nearest_color(*rest[1:4]), 5
        else:
            return 1 + len(rest)
        if code == 38:
            self._color = name
        else:
            self._background = name
        return taken


def _indexed_color_name(index: int) -> str:
    if index < 8:
        return _ANSI_COLOUR_NAMES[index]
    if index < 16:
        return f"bright-{_ANSI_COLOUR_NAMES[index - 8]}"
    if index < 232:
        red, rest = divmod(index - 16, 36)
        green, blue = divmod(rest, 6)
        return _nearest_color(red * 51, green * 51, blue * 51)
    level = (index - 232) * 10 + 8
    return _nearest_color(level, level, level)


def _nearest_color(red: int, green: int, blue: int) -> str:
    """Returns the name of the terminal colour nearest to an RGB colour, so that output takes the theme's colours."""
    strongest = max(red, green, blue)
    if strongest < 60:
        return "bright-black"
    bits = (red > strongest * 0.6) | (green > strongest * 0.6) << 1 | (blue > strongest * 0.6) << 2
    return f"bright-{_ANSI_COLOUR_NAMES[bits]}" if strongest > 200 else _ANSI_COLOUR_NAMES[bits]


_SGR_CODE_PATTERN = lazy_regex(r"[\d;:]{1,24}")


def add_ansi_colours(text: str, spans: Sequence[ColouredSpan]) -> str:
    """Returns a text with colour sequences inserted for the given spans; spans that do not fit the text are skipped."""
    if not spans:
        return text
    lines = text.split("\n")
    for span in reversed(spans):
        if (
            not 0 <= span.line < len(lines)
            or not 0 <= span.start < span.end
            or not _SGR_CODE_PATTERN.fullmatch(span.sgr)
        ):
            continue
        line = lines[span.line]
        if inner := line[span.start : span.end]:
            lines[span.line] = f"{line[: span.start]}\x1b[{span.sgr}m{inner}\x1b[0m{line[span.end :]}"
    return "\n".join(lines)
