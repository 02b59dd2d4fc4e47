"""Reading continues after any input bytes; older mouse reports are converted."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from widgets.terminal.input_splitter import TerminalInputSplitter
from widgets.terminal.terminal_input import TerminalInputReader, join_leading_escape_as_alt
from widgets.textual_internals import TerminalInputParser


def parsed(*pieces: bytes) -> list[events.Event]:
    parser, reader = XTermParser(), TerminalInputReader()
    found: list[Message] = []
    for piece in pieces:
        if text := reader.read_text(piece):
            found += parser.feed(text)
    return [event for event in found if isinstance(event, events.Event)]


@pytest.mark.parametrize(
    "report",
    [b"\x1b[M" + bytes([32, 32 + 120, 32 + 7]), b"\x1b[32;120;7M", b"\x1b[<0;120;7M"],
    ids=["X10, beyond column 95", "urxvt", "SGR"],
)  # fmt: skip
def test_a_click_is_a_click_in_every_encoding(report: bytes) -> None:
    (event,) = parsed(report)
    assert isinstance(event, events.MouseDown)
    assert (event.x, event.y, event.button) == (119, 6, 1)


@pytest.mark.parametrize("at", range(3, 6))
def test_a_report_may_come_in_two_pieces(at: int) -> None:
    report = b"\x1b[M" + bytes([32, 32 + 120, 32 + 7])
    found = parsed(report[:at], report[at:] + b"x")
    assert [type(event) for event in found[-2:]] == [events.MouseDown, events.Key]


def test_letting_go_and_the_wheel() -> None:
    release, wheel = parsed(b"\x1b[M\x23\x30\x30", b"\x1b[M\x61\x30\x30")
    assert isinstance(release, events.MouseUp)
    assert isinstance(wheel, events.MouseScrollDown)


@pytest.mark.parametrize("cut", range(3, 40))
def test_sequences_in_a_paste_lose_nothing_but_themselves(cut: int) -> None:
    data = b"\x1b[200~one \x1b[31mred\x1b[0m \x1b[M two\x1b\x1b[201~x"
    (paste,) = [event for event in parsed(data[:cut], data[cut:]) if isinstance(event, events.Paste)]
    assert paste.text == "one red  two"


def test_what_is_pasted_is_not_read_as_mouse() -> None:
    (paste,) = [
        event for event in parsed(b"\x1b[200~a \x1b[M!!! b\x1b[201~", b"x") if isinstance(event, events.Paste)
    ]
    assert paste.text == "a !!! b"


def test_a_report_that_is_no_number_is_passed_over() -> None:
    assert [event.key for event in parsed(b"\x1b[<NaN;NaN;NaNMx") if isinstance(event, events.Key)] == ["x"]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_no_bytes_end_the_reading(pieces: list[bytes]) -> None:
    reader = TerminalInputReader()
    assert isinstance("".join(map(reader.read_text, pieces)) + reader.read_text(b"", final=True), str)


@given(st.text(max_size=60).filter(lambda text: "\x1b" not in text), st.integers(0, 60))
def test_text_comes_through_as_it_is(text: str, cut: int) -> None:
    reader = TerminalInputReader()
    data = text.encode("utf-8", "ignore")
    assert reader.read_text(data[:cut]) + reader.read_text(data[cut:], final=True) == data.decode()


@pytest.mark.parametrize(
    ("sent", "key"),
    [
        (b"\x1bq", "alt+q"),
        (b"\x1b\r", "alt+enter"),
        (b"\x1bQ", "alt+shift+q"),
        (b"\x1b.", "alt+full_stop"),
        (b"\x1b1", "alt+1"),
        (b"\x1b\x1d", "alt+ctrl+right_square_bracket"),
        (b"\x1b\x0c", "alt+ctrl+l"),
        (b"\x1b\x00", "alt+ctrl+grave_accent"),
        (b"\x1b\x7f", "alt+backspace"),
        (b"\x1b\x08", "alt+backspace"),
        (b"\x1b\n", "alt+enter"),
        (b"\x1b\t", "alt+tab"),
        (b"\x1bb", "alt+b"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[27;3;13~", "alt+enter"),
        (b"\x1b[27;5;13~", "ctrl+enter"),
        (b"\x1b[1;3A", "alt+up"),
        (b"\x1bOA", "up"),
    ],
)
def test_alt_is_a_key_in_terminals_that_send_an_escape_before_the_letter(sent: bytes, key: str) -> None:
    (event,) = XTermParser(False).feed(TerminalInputReader().read_text(sent))
    assert isinstance(event, events.Key)
    assert event.key == key
    assert not event.is_printable


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"\x1b[27;1:1u", ["escape"]),
        (b"\x1b[27;1:1u\x1b[27;1:3u", ["escape"]),
        (b"\x1b[97;3:1u\x1b[97;3:2u", ["alt+a", "alt+a"]),
        (b"\x1b[19;1:1~", ["f8"]),
        (b"\x1b[1;5:1C", ["ctrl+right"]),
    ],
)
@pytest.mark.parametrize("cut", [3, 5, 7, 99])
def test_a_press_with_its_kind_of_event_is_the_key_and_a_release_is_none(
    sent: bytes, keys: list[str], cut: int
) -> None:
    parser, reader = TerminalInputParser(), TerminalInputReader()
    found = [one for piece in (sent[:cut], sent[cut:]) for one in parser.feed(reader.read_text(piece))]
    assert [event.key for event in found if isinstance(event, events.Key)] == keys


def test_what_begins_with_an_escape_and_is_no_key_stays_as_it_is() -> None:
    for sent in (
        b"\x1b]11;rgb:00/00/00\x1b\\",
        b"\x1bP1$r0m\x1b\\",
        b"\x1b[<0;3;4M",
        b"\x1b[?2026;2$y",
        b"\x1b_x\x1b\\",
    ):
        assert TerminalInputReader().read_text(sent) == sent.decode()


NUMBERS = (0, 1, 2, 3, 4, 13, 27, 97, 127, 201, 55296, 57358, 1114112, 99999999999, "")
ENDS = "u~ABCDHFPQRSMmtIOcnyq$@"
PARAMETERS = "0123456789;:<>?= !#$"


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_no_sequence_ends_the_reading(count: int) -> None:
    """What a terminal should never send means nothing, and what is typed behind it is typed."""
    chance = random.Random(3)
    parser = TerminalInputParser()
    for _ in range(count):
        sequence = a_sequence(chance)
        for message in parser.feed(TerminalInputReader().read_text(sequence.encode(), final=True)):
            if isinstance(message, events.Resize):
                assert message.size.width < 5000 and message.size.height < 5000, sequence
        list(parser.feed_final("\x1b"))
        assert [one.key for one in parser.feed("x") if isinstance(one, events.Key)] == ["x"], sequence


def a_sequence(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.2:
        fields = ";".join(str(chance.choice((*NUMBERS, -1, 35, 64))) for _ in range(3))
        return f"\x1b[<{fields}{chance.choice('Mm')}"
    if kind < 0.6:
        fields = (
            ":".join(str(chance.choice(NUMBERS)) for _ in range(chance.randint(1, 3)))
            for _ in range(chance.randint(1, 5))
        )
        return f"\x1b[{';'.join(fields)}{chance.choice(ENDS)}"
    text = "".join(chance.choice(PARAMETERS) for _ in range(chance.randint(0, 12)))
    if kind < 0.9:
        return f"\x1b[{text}{chr(chance.randint(0x40, 0x7E))}"
    return f"\x1b{chr(chance.randint(0x20, 0x7E))}{text}"


ASCII_KEYS = [chr(code) for code in range(128) if chr(code) not in "\x1b[O]PX^_"]


@pytest.mark.parametrize("key", [*ASCII_KEYS, "[\r", "]\r", "å", "∑", "≈"])
@pytest.mark.parametrize("is_cut", [False, True])
def test_an_escape_is_never_lost_before_a_key(key: str, is_cut: bool) -> None:
    """Nothing that follows an Escape at once is a plain key: Enter would let a call run."""
    reader, incoming, parser = TerminalInputReader(), TerminalInputSplitter(), TerminalInputParser()
    pieces = ("\x1b", key) if is_cut else (f"\x1b{key}",)
    events_of = [
        event
        for piece in pieces
        for part in incoming.feed(reader.read_text(piece.encode()))
        for event in parser.feed(join_leading_escape_as_alt(str(part)))
    ]
    assert isinstance(events_of[0], events.Key)
    assert events_of[0].key.startswith("alt+") or events_of[0].key == "escape"


@pytest.mark.parametrize("begun", ["\x1b[", "\x1b]", "\x1b_"])
def test_a_sequence_that_never_comes_was_alt_with_its_first_key(begun: str) -> None:
    (event,) = TerminalInputParser().feed_final(join_leading_escape_as_alt(begun, is_whole=True))
    assert isinstance(event, events.Key) and event.key.startswith("alt+")


def test_an_escape_and_a_key_with_ctrl_are_two_keys() -> None:
    incoming, reader, parser = TerminalInputSplitter(), TerminalInputReader(), TerminalInputParser()
    keys = [
        event.key
        for piece in ("\x1b", "\x04")
        for part in incoming.feed(reader.read_text(piece.encode()))
        for event in parser.feed(join_leading_escape_as_alt(str(part)))
        if isinstance(event, events.Key)
    ]
    assert keys == ["escape", "ctrl+d"]
