"""The steps of a plan that was written as Markdown: what becomes of it as a list of todos. Pure."""

import re

from app.todos.changes import LONGEST, MOST_ITEMS, TodoRefused, normalised
from app.values.todos import Phases, TodoItem, TodoPhase

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*$")
_STEP = re.compile(r"(?:\d{1,3}[.)]|[-*+])\s+(?:\[[ xX]\]\s+)?(.+)")
_MARKS = re.compile(r"(\*\*|__|`)")


def todos_of(title: str, plan: str) -> Phases:
    """Its top-level items by heading; a plan without any becomes no list."""
    phases: list[TodoPhase] = []
    name, texts = title, list[str]()
    seen: set[str] = set()
    is_code = False

    def close() -> None:
        if texts:
            phases.append(TodoPhase(name=name, tasks=tuple(TodoItem(content=text) for text in texts)))
            texts.clear()

    for line in plan.splitlines():
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        elif is_code:
            continue
        elif heading := _HEADING.fullmatch(line):
            close()
            name = _plain(heading[1])
        elif step := _STEP.match(line):
            text = _plain(step[1])
            if text and text not in seen and len(seen) < MOST_ITEMS:
                seen.add(text)
                texts.append(text)
    close()
    try:
        return normalised(phases)
    except TodoRefused:
        return ()


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())[:LONGEST]
