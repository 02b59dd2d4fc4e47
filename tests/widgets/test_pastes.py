"""Keys, pastes and answers of the terminal are told apart wherever the stream of them is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.constants import ESCAPE_DELAY
from textual.events import Paste

from tests.support.clock import Clock
from widgets.terminal.input_splitter import TerminalInputSplitter, TerminalReply

IMAGES, NAME, CELL = "\x1b_Gi=3190;OK\x1b\\", "\x1bP>|kitty(0.35.2)\x1b\\", "\x1b[6;20;10t"
ANSWERS = [
    "\x1b]11;rgb:1212/1818/1a1a\x1b\\",
    "\x1b]10;rgb:ff/ff/ff\x07",
    "\x1b[?62;22c",
    "\x1b[?c",
    "\x1b_Gi=7;ENOENT:no such image\x1b\\",
    "\x1b]1337;ReportCellSize=17.0;8.0;2.0\x1b\\",
    *(IMAGES, NAME, CELL),
]
KEYS = ["a", "é", "漢", "\r", "\x03", "\x1b[A", "\x1b[1;5C", "\x1b[<0;3;4M", "\x1b[?2026;2$y", "\x1b[I"]
PASTED = st.text(st.sampled_from("ab\n\r\x1b[]0123;~漢\0"), max_size=30).filter(
    lambda text: "\x1b[201~" not in text
)


def taken(*pieces: str) -> list[str]:
    """What comes out, pastes in brackets, neighbouring keys joined."""
    incoming = TerminalInputSplitter()
    every = [part for piece in pieces for part in incoming.feed(piece)]
    parts = [part for part in every if not isinstance(part, TerminalReply)]
    joined: list[str] = []
    for is_paste, group in itertools.groupby(parts, lambda part: isinstance(part, Paste)):
        texts = [part.text if isinstance(part, Paste) else part for part in group]
        joined += [f"<{text}>" for text in texts] if is_paste else ["".join(texts)]
    return joined


def test_a_paste_with_any_content_is_one_event() -> None:
    hostile = "rm\r\x1b[A\x1bx" + "\x1b]52;c;" + "y" * 100 + "\r"
    assert taken(f"ab\x1b[200~{hostile}\x1b[201~c") == ["ab", f"<{hostile}>", "c"]
    assert taken("\x1b[200~\x1b[201~") == ["<>"]


def test_answers_are_no_keys() -> None:
    assert taken(f"a{ANSWERS[0]}b{ANSWERS[2]}c") == ["abc"]
    assert taken("\x1b]11;rgb:12", "12/1818/1a1a\x1b", "\\x") == ["x"]


def test_answers_are_told() -> None:
    assert list(TerminalInputSplitter().feed(f"a{IMAGES}b{NAME}{CELL}")) == ["a", IMAGES, "b", NAME, CELL]


def test_keys_wait_no_longer_than_an_escape_does() -> None:
    for key in ("\x1bO", "x", "\x1b[1"):
        assert taken(key) == [key]
    for key in ("\x1b", "\x1b]", "\x1b_", "\x1bP", "\x1b_G"):
        clock = Clock()
        incoming = TerminalInputSplitter(clock)
        assert list(incoming.feed(key)) == [] and incoming.release_held_input() == ""
        assert incoming.held_input_timeout == ESCAPE_DELAY
        clock.now = ESCAPE_DELAY
        assert incoming.release_held_input() == key
        assert incoming.held_input_timeout is None and list(incoming.feed("x")) == ["x"]
    endless = "\x1b]1;" + "y" * 300
    assert taken(endless) == [endless]


@pytest.mark.parametrize("rest", ["A", "97;3u", "200~rm -rf x\r\x1b[201~"])
def test_a_sequence_that_is_cut_behind_its_beginning_is_waited_for(rest: str) -> None:
    clock = Clock()
    incoming = TerminalInputSplitter(clock)
    assert list(incoming.feed("\x1b[")) == []
    clock.now = 0.5
    assert incoming.release_held_input() == ""
    (part,) = incoming.feed(rest)
    assert part.text == "rm -rf x\r" if isinstance(part, Paste) else part == f"\x1b[{rest}"


@pytest.mark.parametrize("answer", ANSWERS[:2] + ANSWERS[4:8])
def test_an_answer_without_an_end_is_not_typed_and_takes_no_keys_with_it(answer: str) -> None:
    begun = answer[:8]
    clock = Clock()
    incoming = TerminalInputSplitter(clock)
    assert list(incoming.feed(begun)) == []
    clock.now = 5.0
    assert incoming.release_held_input() == ""
    assert list(incoming.feed("yes\r")) == ["yes\r"]
    incoming = TerminalInputSplitter(clock)
    assert list(incoming.feed(begun)) == []
    pressed = "".join(part for key in "\tno\r" for part in incoming.feed(key) if isinstance(part, str))
    clock.now = 10.0
    assert pressed + incoming.release_held_input() == "\tno\r"


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A stream, and what is to come of it."""
    sent, wanted = "", [""]
    for kind in draw(st.lists(st.sampled_from("kap"), max_size=12)):
        match kind:
            case "k":
                key = draw(st.sampled_from(KEYS))
                sent += key
                wanted[-1] += key
            case "a":
                sent += draw(st.sampled_from(ANSWERS))
            case _:
                text = draw(PASTED)
                sent += f"\x1b[200~{text}\x1b[201~"
                wanted += [f"<{text.replace(chr(0), '')}>", ""]
    return sent, [part for part in wanted if part]


@given(streams(), st.data())
def test_where_the_stream_is_cut_changes_nothing(stream: tuple[str, list[str]], data: st.DataObject) -> None:
    sent, wanted = stream
    places = range(1, len(sent))
    cuts = sorted(data.draw(st.lists(st.sampled_from(places), max_size=6, unique=True)) if places else [])
    pieces = [sent[start:end] for start, end in itertools.pairwise([0, *cuts, len(sent)])]
    assert taken(*pieces) == wanted
