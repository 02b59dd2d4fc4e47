"""Rows of the editor: what fits, what hangs, and the way there and back."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from widgets.editor.graphemes import line_graphemes
from widgets.editor.text_layout import TextLayout, _wrap_slowly, wrap_line

LINES = st.text(alphabet="ab  \té漢👩‍🚀\u0301", max_size=40)
ASCII = st.text(alphabet="abc   -", max_size=60)


def one_cell(_: str) -> int:
    return 1


@given(ASCII, st.integers(1, 20))
def test_the_quick_way_for_plain_text_breaks_like_the_general_one(line: str, room: int) -> None:
    assert wrap_line(line, room, one_cell) == _wrap_slowly(line, room, one_cell)


@given(LINES, st.integers(4, 20))
def test_rows_cover_the_line_and_cut_no_character(line: str, room: int) -> None:
    spans = wrap_line(line, room, one_cell)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(line)
    assert all(first[1] == second[0] for first, second in itertools.pairwise(spans))
    starts = {grapheme.start for grapheme in line_graphemes(line)} | {len(line)}
    assert all(start in starts for start, _ in spans)


@given(st.lists(LINES, min_size=1, max_size=4), st.integers(6, 20))
def test_every_place_leads_back_to_its_position(lines: list[str], width: int) -> None:
    layout = TextLayout()
    layout.update(lines, width, {})
    for number, line in enumerate(lines):
        for grapheme in line_graphemes(line):
            if grapheme.cells or line[grapheme.start] == "\t":
                row, cell = layout.row_and_cell_of_position((number, grapheme.start))
                assert layout.position_at(row, cell) == (number, grapheme.start)
                assert cell < width


def test_a_blank_hangs_into_the_column_of_the_caret() -> None:
    layout = TextLayout()
    layout.update(["hello world"], 6, {})
    assert [(row.start, row.end) for row in layout.rows] == [(0, 6), (6, 11)]


def test_the_caret_behind_a_full_row_has_a_place() -> None:
    layout = TextLayout()
    layout.update(["hello"], 6, {})
    assert layout.row_and_cell_of_position((0, 5)) == (0, 5)
    layout.update(["hello "], 6, {})
    assert layout.row_and_cell_of_position((0, 6)) == (1, 0)


def test_wide_characters_are_measured_by_cells() -> None:
    layout = TextLayout()
    layout.update(["漢字漢字"], 5, {})
    assert [row.end for row in layout.rows] == [2, 4]
    assert layout.row_and_cell_of_position((0, 1)) == (0, 2)


def test_a_chip_is_as_wide_as_its_label() -> None:
    layout = TextLayout()
    chip = "\U00100000"
    layout.update([f"a{chip}b"], 40, {chip: "[paste #1 +20 lines]"})
    assert layout.row_and_cell_of_position((0, 2)) == (0, 21)
