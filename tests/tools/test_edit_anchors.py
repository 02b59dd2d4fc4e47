"""Edits by the anchors of lines: anchors refer to the shown text, even after the file has changed."""

import json
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tools.builtin.edit import make_edit_tool_with_anchors
from tools.edits.dialects.line_anchors import compute_anchor_tag, format_anchored_row, parse_line_anchor
from tools.session_workspace import SessionWorkspace
from tools.tool_registry import builtin_tools

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


class Anchoring(ToolCaller):
    """Calls tools for a model that edits by anchors."""

    def __init__(self, workspace: SessionWorkspace) -> None:
        super().__init__(workspace)
        workspace.edit_mode = lambda: "anchored"
        self._tools = {tool.name: tool for tool in (*builtin_tools(), make_edit_tool_with_anchors())}


@pytest.fixture
def anchoring(workspace: SessionWorkspace) -> Anchoring:
    return Anchoring(workspace)


def put(project: Path, text: str, name: str = "a.txt") -> Path:
    path = project / name
    path.write_text(text)
    return path


def at(number: int, text: str = TEXT) -> str:
    return f"{number}{compute_anchor_tag(number, text.split(chr(10))[number - 1])}"


@pytest.mark.parametrize(
    ("number", "line", "tag"),
    [
        (1, 'const DEF = "guest";', "xa"),
        (2, "", "lb"),
        (4, "\tconst clean = name || DEF;", "wg"),
        (6, "}", "qx"),
        (7, "}", "pd"),
        (42, "  });", "yu"),
        (10, "---", "gz"),
        (1, "hello   ", "tv"),
        (9, "hello\r", "tv"),
        (3, "é", "jh"),
    ],
)
def test_tags_are_those_that_others_know(number: int, line: str, tag: str) -> None:
    assert compute_anchor_tag(number, line) == tag


async def test_read_and_grep_show_anchors_and_people_do_not_see_them(
    anchoring: Anchoring, project: Path
) -> None:
    put(project, "one\ntwo\n")
    result = await anchoring("read", path="a.txt")
    assert result.text == f"{format_anchored_row(1, 'one')}\n{format_anchored_row(2, 'two')}"
    tools = {tool.name: tool for tool in builtin_tools()}
    [block] = tools["read"].card({"path": "a.txt"}, result).blocks
    assert block.text == "one\ntwo"  # type: ignore[union-attr]
    assert (
        await anchoring.text("grep", pattern="tw", context=1)
        == f"a.txt-{format_anchored_row(1, 'one')}\na.txt:{format_anchored_row(2, 'two')}"
    )


