"""Keys and mouse: moving, focusing, copying, searching, clicking."""

import pytest
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from tests.widgets.transcript.page import CARDS, CUSTOM, ENDINGS, PROSE, Page, PageWithLine
from tests.widgets.transcript.test_view import lines, many
from widgets.transcript.transcript_blocks import AppNoteBlock, Block, ReplyBlock, ReplyProse, UserPromptBlock
from widgets.transcript.view import Transcript

CODE = "Look:\n\n```py\nx = 1\n\ty = 2\n```\n\nand\n\n```\nsecond\n```\n"


def reply(block_id: str, text: str) -> Block:
    return ReplyBlock(id=block_id, parts=(ReplyProse(text=text),))


async def test_prompts_are_jumped_to() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(60)))
    async with page.run_test(size=(60, 12)):
        transcript = page.transcript
        transcript.keyboard.prompt(-1)
        first = lines(transcript)[0]
        assert first.startswith("› Question")
        transcript.keyboard.prompt(-1)
        assert lines(transcript)[0].startswith("› Question")
        transcript.keyboard.prompt(1)
        assert lines(transcript)[0] == first
        transcript.keyboard.go_home()
        assert lines(transcript)[0] == "› Question 0"
        transcript.keyboard.go_end()
        assert transcript.viewport.is_following


async def test_focus_mode_moves_block_by_block_and_acts_on_one() -> None:
    page = PageWithLine(
        lambda transcript: transcript.replace_all([UserPromptBlock(id="u", text="Ask"), reply("r", CODE)])
    )
    async with page.run_test(size=(60, 20)) as pilot:
        transcript = page.transcript
        transcript.focus()
        await pilot.pause()
        assert transcript.keyboard.cursor == "r"
        await pilot.press("y")
        assert page.last(Transcript.CopyRequested).text == "Look:\n\nx = 1\n\ty = 2\n\nand\n\nsecond"
        await pilot.press("c")
        assert page.last(Transcript.CopyRequested).text == "x = 1\n\ty = 2"
        await pilot.press("c")
        assert page.last(Transcript.CopyRequested).text == "second"
        await pilot.press("r")
        assert page.last(Transcript.CopyRequested).text == CODE
        await pilot.press("k", "e")
        assert page.last(Transcript.BranchRequested).block_id == "u"
        await pilot.press("enter")
        assert page.last(Transcript.FullScreenRequested).block_id == "u"
        assert lines(transcript)[0].startswith("▌")
        await pilot.press("escape")
        assert not page.last(Transcript.FocusModeChanged).is_on


async def test_keys_open_and_close_the_focused_block() -> None:
    page = PageWithLine(lambda transcript: transcript.replace_all(CARDS))
    async with page.run_test(size=(60, 30)) as pilot:
        transcript = page.transcript
        transcript.focus()
        await pilot.pause()
        await pilot.press("o")
        assert "plain [bold]text" in transcript.painter.as_text()
        preview = transcript.column.heights.total
        await pilot.press("o")
        assert transcript.column.heights.total > preview, "all of it"
        await pilot.press("o")
        assert "plain [bold]text" not in transcript.painter.as_text()
        await pilot.press("enter")
        assert "plain [bold]text" in transcript.painter.as_text()
        await pilot.press("enter")
        assert page.last(Transcript.FullScreenRequested).block_id == "other"


async def test_moving_goes_through_a_block_that_is_higher_than_the_view() -> None:
    long = reply("long", "\n\n".join(f"Paragraph {number}" for number in range(30)))
    page = PageWithLine(lambda transcript: transcript.replace_all([UserPromptBlock(id="u", text="x"), long]))
    async with page.run_test(size=(60, 14)) as pilot:
        transcript = page.transcript
        transcript.focus()
        await pilot.pause()
        seen = transcript.painter.as_text()
        for _ in range(12):
            await pilot.press("k")
            seen += transcript.painter.as_text()
        assert transcript.keyboard.cursor == "u"
        assert all(f"Paragraph {number}" in seen for number in range(30))


