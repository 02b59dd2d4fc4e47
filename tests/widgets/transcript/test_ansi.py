"""What programs print, without what they would do to a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from widgets.transcript.leaves.ansi_text import parse_ansi


def test_colours_become_the_themes_colours() -> None:
    assert parse_ansi("a \x1b[1;31mred\x1b[0m b") == ("a red b", [(2, 5, "ansi-red+b")])
    assert parse_ansi("\x1b[92mok\x1b[39m.") == ("ok.", [(0, 2, "ansi-bright-green")])
    assert parse_ansi("\x1b[44mon blue") == ("on blue", [(0, 7, "output|ansi-blue")])


def test_colours_of_any_number_come_to_the_nearest_one() -> None:
    assert parse_ansi("\x1b[38;5;196mx\x1b[0m") == ("x", [(0, 1, "ansi-bright-red")])
    assert parse_ansi("\x1b[38;2;0;120;0mx\x1b[0m") == ("x", [(0, 1, "ansi-green")])


def test_progress_bars_show_their_last_state() -> None:
    assert parse_ansi("10%\r50%\r100%\ndone\r\n")[0] == "100%\ndone\n"
    assert parse_ansi("ab\x08c")[0] == "ac"


def test_other_sequences_vanish() -> None:
    text = (
        "\x1b]0;title\x07a\x1b[2J\x1b[10;10Hb\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bP1;2q\x1b\\c\x1b(Bd"
    )
    assert parse_ansi(text)[0] == "ablinkcd"


def test_an_unfinished_sequence_swallows_no_more_than_itself() -> None:
    assert "\x1b" not in parse_ansi("text\x1b[")[0]
    assert parse_ansi("text\x1b]52;c;AAAA")[0] == "text"


@given(
    st.lists(st.sampled_from(["\x1b[", "31m", "\x1b]", "\x07", "\x9b", "a", ";", "\r", "\x08", "\n", "\x1b"]))
)
def test_nothing_dangerous_is_left(parts: list[str]) -> None:
    plain, runs = parse_ansi("".join(parts))
    assert not set("\x1b\x9b\r\x08\x07") & set(plain)
    assert all(0 <= start < end <= len(plain) for start, end, _ in runs)
