"""Makes outside text harmless: control characters and escape sequences never reach a model or a terminal.

`escape_controls` keeps every character of a file countable (a control character becomes its Unicode picture, so
that an edit can name it); `render_plain_output` interprets text as a terminal would and keeps what stays on the screen;
`strip_markdown_marks` is for text that is shown in one row.
`tools.files.text_encoding` detects encodings."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from tools.lazy_patterns import TEXT_DIRECTION_CONTROL_PATTERN, lazy_regex
from tools.overwritten_text import render_overwritten_line, render_overwritten_text

_CONTROLS_AND_SURROGATES_PATTERN = lazy_regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT_CHARACTER = "\ufffd"
_PICTURE_BY_CONTROL_CODE: dict[int, str] = {
    code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)
}
_PICTURE_BY_CONTROL_CODE[0x7F] = "\u2421"
_PICTURE_BY_CONTROL_CODE.update(dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT_CHARACTER))

_CONTROL_BY_PICTURE_CODE = {0x2400 + code: chr(code) for code in range(0x20)} | {0x2421: "\x7f"}

# A string sequence (OSC, DCS, SOS, PM, APC) ends with BEL or ST on its own line; without an end only its introducer is
# removed, so that no text is lost.
_ESCAPE_SEQUENCE_PATTERN = lazy_regex(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_TERMINAL_STRING_SEQUENCE_PATTERN = lazy_regex(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*m"
)
_MARKDOWN_MARKS_PATTERN = lazy_regex(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|(?<![\w*_~\\])(?P<marks>\*{1,3}|_{1,3}|~~)(?![\s*_~])(?P<words>.{1,300}?)(?<![\s*_~])(?P=marks)(?![\w*_~]|\.\w)"
    r"|!?\[(?P<label>[^\]\n]{1,300})\]\([^()\s]{1,300}\)"
    r"|^ {0,3}(?:#{1,6} +|> ?|```.*$)",
    re.MULTILINE,
)
_LINE_ENDS_PATTERN = lazy_regex(r"(?<!\r)\r+\n")
_DROPPED_CONTROLS_PATTERN = lazy_regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES_PATTERN = lazy_regex(r"[\ud800-\udfff]")


def escape_controls(text: str) -> str:
    """Replaces every control character of a text except tab and line feed with its Unicode picture (`␛` for escape).
    The result has the same number of characters and is valid UTF-8."""
    if not _CONTROLS_AND_SURROGATES_PATTERN.search(text):
        return text
    return _SURROGATES_PATTERN.sub(_REPLACEMENT_CHARACTER, text).translate(_PICTURE_BY_CONTROL_CODE)


def one_line(text: str) -> str:
    """Returns a name or title as one line, with control characters, line feeds and tabs replaced by pictures."""
    return escape_controls(text).replace("\n", "\u240a").replace("\t", "\u2409")


def strip_markdown_marks(text: str) -> str:
    """Returns a text without the marks of emphasis, code, links, headings and quotes, for one row in which they would
    be noise; code keeps its characters."""
    return _MARKDOWN_MARKS_PATTERN.sub(_words_between_marks, text)


def _words_between_marks(found: re.Match[str]) -> str:
    if (code := found["code"]) is not None:
        return code.strip()
    if (words := found["words"]) is not None:
        return strip_markdown_marks(words)
    return found["label"] or ""


def escape_for_terminal(text: str) -> str:
    """Returns a text that can be printed on a terminal: control characters as pictures, direction controls as code
    points."""
    text = escape_controls(text)
    return (
        text
        if text.isascii()
        else TEXT_DIRECTION_CONTROL_PATTERN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
    )


def escape_json_for_terminal(line: str) -> str:
    """Returns JSON with the same data in which control characters and direction marks are escaped, for output on a
    terminal."""
    for unsafe in (_CONTROLS_AND_SURROGATES_PATTERN, TEXT_DIRECTION_CONTROL_PATTERN):
        line = unsafe.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
    return line


def unescape_controls(text: str) -> str:
    """Turns Unicode pictures of control characters back into the characters, as far as the pictures allow."""
    return text.translate(_CONTROL_BY_PICTURE_CODE)


def render_plain_output(text: str) -> str:
    """Returns a command's output as it stays on a screen: no escape sequences, each line in its final state.

    Keeps the number of lines."""
    if not _CONTROLS_AND_SURROGATES_PATTERN.search(text):
        return text
    text = _remove_string_sequences(text)
    return _remove_controls("\n".join(render_overwritten_line(line) for line in text.split("\n")))


def render_final_output(text: str) -> str:
    """Returns a command's complete output as it stays on a screen; lines that were overwritten later are in their final
    state."""
    return (
        _remove_controls(render_overwritten_text(_remove_string_sequences(text)))
        if _CONTROLS_AND_SURROGATES_PATTERN.search(text)
        else text
    )


def _remove_string_sequences(text: str) -> str:
    """Removes the escape sequences of a text that neither write nor move; their content is not text."""
    return _TERMINAL_STRING_SEQUENCE_PATTERN.sub("", _LINE_ENDS_PATTERN.sub("\n", text))


def _remove_controls(text: str) -> str:
    return _SURROGATES_PATTERN.sub(
        _REPLACEMENT_CHARACTER, _DROPPED_CONTROLS_PATTERN.sub("", _ESCAPE_SEQUENCE_PATTERN.sub("", text))
    )


_INVISIBLE_CHARACTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
    "\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
    "\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe06\ufe07\ufe08\ufe09\ufe0a\ufe0b\ufe0c\ufe0d\ufe0e\ufe0f"
)
"""Characters that draw nothing, although they count as letters, marks, symbols or unassigned; variation selectors
among them."""
_UNICODE_TAG_CHARACTER_RANGE = "\U000e0000", "\U000e0fff"
"""The first and last of the characters that a model reads and no font draws: tags and further variation selectors."""
_RARE_FORMAT_CHARACTER_RANGES = "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
"""Format characters above U+FFFF: of hieroglyphs, shorthand and music."""
_CHARACTERS_OF_KEYCAP_EMOJI = frozenset("#*0123456789")
_JOINERS, _EMOJI_SELECTORS = "\u200c\u200d", "\ufe0e\ufe0f"
_VISIBLE_NUMBER_FORMAT_CHARACTERS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Signs around numbers in Arabic, Syriac and Kaithi, which are drawn although Unicode calls them format characters."""
_HIDDEN_UNICODE_CATEGORIES = frozenset(("Cc", "Cn", "Co", "Cs", "Zs"))
"""Controls, unassigned and private characters and blanks, which only `reveal_hidden_characters` shows."""
_SPACE_RUN_PATTERN = lazy_regex(" {3,}")


