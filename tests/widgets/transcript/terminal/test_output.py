"""What is sent for a frame, without a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tests.widgets.transcript.page import Page
from widgets.terminal.terminal_output import (
    MovedScreenRows,
    TerminalOutputDiff,
    WrittenCellRun,
    find_changed_cells,
    find_moved_screen_rows,
)

RED, BLUE = Style(color="red"), Style(color="blue")
PARTS = st.lists(st.tuples(st.text("ab c", min_size=1, max_size=4), st.sampled_from([RED, BLUE])), max_size=6)


def strip(parts: list[tuple[str, Style]], width: int) -> Strip:
    return Strip([Segment(text, style) for text, style in parts]).adjust_cell_length(width, RED)


def row(text: str, x: int = 0) -> WrittenCellRun:
    made = Strip([Segment(text, RED)], len(text))
    return WrittenCellRun(x, x + len(text), made)


def cells(of: Strip) -> list[tuple[str, Style | None]]:
    return [(char, style) for text, style, _ in of for char in text]


@given(PARTS, PARTS)
def test_the_changed_part_makes_the_new_row_of_the_old_one(
    old: list[tuple[str, Style]], new: list[tuple[str, Style]]
) -> None:
    width = 12
    known, run = (
        WrittenCellRun(3, 3 + width, strip(old, width)),
        WrittenCellRun(3, 3 + width, strip(new, width)),
    )
    part = find_changed_cells(known, run)
    assert part is not None
    x, changed = part
    shown = cells(known.strip)
    shown[x - 3 : x - 3 + changed.cell_length] = cells(changed)
    assert shown == cells(run.strip)


def test_only_what_differs_is_sent() -> None:
    part = find_changed_cells(row("the old word stays"), row("the new word stays"))
    assert part is not None
    assert (part[0], part[1].text) == (4, "new")


@pytest.mark.parametrize("text", ["日本語", "👍", "e\u0301"])
def test_rows_whose_width_terminals_disagree_on_are_sent_whole(text: str) -> None:
    assert find_changed_cells(row("a" + text), row("b" + text)) is None


def test_a_row_with_a_mark_of_running_work_is_sent_in_part() -> None:
    part = find_changed_cells(row("● bash make · 4 s"), row("● bash make · 5 s"))
    assert part is not None
    assert (part[0], part[1].text) == (14, "5")


def test_rows_that_moved_are_found() -> None:
    rows = [row(f"line {number:03}") for number in range(40)]
    shown = {y: {0: rows[y]} for y in range(30)}
    assert find_moved_screen_rows(shown, {y: [rows[y + 3]] for y in range(30)}) == MovedScreenRows(0, 30, 3)
    assert find_moved_screen_rows(shown, {y: [rows[y]] for y in range(30)}) is None
    down = {y: {0: rows[y + 3]} for y in range(30)}
    assert find_moved_screen_rows(down, {y: [rows[y]] for y in range(30)}) == MovedScreenRows(0, 30, -3)


def test_rows_are_not_moved_when_something_unknown_stands_beside_them() -> None:
    rows = [row(f"line {number:03}") for number in range(40)]
    shown = {y: {0: rows[y], 20: row("side", 20)} for y in range(30)}
    assert find_moved_screen_rows(shown, {y: [rows[y + 3]] for y in range(30)}) is None


def test_rows_are_not_moved_when_a_part_of_one_is_not_remembered() -> None:
    """A panel that is new beside a row makes it unknown what stands at the left of it."""
    rows = [row(f"line {number:03}") for number in range(40)]
    side = row("side", 8)
    shown = {y: {0: rows[y], 8: side} for y in range(30)}
    wanted = {y: [rows[y + 3], side] for y in range(30)}
    assert find_moved_screen_rows(shown, wanted) == MovedScreenRows(0, 30, 3)
    shown[29], wanted[29] = {8: side}, [side]
    assert find_moved_screen_rows(shown, wanted) is None


async def test_it_can_be_switched_off() -> None:
    page = Page()
    async with page.run_test(size=(40, 10)):
        output = TerminalOutputDiff(page).install_output_diff()
        page.screen.refresh()
        output.is_on = False
        assert not output._written_rows
