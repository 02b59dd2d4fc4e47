"""The line of a card: what was done to what is never cut for what is said about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.transcript.drawn import rows
from tools.tool_registry import builtin_tools
from tools.tool_result_values import Card, CommandBlock, TextBlock, text_result
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.leaves import block_leaves as drawing
from widgets.transcript.leaves.layout_leaf import LayoutLeaf
from widgets.transcript.leaves.safe_text import cells
from widgets.transcript.transcript_blocks import CardState, ToolCallBlock

WIDTHS = st.integers(40, 200)
NAMES = st.sampled_from(("read", "edit", "bash", "grep", "mcp search", "server · a_long_tool_name"))
WORDS = st.text("abcdefgh.-_()[]{}*+?|^$'\"#=文字ß", min_size=1, max_size=12)
PATHS = st.lists(WORDS, min_size=1, max_size=14).map("/".join)
COMMANDS = st.lists(WORDS, min_size=1, max_size=20).map(" ".join)
SUBJECTS = PATHS | COMMANDS
MESSAGES = st.lists(WORDS, max_size=40).map(" ".join)
TIMES = st.sampled_from(("", "3 s", "1 m 12 s", "2 h 5 m"))
STATES = st.sampled_from(list(CardState))


def head(
    card: Card,
    state: CardState = CardState.DONE,
    extent: BlockExtent = BlockExtent.CLOSED,
    timing: str = "",
) -> LayoutLeaf:
    return drawing.draw_block(ToolCallBlock(id="c", card=card, state=state, timing=timing), extent)[0]


@given(WIDTHS, NAMES, SUBJECTS, MESSAGES, TIMES, STATES)
def test_a_subject_that_fits_a_row_is_never_cut(
    width: int, title: str, subject: str, said: str, timing: str, state: CardState
) -> None:
    card = Card(title=title, subject=subject, summary=said, blocks=(TextBlock(text=said),))
    drawn = rows([head(card, state, timing=timing)], width)
    assert all(cells(row) <= width for row in drawn)
    if cells(f"✓ {title} {subject}") <= width:
        assert drawn[0].startswith(f"{drawing.CARD_STATE_GLYPHS[state]} {title} {subject}")
    else:
        assert "…" in drawn[0] and cells(drawn[0]) > width - 30


@given(WIDTHS, PATHS, MESSAGES)
def test_of_a_path_that_fits_no_row_the_name_stays(width: int, path: str, said: str) -> None:
    card = Card(title="read", subject=f"{path}/the_name.py:10-20", summary=said)
    assert "the_name.py:10-20" in rows([head(card)], width)[0]


@given(WIDTHS, st.text("abc ()[]\\.*\"'/文\t\n\x1b", max_size=400), MESSAGES)
def test_an_open_card_shows_all_of_its_subject(width: int, pattern: str, said: str) -> None:
    card = Card(title="grep", subject=f"/{pattern}/", summary=said, blocks=(TextBlock(text="x"),))
    leaf = head(card, extent=BlockExtent.ALL)
    drawn = rows([leaf], width)
    assert all(cells(row) <= width for row in drawn)
    shown = "".join("".join(row).removeprefix("│") for row in drawn)
    wanted = f"/{drawing.clean(' '.join(pattern.splitlines()))}/".replace("\t", " ")
    assert "".join(wanted.split()) in "".join(shown.split())


def test_the_command_of_an_open_card_stands_once() -> None:
    command = "echo " + "x" * 200
    card = Card(title="bash", subject=command, blocks=(CommandBlock(command=command),))
    assert len(rows([head(card, extent=BlockExtent.ALL)], 80)) == 1


def test_a_pattern_is_told_as_it_is() -> None:
    pattern = r"""def  \w+\([^)]*\)\s*->  "[bold]x[/]" """
    card = Card(title="grep", subject=f"/{pattern}/ in src/app", summary="3 matches in 2 files")
    assert rows([head(card)], 120)[0].startswith(rf"✓ grep /{pattern}/ in src/app  ")
    assert rows([head(card)], 54) == [rf"✓ grep /{pattern}/ in src…", "│ 3 matches in 2 files"]


def test_figures_end_in_one_column_and_times_in_another() -> None:
    cards = (("+1 −1", ""), ("exit 2", "3 s"), ("2 lines", "0.3 s"))
    leaves = [head(Card(title="bash", subject="x", summary=told), timing=time) for told, time in cards]
    assert rows(leaves, 40) == [
        f"✓ bash x{'+1 −1':>25}",
        f"✓ bash x{'exit 2':>25}{'3 s':>7}",
        f"✓ bash x{'2 lines':>25}{'0.3 s':>7}",
    ]
    assert rows([head(Card(title="bash", subject="x" * 18, summary="2 lines"), timing="3 s")], 40) == [
        f"✓ bash {'x' * 18}  2 lines · 3 s"
    ]


def test_the_time_of_what_runs_moves_nothing() -> None:
    card = Card(title="bash", subject="x" * 70)
    block = ToolCallBlock(id="c", card=card, state=CardState.RUNNING, timing="3 s")
    [leaf] = drawing.draw_block(block, BlockExtent.CLOSED)
    assert rows([leaf], 80) == [f"● bash {'x' * 70}"]
    assert rows([leaf], 100)[0].endswith(" 3 s")


def test_of_a_long_pattern_the_beginning_stands() -> None:
    card = Card(title="grep", subject=f"/{'(one|two)' * 30}/", summary="No matches found")
    assert rows([head(card)], 60)[0].startswith("✓ grep /(one|two)(one|two)")


FAR = "src/a_rather_long_folder/and_another_one/of_them/the_file.py"
TOLD = f"Could not do it: /home/someone/project/{FAR} is not what it was thought to be. " * 4


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", [tool.name for tool in builtin_tools()])
def test_what_a_tool_was_asked_for_is_whole_when_it_fails(name: str, width: int) -> None:
    [tool] = [tool for tool in builtin_tools() if tool.name == name]
    given = {
        "path": FAR,
        "edits": [{"oldText": "a", "newText": "b"}],
        "content": "x",
        "input": f"*** Begin Patch\n*** Update File: {FAR}\n@@\n-a\n+b\n*** End Patch",
        "command": f"python -m {FAR[:50]}",
        "code": f"open('{FAR[:50]}')",
        "pattern": r"def\s+(one|two)  \(" + "x" * 40,
        "about": "what is told of " + "it " * 12,
        "id": "p1",
        "action": "apply",
    }
    for result in (None, text_result(TOLD), text_result(TOLD, is_error=True)):
        state = CardState.FAILED if result and result.is_error else CardState.DONE
        card = tool.card(given, result)
        block = ToolCallBlock(id="c", card=card, state=state, timing="1 m 12 s")
        shown = rows(drawing.draw_block(block, BlockExtent.CLOSED), width)
        if len(f"✓ {name} {card.subject}") <= width:
            assert shown[0].startswith(f"{drawing.CARD_STATE_GLYPHS[state]} {name} {card.subject}".rstrip())
        if result and result.is_error and not any(isinstance(one, CommandBlock) for one in card.blocks):
            assert any("Could not do it" in row for row in shown), "the reason of the failure is shown"
