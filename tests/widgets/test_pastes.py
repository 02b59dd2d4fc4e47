"""Keys, pastes and answers of the terminal are told apart wherever the stream of them is cut."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste

from widgets.pastes import Incoming

ANSWERS = ["\x1b]11;rgb:1212/1818/1a1a\x1b\\", "\x1b]10;rgb:ff/ff/ff\x07", "\x1b[?62;22c", "\x1b[?c"]
KEYS = ["a", "é", "漢", "\r", "\x03", "\x1b[A", "\x1b[1;5C", "\x1b[<0;3;4M", "\x1b[?2026;2$y", "\x1b[I"]
PASTED = st.text(st.sampled_from("ab\n\r\x1b[]0123;~漢\0"), max_size=30).filter(
    lambda text: "\x1b[201~" not in text
)


def taken(*pieces: str) -> list[str]:
    """What comes out, pastes in brackets, neighbouring keys joined."""
    incoming = Incoming()
    parts = [part for piece in pieces for part in incoming.take(piece)]
    joined: list[str] = []
    for is_paste, group in itertools.groupby(parts, lambda part: isinstance(part, Paste)):
        texts = [part.text if isinstance(part, Paste) else part for part in group]
        joined += [f"<{text}>" for text in texts] if is_paste else ["".join(texts)]
    return joined


def test_a_paste_is_one_thing_whatever_is_in_it() -> None:
    hostile = "rm\r\x1b[A\x1bx" + "\x1b]52;c;" + "y" * 100 + "\r"
    assert taken(f"ab\x1b[200~{hostile}\x1b[201~c") == ["ab", f"<{hostile}>", "c"]
    assert taken("\x1b[200~\x1b[201~") == ["<>"]


def test_late_answers_are_dropped() -> None:
    assert taken(f"a{ANSWERS[0]}b{ANSWERS[2]}c") == ["abc"]
    assert taken("\x1b]11;rgb:12", "12/1818/1a1a\x1b", "\\x") == ["x"]


def test_keys_are_never_kept_waiting() -> None:
    for key in ("\x1b", "\x1b[", "\x1b]", "\x1bO", "x"):
        assert taken(key) == [key]
    endless = "\x1b]1;" + "y" * 300
    assert taken(endless) == [endless]


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
    # A cut within the first characters of a sequence leaves it to the parser of keys, which knows pastes too.
    places = [at for at in range(1, len(sent)) if "\x1b" not in sent[max(0, at - 3) : at]]
    cuts = sorted(data.draw(st.lists(st.sampled_from(places), max_size=6, unique=True)) if places else [])
    pieces = [sent[start:end] for start, end in itertools.pairwise([0, *cuts, len(sent)])]
    assert taken(*pieces) == wanted
