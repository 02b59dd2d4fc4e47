"""From wishes to tool calls, by the tools that this session declares."""

from itertools import groupby
from typing import assert_never

import msgspec

from app.providers.offline.followups import resolve
from app.providers.offline.situation import Situation
from app.providers.offline.wishes import (
    Doing,
    EditFile,
    FindName,
    KeepTodos,
    ListFolder,
    MapFile,
    Overview,
    ReadFile,
    RunCommand,
    RunPython,
    SearchText,
    Talking,
    Wish,
    WriteFile,
)
from app.providers.offline.words import steps_of
from app.values.messages import ToolDeclaration


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call to make, and what it is for."""

    tool: str
    arguments: dict[str, object]
    verb: str
    object: str
    """Together they continue "I will …"."""

    @property
    def purpose(self) -> str:
        return f"{self.verb} {self.object}"


def planned(tool: str, verb: str, object: str, /, **arguments: object) -> PlannedCall:
    """An argument that is None was not said."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return PlannedCall(tool=tool, arguments=given, verb=verb, object=object)


class PlannedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    talk: tuple[Talking, ...] = ()
    """Answered in words."""
    refusals: tuple[str, ...] = ()
    """What cannot be done in this session, and why."""
    groups: tuple[tuple[PlannedCall, ...], ...] = ()
    """Calls to make, one group after the other."""
    is_overview: bool = False
    """What the project says of itself is read when its folder is known."""


def plan(request: str, situation: Situation) -> PlannedAnswer:
    talk: list[Talking] = []
    refusals: list[str] = []
    groups: list[tuple[PlannedCall, ...]] = []
    it = situation.last_path
    is_overview = False
    for wishes in steps_of(request):
        steps: list[PlannedCall] = []
        for said in wishes:
            wish = resolve(said, it)
            it = _path(wish) or it
            is_overview = is_overview or isinstance(wish, Overview)
            if not isinstance(wish, Doing):
                talk.append(wish)
                continue
            step = step_for(wish)
            refusal = _refusal(step, situation.tools)
            if refusal:
                refusals.append(refusal)
            else:
                steps.append(step)
        if steps:
            groups.append(tuple(steps))
    return PlannedAnswer(
        talk=tuple(talk), refusals=tuple(refusals), groups=tuple(groups), is_overview=is_overview
    )


def _path(wish: Wish) -> str | None:
    return wish.path if isinstance(wish, ReadFile | MapFile | EditFile | WriteFile) else None


def step_for(wish: Doing) -> PlannedCall:
    match wish:
        case ReadFile():
            return _read(wish)
        case MapFile():
            return planned("read", "map", f"`{wish.path}`", path=wish.path, map=True)
        case FindName():
            return planned("find", "find", f"`{wish.name}`", pattern=_pattern(wish.name), path=wish.folder)
        case SearchText():
            return _grep(wish)
        case ListFolder():
            return planned("ls", "list", f"`{wish.path or '.'}`", path=wish.path)
        case Overview():
            return planned("ls", "look at", "what is here")
        case RunCommand():
            return planned("bash", "run", f"`{wish.command}`", command=wish.command)
        case RunPython():
            return planned("eval", "run", f"`{wish.code}` in Python", code=wish.code)
        case EditFile():
            edits = [{"oldText": old, "newText": new} for old, new in wish.replacements]
            return planned("edit", "change", f"`{wish.path}`", path=wish.path, edits=edits)
        case WriteFile():
            return planned("write", "write", f"`{wish.path}`", path=wish.path, content=wish.text)
        case KeepTodos():
            return _todos(wish)
        case _:
            assert_never(wish)


def _todos(wish: KeepTodos) -> PlannedCall:
    if wish.op == "add":
        words = _enumerated([f"“{task}”" for task in wish.tasks])
        return planned("todo", "put", f"{words} on the list of todos", op="add", tasks=list(wish.tasks))
    verb = {"view": "look at", "start": "begin", "done": "close", "drop": "drop"}[wish.op]
    task = wish.tasks[0] if wish.tasks else None
    item = f"“{task}”" if task is not None else "the current todo"
    whole = "the list of todos"
    return planned("todo", verb, whole if wish.op == "view" else item, op=wish.op, task=task)


def _read(wish: ReadFile) -> PlannedCall:
    limit = wish.last - wish.first + 1 if wish.first and wish.last else None
    what = f"`{wish.path}`" if wish.symbol is None else f"`{wish.symbol}` in `{wish.path}`"
    return planned("read", "read", what, path=wish.path, offset=wish.first, limit=limit, symbol=wish.symbol)


def _grep(wish: SearchText) -> PlannedCall:
    is_glob = wish.where is not None and any(character in wish.where for character in "*?{")
    where = {"glob" if is_glob else "path": wish.where}
    return planned("grep", "search for", f"`{wish.pattern}`", pattern=wish.pattern, **where)


def _pattern(name: str) -> str:
    """A part of a name finds every name that contains it."""
    return name if any(character in name for character in "*?[{/.") else f"*{name}*"


def _refusal(step: PlannedCall, tools: dict[str, ToolDeclaration]) -> str:
    tool = tools.get(step.tool)
    if tool is None:
        there_are = ", ".join(f"`{name}`" for name in tools) or "none"
        return f"I cannot {step.purpose}: the tool `{step.tool}` is not active here. Active: {there_are}."
    known = tool.parameters.get("properties")
    unknown = [name for name in step.arguments if isinstance(known, dict) and name not in known]
    if unknown:
        return f"I cannot {step.purpose}: the tool `{step.tool}` knows no `{unknown[0]}` here."
    return ""


def purposes(steps: tuple[PlannedCall, ...]) -> str:
    """`read `a` and `b` and list `.``."""
    phrases = [
        f"{verb} {_enumerated([step.object for step in same])}"
        for verb, same in groupby(steps, key=lambda step: step.verb)
    ]
    return _enumerated(phrases)


def _enumerated(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
