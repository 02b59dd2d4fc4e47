"""Widths, wrapping and foreign characters."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from widgets.transcript.leaves.safe_text import clean, cut_end_to_fit, cut_start_to_fit, wrap_line_into_ranges

WORDS = st.sampled_from(
    [
        "plain",
        "words",
        " ",
        "  ",
        "日本語",
        "한국어",
        "👩‍👩‍👧‍👦",
        "👍🏽",
        "🇩🇪🇯🇵",
        "❤️",
        "☺️",
        "e\u0301\u0301",
        "\u200d",
        "\ufe0f",
        "שלום",
        "مرحبا",
        "\t",
        "x" * 30,
        "語" * 20,
        "\u200b",
        "नमस्ते",
    ]
)
LINES = st.lists(WORDS, max_size=24).map("".join)


@given(LINES, st.integers(1, 40))
def test_rows_hold_the_whole_line_in_order(line: str, width: int) -> None:
    rows = wrap_line_into_ranges(line, width)
    assert "".join(line[start:end] for start, end in rows) == line
    assert all(first[1] == second[0] for first, second in pairwise(rows))


@given(LINES, st.integers(4, 40))
@example("\u200d\u200dplain", 4)
def test_no_row_is_wider_than_the_width(line: str, width: int) -> None:
    for start, end in wrap_line_into_ranges(line.replace("\t", ""), width):
        assert cell_len(line.replace("\t", "")[start:end].rstrip(" ")) <= width


@given(st.text())
def test_nothing_that_a_terminal_obeys_gets_through(text: str) -> None:
    safe = clean(text)
    assert not any((ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 for char in safe)
    assert not any(char in safe for char in "\u202e\u2066\u2028\ufeff\r")
    safe.encode()


def test_wrapping_prefers_blanks() -> None:
    line = "one two three"
    assert [line[a:b] for a, b in wrap_line_into_ranges(line, 8)] == ["one two ", "three"]


def test_words_longer_than_a_row_are_cut() -> None:
    line = "abcdefghij kl"
    assert [line[a:b] for a, b in wrap_line_into_ranges(line, 4)] == ["abcd", "efgh", "ij ", "kl"]


@pytest.mark.parametrize("first", ["src", "größe", "漢字", "🏴‍☠️"])
def test_a_path_breaks_at_a_slash_and_never_inside_a_name(first: str) -> None:
    path = f"{first}/harbours/of_the_north/fleet.py"
    rows = [path[start:end] for start, end in wrap_line_into_ranges(path, 20)]
    assert "".join(rows) == path and len(rows) > 1
    assert all(row.endswith("/") for row in rows[:-1])
    assert cut_start_to_fit(path, 20) == "…/fleet.py"
    assert cut_start_to_fit(path, 25) == "…/of_the_north/fleet.py"


def test_wide_characters_are_not_cut_in_half() -> None:
    line = "日本語日本語"
    assert [line[a:b] for a, b in wrap_line_into_ranges(line, 5)] == ["日本", "語日", "本語"]


def test_a_line_of_a_megabyte_is_wrapped_at_once() -> None:
    for line in ("x" * 1_000_000, "語" * 500_000, "word " * 200_000):
        rows = wrap_line_into_ranges(line, 80)
        assert rows[-1][1] == len(line)


def test_cropping_leaves_an_ellipsis_at_the_cut() -> None:
    assert cut_end_to_fit("src/main.py", 20) == "src/main.py"
    assert cut_end_to_fit("src/main.py", 6) == "src/m…"
    assert cut_end_to_fit("日本語", 4) == "日…"
    assert cut_start_to_fit("src/deep/main.py", 8) == "…main.py"


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("    " + "x" * 30, ["    " + "x" * 16, "x" * 14]),
        ("\t" + "x" * 20 + " y", ["\t" + "x" * 16, "x" * 4 + " y"]),
        ("    " + "漢" * 12, ["    " + "漢" * 8, "漢" * 4]),
        (" " * 14 + "x" * 12, [" " * 14, "x" * 12]),
        (" " * 30, [" " * 30]),
    ],
)
def test_an_indent_makes_no_row_of_its_own_while_there_is_room_behind_it(line: str, rows: list[str]) -> None:
    assert [line[start:end] for start, end in wrap_line_into_ranges(line, 20)] == rows
