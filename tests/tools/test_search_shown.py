"""Results of `grep` for people: each file once, its lines below, matches highlighted."""

from pathlib import Path
from typing import Any

from tests.tools.conftest import ToolCaller
from tools.tool_registry import builtin_tools
from tools.tool_result_values import ListBlock, text_result

GREP = next(tool for tool in builtin_tools() if tool.name == "grep")


async def shown(hands: ToolCaller, **arguments: Any) -> tuple[list[str], list[str]]:
    """Returns the rows and their highlighted parts."""
    result = await hands("grep", **arguments)
    (block,) = GREP.card(arguments, result).blocks
    assert isinstance(block, ListBlock)
    return list(block.items), [block.items[at][start:end] for at, start, end in block.marks]


async def test_a_file_is_named_once_and_its_hits_stand_out(hands: ToolCaller, project: Path) -> None:
    (project / "a.py").write_text("sail\n" * 9 + "the sails, and a sail\n")
    (project / "b-3-x.py").write_text("nothing\nsail: 3\n")
    rows, marked = await shown(hands, pattern="sail")
    assert rows[0] == "a.py" and rows[9:] == [
        " 9  sail",
        "10  the sails, and a sail",
        "b-3-x.py",
        "2  sail: 3",
    ]
    assert marked == ["a.py", *["sail"] * 11, "b-3-x.py", "sail"]


async def test_the_file_that_was_asked_for_is_not_named_again(hands: ToolCaller, project: Path) -> None:
    (project / "a.py").write_text("x\nsail\n")
    assert await shown(hands, pattern="sail", path="a.py") == (["2  sail"], ["sail"])


async def test_lines_around_and_gaps(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("1\n2\nhit\n4\n5\n6\n7\nhit\n9\n")
    rows, marked = await shown(hands, pattern="hit", context=1)
    assert rows == ["a", "2  2", "3  hit", "4  4", "…", "7  7", "8  hit", "9  9"]
    assert marked == ["a", "hit", "hit"]


async def test_hits_over_several_lines_and_behind_wide_characters(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("漢字 sail\r\noar, mast\n")
    rows, marked = await shown(hands, pattern="sail\r?\noar", multiline=True)
    assert rows == ["a", "1  漢字 sail", "2  oar, mast"]
    assert marked == ["a", "sail", "oar"]


async def test_a_line_that_is_shown_otherwise_is_not_marked_wrongly(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("\x07 sail\n" + "x" * 2_000 + "sail\n")
    rows, marked = await shown(hands, pattern="sail")
    assert len(rows) == 3 and marked == ["a"]


async def test_rows_with_anchors(hands: ToolCaller, project: Path) -> None:
    hands.workspace.edit_mode = lambda: "anchored"
    (project / "a.py").write_text("one\nsail\n")
    rows, marked = await shown(hands, pattern="sail")
    assert rows[0] == "a.py" and rows[1].startswith("2") and rows[1].endswith("  sail")
    assert marked == ["a.py", "sail"]


def test_results_without_places_are_ordered_all_the_same() -> None:
    """Those of pi, and of sessions before."""
    result = text_result("a.py:5: class Boat:\na.py:12: def x", details={"matches": 2, "files": 1})
    assert GREP.card({"pattern": "x"}, result).blocks == (
        ListBlock(items=("a.py", " 5  class Boat:", "12  def x"), marks=((0, 0, 4),)),
    )


def test_damaged_places_harm_nothing() -> None:
    for hits in ("x", [1], [[0, "a", 2]], [[9, 0, 4]], [[0, 90, 95]]):
        result = text_result("a.py:5: class Boat:", details={"matches": 1, "files": 1, "hits": hits})
        (block,) = GREP.card({"pattern": "x"}, result).blocks
        assert isinstance(block, ListBlock) and block.items == ("a.py", "5  class Boat:")
