"""What the figures of the first question count."""

import json
from typing import Any

from bench.first_question import is_right, parse_run
from bench.repository_maps import Case


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


def test_calls_before_the_first_edit_tokens_and_what_was_edited():
    told = parse_run(
        [
            *lines(
                {"type": "tool_execution_start", "toolName": "locate", "args": {"about": "x"}},
                {"type": "tool_execution_start", "toolName": "read", "args": {}, "parentToolCallId": "1"},
                {"type": "tool_execution_start", "toolName": "grep", "args": {}},
                {
                    "type": "message_end",
                    "message": {"role": "assistant", "usage": {"input": 10, "cacheRead": 5}},
                },
                {"type": "message_end", "message": {"role": "user"}},
                {"type": "tool_execution_start", "toolName": "edit", "args": {"path": "/tree/src/boat.py"}},
                {"type": "tool_execution_start", "toolName": "read", "args": {}},
            ),
            "no JSON at all",
        ]
    )
    assert (told.looks, told.input_tokens, told.edited) == (2, 15, {"/tree/src/boat.py"})
    case = Case(commit="a", parent="b", question="q", touched=("src/boat.py",), lines={})
    assert is_right(case, told)
    assert not is_right(Case(commit="a", parent="b", question="q", touched=("oar.py",), lines={}), told)
