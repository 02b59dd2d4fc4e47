"""Messages of megabytes: only what comes in sight is laid out, and yet every row is shown once, in its order."""

import random

import pytest

from widgets.transcript.block_expansion import BlockExpansion
from widgets.transcript.block_item import BlockItem
from widgets.transcript.block_stack import BlockStack
from widgets.transcript.transcript_blocks import AppNoteBlock, Block, ReplyBlock, ReplyProse, UserPromptBlock

HEIGHT = 30


def numbered(lines: int, seed: int = 1) -> str:
    """Lines that are all others, some far wider than a page."""
    chance = random.Random(seed)
    return "\n".join(f"{number}: " + "word " * chance.choice((2, 5, 9, 70)) for number in range(lines))


def column_of(*blocks: Block, width: int = 80) -> BlockStack:
    column = BlockStack()
    column.width = width
    column.expansion = BlockExpansion(is_whole=True)
    column.replace([BlockItem(block) for block in blocks])
    column.measure_last_screen(HEIGHT)
    return column


def shown(column: BlockStack, y: int) -> list[str]:
    """What the rows from a place on show."""
    out: list[str] = []
    for row in column.rows(y, HEIGHT):
        if row.leaf is None:
            out.append("")
            continue
        start, end = row.leaf.layout(column.width)[row.row]
        out.append(row.leaf.plain[start:end])
    return out


def laid_out(column: BlockStack) -> int:
    return sum(leaf.width == column.width for item in column.items for leaf in item.leaves or ())


def all_rows(block: Block, width: int) -> list[str]:
    """Laid out as a whole."""
    rows: list[str] = []
    for leaf in column_of(block, width=width).items[0].leaves or ():
        rows += [""] * leaf.blank + [leaf.plain[start:end] for start, end in leaf.layout(width)]
    return rows


def reply(text: str) -> ReplyBlock:
    return ReplyBlock(id="long", parts=(ReplyProse(text=text),))


def long_user(text: str) -> UserPromptBlock:
    return UserPromptBlock(id="long", text=text)


@pytest.mark.parametrize(
    "block", [reply(numbered(12_000)), long_user(numbered(9_000))], ids=["reply", "user"]
)
@pytest.mark.parametrize("step", [1, 7, HEIGHT - 1])
def test_scrolling_from_end_to_beginning_shows_every_row_once(block: Block, step: int):
    column = column_of(block)
    expected = all_rows(block, 80)
    y = column.measure_last_screen(HEIGHT)
    rows = shown(column, y)
    assert rows == expected[-HEIGHT:]
    at = len(expected) - HEIGHT
    for _ in range(1_500 // step):
        y = column.position_after_scroll(y, -step, HEIGHT)
        at = max(0, at - step)
        assert shown(column, y) == expected[at : at + HEIGHT]


def test_scrolling_down_after_a_jump_skips_no_row():
    block = reply(numbered(12_000))
    column = column_of(block)
    expected = all_rows(block, 80)
    y = column.measure_visible(column.heights.total // 2, HEIGHT)
    first = shown(column, y)
    at = next(index for index in range(len(expected)) if expected[index : index + HEIGHT] == first)
    for _ in range(200):
        y = column.position_after_scroll(y, 11, HEIGHT)
        at += 11
        assert shown(column, y) == expected[at : at + HEIGHT]


@pytest.mark.parametrize("width", [60, 79, 120])
def test_another_width_lays_out_what_is_in_sight_and_keeps_the_place(width: int):
    column = column_of(reply(numbered(60_000)), AppNoteBlock(id="n", text="below"))
    y = column.measure_visible(column.heights.total // 3, HEIGHT)
    place = column.remember_position(y)
    assert place is not None
    column.resize(width)
    y = column.measure_visible(column.position_of(place), HEIGHT)
    leaves = len(column.items[0].leaves or ())
    assert leaves > 200
    assert laid_out(column) < leaves / 4  # those that are read as Markdown, and two or three of the others
    first = column.rows(y, 1)[0]
    assert first.leaf is not None and first.leaf is place.leaf
    start, end = first.leaf.layout(width)[first.row]
    assert start <= place.offset <= end


def test_a_guess_is_near_what_it_is_then():
    block = reply(numbered(30_000))
    column = column_of(block)
    assert column.heights.total == pytest.approx(len(all_rows(block, 80)), rel=0.25)


def test_a_reply_that_arrives_is_shown_at_its_end():
    text = numbered(9_000)
    column = BlockStack()
    column.width = 80
    item = BlockItem(reply(""), live=True)
    column.replace([item])
    y = 0
    assert item.live is not None
    for start in range(0, len(text), 50_000):
        item.live.append("prose", text[start : start + 50_000])
        item.live.add_waiting_deltas(0.0, 1 << 40)
        column.measure(0)
        y = column.measure_last_screen(HEIGHT)
    assert shown(column, y) == all_rows(reply(text), 80)[-HEIGHT:]
