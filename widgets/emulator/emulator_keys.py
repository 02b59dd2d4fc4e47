"""Encodes keys as the bytes that a terminal sends to its program."""

from typing import Final

_CSI_LETTER_BY_ARROW_KEY: Final = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_CSI_NUMBER_BY_KEY: Final = {
    "insert": 2,
    "delete": 3,
    "pageup": 5,
    "pagedown": 6,
    "f5": 15,
    "f6": 17,
    "f7": 18,
    "f8": 19,
    "f9": 20,
    "f10": 21,
    "f11": 23,
    "f12": 24,
}
_SS3_LETTER_BY_FUNCTION_KEY: Final = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_SENT_TEXT_BY_PLAIN_KEY: Final = {
    "enter": "\r",
    "tab": "\t",
    "backspace": "\x7f",
    "escape": "\x1b",
    "space": " ",
}
_CONTROL_CHARACTER_BY_KEY: Final = {
    "space": "\0",
    "at": "\0",
    "left_square_bracket": "\x1b",
    "backslash": "\x1c",
    "right_square_bracket": "\x1d",
    "circumflex_accent": "\x1e",
    "underscore": "\x1f",
    "slash": "\x1f",
    "minus": "\x1f",
    "question_mark": "\x7f",
    "backspace": "\b",
}


def encode_key_for_terminal(key: str, character: str | None, *, has_application_keys: bool) -> bytes:
    """Returns the bytes that a terminal sends for a key name (`ctrl+c`, `shift+up`); empty for a key that sends
    nothing."""
    *given, name = key.split("+") if key != "+" else ["+"]
    modifiers = set(given)
    special = _encode_special_key(name, modifiers, has_application_keys=has_application_keys)
    if special:
        return special.encode()
    prefix = "\x1b" if "alt" in modifiers else ""
    if "ctrl" in modifiers:
        if len(name) == 1 and name.isascii() and name.isalpha():
            return (prefix + chr(ord(name.upper()) & 0x1F)).encode()
        return (
            (prefix + _CONTROL_CHARACTER_BY_KEY[name]).encode() if name in _CONTROL_CHARACTER_BY_KEY else b""
        )
    if name == "tab" and "shift" in modifiers:
        return b"\x1b[Z"
    text = _SENT_TEXT_BY_PLAIN_KEY.get(name) or character or (name if len(name) == 1 else "")
    return (prefix + text).encode("utf-8", "ignore") if text else b""


def _encode_special_key(name: str, modifiers: set[str], *, has_application_keys: bool) -> str:
    """Returns the bytes that a terminal sends for an arrow, paging or function key, whose modifiers are sent as a
    number."""
    number = 1 + ("shift" in modifiers) + 2 * ("alt" in modifiers) + 4 * ("ctrl" in modifiers)
    if name in _CSI_LETTER_BY_ARROW_KEY:
        if number > 1:
            return f"\x1b[1;{number}{_CSI_LETTER_BY_ARROW_KEY[name]}"
        return ("\x1bO" if has_application_keys else "\x1b[") + _CSI_LETTER_BY_ARROW_KEY[name]
    if name in _SS3_LETTER_BY_FUNCTION_KEY:
        return (
            f"\x1b[1;{number}{_SS3_LETTER_BY_FUNCTION_KEY[name]}"
            if number > 1
            else "\x1bO" + _SS3_LETTER_BY_FUNCTION_KEY[name]
        )
    if name in _CSI_NUMBER_BY_KEY:
        return (
            f"\x1b[{_CSI_NUMBER_BY_KEY[name]};{number}~"
            if number > 1
            else f"\x1b[{_CSI_NUMBER_BY_KEY[name]}~"
        )
    return ""


def encode_paste_for_terminal(text: str, *, has_bracketed_paste: bool) -> bytes:
    """Returns the bytes that a terminal sends for a pasted text; an end mark of a bracketed paste inside the text is
    removed."""
    text = text.replace("\x1b", "").replace("\r\n", "\r").replace("\n", "\r")
    data = text.encode("utf-8", "ignore")
    return b"\x1b[200~" + data + b"\x1b[201~" if has_bracketed_paste else data
