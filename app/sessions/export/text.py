"""Text helpers of all exports: remove control characters and lone surrogates, format arguments."""

import json
import re
from typing import Any

from app.values.content import ToolCall

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    """Removes escape sequences and control characters; lone surrogates become the replacement character."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return _CONTROLS.sub(lambda found: "\ufffd" if found[0] >= "\ud800" else "", text)


def pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str)


def calls_line(call: ToolCall) -> str:
    """A tool call in one line: its name and its most telling argument."""
    for key in ("command", "path", "file_path", "pattern", "query", "url"):
        value = call.arguments.get(key)
        if isinstance(value, str):
            return clean(f"{call.name} {value}".replace("\n", " "))[:200]
    return clean(call.name)
