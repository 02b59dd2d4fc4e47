"""A search in many blocks is done in parts: what is known early is right, and in the end all is known."""

import asyncio

import pytest

from tests.widgets.transcript.page import Page
from widgets.transcript.block_item import BlockItem
from widgets.transcript.searching import finder
from widgets.transcript.searching.text_search import TextSearch
from widgets.transcript.transcript_blocks import AppNoteBlock, ReplyBlock, ReplyProse
from widgets.transcript.view import Transcript

COUNT = 60


def items() -> list[BlockItem]:
    return [
        BlockItem(AppNoteBlock(id=f"n{number}", text="apple pear apple" if number % 3 == 0 else "plum"))
        for number in range(COUNT)
    ]


def begun(query: str, at: int = 0) -> tuple[TextSearch, list[BlockItem]]:
    search, blocks = TextSearch(), items()
    search.start_counting(query, blocks, at)
    return search, blocks


@pytest.mark.parametrize("at", [0, 31, COUNT - 1])
def test_every_block_is_looked_at_once_and_first_those_from_here_on(at: int):
    search, blocks = begun("apple", at)
    order: list[int] = []
    while not search.is_done:
        before = [item.searched for item in blocks]
        search.continue_counting(0)
        order += [index for index in range(COUNT) if blocks[index].searched != before[index]]
    assert order == [*range(at, COUNT), *range(at)]
    assert search.count == 2 * COUNT // 3


def test_the_first_hit_from_a_place_is_not_told_before_it_is_known():
    search, blocks = begun("apple", 31)
    known: list[bool] = []
    while not search.is_done:
        search.continue_counting(0)
        known.append(search.is_first_hit_known(blocks, 31))
    assert known[:4] == [False, False, True, True]  # 31, 32, and then 33 has it
    hit = search.step(1, blocks, 31)
    assert hit is not None and hit.block_id == "n33"


def test_where_nothing_follows_it_is_known_when_all_was_looked_at():
    search, blocks = begun("apple", COUNT - 2)
    search.continue_counting(0)
    search.continue_counting(0)
    assert not search.is_first_hit_known(blocks, COUNT - 2)
    search.continue_counting(10)
    assert search.is_first_hit_known(blocks, COUNT - 2)
    hit = search.step(1, blocks, COUNT - 2)
    assert hit is not None and hit.block_id == "n57"  # the last one


def test_blocks_that_come_or_change_are_looked_at_again_and_no_others():
    search, blocks = begun("apple")
    search.continue_counting(10)
    blocks[1].replace_block(AppNoteBlock(id="n1", text="an apple"))
    blocks.append(BlockItem(AppNoteBlock(id="new", text="apple, apple, apple")))
    del blocks[0]
    seen = [item.block.id for item in blocks if item.searched == 0]
    assert seen == ["n1", "new"]
    search.update(blocks)
    search.continue_counting(10)
    search.update(blocks)
    assert search.count == 2 * COUNT // 3 - 2 + 1 + 3


def test_a_second_search_knows_nothing_of_the_first():
    search, blocks = begun("apple")
    search.continue_counting(10)
    search.start_counting("plum", blocks, 0)
    assert search.count == 0 and not any(map(search.hits_in, blocks))
    search.continue_counting(10)
    assert search.count == COUNT - COUNT // 3


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("two words", 1),
        ("soft words", 1),
        ("code here", 1),
        ("foobar", 0),
        ("TWO", 0),
        ("re:two.words", 1),
        ("a*b", 1),
    ],
)
def test_text_is_found_as_it_is_drawn(query: str, count: int):
    text = "two\nwords **soft** words `code` here foo\nbar a*b"
    search = TextSearch()
    search.start_counting(query, [BlockItem(ReplyBlock(id="r", parts=(ReplyProse(text=text),)))], 0)
    search.continue_counting(10)
    assert search.count == count


async def test_in_the_page_it_goes_on_by_itself_and_the_last_query_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(finder, "SEARCH_TIME_SLICE", 0)  # one block, then everybody else has a turn
    page = Page()
    async with page.run_test(size=(60, 20)) as pilot:
        transcript = page.transcript
        transcript.replace_all([item.block for item in items()])
        await pilot.pause()
        transcript.finder.start_search()
        transcript.finder.search("apple")
        assert not transcript.overlay.search.is_done
        await asyncio.sleep(0)
        transcript.finder.search("plum")
        for _ in range(2 * COUNT):  # turns of the loop, of which each looks at one block
            await asyncio.sleep(0)
        await pilot.pause()
        told = page.last(Transcript.SearchChanged)
        assert told.is_done
        assert told.count == COUNT - COUNT // 3
        assert told.current > 0  # the one that is shown is one of them
        transcript.finder.search("apple")
        transcript.finder.end_search()
        await pilot.pause()
        assert page.last(Transcript.SearchChanged).count == 0
