"""Makes foreign text harmless: control characters and escape sequences never reach a model or a terminal.

Two ways, for two kinds of text. `visible` keeps every character of a file countable (a control character
becomes its picture, so an edit can name it); `plain` reads text as a terminal would and keeps what would stay on
the screen. What encoding bytes have is the business of `tools.files.encoding`.
"""

import unicodedata

from tools.patterns import late

_UNSAFE = late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_PICTURES: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_PICTURES[0x7F] = "\u2421"
_PICTURES.update(dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT))

_CONTROLS_OF_PICTURES = {0x2400 + code: chr(code) for code in range(0x20)} | {0x2421: "\x7f"}

# A string sequence (OSC, DCS, SOS, PM, APC) ends with BEL or ST on its own line; without an end only its
# introducer goes, so that no text is lost.
_ESCAPES = late(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_DROPPED = late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = late(r"[\ud800-\udfff]")


def visible(text: str) -> str:
    """`text` with every control character except tab and line feed as its picture (`␛` for escape).

    Has as many characters as before, and is valid UTF-8.
    """
    if not _UNSAFE.search(text):
        return text
    return _SURROGATES.sub(_REPLACEMENT, text).translate(_PICTURES)


def one_line(text: str) -> str:
    """A name or title as one line: like `visible`, with line feeds and tabs as pictures too."""
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def from_pictures(text: str) -> str:
    """What `one_line` was given, as far as pictures tell."""
    return text.translate(_CONTROLS_OF_PICTURES)


def plain(text: str) -> str:
    """A command's output as it would stay on a screen: no escape sequences, overwritten text gone.

    Keeps the number of lines.
    """
    if not _UNSAFE.search(text):
        return text
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    if "\r" in text or "\x08" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return _SURROGATES.sub(_REPLACEMENT, _DROPPED.sub("", text))


def _overwritten(line: str) -> str:
    """What is left to see of a line that goes back to its beginning, or a character back."""
    if "\r" in line:
        line = line.rstrip("\r").rsplit("\r", 1)[-1]
    if "\x08" not in line:
        return line
    kept: list[str] = []
    for char in line:
        if char != "\x08":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)


_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Nothing is drawn for these, although they count as letters, marks or symbols."""
_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"))
_BLANKS = late(" {3,}")


def spelled_out(text: str) -> str:
    """A text that somebody has to judge, with nothing in it that hides: what is not seen, or turns the direction of
    writing, by its number, runs of blanks by their length."""
    if not text.isascii() or not text.isprintable():
        text = "".join(_spelled(character) for character in text)
    return _BLANKS.sub(lambda run: f"<{len(run[0])} blanks>", text)


def _spelled(character: str) -> str:
    is_unseen = character in _UNSEEN or unicodedata.category(character) in _UNSEEN_CATEGORIES
    return f"<U+{ord(character):04X}>" if is_unseen and character != " " else character
