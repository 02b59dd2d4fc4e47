"""A burst of calls that only look is one row, which opens like a card."""

from tools.tool_result_values import Card, TextBlock
from widgets.transcript.block_items import make_transcript_items
from widgets.transcript.block_stack import BlockStack, refresh_block_in_stack
from widgets.transcript.tool_call_bursts import folded_burst_card
from widgets.transcript.transcript_blocks import (
    Block,
    CardState,
    ReplyBlock,
    ReplyProse,
    ToolCallBlock,
)


def look(id: str, subject: str, kind: str = "read", state: CardState = CardState.DONE) -> ToolCallBlock:
    return ToolCallBlock(
        id=id,
        state=state,
        card=Card(title=kind, subject=subject, kind=kind, blocks=(TextBlock(text="a\nb"),)),  # pyright: ignore[reportArgumentType]
    )


def run(id: str) -> ToolCallBlock:
    return ToolCallBlock(id=id, card=Card(title="bash", subject="make", kind="execute"))


def column_of(*blocks: Block) -> BlockStack:
    column = BlockStack()
    column.width = 80
    column.replace(make_transcript_items(blocks))
    column.measure_last_screen(40)
    return column


def rows(column: BlockStack) -> list[str]:
    return [row.leaf.plain if row.leaf is not None else "" for row in column.rows(0, column.heights.total)]


BURST = (look("1", "boats/fleet.py:1-20"), look("2", "boats/sail.py"), look("3", "/oars/", "search"))
FOLDED = "◇ Explored fleet.py, sail.py, 1 search · 3 calls"


def test_calls_that_only_look_and_follow_each_other_are_one_row() -> None:
    assert rows(column_of(*BURST, run("4"))) == [FOLDED, "✓ bash make"]
    assert rows(column_of(BURST[0], run("4"), BURST[1])) == [
        "✓ read boats/fleet.py:1-20",
        "✓ bash make",
        "✓ read boats/sail.py",
    ]
    words = ReplyBlock(id="r", parts=(ReplyProse(text="First this."),))
    assert FOLDED not in rows(column_of(BURST[0], words, BURST[1]))


def test_a_call_that_failed_or_runs_keeps_its_row() -> None:
    column = column_of(BURST[0], look("f", "none.py", state=CardState.FAILED), BURST[1])
    assert rows(column)[0] == "◇ Explored fleet.py, sail.py · 2 calls"
    assert any("none.py" in row for row in rows(column))


def test_a_burst_grows_with_its_results_and_costs_no_other_block() -> None:
    column = column_of(run("0"))
    for number in range(3):
        for item in make_transcript_items([look(str(number + 1), f"{number}.py", state=CardState.RUNNING)]):
            column.append(item)
    assert len([row for row in rows(column) if row.startswith("●")]) == 3
    for number in range(3):
        index = column.index_of(str(number + 1))
        assert index is not None
        column.items[index].replace_block(look(str(number + 1), f"{number}.py"))
        refresh_block_in_stack(column, index)
    assert rows(column) == ["✓ bash make", "◇ Explored 0.py, 1.py, 2.py · 3 calls"]
    assert column.heights.total == 2


def test_it_opens_and_closes_by_the_key_of_a_card() -> None:
    column = column_of(*BURST)
    first = column.items[0]
    assert first.can_expand
    first.toggle(column.expansion)
    refresh_block_in_stack(column, 0)
    assert [row for row in rows(column) if row.startswith("✓")] == [
        "✓ read boats/fleet.py:1-20",
        "✓ read boats/sail.py",
        "✓ search /oars/",
    ]
    for _ in range(3):
        first.toggle(column.expansion)
        refresh_block_in_stack(column, 0)
        if first.explored:
            break
    assert rows(column) == [FOLDED]


def test_calls_that_are_opened_for_all_have_rows_of_their_own() -> None:
    column = column_of(*BURST)
    column.expansion = column.expansion._replace(tools=True)
    column.estimate_heights()
    column.measure_last_screen(40)
    assert FOLDED not in rows(column) and column.heights.total > 5
    column.expansion = column.expansion._replace(tools=None)
    column.estimate_heights()
    column.measure_last_screen(40)
    assert rows(column) == [FOLDED]


def test_many_files_are_counted() -> None:
    card = folded_burst_card([look(str(number), f"{number}.py") for number in range(7)])
    assert card.subject == "0.py, 1.py, 2.py, 3.py, 3 more files"
