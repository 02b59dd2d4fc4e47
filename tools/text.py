"""Makes outside text harmless: control characters and escape sequences never reach a model or a terminal.

`escape_controls` keeps every character of a file countable (a control character becomes its Unicode picture, so
that an edit can name it); `render_plain_output` interprets text as a terminal would and keeps what stays on the screen;
`strip_markdown_marks` is for text that is shown in one row.
`tools.files.encoding` detects encodings."""

import re
import unicodedata

from tools.overwritten_text import render_overwritten_line, render_overwritten_text
from tools.patterns import DIRECTION_CONTROLS, late

_CONTROLS_AND_SURROGATES_PATTERN = late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT_CHARACTER = "\ufffd"
_CONTROL_PICTURES: dict[int, str] = {
    code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)
}
_CONTROL_PICTURES[0x7F] = "\u2421"
_CONTROL_PICTURES.update(dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT_CHARACTER))

_CONTROLS_BY_PICTURE = {0x2400 + code: chr(code) for code in range(0x20)} | {0x2421: "\x7f"}

# A string sequence (OSC, DCS, SOS, PM, APC) ends with BEL or ST on its own line; without an end only its introducer is
# removed, so that no text is lost.
_ESCAPE_SEQUENCE_PATTERN = late(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_STRING_SEQUENCES_PATTERN = late(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*m"
)
_MARKDOWN_MARKS_PATTERN = late(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|(?<![\w*_~\\])(?P<marks>\*{1,3}|_{1,3}|~~)(?![\s*_~])(?P<words>.{1,300}?)(?<![\s*_~])(?P=marks)(?![\w*_~]|\.\w)"
    r"|!?\[(?P<label>[^\]\n]{1,300})\]\([^()\s]{1,300}\)"
    r"|^ {0,3}(?:#{1,6} +|> ?|```.*$)",
    re.MULTILINE,
)
_LINE_ENDS_PATTERN = late(r"(?<!\r)\r+\n")
_DROPPED_CONTROLS_PATTERN = late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES_PATTERN = late(r"[\ud800-\udfff]")


def escape_controls(text: str) -> str:
    """Replaces every control character of a text except tab and line feed with its Unicode picture (`␛` for escape).
    The result has the same number of characters and is valid UTF-8."""
    if not _CONTROLS_AND_SURROGATES_PATTERN.search(text):
        return text
    return _SURROGATES_PATTERN.sub(_REPLACEMENT_CHARACTER, text).translate(_CONTROL_PICTURES)


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
    return text if text.isascii() else DIRECTION_CONTROLS.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def escape_json_for_terminal(line: str) -> str:
    """Returns JSON with the same data in which control characters and direction marks are escaped, for output on a
    terminal."""
    for unsafe in (_CONTROLS_AND_SURROGATES_PATTERN, DIRECTION_CONTROLS):
        line = unsafe.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
    return line


def unescape_controls(text: str) -> str:
    """Turns Unicode pictures of control characters back into the characters, as far as the pictures allow."""
    return text.translate(_CONTROLS_BY_PICTURE)


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
    return _STRING_SEQUENCES_PATTERN.sub("", _LINE_ENDS_PATTERN.sub("\n", text))


def _remove_controls(text: str) -> str:
    return _SURROGATES_PATTERN.sub(
        _REPLACEMENT_CHARACTER, _DROPPED_CONTROLS_PATTERN.sub("", _ESCAPE_SEQUENCE_PATTERN.sub("", text))
    )


_INVISIBLE_CHARACTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that draw nothing, although they count as letters, marks or symbols."""
_INVISIBLE_CATEGORIES = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"))
_SPACE_RUN_PATTERN = late(" {3,}")


def reveal_hidden_characters(text: str) -> str:
    """Returns a text for a person to judge: invisible and direction-changing characters as code points, runs of
    spaces as their length."""
    if not text.isascii() or not text.isprintable():
        text = "".join(_character_name(character) for character in text)
    return _SPACE_RUN_PATTERN.sub(lambda run: f"<{len(run[0])} blanks>", text)


def _character_name(character: str) -> str:
    is_unseen = character in _INVISIBLE_CHARACTERS or unicodedata.category(character) in _INVISIBLE_CATEGORIES
    return f"<U+{ord(character):04X}>" if is_unseen and character != " " else character


_MAX_LAST_LINES_CHARS = 4_000


def last_text_lines(text: str, count: int = 3) -> tuple[str, ...]:
    """Returns the last lines of a text that are not empty, each without control characters."""
    lines = (one_line(line.expandtabs()).rstrip() for line in text[-_MAX_LAST_LINES_CHARS:].split("\n"))
    return tuple([line for line in lines if line.strip()][-count:])