async def test_capital_keys_retry_and_go_through_hits() -> None:
    page = PageWithLine(lambda transcript: transcript.replace_all([*many(40), *ENDINGS]))
    async with page.run_test(size=(60, 14)) as pilot:
        transcript = page.transcript
        transcript.focus()
        await pilot.pause()
        await pilot.press("R")
        assert page.last(Transcript.RetryRequested).block_id == "note-error"
        await pilot.press("g")
        assert lines(transcript)[0].endswith("Question 0")
        transcript.finder.search("Question")
        await pilot.press("n", "n", "N")
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).current == 2
        await pilot.press("G")
        assert transcript.viewport.is_following


async def test_clicking_a_header_opens_its_card_and_clicking_a_symbol_tells_of_it() -> None:
    page = Page(lambda transcript: transcript.replace_all(CUSTOM))
    async with page.run_test(size=(60, 20)) as pilot:
        transcript = page.transcript
        await pilot.click(Transcript, offset=(4, 0))
        assert "1-80  class App" in lines(transcript)[1]
        await pilot.click(Transcript, offset=(12, 2))
        chosen = page.last(Transcript.SymbolChosen)
        assert (chosen.path, chosen.first_line, chosen.last_line) == ("src/app.py", 12, 40)


async def test_clicking_links_and_retries() -> None:
    page = Page(lambda transcript: transcript.replace_all([reply("r", "see [here](http://a.b)"), ENDINGS[2]]))
    async with page.run_test(size=(60, 20)) as pilot:
        await pilot.click(Transcript, offset=(8, 0))
        assert page.last(Transcript.LinkChosen).href == "http://a.b"
        await pilot.click(Transcript, offset=(6, 4))
        assert page.last(Transcript.RetryRequested).block_id == "error"


async def test_dragging_selects_the_logical_text_across_blocks() -> None:
    text = "- a list item that is long enough to be wrapped by the width\n\n```\n  code\n```"
    page = Page(
        lambda transcript: transcript.replace_all(
            [UserPromptBlock(id="u", text="Ask this"), reply("r", text)]
        )
    )
    async with page.run_test(size=(40, 12)) as pilot:
        transcript = page.transcript
        await pilot.mouse_down(Transcript, offset=(6, 0))
        await pilot.hover(Transcript, offset=(20, 5))
        await pilot.mouse_up(Transcript, offset=(20, 5))
        await pilot.pause()
        assert transcript.keyboard.selected_text() == (
            "this\n\n• a list item that is long enough to be wrapped by the width\n\n  code"
        )


async def test_a_selection_survives_what_streams_below() -> None:
    page = Page(lambda transcript: transcript.replace_all([AppNoteBlock(id="n", text="keep these words")]))
    async with page.run_test(size=(40, 6)) as pilot:
        transcript = page.transcript
        page.screen.selections = {transcript: Selection(Offset(5, 0), Offset(10, 0))}
        transcript.begin_reply("r")
        transcript.append_text("r", "\n\n".join(["many"] * 20))
        transcript.arriving.flush()
        await pilot.pause()
        assert transcript.keyboard.selected_text() == "these"


@pytest.mark.parametrize(("times", "expected"), [(2, "words.here"), (3, "Two words.here and more")])
async def test_two_clicks_select_a_word_three_a_line(times: int, expected: str) -> None:
    page = Page(lambda transcript: transcript.replace_all([reply("r", "One\n\nTwo words.here and more")]))
    async with page.run_test(size=(60, 8)) as pilot:
        await pilot.click(Transcript, offset=(8, 2), times=times)
        assert page.transcript.keyboard.selected_text() == expected


async def test_search_finds_what_is_not_drawn_and_opens_it() -> None:
    page = Page(lambda transcript: transcript.replace_all([*CARDS, *many(60)]))
    async with page.run_test(size=(60, 12)) as pilot:
        transcript = page.transcript
        transcript.finder.search("failed two")
        await pilot.pause()
        found = page.last(Transcript.SearchChanged)
        assert (found.count, found.current) == (1, 1)
        assert "FAILED two" in transcript.painter.as_text()


async def test_search_steps_through_hits_in_both_directions() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(60)))
    async with page.run_test(size=(60, 12)) as pilot:
        transcript = page.transcript
        transcript.keyboard.go_home()
        transcript.finder.search("Question")
        await pilot.pause()
        assert (page.last(Transcript.SearchChanged).count, page.last(Transcript.SearchChanged).current) == (
            12,
            1,
        )
        transcript.finder.step(1)
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).current == 2
        transcript.finder.step(-1)
        transcript.finder.step(-1)
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).current == 12
        assert "Question 55" in transcript.painter.as_text()


