"""Keys reach a program as its terminal would send them."""

import pytest

from widgets.emulator.emulator_keys import encode_key_for_terminal, encode_paste_for_terminal


@pytest.mark.parametrize(
    ("key", "character", "sent"),
    [
        ("a", "a", b"a"),
        ("A", "A", b"A"),
        ("ä", "ä", "ä".encode()),
        ("plus", "+", b"+"),
        ("space", " ", b" "),
        ("enter", "\r", b"\r"),
        ("tab", "\t", b"\t"),
        ("shift+tab", None, b"\x1b[Z"),
        ("backspace", "\x7f", b"\x7f"),
        ("ctrl+c", "\x03", b"\x03"),
        ("ctrl+backslash", None, b"\x1c"),
        ("ctrl+space", None, b"\0"),
        ("alt+f", None, b"\x1bf"),
        ("up", None, b"\x1b[A"),
        ("shift+ctrl+right", None, b"\x1b[1;6C"),
        ("home", None, b"\x1b[H"),
        ("pagedown", None, b"\x1b[6~"),
        ("ctrl+delete", None, b"\x1b[3;5~"),
        ("f1", None, b"\x1bOP"),
        ("f5", None, b"\x1b[15~"),
        ("f20", None, b""),
    ],
)
def test_each_key_has_its_bytes(key: str, character: str | None, sent: bytes) -> None:
    assert encode_key_for_terminal(key, character, has_application_keys=False) == sent


def test_arrows_change_with_the_programs_wish() -> None:
    assert encode_key_for_terminal("up", None, has_application_keys=True) == b"\x1bOA"
    assert encode_key_for_terminal("shift+up", None, has_application_keys=True) == b"\x1b[1;2A"


def test_a_paste_cannot_end_its_own_brackets() -> None:
    text = "a\nb\x1b[201~rm"
    assert encode_paste_for_terminal(text, has_bracketed_paste=True) == b"\x1b[200~a\rb[201~rm\x1b[201~"
    assert encode_paste_for_terminal(text, has_bracketed_paste=False) == b"a\rb[201~rm"