async def test_a_range_comes_with_lines_around_it_and_otherwise_is_what_was_asked_for(
    anchoring: Anchoring, project: Path, workspace: SessionWorkspace
) -> None:
    put(project, TEXT)
    text = await anchoring.text("read", path="a.txt", offset=10, limit=2)
    assert (
        text.startswith(format_anchored_row(7, "line 7"))
        and format_anchored_row(14, "line 14") in text
        and "15" not in text.split("[")[0]
    )
    workspace.edit_mode = lambda: "replace"
    assert (await anchoring.text("read", path="a.txt", offset=10, limit=2)).startswith(
        "line 10\nline 11\n\n["
    )


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"from": at(2), "lines": ["two"]}, TEXT.replace("line 2\n", "two\n")),
        ({"from": at(2), "to": at(4), "lines": ["x"]}, TEXT.replace("line 2\nline 3\nline 4\n", "x\n")),
        ({"from": at(2), "to": at(4), "lines": []}, TEXT.replace("line 2\nline 3\nline 4\n", "")),
        ({"from": at(2), "place": "before", "lines": ["x", ""]}, TEXT.replace("line 2\n", "x\n\nline 2\n")),
        ({"from": at(30), "place": "after", "lines": ["x"]}, TEXT + "x\n"),
        ({"from": "end", "lines": ["x"]}, TEXT + "x\n"),
        ({"from": "start", "lines": ["x"]}, "x\n" + TEXT),
        ({"from": format_anchored_row(2, "line 2"), "lines": ["two"]}, TEXT.replace("line 2\n", "two\n")),
        ({"from": at(2), "lines": [format_anchored_row(2, "two")[:3] + "|two"]}, None),
        ({"from": at(2), "lines": [at(2) + "|two"]}, TEXT.replace("line 2\n", "two\n")),
        ({"from": at(2), "lines": ["two\nthree"]}, TEXT.replace("line 2\n", "two\nthree\n")),
    ],
)
async def test_changes_are_made_where_the_anchors_are(
    anchoring: Anchoring, project: Path, change: dict[str, object], after: str | None
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    said = await anchoring.text("edit", changes=[{"path": "a.txt", **change}])
    if after is not None:
        assert path.read_text() == after
        assert said.startswith("Changed a.txt in 1 place.")
    else:
        assert path.read_text() != TEXT  # an anchor that was never shown is text like any other


async def test_fresh_rows_come_back_and_are_as_good_as_read(anchoring: Anchoring, project: Path) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    said = await anchoring.text("edit", changes=[{"path": "a.txt", "from": at(2), "lines": ["a", "b"]}])
    assert said.endswith(
        "\n".join(
            [
                format_anchored_row(1, "line 1"),
                format_anchored_row(2, "a"),
                format_anchored_row(3, "b"),
                format_anchored_row(4, "line 3"),
                format_anchored_row(5, "line 4"),
            ]
        )
    )
    await anchoring(
        "edit", changes=[{"path": "a.txt", "from": format_anchored_row(3, "b").split("|")[0], "lines": ["B"]}]
    )
    assert path.read_text().startswith("line 1\na\nB\nline 3\n")


async def test_old_anchors_are_good_after_ones_own_edit_and_when_others_changed_lines(
    anchoring: Anchoring, project: Path
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    await anchoring("edit", changes=[{"path": "a.txt", "from": at(2), "lines": ["a", "b", "c"]}])
    path.write_text("new\n" + path.read_text())
    said = await anchoring.text("edit", changes=[{"path": "a.txt", "from": at(20), "lines": ["twenty"]}])
    assert "The file has changed since: the lines are at 23 now." in said
    assert path.read_text().split("\n")[22] == "twenty"
    assert path.read_text().count("line 2") == 9


async def test_a_line_that_an_own_edit_rewrote_is_not_overwritten_by_an_older_anchor(
    anchoring: Anchoring, project: Path
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    await anchoring("edit", changes=[{"path": "a.txt", "from": at(5), "to": at(6), "lines": ["mine", "too"]}])
    now = path.read_text()
    for first in (5, 6):
        words = await anchoring.error(
            "edit", changes=[{"path": "a.txt", "from": at(first), "lines": ["lost"]}]
        )
        assert "Nothing was changed." in words and format_anchored_row(5, "mine") in words
        assert path.read_text() == now


async def test_a_number_that_was_computed_is_refused_with_the_rows(
    anchoring: Anchoring, project: Path
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    wrong = f"8{compute_anchor_tag(9, 'line 9')}"
    words = await anchoring.error("edit", changes=[{"path": "a.txt", "from": wrong, "lines": ["x"]}])
    assert f"{wrong} is not what is there now. Nothing was changed." in words
    assert format_anchored_row(8, "line 8") in words
    assert path.read_text() == TEXT


async def test_lines_that_were_not_shown_are_refused_with_their_rows_and_then_known(
    anchoring: Anchoring, project: Path
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt", limit=5)
    change = {"path": "a.txt", "from": at(20), "lines": ["x"]}
    words = await anchoring.error("edit", changes=[change])
    assert "were not all shown to you" in words and format_anchored_row(20, "line 20") in words
    await anchoring("edit", changes=[change])
    assert path.read_text() == TEXT.replace("line 20\n", "x\n")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"from": at(5), "to": at(3), "lines": []}, "ends before it starts"),
        ({"from": "5", "lines": []}, "expected an anchor"),
        ({"from": at(5), "to": "3", "lines": []}, "expected an anchor"),
        ({"from": "99aa", "lines": []}, "Line 99 does not exist (a.txt has 30 lines)."),
        (
            {"from": at(1), "lines": TEXT.split("\n")[:12]},
            'You gave 12 lines for line 1 alone. Give "to" as well.',
        ),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    anchoring: Anchoring, project: Path, change: dict[str, object], words: str
) -> None:
    path = put(project, TEXT)
    await anchoring("read", path="a.txt")
    assert words in await anchoring.error("edit", changes=[{"path": "a.txt", **change}])
    assert path.read_text() == TEXT


async def test_several_files_and_other_dialects_are_understood(anchoring: Anchoring, project: Path) -> None:
    one, two = put(project, "1\n", "one.txt"), put(project, "2\n", "two.txt")
    await anchoring("read", path="one.txt")
    await anchoring("read", path="two.txt")
    changes = [
        {"path": "one.txt", "from": at(1, "1\n"), "lines": ["one"]},
        {"path": "two.txt", "from": at(1, "1\n"), "lines": ["two"]},
    ]
    await anchoring.error("edit", changes=changes)
    assert (one.read_text(), two.read_text()) == ("1\n", "2\n")
    changes[1]["from"] = at(1, "2\n")
    await anchoring("edit", changes=changes)
    assert (one.read_text(), two.read_text()) == ("one\n", "two\n")
    await anchoring("edit", path="one.txt", edits=[{"oldText": "one", "newText": "1"}])
    await anchoring("edit", input="*** Begin Patch\n*** Update File: two.txt\n-two\n+2\n*** End Patch")
    assert (one.read_text(), two.read_text()) == ("1\n", "2\n")


async def test_tabs_stay_tabs_and_endings_stay(anchoring: Anchoring, project: Path) -> None:
    path = project / "a.go"
    path.write_bytes(b"func f() {\r\n\tif a {\r\n\t\tg()\r\n\t}\r\n}\r\n")
    rows = (await anchoring.text("read", path="a.go")).split("\n")
    first, last = rows[1].split("|")[0], rows[3].split("|")[0]
    lines = ["    if b {", "        h()", "    }"]
    await anchoring("edit", changes=[{"path": "a.go", "from": first, "to": last, "lines": lines}])
    assert path.read_bytes() == b"func f() {\r\n\tif b {\r\n\t\th()\r\n\t}\r\n}\r\n"


@pytest.mark.parametrize("text", ["41th", "41th|text", " 41th ", "*5th|x"])
def test_anchors_are_read_from_rows(text: str) -> None:
    found = parse_line_anchor(text)
    assert found is not None and found.tag == "th"


async def test_a_range_one_line_short_is_mended_where_that_is_proven(
    anchoring: Anchoring, project: Path
) -> None:
    """Number 37: the last line that the new text gives again was to be in the range."""
    text = "function f(a) {\n  if (a) {\n    one();\n  }\n}\nf(1);\n"
    path = put(project, text, "a.js")
    await anchoring("read", path="a.js")
    change = {
        "path": "a.js",
        "from": at(2, text),
        "to": at(3, text),
        "lines": ["  if (a) {", "    two();", "  }"],
    }
    said = await anchoring.text("edit", changes=[change])
    assert 'Left out 1 line that stands behind the range already ("}").' in said
    assert path.read_text() == text.replace("one", "two")
    now = path.read_text()
    change |= {"lines": ["  if (a) {", "    three();", "  } else {", "    four();", "  }"]}
    said = await anchoring.text("edit", changes=[change | {"from": at(2, now), "to": at(3, now)}])
    assert "three();" in path.read_text() and path.read_text().count("}") == now.count("}") + 1
    assert "New syntax error" not in said


async def test_a_notebook_is_changed_by_the_anchors_that_its_read_shows(
    anchoring: Anchoring, project: Path
) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["x = 1\n", "y = 2"],
        }
    ]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = put(project, json.dumps(whole, indent=1) + "\n", "n.ipynb")
    shown = await anchoring.text("read", path="n.ipynb")
    anchor = next(line for line in shown.split("\n") if line.endswith("|y = 2")).partition("|")[0]
    await anchoring("edit", changes=[{"path": "n.ipynb", "from": anchor, "lines": ["y = 3", "z = 4"]}])
    cells[0]["source"] = ["x = 1\n", "y = 3\n", "z = 4"]
    assert path.read_text() == json.dumps(whole, indent=1) + "\n"
    heading = next(line for line in shown.split("\n") if "cell 1" in line).partition("|")[0]
    said = await anchoring.error("edit", changes=[{"path": "n.ipynb", "from": heading, "lines": ["x"]}])
    assert "only the sources of its cells can be edited" in said


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
async def test_how_a_file_is_encoded_stays(anchoring: Anchoring, project: Path, encoding: str) -> None:
    path = project / "a.txt"
    path.write_bytes("één\r\ntwee\r\n".encode(encoding))
    await anchoring("read", path="a.txt")
    change = {"path": "a.txt", "from": f"1{compute_anchor_tag(1, 'één')}", "lines": ["drie", "vïer"]}
    await anchoring("edit", changes=[change])
    assert path.read_bytes() == "drie\r\nvïer\r\ntwee\r\n".encode(encoding)


