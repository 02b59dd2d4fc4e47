"""Prompts that bayou writes for a person, known by how they begin: what they want takes a model, and that is said.

A first prompt for another session is put together all the same, from what was asked here.
"""

import re
from typing import Final

from app.providers.contract import Context
from app.providers.offline.remarks import CONNECT
from app.values.content import text_of
from app.values.messages import UserMessage

_HANDOFF: Final = re.compile(
    r"Work on the goal below goes on in a new session\b.*\n\nGoal: (?P<goal>.*)", re.DOTALL
)
_REVIEW: Final = re.compile(r"Review what .*?:\n\n(?P<files>(?:- .*\n)+)")
_CONTEXT: Final = re.compile(
    r"(?:Write AGENTS\.md for this project|Look whether \S+ is still true of this project)\b"
)
_FILE: Final = re.compile(r"- (?P<path>\S+) \(")
_MOST = 20


def answer_to_written(context: Context) -> str:
    """Nothing, if the last request is a person's own words."""
    users = [text_of(one.content) for one in context.messages if isinstance(one, UserMessage)]
    request = users[-1] if users else ""
    if (handoff := _HANDOFF.match(request)) is not None:
        return _draft(handoff["goal"].strip(), users[:-1])
    if (review := _REVIEW.match(request)) is not None:
        paths = [found["path"] for found in map(_FILE.match, review["files"].splitlines()) if found]
        offers = "\n".join(f"{number}. `read {path}`" for number, path in enumerate(paths[:5], 1))
        return f"A review takes a language model, and I am none. {CONNECT}\n\nWhat I can do:\n\n{offers}"
    if _CONTEXT.match(request):
        return (
            f"To say what an agent needs to know of this project takes a language model, and I am none. {CONNECT}\n\n"
            "What I can do:\n\n1. `what does this project do?`\n2. `list`"
        )
    return ""


def _draft(goal: str, asked: list[str]) -> str:
    """By the words of the conversation."""
    told = [
        line for text in asked if (line := text.strip().split("\n", 1)[0][:200]) and not _is_written(text)
    ]
    lines = [goal]
    if told:
        lines += ["", "What was asked before:", *(f"- {line}" for line in dict.fromkeys(told[-_MOST:]))]
    return "\n".join([*lines, "", "(Put together by the offline guide, which understands nothing of it.)"])


def _is_written(text: str) -> bool:
    return any(pattern.match(text) for pattern in (_HANDOFF, _REVIEW, _CONTEXT))