@pytest.mark.parametrize(
    ("query", "count"),
    [("words", 2), ("Words", 0), ("re:n[ae]me", 3), ("strong and wrong", 1), ("nothing", 0)],
)
async def test_search_knows_case_patterns_and_drawn_text(query: str, count: int) -> None:
    page = Page(lambda transcript: transcript.replace_all([PROSE[1]]))
    async with page.run_test(size=(60, 40)) as pilot:
        page.transcript.finder.search(query.replace("strong and wrong", "soft, strong"))
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).count == count


async def test_a_bad_pattern_is_reported() -> None:
    page = Page(lambda transcript: transcript.replace_all(PROSE))
    async with page.run_test(size=(60, 12)) as pilot:
        page.transcript.finder.search("re:(")
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).problem


async def test_wide_tables_are_scrolled_sideways() -> None:
    table = "|" + "column|" * 20 + "\n|" + "---|" * 20 + "\n|" + "|".join(f"cell{n}" for n in range(20)) + "|"
    page = PageWithLine(lambda transcript: transcript.replace_all([reply("r", table)]))
    async with page.run_test(size=(40, 12)) as pilot:
        transcript = page.transcript
        assert "›" in transcript.painter.as_text()
        transcript.focus()
        await pilot.pause()
        await pilot.press(*["l"] * 30)
        assert "cell19" in transcript.painter.as_text()
        assert "›" not in transcript.painter.as_text()
        await pilot.press(*["h"] * 30)
        assert "cell19" not in transcript.painter.as_text()


async def test_the_wheel_scrolls_and_releases_the_end() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(40)))
    async with page.run_test(size=(60, 12)) as pilot:
        transcript = page.transcript
        y = transcript.scroll_offset.y
        await pilot._post_mouse_events(
            [__import__("textual.events").events.MouseScrollUp], Transcript, offset=(5, 5)
        )
        assert transcript.scroll_offset.y == y - 3
        assert not transcript.viewport.is_following


async def test_a_link_under_the_pointer_stands_out_and_tells_where_it_leads() -> None:
    text = "see [this place](http://a.b/some/where) for more"
    page = Page(lambda transcript: transcript.replace_all([reply("r", text)]))
    async with page.run_test(size=(60, 6)) as pilot:
        transcript = page.transcript
        await pilot.hover(Transcript, offset=(8, 0))
        assert lines(transcript)[-1].strip() == "http://a.b/some/where"
        assert transcript.overlay.hovered is not None
        assert (transcript.overlay.hovered.start, transcript.overlay.hovered.end) == (4, 14)
        await pilot.hover(Transcript, offset=(2, 0))
        assert len(lines(transcript)) == 1


async def test_a_click_with_shift_selects_up_to_there() -> None:
    blocks = [AppNoteBlock(id="n", text="one two three four"), AppNoteBlock(id="m", text="five six")]
    page = Page(lambda transcript: transcript.replace_all(blocks))
    async with page.run_test(size=(40, 6)) as pilot:
        transcript = page.transcript
        await pilot.click(Transcript, offset=(6, 0))
        assert transcript.keyboard.selected_text() == ""
        await pilot.click(Transcript, offset=(8, 0), shift=True)
        assert transcript.keyboard.selected_text() == "two"
        await pilot.click(Transcript, offset=(5, 2), shift=True)
        assert transcript.keyboard.selected_text() == "two three four\n\nfive"
        await pilot.click(Transcript, offset=(2, 0), shift=True)
        assert transcript.keyboard.selected_text() == "one two three four\n\nfive"


async def test_a_search_begins_where_one_is_and_gives_the_place_back() -> None:
    page = Page(lambda transcript: transcript.replace_all(many(60)))
    async with page.run_test(size=(60, 12)):
        transcript = page.transcript
        end = transcript.painter.as_text()
        transcript.finder.start_search()
        for query in ("Q", "Qu", "Question 2"):
            transcript.finder.search(query)
        assert "Question 25" in transcript.painter.as_text()
        assert not transcript.viewport.is_following
        transcript.finder.cancel()
        assert transcript.viewport.is_following
        assert transcript.painter.as_text() == end