BLOCK = "def load(path):\n    text = path.read_text()\n    return text\n\n\n"


@pytest.mark.parametrize("line", [1, 2, 3])
@pytest.mark.parametrize("copied", [BLOCK * 2, BLOCK + "x = 1\n" + BLOCK], ids=["right behind", "further on"])
async def test_a_line_of_a_block_that_was_copied_since_is_refused_with_the_rows(
    anchoring: Anchoring, project: Path, line: int, copied: str
) -> None:
    text = f"import os\n\n\n{BLOCK}print(os)\n"
    path = put(project, text)
    await anchoring("read", path="a.txt")
    now = text.replace(BLOCK, copied)
    path.write_text(now)
    change = {"path": "a.txt", "from": at(3 + line, text), "lines": ["other"]}
    words = await anchoring.error("edit", changes=[change])
    number = 3 + line
    assert (
        "Nothing was changed." in words and format_anchored_row(number, now.split("\n")[number - 1]) in words
    )
    assert path.read_text() == now
    await anchoring("edit", changes=[change])
    assert path.read_text().split("\n")[number - 1] == "other", "the rows of the refusal are shown lines"


async def test_an_unrelated_copy_elsewhere_does_not_refuse_an_anchor(
    anchoring: Anchoring, project: Path
) -> None:
    text = f"import os\n\n\n{BLOCK}print(os)\n"
    path = put(project, text)
    await anchoring("read", path="a.txt")
    path.write_text(text + BLOCK)
    await anchoring("edit", changes=[{"path": "a.txt", "from": at(1, text), "lines": ["import re"]}])
    assert path.read_text().startswith("import re\n")
