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
            return PlannedCall(
                tool="read", arguments={"path": wish.path, "map": True}, verb="map", object=f"`{wish.path}`"
            )
        case FindName():
            return PlannedCall(
                tool="find",
                arguments=_given(pattern=_pattern(wish.name), path=wish.folder),
                verb="find",
                object=f"`{wish.name}`",
            )
        case SearchText():
            return _grep(wish)
        case ListFolder():
            return PlannedCall(
                tool="ls", arguments=_given(path=wish.path), verb="list", object=f"`{wish.path or '.'}`"
            )
        case Overview():
            return PlannedCall(tool="ls", arguments={}, verb="look at", object="what is here")
        case RunCommand():
            return PlannedCall(
                tool="bash", arguments={"command": wish.command}, verb="run", object=f"`{wish.command}`"
            )
        case RunPython():
            return PlannedCall(
                tool="eval", arguments={"code": wish.code}, verb="run", object=f"`{wish.code}` in Python"
            )
        case EditFile():
            edits = [{"oldText": old, "newText": new} for old, new in wish.replacements]
            return PlannedCall(
                tool="edit",
                arguments={"path": wish.path, "edits": edits},
                verb="change",
                object=f"`{wish.path}`",
            )
        case WriteFile():
            return PlannedCall(
                tool="write",
                arguments={"path": wish.path, "content": wish.text},
                verb="write",
                object=f"`{wish.path}`",
            )
        case KeepTodos():
            return _todos(wish)
        case _:
            assert_never(wish)


def _todos(wish: KeepTodos) -> PlannedCall:
    if wish.op == "add":
        words = _enumerated([f"“{task}”" for task in wish.tasks])
        return PlannedCall(
            tool="todo",
            arguments={"op": "add", "tasks": list(wish.tasks)},
            verb="put",
            object=f"{words} on the list of todos",
        )
    verb = {"view": "look at", "start": "begin", "done": "close", "drop": "drop"}[wish.op]
    item = f"“{wish.tasks[0]}”" if wish.tasks else "the current todo"
    return PlannedCall(
        tool="todo",
        arguments={"op": wish.op, **({"task": wish.tasks[0]} if wish.tasks else {})},
        verb=verb,
        object="the list of todos" if wish.op == "view" else item,
    )


def _read(wish: ReadFile) -> PlannedCall:
    limit = wish.last - wish.first + 1 if wish.first and wish.last else None
    return PlannedCall(
        tool="read",
        arguments=_given(path=wish.path, offset=wish.first, limit=limit, symbol=wish.symbol),
        verb="read",
        object=f"`{wish.path}`" if wish.symbol is None else f"`{wish.symbol}` in `{wish.path}`",
    )


def _grep(wish: SearchText) -> PlannedCall:
    is_glob = wish.where is not None and any(character in wish.where for character in "*?{")
    arguments = _given(
        pattern=wish.pattern,
        path=None if is_glob else wish.where,
        glob=wish.where if is_glob else None,
    )
    return PlannedCall(tool="grep", arguments=arguments, verb="search for", object=f"`{wish.pattern}`")


def _pattern(name: str) -> str:
    """A part of a name finds every name that contains it."""
    return name if any(character in name for character in "*?[{/.") else f"*{name}*"


def _given(**arguments: object) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if value is not None}


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
