"""The transcript in an application: following, staying put, opening, streaming."""

import asyncio

from tests.support.idle import text_of
from tests.support.sizes import resize
from tests.widgets.transcript.page import BASH, CARDS, EVERYTHING, PROSE, READ, Page
from tools.tool_result_values import Card, CommandBlock, DiffBlock
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    Block,
    CardState,
    CustomBlock,
    CustomBlockKind,
    FailureToShow,
    ReplyState,
    ToolCallBlock,
    UserPromptBlock,
)
from widgets.transcript.view import Transcript

SIZE = (60, 12)


def many(count: int) -> list[Block]:
    return [
        UserPromptBlock(id=f"b{number}", text=f"Question {number}")
        if number % 5 == 0
        else AppNoteBlock(id=f"b{number}", text=f"Line {number} " + "and words " * (number % 9))
        for number in range(count)
    ]


def lines(transcript: Transcript) -> list[str]:
    return transcript.painter.as_text().split("\n")


def rows(transcript: Transcript) -> list[str]:
    """All rows, the blank ones at the end too."""
    shown = lines(transcript)
    return shown + [""] * (transcript.size.height - len(shown))


async def test_what_arrives_shows_by_itself() -> None:
    page = Page()
    async with page.run_test(size=SIZE) as pilot:
        page.transcript.begin_reply("r1")
        for word in ("first", "second", "third"):
            page.transcript.append_text("r1", f"{word} ")
            async with asyncio.timeout(10):
                while word not in text_of(page.screen):
                    await pilot.pause()


async def test_a_conversation_reads_like_this() -> None:
    page = Page()
    async with page.run_test(size=(60, 20)):
        transcript = page.transcript
        transcript.add(UserPromptBlock(id="u1", text="Fix the tests"))
        transcript.begin_reply("r1")
        transcript.append_thinking("r1", "Where are they?")
        page.now += 7
        transcript.append_text("r1", "I will **look**.")
        transcript.arriving.flush()
        transcript.finish_reply("r1")
        transcript.add(ToolCallBlock(id="c1", card=READ, state=CardState.RUNNING))
        transcript.add(ToolCallBlock(id="c1", card=READ, state=CardState.DONE, timing="0.1 s"))
        file_map = Card(title="map", subject="app.py")
        transcript.add(CustomBlock(id="m1", kind=CustomBlockKind.FILE_MAP, card=file_map))
        transcript.add(AppNoteBlock(id="n1", text="Model changed"))
        assert transcript.painter.as_text() == (
            "› Fix the tests\n"
            "\n"
            "▸ Thought\n"
            "\n"
            "  I will look.\n"
            "\n"
            "✓ read src/app.py:10-12              3 of 120 lines  0.1 s\n"
            "≡ map app.py\n"
            "\n"
            "· Model changed"
        )


async def test_a_conversation_begins_at_the_top_and_a_first_page_is_in_the_middle() -> None:
    first_page = AppNoteBlock(id="welcome", text="", tagline="a coding agent", is_centred=True)
    page = Page(lambda transcript: transcript.add(first_page))
    async with page.run_test(size=(60, 20)) as pilot:
        transcript = page.transcript
        assert "a coding agent" not in "".join(rows(transcript)[:9])
        transcript.add(AppNoteBlock(id="n1", text="An update is there."))
        assert transcript.viewport.blank_rows > 0  # with a message of bayou the page stays in the middle
        transcript.add(UserPromptBlock(id="u1", text="Fix the tests"))
        assert transcript.viewport.blank_rows == 0
        transcript.remove_block("welcome")
        transcript.remove_block("n1")
        transcript.begin_reply("r1")
        for number in range(30):
            transcript.append_text("r1", f"Paragraph {number}\n\n")
            transcript.arriving.flush()
            await pilot.pause()
            shown = rows(transcript)
            if transcript.column.heights.total <= 20:
                assert shown[0] == "› Fix the tests"
            else:
                assert shown[-1] == f"  Paragraph {number}"


async def test_the_view_follows_the_end_until_it_is_scrolled_up() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(50)))
    async with page.run_test(size=SIZE) as pilot:
        transcript = page.transcript
        assert rows(transcript)[-1].startswith("  and words") or "Line 49" in transcript.painter.as_text()
        transcript.viewport.scroll_by(-1)
        assert not transcript.viewport.is_following
        before = rows(transcript)
        transcript.add(AppNoteBlock(id="new", text="Something came"))
        await pilot.pause()
        assert rows(transcript)[:-1] == before[:-1]
        assert rows(transcript)[-1].endswith("↓ 1 new · end")
        transcript.viewport.follow_end()
        assert transcript.viewport.is_following
        assert lines(transcript)[-1] == "· Something came"


async def test_scrolling_back_to_the_end_follows_again() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(50)))
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        transcript.viewport.scroll_by(-4)
        transcript.viewport.scroll_by(3)
        assert not transcript.viewport.is_following
        transcript.viewport.scroll_by(1)
        assert transcript.viewport.is_following