async def test_wrapped_code_is_marked_and_copied_as_it_was_written() -> None:
    code = "value = some_function(with_an_argument, and_another_one, and_a_third)"
    page = PageWithLine(lambda transcript: transcript.replace_all([reply("r", f"```py\n{code}\ny = 1\n```")]))
    async with page.run_test(size=(40, 12)) as pilot:
        transcript = page.transcript
        shown = lines(transcript)
        assert [line[:2] for line in shown[:4]] == ["  ", "↳ ", "↳ ", "  "]
        transcript.focus()
        await pilot.pause()
        await pilot.press("c")
        assert page.last(Transcript.CopyRequested).text == f"{code}\ny = 1"


async def test_a_nested_list_keeps_its_indent_in_a_copy() -> None:
    text = "- one\n  - two\n    - three\n\n      more of three\n- four"
    page = PageWithLine(lambda transcript: transcript.replace_all([reply("r", text)]))
    async with page.run_test(size=(40, 12)) as pilot:
        transcript = page.transcript
        page.screen.selections = {transcript: SELECT_ALL}
        kept = "• one\n  ◦ two\n    ▪ three\n\n      more of three\n• four"
        assert transcript.keyboard.selected_text() == kept
        page.screen.selections = {}
        transcript.focus()
        await pilot.pause()
        await pilot.press("y")
        assert page.last(Transcript.CopyRequested).text == kept


PASTE = "\n".join(["Look at this:", *(f"line {number}" for number in range(1, 5_000)), "Why does it fail?"])


async def test_a_prompt_with_a_long_paste_is_folded_and_opens_with_the_keys_of_cards() -> None:
    blocks = [UserPromptBlock(id="u", text=PASTE), reply("r", "So.")]
    page = PageWithLine(lambda transcript: transcript.replace_all(blocks))
    async with page.run_test(size=(80, 40)) as pilot:
        transcript = page.transcript
        folded = lines(transcript)
        assert folded[:11] == [
            "› Look at this:",
            *(f"  line {number}" for number in range(1, 8)),
            "  … 4,991 more lines",
            "  line 4999",
            "  Why does it fail?",
        ]
        transcript.focus()
        await pilot.pause()
        await pilot.press("k", "o")
        transcript.keyboard.go_home()
        assert "line 30" in transcript.painter.as_text() and "more lines" not in transcript.painter.as_text()
        assert 200 < transcript.column.heights.total < 210
        await pilot.press("o")
        assert [line[1:] for line in lines(transcript)] == [line[1:] for line in folded]
        await pilot.press("enter", "g")
        assert "line 30" in transcript.painter.as_text()
        await pilot.press("enter")
        assert page.last(Transcript.FullScreenRequested).block_id == "u"
        transcript.open_all(tools=False)
        await pilot.press("y")
        assert page.last(Transcript.CopyRequested).text == PASTE


async def test_a_folded_prompt_opens_and_closes_by_click_and_opens_where_a_search_hits() -> None:
    page = Page(lambda transcript: transcript.replace_all([UserPromptBlock(id="u", text=PASTE)]))
    async with page.run_test(size=(80, 40)) as pilot:
        transcript = page.transcript
        await pilot.click(offset=(6, 8))
        assert "line 30" in transcript.painter.as_text()
        await pilot.click(offset=(6, 0))
        assert "… 4,991 more lines" in transcript.painter.as_text()
        transcript.finder.start_search()
        transcript.finder.search("line 2500")
        await pilot.pause()
        assert "line 2500" in transcript.painter.as_text()


async def test_an_opened_prompt_leaves_nothing_out_that_is_two_lines() -> None:
    text = "\n".join(f"line {number}" for number in range(202))
    page = Page(lambda transcript: transcript.replace_all([UserPromptBlock(id="u", text=text)]))
    async with page.run_test(size=(80, 210)):
        page.transcript.toggle("u")
        assert [line[2:] for line in lines(page.transcript)] == text.splitlines()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * 100_000, "… 98,000 more characters"),
        ("x" * 8_000, ""),
        ("\n".join("x" * 40), ""),
        ("\n".join("x" * 41) + "\n\n", "… 31 more lines"),
    ],
)
async def test_only_what_nobody_writes_is_folded(text: str, told: str) -> None:
    page = Page(lambda transcript: transcript.replace_all([UserPromptBlock(id="u", text=text)]))
    async with page.run_test(size=(80, 200)):
        shown = page.transcript.painter.as_text()
        assert told in shown if told else "more" not in shown
