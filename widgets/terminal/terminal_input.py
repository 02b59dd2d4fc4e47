"""Converts terminal input for Textual's parser: any bytes, mouse reports and keys of older
encodings.

Textual decodes strictly: one invalid byte (a binary paste, an old mouse report beyond column
95 after a terminal was attached again) ends the input thread. It also knows only SGR mouse
reports, and Alt with a key only as kitty sends it: what other terminals send for Alt+Enter
would be Enter."""

import codecs
import re

from tools.lazy_patterns import lazy_regex

_X10_MOUSE_REPORT_PATTERN = lazy_regex(rb"\x1b\[M([\x20-\xff])([\x20-\xff])([\x20-\xff])", re.DOTALL)
_URXVT_MOUSE_REPORT_PATTERN = lazy_regex(rb"\x1b\[(\d+);(\d+);(\d+)M")
_MOUSE_REPORT_WITH_NAN_PATTERN = lazy_regex(rb"\x1b\[<[-\d;.]*NaN[-\w;.]*[Mm]")
_ESCAPE_PREFIXED_KEY_PATTERN = lazy_regex(rb"\x1b([\x08-\x0a\r \x21-\x4e\x51-\x57\x59\x5a`a-z{-\x7f])")
r"""Matches an Escape before a key, which means Alt; `terminal_driver` takes all of these for ambiguous. Excludes the
start or end of a sequence ([ ] O P X ^ _ \)."""
_ESCAPE_PREFIXED_CTRL_PATTERN = lazy_regex(rb"\x1b([\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f])")
_STRING_OR_META_BACKSLASH_PATTERN = lazy_regex(rb"\x1b[\]_PX^][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b(\\)")
"""Matches a whole reply that ends like Alt with a backslash, or that key, which is the group."""
_ESCAPE_PREFIXED_SEQUENCE_START_PATTERN = lazy_regex(rb"\x1b([\[\]_PX^])(?=[\x00-\x1a])")
"""Matches what begins a sequence and cannot be one, because of the key behind it."""
_UNFOLLOWED_SEQUENCE_START_PATTERN = lazy_regex(rb"\x1b([\[\]_PX^])")
_XTERM_MODIFIED_KEY_PATTERN = lazy_regex(rb"\x1b\[27;(\d+);(\d+)~")
"""Matches keys in xterm's encoding (modifyOtherKeys), which tmux uses with `extended-keys`."""
_KITTY_KEY_PATTERN = lazy_regex(rb"\x1b\[(\d+)(?::\d*)*;(\d+):[12]([A-Zu~])")
"""Matches a press or a repetition of a key in kitty's encoding with the kind of event, which a terminal sends that
another program left in this mode; without it Textual would drop the key, an Escape too."""
_KEY_BY_CTRL_BYTE = bytes(code + 0x60 if code < 0x1B else code + 0x40 for code in range(0x20)) + bytes(
    range(0x20, 0x100)
)
"""The key that, with Ctrl, sends each byte."""
_KEY_BY_META_BYTE = bytes.maketrans(b"\x08\n", b"\x7f\r")
"""The keys Backspace and Enter for the other byte that terminals send for each."""
_UNFINISHED_MOUSE_REPORT_PATTERN = lazy_regex(
    rb"\x1b\[(?:M[\x20-\xff]{0,2}|\d[\d:]*(?:;[\d:]*){0,2})\Z", re.DOTALL
)
"""Matches the start of an older mouse report or of a key with its kind of event at the end of the
input; the rest comes with the next read."""
_ESCAPE_SEQUENCE_PATTERN = lazy_regex(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?"
)
_UNFINISHED_SEQUENCE_PATTERN = lazy_regex(rb"\x1b(?:\[[0-?]*[ -/]*)?\Z")
_PASTE_BEGIN_BYTES, _PASTE_END_BYTES = b"\x1b[200~", b"\x1b[201~"


