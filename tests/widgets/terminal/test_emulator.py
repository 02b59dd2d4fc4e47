"""What a program writes is what stands on the screen, as in other terminals; nothing of it gets any further."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.emulator.emulator import TerminalEmulator


class Screen(TerminalEmulator):
    """Notes what it answers."""

    def __init__(self, columns: int = 20, lines: int = 5) -> None:
        self.replies: list[bytes] = []
        super().__init__(columns, lines, reply=self.replies.append)
        self.lines = lines

    def after(self, text: str) -> "Screen":
        self.feed(text.encode())
        return self

    @property
    def shown(self) -> list[str]:
        rows = ["".join(piece for piece, _ in self.styled_row_pieces(y)).rstrip() for y in range(self.lines)]
        while rows and not rows[-1]:
            rows.pop()
        return rows


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("10%\r99", ["99%"]),
        ("abc\b\bX", ["aXc"]),
        ("a\tb", ["a       b"]),
        ("\x1b[2;3Hx\x1b[Hy", ["y", "  x"]),
        ("abcdef\x1b[3D\x1b[K", ["abc"]),
        ("abcdef\x1b[3D\x1b[1K", ["    ef"]),
        ("a\r\nb\r\nc\x1b[2J", []),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[J", ["a"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[L", ["a", "", "b", "c"]),
        ("a\r\nb\r\nc\x1b[2;1H\x1b[M", ["a", "c"]),
        ("abcdef\r\x1b[2P", ["cdef"]),
        ("abcdef\r\x1b[2@", ["  abcdef"]),
        ("abcdef\r\x1b[2X", ["  cdef"]),
        ("abcd\r\x1b[4hXY\x1b[4l", ["XYabcd"]),
        ("ab\x1b[3b", ["abbbb"]),
        ("1\r\n2\r\n3\r\n4\r\n5\r\n6", ["2", "3", "4", "5", "6"]),
        ("1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n", ["1", "3", "", "4"]),
        ("1\r\n2\x1b[H\x1bM0", ["0", "1", "2"]),
        ("\x1b7ab\x1b8c", ["cb"]),
        ("\x1b(0lqk\x1b(B q", ["┌─┐ q"]),
        ("漢字x\x1b[1;2H-", [" -字x"]),
        ("e\u0301 ✔\ufe0f done", ["e\u0301 ✔ done"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqrst", "uvwxyz"]),
        ("\x1b[?7labcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqrsz"]),
        ("main\x1b[?1049h\x1b[Hother", ["other"]),
        ("main\x1b[?1049hother\x1b[?1049l!", ["main!"]),
    ],
)
def test_sequences_mean_what_they_mean_elsewhere(written: str, shown: list[str]) -> None:
    assert Screen().after(written).shown == shown


def test_wrapped_lines_are_whole_in_the_text_and_what_scrolled_away_is_in_it() -> None:
    screen = Screen(10, 3).after("".join(f"line {n} is long\r\n" for n in range(5)))
    assert screen.full_text() == "\n".join(f"line {n} is long" for n in range(5))


def test_a_full_screen_program_leaves_no_trace_once_it_is_gone() -> None:
    screen = Screen().after("$ less\r\n\x1b[?1049h\x1b[Hpage")
    assert screen.full_text() == "$ less\n\n\n\n\npage"
    assert screen.after("\x1b[?1049lback").full_text() == "$ less\nback"


def test_questions_are_answered() -> None:
    screen = Screen().after("ab\x1b[6n\x1b[5n\x1b[c")
    assert screen.replies == [b"\x1b[1;3R", b"\x1b[0n", b"\x1b[?62;22c"]


def test_colours_are_kept() -> None:
    row = (
        Screen()
        .after("\x1b[1;31mred\x1b[0m \x1b[48;5;21mblue\x1b[38;2;1;2;3mx\x1b[38:2::9:8:7my")
        .styled_row_pieces(0)
    )
    styles = [str(style) for _, style in row]
    assert styles[0] == "bold color(1)" and styles[1] == "None"
    assert [style.split(" on ")[0] for style in styles[3:5]] == ["#010203", "#090807"]


def test_a_smaller_window_keeps_the_line_of_the_cursor() -> None:
    screen = Screen(20, 5).after("a\r\nb\r\nc\r\nd\r\ne")
    screen.resize(10, 2)
    screen.lines = 2
    assert screen.shown == ["d", "e"]
    assert screen.full_text() == "a\nb\nc\nd\ne"


HARM = [
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b[>4;2m",
    "\x1b[=5u",
    "\u202e",
]


@pytest.mark.parametrize("harm", HARM)
def test_what_is_not_for_the_screen_vanishes(harm: str) -> None:
    screen = Screen().after(f"a{harm}b")
    assert (screen.shown, screen.replies) == (["ab"], [])
    assert [style for _, style in screen.styled_row_pieces(0)] == [None]


FINALS = "ABCDEFGHIJKLMPSTXZ@`abdefhlmnrsu"
ODD = ["\x1b", "\x1b[", "\x1b[?", "\x1b]0;", "\r\n", "\t", "\b", "漢", "😀", "e\u0301", "\x1b[?1049h"]
PIECES = st.one_of(
    st.sampled_from([*HARM, *ODD]),
    st.builds("\x1b[{};{}{}".format, st.integers(0, 9999), st.integers(0, 30), st.sampled_from(FINALS)),
    st.text(max_size=30),
)


@given(st.lists(PIECES, max_size=40), st.integers(1, 7), st.integers(1, 30), st.integers(1, 8))
def test_rows_keep_their_width_for_any_output_and_any_split(
    pieces: list[str], step: int, columns: int, lines: int
) -> None:
    data = "".join(pieces).encode("utf-8", "replace")
    whole, cut = Screen(columns, lines), Screen(columns, lines)
    whole.feed(data)
    for at in range(0, len(data), step):
        cut.feed(data[at : at + step])
    assert whole.shown == cut.shown
    whole.resize(columns + step, lines + 1)
    whole.resize(max(1, columns - step), max(1, lines - 1))
    for row in whole._grid.rows:
        assert len(row.chars) == len(row.styles) == whole._grid.column_count
    whole.full_text().encode("utf-8")
    assert not any(ord(char) < 32 for row in whole.shown for char in row)
