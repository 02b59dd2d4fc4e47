"""Cards are drawn from arguments and what is stored: live, while arguments stream in, and from files of pi."""

import pytest

from tools.tool_registry import builtin_tools
from tools.tool_result_values import (
    CommandBlock,
    DiffBlock,
    FileBlock,
    ListBlock,
    TextBlock,
    ToolResult,
    text_result,
)

TOOLS = {tool.name: tool for tool in builtin_tools()}


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "a"},
        {"path": 3, "command": None, "pattern": ["x"], "edits": "[{", "content": 1, "offset": "x"},
        {"edits": [{"oldText": "a"}, 3, None], "timeout": "5"},
        {"path": "a\nb\x1b[31m", "command": "x\x1b]52;c;\x07\ny", "pattern": "\x9b", "content": "\x1b"},
    ],
)
def test_any_arguments_can_be_drawn(name: str, arguments: dict[str, object]) -> None:
    for result in (None, text_result("so far"), text_result("Error", is_error=True), ToolResult()):
        card = TOOLS[name].card(arguments, result)
        assert card.title == name
        assert not {"\n", "\x1b", "\x9b"} & set(card.subject)


def test_an_edit_shows_its_change_before_it_runs() -> None:
    arguments = {"path": "a.py", "edits": [{"oldText": "one\ntwo", "newText": "one\n2"}]}
    card = TOOLS["edit"].card(arguments)
    assert card.summary == "+1 −1"
    assert card.blocks == (
        DiffBlock(path="a.py", diff="@@ -1,2 +1,2 @@\n one\n-two\n+2", added=1, removed=1),
    )


def test_a_write_shows_its_content_as_it_streams_in() -> None:
    card = TOOLS["write"].card({"path": "a.py", "content": "one\ntw"})
    assert (card.summary, card.blocks) == ("2 lines", (FileBlock(path="a.py", text="one\ntw"),))


def test_a_command_shows_how_it_ended() -> None:
    arguments = {"command": "make\nmake install", "timeout": 5}
    running = TOOLS["bash"].card(arguments, text_result("compiling"))
    assert running.subject == "make (timeout 5 s)"
    assert running.blocks == (CommandBlock(command="make\nmake install", output="compiling"),)
    failed = TOOLS["bash"].card(
        arguments, text_result("oops\n\nCommand exited with code 2", is_error=True, details={})
    )
    assert failed.summary == "exit 2"
    assert failed.blocks == (
        CommandBlock(
            command="make\nmake install", output="oops", exit_code=2, note="Command exited with code 2"
        ),
    )
    late = TOOLS["bash"].card(arguments, text_result("x\n\nCommand timed out after 5 seconds", is_error=True))
    assert late.summary == "timed out after 5 seconds"


def test_results_of_pi_are_drawn_too() -> None:
    pi_edit = text_result(
        "Successfully replaced 1 block(s) in a.",
        details={"diff": "-1 a\n+1 b", "patch": "@@ -1 +1 @@\n-a\n+b"},
    )
    assert TOOLS["edit"].card({"path": "a", "edits": []}, pi_edit).summary == "+1 −1"
    pi_read = text_result("x\n\n[Showing lines 1-1 of 9. Use offset=2 to continue.]")
    assert TOOLS["read"].card({"path": "a"}, pi_read).blocks == (
        FileBlock(path="a", text="x", note="Showing lines 1-1 of 9. Use offset=2 to continue."),
    )
    assert TOOLS["write"].card({"path": "a", "content": "x\n"}, text_result("Successfully wrote to a")).blocks


def test_lists_show_their_notice_apart() -> None:
    result = text_result("a\nb\n\n[2 results limit reached]")
    assert TOOLS["find"].card({"pattern": "*"}, result).blocks == (
        ListBlock(items=("a", "b"), note="2 results limit reached"),
    )
    assert TOOLS["grep"].card({"pattern": "x"}, text_result("No matches found")).summary == "No matches found"
    two = text_result("a:1: x\nb:2: x", details={"matches": 2, "files": 2})
    assert TOOLS["grep"].card({"pattern": "x"}, two).summary == "2 matches in 2 files"


def test_a_failure_shows_its_words() -> None:
    for name in ("read", "write", "edit"):
        card = TOOLS[name].card({"path": "a"}, text_result("It failed.", is_error=True))
        assert (card.summary, card.blocks) == ("failed", (TextBlock(text="It failed."),))
