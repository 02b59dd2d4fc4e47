"""Summaries for compaction and branches: what was asked and which files were named, taken from the text."""

import re

from app.providers.contract import Context
from app.values.content import text_of
from app.values.messages import UserMessage

_ASKED = re.compile(r"^\[User\]:\s*(.+)$", re.MULTILINE)
_PATH = re.compile(
    r"[\w~.-]*(?:/[\w.-]+)+|\b[\w-]+\.(?:py|md|toml|json|js|ts|rs|go|c|h|txt|yaml|yml|sh|css|html)\b"
)
_MOST = 30


def is_summary_request(context: Context) -> bool:
    """Without tools, and with a conversation to be summed up."""
    if context.tools:
        return False
    return "<conversation>" in _request(context) or "summar" in context.system_prompt.lower()


def summary(context: Context) -> str:
    text = _request(context)
    asked = list(dict.fromkeys(line.strip()[:200] for line in _ASKED.findall(text)))
    files = list(dict.fromkeys(_PATH.findall(text)))
    return "\n".join(
        [
            "## Goal",
            asked[0] if asked else "(nothing was asked)",
            "",
            "## Requests so far",
            *(f"- {line}" for line in asked[-_MOST:]),
            "",
            "## Files named",
            *(f"- {path}" for path in files[:_MOST]),
            "",
            "## Note",
            "Put together by the offline guide from the words of the conversation; it understands nothing of them.",
        ]
    )


def _request(context: Context) -> str:
    users = [message for message in context.messages if isinstance(message, UserMessage)]
    return text_of(users[-1].content) if users else ""