async def test_what_is_read_stays_put_while_a_reply_streams_below() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(50)))
    async with page.run_test(size=SIZE) as pilot:
        transcript = page.transcript
        transcript.begin_reply("r")
        transcript.viewport.scroll_by(-5)
        before = rows(transcript)[:-1]
        for number in range(30):
            transcript.append_text("r", f"Paragraph {number}\n\n")
            transcript.arriving.flush()
            await pilot.pause()
            assert rows(transcript)[:-1] == before
        transcript.finish_reply("r")
        assert rows(transcript)[:-1] == before


async def test_a_block_above_may_grow_without_moving_the_view() -> None:
    page = Page(lambda transcript: transcript.replace_all([*CARDS, *many(40)]))
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        transcript.viewport.scroll_by(-10)
        before = lines(transcript)
        transcript.toggle("bash")
        transcript.remove_block("edit")
        assert lines(transcript) == before


async def test_opening_a_card_keeps_its_line_where_it_is() -> None:
    page = Page(lambda transcript: transcript.replace_all([*many(20), *CARDS]))
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        row = next(index for index, line in enumerate(lines(transcript)) if "bash make test" in line)
        transcript.toggle("bash")
        assert "bash make test" in lines(transcript)[row]
        assert "$ make test" in lines(transcript)[row + 1]
        transcript.toggle("bash")
        assert "bash make test" in lines(transcript)[row]
        assert transcript.viewport.is_following


async def test_a_second_click_closes_a_card_that_could_not_keep_its_line() -> None:
    page = Page(lambda transcript: transcript.replace_all(CARDS))
    async with page.run_test(size=(60, 40)) as pilot:
        before = lines(page.transcript)
        row = next(index for index, line in enumerate(before) if "edit app.py" in line)
        await pilot.click(Transcript, offset=(4, row))
        assert lines(page.transcript)[row] == "" and "edit app.py" in lines(page.transcript)[row + 1]
        await pilot.click(Transcript, offset=(9, row))
        assert lines(page.transcript) == before


async def test_resizing_keeps_the_text_under_the_eye() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(80)))
    async with page.run_test(size=SIZE) as pilot:
        transcript = page.transcript
        transcript.keyboard.go_home()
        for _ in range(3):
            transcript.keyboard.page(1)
        top = next(line for line in lines(transcript) if "Line" in line).split(" and")[0]
        for width in (40, 100, 30, 60):
            await resize(pilot, width, 12)
            await pilot.pause()
            assert any(top in line for line in lines(transcript)[:3])


async def test_opened_blocks_stay_open() -> None:
    page = Page(lambda transcript: transcript.replace_all(CARDS))
    async with page.run_test(size=(60, 40)) as pilot:
        transcript = page.transcript
        transcript.toggle("bash")
        await resize(pilot, 80, 30)
        transcript.add(AppNoteBlock(id="n", text="more"))
        transcript.add(ToolCallBlock(id="bash", card=BASH, state=CardState.DONE))
        transcript.replace_all(CARDS)
        assert "$ make test" in transcript.painter.as_text()
        transcript.open_all(tools=True)
        transcript.keyboard.go_home()
        assert "import os" in transcript.painter.as_text()
        transcript.open_all(tools=False)
        assert "$ make test" not in transcript.painter.as_text()


async def test_what_comes_after_all_was_closed_opens_by_itself() -> None:
    def edit(block_id: str, line: str) -> ToolCallBlock:
        diff = DiffBlock(path="a.py", diff=f"--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+{line}\n", added=1)
        return ToolCallBlock(
            id=block_id, card=Card(title="edit", subject="a.py", blocks=(diff,)), state=CardState.DONE
        )

    page = Page(lambda transcript: transcript.set_display_options(cards="edits", diagrams="final"))
    async with page.run_test(size=(60, 40)):
        transcript = page.transcript
        transcript.add(edit("one", "first"))
        assert "first" in transcript.painter.as_text()
        for extent in (BlockExtent.PREVIEW, BlockExtent.ALL, BlockExtent.CLOSED):
            transcript.open_all(tools=extent)
        assert "first" not in transcript.painter.as_text()
        transcript.add(edit("two", "second"))
        assert "first" not in transcript.painter.as_text()
        assert "second" in transcript.painter.as_text()


async def test_opening_all_thinking_leaves_tools_alone() -> None:
    page = Page(lambda transcript: transcript.replace_all([*PROSE, *CARDS]))
    async with page.run_test(size=(60, 60)):
        transcript = page.transcript
        transcript.open_all(thinking=True)
        assert "I should look first." in transcript.painter.as_text()
        assert "import os" not in transcript.painter.as_text()