def reveal_hidden_characters(text: str) -> str:
    """Returns a text for a person to judge: invisible and direction-changing characters as code points, runs of
    spaces as their length."""
    if not text.isascii() or not text.isprintable():
        text = "".join(_character_name(character) for character in text)
    return _SPACE_RUN_PATTERN.sub(lambda run: f"<{len(run[0])} blanks>", text)


def _character_name(character: str) -> str:
    is_unseen = _is_invisible(character) or unicodedata.category(character) in _HIDDEN_UNICODE_CATEGORIES
    return _code_point(character) if is_unseen and character != " " else character


def _code_point(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def _is_invisible(character: str) -> bool:
    """Returns whether a character draws nothing or changes the direction of writing."""
    return character != "" and (
        character in _INVISIBLE_CHARACTERS
        or _UNICODE_TAG_CHARACTER_RANGE[0] <= character <= _UNICODE_TAG_CHARACTER_RANGE[1]
        or (
            unicodedata.category(character) in ("Cf", "Zl", "Zp")
            and character not in _VISIBLE_NUMBER_FORMAT_CHARACTERS
        )
    )


def remove_invisible_chars(text: str) -> str:
    """Removes characters that are invisible or change the direction of writing, except what joins emoji and letters."""
    return _replace_invisible(text, lambda character: "")


def show_invisible_chars(text: str) -> str:
    """Shows the characters that `remove_invisible_chars` removes as code points."""
    return _replace_invisible(text, _code_point)


def find_hidden_character(text: str, *, allowed: str = "") -> str:
    """Returns the number (`U+202E`) of the first character of a text that is a control character or that
    `remove_invisible_chars` removes; empty if there is none. A name, an address or a value that is sent back as it is
    cannot be cleaned, so an item with such a character is left out or refused."""
    if text.isascii() and text.isprintable():
        return ""
    return next(
        (
            f"U+{ord(character):04X}"
            for at, character in enumerate(text)
            if character not in allowed
            and (
                unicodedata.category(character) in ("Cc", "Cs")
                or (_is_invisible(character) and not _joins_drawn(text, at))
            )
        ),
        "",
    )


def _replace_invisible(text: str, replacement: Callable[[str], str]) -> str:
    if text.isascii():
        return text
    return _invisible_pattern().sub(
        lambda found: found[0] if _joins_drawn(text, found.start()) else replacement(found[0]), text
    )


@cache
def _invisible_pattern() -> re.Pattern[str]:
    common = "".join(filter(_is_invisible, map(chr, range(0x10000))))
    return re.compile(
        f"[{common}{_RARE_FORMAT_CHARACTER_RANGES}{_UNICODE_TAG_CHARACTER_RANGE[0]}-{_UNICODE_TAG_CHARACTER_RANGE[1]}]"
    )


def _joins_drawn(text: str, at: int) -> bool:
    """Returns whether an invisible character is a joiner beside a letter or sign that is not ASCII, or the selector
    that makes the sign before it an emoji or a key cap."""
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if text[at] in _EMOJI_SELECTORS:
        return _is_drawn(before) or (before in _CHARACTERS_OF_KEYCAP_EMOJI and after == "\u20e3")
    if text[at] not in _JOINERS:
        return False
    if before == "\ufe0f":
        return _is_drawn(after)
    return (_is_drawn(before) and not _is_invisible(after)) or (
        _is_drawn(after) and not _is_invisible(before)
    )


def _is_drawn(character: str) -> bool:
    return character > "\x7f" and not _is_invisible(character)


_MAX_LAST_LINES_CHARS = 4_000


def last_nonempty_lines(text: str, count: int = 3) -> tuple[str, ...]:
    """Returns the last lines of a text that are not empty, each without control characters."""
    lines = (one_line(line.expandtabs()).rstrip() for line in text[-_MAX_LAST_LINES_CHARS:].split("\n"))
    return tuple([line for line in lines if line.strip()][-count:])