class TerminalInputReader:
    """Converts the bytes that are read from the terminal to text that Textual's parser understands."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._unfinished_bytes = b""
        self._is_pasting = self._ended_in_escape = False
        self.has_guessed_alt = False
        """Whether an Escape directly followed by a letter was interpreted as Alt with that letter."""

    def read_text(self, data: bytes, *, final: bool = False) -> str:
        self.has_guessed_alt |= (
            self._ended_in_escape and _ESCAPE_PREFIXED_KEY_PATTERN.match(b"\x1b" + data[:1]) is not None
        )
        self._ended_in_escape = data.endswith(b"\x1b") and not self._is_pasting
        translated = self._translate_input(self._unfinished_bytes + data)
        self._unfinished_bytes = b""
        unfinished = _UNFINISHED_SEQUENCE_PATTERN if self._is_pasting else _UNFINISHED_MOUSE_REPORT_PATTERN
        if not final and (cut := unfinished.search(translated)):
            translated, self._unfinished_bytes = translated[: cut.start()], translated[cut.start() :]
        return self._decode(translated, final=final)

    def _translate_input(self, data: bytes) -> bytes:
        """Converts mouse reports to SGR and keys to the encodings that Textual knows, and removes escape sequences from
        pastes, on which its parser would fail."""
        if b"\x1b" not in data:
            return data
        parts: list[bytes] = []
        while data:
            mark = _PASTE_END_BYTES if self._is_pasting else _PASTE_BEGIN_BYTES
            piece, found, data = data.partition(mark)
            if self._is_pasting and not found:
                cut = _UNFINISHED_SEQUENCE_PATTERN.search(piece)
                end = cut.start() if cut else len(piece)
                parts += [_ESCAPE_SEQUENCE_PATTERN.sub(b"", piece[:end]), piece[end:]]
                continue
            self.has_guessed_alt |= (
                not self._is_pasting and _ESCAPE_PREFIXED_KEY_PATTERN.search(piece) is not None
            )
            parts += [
                _ESCAPE_SEQUENCE_PATTERN.sub(b"", piece)
                if self._is_pasting
                else _convert_mouse_reports_to_sgr(piece),
                found,
            ]
            if found:
                self._is_pasting = not self._is_pasting
        return b"".join(parts)


def _convert_mouse_reports_to_sgr(data: bytes) -> bytes:
    data = _X10_MOUSE_REPORT_PATTERN.sub(
        lambda found: _encode_mouse_report(*(part[0] - 32 for part in found.groups())), data
    )
    data = _URXVT_MOUSE_REPORT_PATTERN.sub(
        lambda found: _encode_mouse_report(int(found[1]) - 32, int(found[2]), int(found[3])), data
    )
    data = _KITTY_KEY_PATTERN.sub(b"\x1b[\\1;\\2\\3", data)
    data = _convert_alt_keys_to_kitty(_MOUSE_REPORT_WITH_NAN_PATTERN.sub(b"", data))
    return _XTERM_MODIFIED_KEY_PATTERN.sub(lambda found: b"\x1b[%b;%bu" % (found[2], found[1]), data)


_KITTY_ESCAPE_KEY = "\x1b[27u"
"""The key Escape in the protocol of kitty, which no key behind it changes."""


def join_leading_escape_as_alt(text: str, *, is_whole: bool = False) -> str:
    """Converts an Escape and a key at the start of the text to Alt with that key, and before a backslash anywhere:
    Textual would drop the Escape before an Enter. An Escape and a key with Ctrl stay two keys. `is_whole`: no more
    input came in time, so that an Escape and a bracket begin no sequence."""
    if is_whole and _UNFOLLOWED_SEQUENCE_START_PATTERN.fullmatch(text.encode("utf-8", "replace")):
        return _UNFOLLOWED_SEQUENCE_START_PATTERN.sub(_encode_kitty_alt_key, text.encode()).decode()
    if "\x1b\\" in text:
        text = _STRING_OR_META_BACKSLASH_PATTERN.sub(
            lambda found: _encode_kitty_alt_key(found) if found[1] else found[0],
            text.encode("utf-8", "replace"),
        ).decode()
    if not text.startswith("\x1b") or len(text) < 2:
        return text
    if not text[
        1
    ].isascii():  # `å` and `∑`, by Option on a Mac: Textual would drop the Escape before most of them
        return f"{_KITTY_ESCAPE_KEY}{text[1:]}"
    if text[1] < " " and text[1] not in "\r\n\t\x1b":
        return f"{_KITTY_ESCAPE_KEY}{text[1:]}"
    return _convert_alt_keys_to_kitty(text[:3].encode("utf-8", "replace")).decode() + text[3:]


def _convert_alt_keys_to_kitty(data: bytes) -> bytes:
    data = _ESCAPE_PREFIXED_SEQUENCE_START_PATTERN.sub(
        _encode_kitty_alt_key, _ESCAPE_PREFIXED_KEY_PATTERN.sub(_encode_kitty_alt_key, data)
    )
    return _ESCAPE_PREFIXED_CTRL_PATTERN.sub(
        lambda found: b"\x1b[%d;7u" % ord(found[1].translate(_KEY_BY_CTRL_BYTE)), data
    )


def _encode_kitty_alt_key(found: re.Match[bytes]) -> bytes:
    """Returns kitty's encoding of Alt with the matched key; a capital is a letter with Shift."""
    key = found[1].translate(_KEY_BY_META_BYTE)
    return b"\x1b[%d;%du" % (ord(key.lower()), 4 if key.isupper() else 3)


def _encode_mouse_report(buttons: int, column: int, row: int) -> bytes:
    """Returns the SGR encoding of a matched older mouse report, in which button 3 means a release without naming the
    button."""
    is_release = buttons & 3 == 3 and not buttons & 0b1100_0000 and not buttons & 32
    if is_release:
        buttons &= ~3
    return b"\x1b[<%d;%d;%d%c" % (
        max(0, buttons),
        max(1, column),
        max(1, row),
        ord("m" if is_release else "M"),
    )