async def test_thinking_can_be_opened_while_it_streams() -> None:
    page = Page()
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        transcript.begin_reply("r")
        transcript.append_thinking("r", "First thought.\n\nSecond ")
        transcript.arriving.flush()
        assert lines(transcript) == ["▸ Thinking…  First thought."]
        transcript.toggle("r")
        transcript.append_thinking("r", "thought.")
        transcript.arriving.flush()
        assert lines(transcript) == ["▾ Thinking…", "  First thought.", "", "  Second thought."]
        transcript.append_text("r", "Answer")
        transcript.arriving.flush()
        assert lines(transcript)[-1] == "  Answer"
        transcript.toggle("r")
        assert lines(transcript) == ["▸ Thought", "", "  Answer"]
        transcript.finish_reply("r")
        assert lines(transcript) == ["▸ Thought", "", "  Answer"]


async def test_beside_a_thought_stands_the_last_it_said() -> None:
    page = Page()
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        transcript.begin_reply("r")
        transcript.append_thinking("r", "**Counting the oars**\n\n")
        transcript.arriving.flush()
        assert lines(transcript) == ["▸ Thinking…  Counting the oars"]
        transcript.append_thinking("r", "First the hull.\nThen I cou")
        transcript.arriving.flush()
        assert lines(transcript) == ["▸ Thinking…  First the hull."]


async def test_a_streamed_reply_looks_the_same_when_it_is_loaded_again() -> None:
    page = Page()
    async with page.run_test(size=(70, 60)):
        transcript = page.transcript
        reply = PROSE[1]
        transcript.begin_reply("r")
        for part in reply.parts:  # type: ignore[union-attr]
            append = transcript.append_thinking if "first" in part.text else transcript.append_text
            for at in range(0, len(part.text), 7):
                append("r", part.text[at : at + 7])
                transcript.arriving.flush()
            page.now += 12
        transcript.finish_reply("r")
        live = transcript.painter.as_text()
        transcript.replace_all([reply])
        assert live.split("\n")[1:] == transcript.painter.as_text().split("\n")[1:]


async def test_a_reply_that_fails_says_what_why_and_what_next() -> None:
    page = Page()
    async with page.run_test(size=SIZE):
        transcript = page.transcript
        transcript.begin_reply("r")
        transcript.append_text("r", "It beg")
        failure = FailureToShow(message="Connection lost", next_step="Check the network", retry_key="alt+r")
        transcript.finish_reply("r", ReplyState.ERROR, failure=failure)
        assert lines(transcript) == [
            "  It beg",
            "",
            "✗ Connection lost",
            "  → Check the network",
            "  ↻ alt+r retry",
        ]


async def test_progress_of_a_card_is_drawn_once_a_frame_and_its_end_at_once() -> None:
    def card(lines: int) -> Card:
        return Card(title="bash", blocks=(CommandBlock(command="make", output="line\n" * lines),))

    page = Page(lambda transcript: transcript.open_all(tools=True))
    async with page.run_test(size=(40, 30)):
        transcript = page.transcript
        transcript.add(ToolCallBlock(id="c", card=card(1), state=CardState.RUNNING))
        for lines_ in range(2, 6):
            transcript.add(ToolCallBlock(id="c", card=card(lines_), state=CardState.RUNNING))
        assert transcript.painter.as_text().count("line") == 1
        transcript.arriving.flush()
        assert transcript.painter.as_text().count("line") == 5
        transcript.add(ToolCallBlock(id="c", card=card(6), state=CardState.RUNNING))
        transcript.add(ToolCallBlock(id="c", card=card(7), state=CardState.DONE))
        transcript.arriving.flush()
        assert transcript.painter.as_text().count("line") == 7


async def test_deltas_for_unknown_replies_are_dropped() -> None:
    page = Page()
    async with page.run_test(size=SIZE):
        page.transcript.append_text("nobody", "x")
        page.transcript.finish_reply("nobody")
        assert page.transcript.painter.as_text() == ""


async def test_no_widget_is_made_for_a_message() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(2_000)))
    async with page.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert len(page.query("*")) < 10


async def test_every_row_is_exactly_as_wide_as_the_view() -> None:
    blocks = [block for group in EVERYTHING.values() for block in group]
    page = Page(lambda transcript: transcript.replace_all(blocks))
    async with page.run_test(size=SIZE) as pilot:
        transcript = page.transcript
        transcript.open_all(tools=True)
        transcript.open_all(thinking=True)
        for width in (20, 37, 60, 125):
            await resize(pilot, width, 12)
            transcript.keyboard.go_home()
            while not transcript.viewport.is_following:
                strips = transcript.painter.visible_strips(0, transcript.size.height)
                assert {sum(segment.cell_length for segment in strip) for strip in strips} == {
                    transcript.viewport.width
                }
                transcript.keyboard.page(1)


async def test_a_theme_change_paints_everything_anew() -> None:
    page = Page(lambda transcript: transcript.replace_all(PROSE))
    async with page.run_test(size=SIZE) as pilot:
        transcript = page.transcript
        before = transcript.painter.visible_strips(0, 12)
        page.theme = "bayou-light"
        await pilot.pause()
        after = transcript.painter.visible_strips(0, 12)
        assert [strip.text for strip in before] == [strip.text for strip in after]
        assert before != after
