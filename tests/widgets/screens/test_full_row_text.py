"""What is too long for a row, and for a line of a preview, can be read all the same."""

from tests.widgets.host import screen_text
from tests.widgets.screens.test_screens import ScreenHost, press
from widgets.lists.list_rows import ListRow
from widgets.lists.row_list import RowList
from widgets.screens.full_row_text import FullRowTextPane
from widgets.screens.picker import PickerScreen
from widgets.screens.preview_pane import (
    PreviewParagraph,
    PreviewText,
    count_preview_rows,
    labelled_fact_paragraphs,
    make_preview_text,
)


async def test_what_a_list_cuts_off_of_its_row_stands_whole_below_it() -> None:
    long = "own mounts and network, Landlock, filtered system calls, and nothing of the home but the project"
    rows = [ListRow(id="short", title="off", detail="as usual"), ListRow(id="long", title="on", detail=long)]
    screen = PickerScreen("Sandbox", rows)
    async with ScreenHost(screen).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        told, top = screen.query_one(FullRowTextPane), screen.query_one(RowList).region
        assert told.display and told.shown.parts == ()
        await press(pilot, "down")
        assert [part.text for part in told.shown.parts] == [long]
        assert told.row_count == told.size.height == 2
        assert screen.query_one(RowList).region == top  # nothing moves for it
    wide = PickerScreen("Sandbox", rows)
    async with ScreenHost(wide).run_test(size=(160, 24)) as pilot:
        await pilot.pause()
        assert not wide.query_one(FullRowTextPane).display


async def test_a_preview_that_says_all_of_it_says_it_alone() -> None:
    rows = [ListRow(id="long", title="on", detail="word " * 40)]
    screen = PickerScreen("Sandbox", rows, preview=lambda row: make_preview_text(row.title, row.detail))
    async with ScreenHost(screen).run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert screen.has_class("beside") and not screen.query_one(FullRowTextPane).display


def test_a_line_of_a_preview_that_goes_on_below_itself_keeps_its_indent() -> None:
    assert count_preview_rows(make_preview_text("", "    one two three"), 17) == 2
    assert count_preview_rows(make_preview_text("", "one two three"), 17) == 1


def test_labels_stand_in_one_column_and_what_goes_on_stays_behind_them() -> None:
    told = PreviewText(
        parts=tuple(
            labelled_fact_paragraphs(
                [("Context", "128k tokens, answers up to 8k"), ("Can", "think"), ("No", "")]
            )
        )
    )
    assert [part.text for part in told.parts] == ["Context  128k tokens, answers up to 8k", "Can      think"]
    assert count_preview_rows(told, 31) == 3


async def test_a_preview_draws_the_markdown_of_a_message() -> None:
    def preview(row: ListRow) -> PreviewText:
        text = "There are **three** boats:\n\n- `red`\n- blue"
        return PreviewText(parts=(PreviewParagraph(text=text, is_markdown=row.id == "message"),))

    rows = [ListRow(id="message", title="a message"), ListRow(id="output", title="an output")]
    screen = PickerScreen("Entries", rows, preview=preview)
    async with ScreenHost(screen).run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        shown = screen_text(pilot.app)
        assert "There are three boats:" in shown and "• red" in shown and "**" not in shown
        await press(pilot, "down")
        assert "There are **three** boats:" in screen_text(pilot.app)
