"""Blocks one below the other: heights add up and the view stays put."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tools.tool_result_values import Card, CommandBlock, TextBlock
from widgets.transcript.block_expansion import BlockExpansion, BlockExtent
from widgets.transcript.block_heights import BlockHeights
from widgets.transcript.block_item import BlockItem
from widgets.transcript.block_stack import BlockStack, refresh_block_in_stack
from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.transcript_blocks import (
    AppNoteBlock,
    Block,
    CardState,
    ReplyBlock,
    ReplyProse,
    ReplyThinking,
    ToolCallBlock,
    UserPromptBlock,
)

TEXTS = st.lists(
    st.sampled_from(["word", "a longer run of words", "\n", "\n\n", "- item\n", "`code`"]), min_size=1
).map(" ".join)


@st.composite
def blocks(draw: st.DrawFn) -> list[Block]:
    out: list[Block] = []
    for number in range(draw(st.integers(1, 14))):
        text = draw(TEXTS)
        name = f"b{number}"
        match draw(st.integers(0, 3)):
            case 0:
                out.append(UserPromptBlock(id=name, text=text))
            case 1:
                out.append(ReplyBlock(id=name, parts=(ReplyThinking(text=text), ReplyProse(text=text))))
            case 2:
                card = Card(title="bash", subject="x", blocks=(TextBlock(text=text),))
                out.append(ToolCallBlock(id=name, card=card))
            case _:
                out.append(AppNoteBlock(id=name, text=text))
    return out


def column_of(values: list[Block], width: int = 40) -> BlockStack:
    column = BlockStack()
    column.width = width
    column.replace([BlockItem(value) for value in values])
    return column


def measure_all(column: BlockStack) -> None:
    for index in range(len(column)):
        column.measure(index)


@given(st.lists(st.integers(1, 9), min_size=1), st.data())
def test_heights_are_sums_after_any_change(values: list[int], data: st.DataObject) -> None:
    heights = BlockHeights()
    heights.replace(values)
    model = list(values)
    for _ in range(data.draw(st.integers(0, 12))):
        index = data.draw(st.integers(0, len(model) - 1))
        height = data.draw(st.integers(1, 9))
        match data.draw(st.sampled_from(["set", "append", "remove"])):
            case "set":
                model[index] = height
                heights.set(index, height)
            case "append":
                model.append(height)
                heights.append(height)
            case _ if len(model) > 1:
                del model[index]
                heights.remove(index)
    assert heights.total == sum(model)
    assert [heights.top_of_block(index) for index in range(len(model))] == [
        sum(model[:index]) for index in range(len(model))
    ]
    for y in range(heights.total):
        assert (
            heights.top_of_block(heights.block_at(y))
            <= y
            < heights.top_of_block(heights.block_at(y)) + model[heights.block_at(y)]
        )


@settings(max_examples=60)
@given(blocks(), st.integers(20, 80))
def test_rows_are_as_many_as_the_heights_say(values: list[Block], width: int) -> None:
    column = column_of(values, width)
    measure_all(column)
    rows = column.rows(0, column.heights.total + 5)
    assert len(rows) == column.heights.total
    assert sum(item.height for item in column.items) == column.heights.total


@settings(max_examples=60)
@given(blocks(), st.data())
def test_scrolling_up_and_down_again_ends_where_it_began(values: list[Block], data: st.DataObject) -> None:
    column = column_of(values)
    room = data.draw(st.integers(3, 12))
    y = column.measure_last_screen(room)
    seen = column.rows(y, room)
    steps = data.draw(st.lists(st.integers(1, 9), max_size=6))
    for step in steps:
        before = column.rows(y, room)
        y = column.position_after_scroll(y, -step, room)
        if y == 0:
            return
        assert column.rows(y + step, room) == before
    for step in reversed(steps):
        y = column.position_after_scroll(y, step, room)
    assert column.rows(y, room) == seen


@settings(max_examples=80)
@given(blocks(), st.data())
def test_the_top_row_stays_when_others_change(values: list[Block], data: st.DataObject) -> None:
    column = column_of(values)
    measure_all(column)
    room = 8
    y = data.draw(st.integers(0, max(0, column.heights.total - 1)))
    if not column.heights.total:
        return
    top = column.rows(y, 1)[0]
    anchor = column.remember_position(y)
    assert anchor is not None
    index = data.draw(st.integers(0, len(values) - 1))
    item = column.items[index]
    if item is top.item:
        return
    if item.can_expand:
        item.toggle(column.expansion)
    else:
        item.replace_block(AppNoteBlock(id=item.block.id, text=data.draw(TEXTS)))
    column.measure(index)
    place = column.position_of(anchor)
    assert column.rows(place, room)[0] == top


@settings(max_examples=80)
@given(blocks(), st.data())
def test_the_text_under_the_eye_stays_when_the_width_changes(
    values: list[Block], data: st.DataObject
) -> None:
    column = column_of(values)
    measure_all(column)
    y = data.draw(st.integers(0, max(0, column.heights.total - 1)))
    shown = column.rows(y, 1)
    if not shown or shown[0].leaf is None:
        return
    item, leaf, row = shown[0]
    assert leaf is not None
    offset = leaf.layout(40)[row][0]
    anchor = column.remember_position(y)
    assert anchor is not None
    column.width = data.draw(st.integers(16, 100))
    column.estimate_heights()
    now_item, now_leaf, now_row = column.rows(column.position_of(anchor), 1)[0]
    assert (now_item, now_leaf) == (item, leaf)
    start, end = leaf.layout(column.width)[now_row]
    assert start <= offset <= max(start, end)


def test_cards_stick_together_and_everything_else_is_parted_by_a_blank_row() -> None:
    card = Card(title="read")
    column = column_of(
        [
            UserPromptBlock(id="u", text="x"),
            ToolCallBlock(id="a", card=card),
            ToolCallBlock(id="b", card=card),
            AppNoteBlock(id="n", text="y"),
        ]
    )
    assert [item.gap for item in column.items] == [0, 1, 0, 1]


def test_a_card_that_shows_lines_has_a_blank_row_above_and_below() -> None:
    card = Card(title="read", blocks=(TextBlock(text="a line"),))
    column = column_of([ToolCallBlock(id=name, card=card) for name in "abcd"])
    assert [item.gap for item in column.items] == [0, 0, 0, 0]
    column.items[1].toggle(column.expansion, BlockExtent.ALL)
    refresh_block_in_stack(column, 1)
    assert [item.gap for item in column.items] == [0, 1, 1, 0]
    column.items[1].toggle(column.expansion, BlockExtent.CLOSED)
    refresh_block_in_stack(column, 1)
    assert [item.gap for item in column.items] == [0, 0, 0, 0]


def test_a_card_that_failed_is_parted_only_where_it_says_why() -> None:
    why = Card(title="read", blocks=(TextBlock(text="It does not exist."),))
    command = Card(title="bash", summary="exit 2", blocks=(CommandBlock(command="make", output="no"),))
    column = column_of(
        [
            ToolCallBlock(id="a", card=command, state=CardState.FAILED),
            ToolCallBlock(id="b", card=command, state=CardState.FAILED),
            ToolCallBlock(id="c", card=why, state=CardState.FAILED),
        ]
    )
    assert [item.gap for item in column.items] == [0, 0, 1]


def test_calls_and_thoughts_of_one_row_are_a_compact_list() -> None:
    silent = Card(title="bash", summary="exit 1", blocks=(CommandBlock(command="false", output=""),))
    short = Card(title="bash", blocks=(CommandBlock(command="ls", output="a"),), last_lines=("a",))
    long = Card(title="bash", blocks=(CommandBlock(command="make", output="no"),))
    column = column_of(
        [
            ToolCallBlock(id="a", card=short),
            ReplyBlock(id="t", parts=(ReplyThinking(text="Why?"),)),
            ToolCallBlock(id="b", card=silent, state=CardState.FAILED),
            ToolCallBlock(id="c", card=short),
            ReplyBlock(id="p", parts=(ReplyProse(text="So."),)),
            ToolCallBlock(id="d", card=short),
            ToolCallBlock(id="e", card=long, state=CardState.FAILED),
        ]
    )
    column.expansion = BlockExpansion(cards="results")
    column.estimate_heights()
    assert [item.gap for item in column.items] == [0, 0, 0, 0, 1, 1, 1]


def test_replies_that_only_called_tools_do_not_part_the_cards() -> None:
    card = Card(title="read")
    column = column_of(
        [
            ToolCallBlock(id="a", card=card),
            ReplyBlock(id="r"),
            ToolCallBlock(id="b", card=card),
            AppNoteBlock(id="n", text="x"),
        ]
    )
    measure_all(column)
    assert [item.height for item in column.items] == [1, 0, 1, 2]


def test_only_some_blocks_keep_what_was_drawn() -> None:
    column = column_of([AppNoteBlock(id=f"n{number}", text="text") for number in range(500)])
    for y in range(0, column.heights.total, 10):
        column.rows(column.measure_visible(y, 10), 10)
    assert sum(item.leaves is not None for item in column.items) <= 80


def test_opening_everything_guesses_heights_without_drawing() -> None:
    card = Card(title="bash", blocks=(TextBlock(text="line\n" * 30),))
    column = column_of([ToolCallBlock(id=f"c{number}", card=card) for number in range(50)])
    closed = column.heights.total
    column.expansion = BlockExpansion(tools=True)
    column.estimate_heights()
    assert column.heights.total > closed + 50 * 25
    assert all(item.leaves is None for item in column.items)


class Reader(RuleBasedStateMachine):
    """The line at the top of the view stays there when blocks around it change."""

    ROOM = 6

    def __init__(self) -> None:
        super().__init__()
        self.column = column_of(
            [AppNoteBlock(id=f"n{number}", text=f"line {number} " * 6) for number in range(12)]
        )
        self.count = 12
        self.y = self.column.measure_visible(9, self.ROOM)

    def top(self) -> tuple[BlockItem, LayoutLeaf | None, int]:
        """The block and leaf at the top, and the first character of its row."""
        row = self.column.rows(self.y, 1)[0]
        return row.item, row.leaf, row.leaf.layout(self.column.width)[row.row][0] if row.leaf else 0

    def stays(self, change: Callable[[], None]) -> None:
        item, leaf, offset = self.top()
        anchor = self.column.remember_position(self.y)
        assert anchor is not None
        change()
        self.y = self.column.measure_visible(self.column.position_of(anchor), self.ROOM)
        if self.y >= self.column.heights.total - self.ROOM:
            return  # the end came up: there is nothing left to scroll over
        now_item, now_leaf, now_offset = self.top()
        assert now_item is item
        if leaf is not None and now_leaf is not None and now_leaf.plain == leaf.plain:
            start, end = now_leaf.layout(self.column.width)[now_leaf.row_at(offset)]
            assert now_offset == start
            assert start <= offset <= max(start, end)

    @rule(text=TEXTS, is_card=st.booleans())
    def comes(self, text: str, is_card: bool) -> None:
        self.count += 1
        name = f"n{self.count}"
        card = Card(title="bash", blocks=(TextBlock(text=text),))
        block = ToolCallBlock(id=name, card=card) if is_card else AppNoteBlock(id=name, text=text)
        self.stays(lambda: self.column.append(BlockItem(block)))

    @rule(data=st.data())
    def changes(self, data: st.DataObject) -> None:
        top = self.top()[0]
        others = [index for index, item in enumerate(self.column.items) if item is not top]
        index = data.draw(st.sampled_from(others))
        item = self.column.items[index]

        def change() -> None:
            if item.can_expand:
                item.toggle(self.column.expansion)
            else:
                item.replace_block(AppNoteBlock(id=item.block.id, text=data.draw(TEXTS)))
            self.column.measure(index)

        self.stays(change)

    @precondition(lambda self: len(self.column) > 8)
    @rule(data=st.data())
    def goes(self, data: st.DataObject) -> None:
        top = self.top()[0]
        others = [index for index, item in enumerate(self.column.items) if item is not top]
        index = data.draw(st.sampled_from(others))
        self.stays(lambda: self.column.remove(index))

    @rule(is_open=st.booleans())
    def all_are_opened(self, is_open: bool) -> None:
        if isinstance(self.top()[0].block, ToolCallBlock):
            return  # its own rows change

        def change() -> None:
            self.column.expansion = BlockExpansion(tools=is_open)
            self.column.estimate_heights()

        self.stays(change)

    @rule(width=st.integers(16, 100))
    def is_resized(self, width: int) -> None:
        self.stays(lambda: self.column.resize(width))

    @rule(rows=st.integers(-5, 5))
    def scrolls(self, rows: int) -> None:
        self.y = self.column.position_after_scroll(self.y, rows, self.ROOM)


TestReader = Reader.TestCase
TestReader.settings = settings(max_examples=40, stateful_step_count=25)
