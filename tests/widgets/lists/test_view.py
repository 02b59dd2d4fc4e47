"""The list under a picker: thousands of rows, narrowed as one types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.host import Host, screen_text
from widgets.lists.list_rows import ListRow, make_column_heads
from widgets.lists.row_filter import ListRowFilter
from widgets.lists.row_list import RowList

ROWS = [ListRow(id=str(number), title=f"row {number}", detail="of many") for number in range(5000)]


async def test_thousands_of_rows_are_one_widget() -> None:
    rows = RowList(ROWS)
    app = Host(lambda: [rows])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert len(app.screen.query("*")) < 5
        rows.move_to(4999)
        await pilot.pause()
        assert "row 4999" in screen_text(app)
        assert "row 1 " not in screen_text(app)


async def test_headings_are_never_current() -> None:
    rows = [
        ListRow(id="#", title="Group", is_heading=True),
        ROWS[0],
        ListRow(id="#2", title="B", is_heading=True),
        ROWS[1],
    ]
    view = RowList(rows)
    app = Host(lambda: [view])
    async with app.run_test() as pilot:
        await pilot.pause()
        assert view.current == ROWS[0]
        view.action_move(1)
        assert view.current == ROWS[1]
        view.action_move(1)
        assert view.current == ROWS[0], "around the end"


async def test_foreign_text_is_one_line_and_only_text() -> None:
    view = RowList([ListRow(id="1", title="a\nb [/] \x1b[31mred", detail="[bold")])
    app = Host(lambda: [view])
    async with app.run_test(size=(60, 5)) as pilot:
        await pilot.pause()
        first = screen_text(app).split("\n")[0]
        assert "a b [/] ␛[31mred" in first
        assert "[bold" in first


async def test_the_cursor_stays_on_its_row_when_others_come() -> None:
    from widgets.lists.row_filter import MatchedListRow

    view = RowList(ROWS[:10])
    app = Host(lambda: [view])
    async with app.run_test() as pilot:
        await pilot.pause()
        view.move_to(5)
        view.show_rows([MatchedListRow(row) for row in ROWS[3:10]], keep="5")
        assert view.current == ROWS[5]
        view.show_rows([])
        assert view.current is None


@given(st.text(alphabet="abr 0123", max_size=4), st.text(alphabet="ab 012", max_size=3))
def test_typing_on_gives_what_typing_at_once_gives(first: str, more: str) -> None:
    step = ListRowFilter(ROWS[:200])
    step.apply_query(first)
    assert step.apply_query(first + more) == ListRowFilter(ROWS[:200]).apply_query(first + more)


def test_a_word_hides_rows_that_have_only_its_letters() -> None:
    rows = ListRowFilter([ListRow(id="menu", title="the tree menu"), ListRow(id="theme", title="/theme")])
    assert [found.row.id for found in rows.apply_query("theme")] == ["theme"]
    assert [found.row.id for found in rows.apply_query("themeu")] == ["menu"]


def test_the_given_order_can_be_kept() -> None:
    rows = [ListRow(id="a", title="remodel"), ListRow(id="b", title="model")]
    assert [shown.row.id for shown in ListRowFilter(rows, "given").apply_query("mod")] == ["a", "b"]
    assert [shown.row.id for shown in ListRowFilter(rows).apply_query("mod")] == ["b", "a"]


@pytest.mark.parametrize("count", [0, 1_000])
def test_who_types_a_whole_name_means_that_thing(count: int) -> None:
    longer = [ListRow(id=f"gpt-5-{number}", title=f"gpt-5-{number}") for number in range(count)]
    rows = [
        ListRow(id="gpt-5-mini", title="gpt-5-mini"),
        *longer,
        ListRow(id="own", title="gpt-5", tone="dim"),
    ]
    assert ListRowFilter(rows).apply_query("gpt-5")[0].row.id == "own"
    assert (
        ListRowFilter([ListRow(id="a", title="/models"), ListRow(id="b", title="/model")])
        .apply_query("model")[0]
        .row.id
        == "b"
    )


async def test_the_heads_of_columns_stay_above_the_rows() -> None:
    view = RowList(ROWS, heads=make_column_heads("Row", detail="says"), title_cells=12)
    app = Host(lambda: [view])
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        for at in (4999, 0):
            view.move_to(at)
            await pilot.pause()
            lines = screen_text(app).split("\n")
            assert lines[0].split() == ["Row", "says"]
            assert any(line.startswith(f"› row {at} ") for line in lines)
        await pilot.click(offset=(5, 2))
        assert view.current == ROWS[1]
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert screen_text(app).split("\n")[0].split() == ["row", "0", "of", "many"]
