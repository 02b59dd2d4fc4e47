"""Text helpers of all exports: remove control characters and lone surrogates, format arguments."""

import json
import re
from typing import Any

from app.values.content import ToolCall

_TERMINAL_ESCAPE_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_CONTROL_AND_SURROGATE_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def remove_control_characters(text: str) -> str:
    """Removes escape sequences and control characters; lone surrogates become the replacement character."""
    text = _TERMINAL_ESCAPE_SEQUENCES.sub("", text).replace("\r\n", "\n")
    return _CONTROL_AND_SURROGATE_CHARACTERS.sub(lambda found: "\ufffd" if found[0] >= "\ud800" else "", text)


def indented_json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str)


def tool_call_summary_line(call: ToolCall) -> str:
    """Returns a tool call in one line: its name and its most telling argument."""
    for key in ("command", "path", "file_path", "pattern", "query", "url"):
        value = call.arguments.get(key)
        if isinstance(value, str):
            return remove_control_characters(f"{call.name} {value}".replace("\n", " "))[:200]
    return remove_control_characters(call.name)
