"""Names that models know from elsewhere are honoured where they are plain; everything else is refused by name."""

from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import ToolCaller
from tools.tool_registry import builtin_tools


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read", {"file_path": "a.txt", "start_line": 2, "end_line": 3}, "2\n3\n\n[Showing lines 2-3 of 9."),
        ("read", {"filePath": "a.txt", "head": 1}, "1\n\n[Showing line 1 of 9."),
        ("read", {"Path": "a.txt", "TAIL": 1}, "9\n\n[Showing line 9 of 9.]"),
        ("ls", {"directory": "."}, "a.txt"),
        ("find", {"glob": "*.txt", "directory": "."}, "a.txt"),
        ("grep", {"query": "^9$", "include": "*.txt", "-n": True, "-i": True}, "a.txt:9: 9"),
        ("grep", {"regex": "5", "-A": 1, "head_limit": 5}, "a.txt:5: 5\na.txt-6- 6"),
        ("grep", {"pattern": "5", "-B": 1, "-C": 0}, "a.txt-4- 4\na.txt:5: 5"),
        (
            "write",
            {"file_path": "b.txt", "contents": "x\n"},
            "Successfully wrote to b.txt (created, 1 lines).",
        ),
        (
            "edit",
            {"file_path": "a.txt", "old_string": "9", "new_string": "nine", "replace_all": False},
            "Successfully replaced 1 block(s) in a.txt.",
        ),
    ],
)
async def test_other_names_are_honoured(
    hands: ToolCaller, project: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    (project / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 10)))
    assert (await hands.text(tool, arguments)).startswith(said)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read", {"path": "a", "ofset": 3}, 'ofset: is not an argument of this tool; did you mean "offset"?'),
        ("read", {"path": "a", "file_path": "b"}, "file_path: is not an argument of this tool"),
        (
            "write",
            {"path": "a", "content": "x", "append": True},
            "append: is not an argument of this tool; there are",
        ),
        ("grep", {"pattern": "a", "files_only": True}, "files_only: is not an argument"),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "a", "newText": "b", "line": 3}]},
            "edits.0.line: is not",
        ),
    ],
)
async def test_what_is_not_known_is_refused_and_nothing_happens(
    hands: ToolCaller, project: Path, tool: str, arguments: dict[str, Any], said: str
) -> None:
    (project / "a").write_text("a\n")
    assert said in await hands.error(tool, **arguments)
    assert (project / "a").read_text() == "a\n"


def test_the_cards_of_calls_with_other_names_show_the_same() -> None:
    read = next(tool for tool in builtin_tools() if tool.name == "read")
    assert read.card({"filePath": "a.py", "start_line": 3}) == read.card({"path": "a.py", "offset": 3})
