"""What a call of a tool does: its command is judged as a shell reads it, its paths as the tool means them."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from app.permits.findings import SAFE, Finding, contained, safe, worst
from app.permits.paths import PathGround
from app.permits.place import CommandPlace
from app.permits.programs.finders import as_glob
from app.permits.scope import ShellScope
from app.permits.shell import judge_command
from app.permits.variables import judge_variable
from app.permits.verdicts import CallPart, Judgement, verdict_of
from app.permits.words import Word, literal
from tools.edits.named import EDITING, MOVES
from tools.patterns import late

_QUOTED = late(r"""(["'])(?P<path>[~/.\w][^"'\n]{1,400})\1""")
_MOST_NAMED = 500
"""Texts of a cell that may be paths."""
_PATHS: dict[str, str] = {
    "read": "read",
    "edit": "write",
    "write": "write",
    "grep": "search",
    "ast_grep": "search",
    "ast_edit": "search",
    "find": "list",
    "ls": "list",
}


def judged_as(tool: str) -> str:
    """Tools that differ in how they are written alone are one to rules and modes."""
    return "edit" if tool in EDITING else tool


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the gate sees it."""

    tool: str
    arguments: Mapping[str, Any]
    path: str | None = None
    """Which file or folder it means, absolute, as the tool reads its argument."""
    also: tuple[str, ...] = ()
    """Further ones, of a call that changes several files."""
    is_read_only: bool = False
    """What a tool that is not known here says of itself."""
    claim: str = ""
    """The same, where it is only told to who is asked."""


def judge_call(request: CallRequest, place: CommandPlace) -> Judgement:
    if request.tool == "bash":
        return _command(request, place)
    if request.tool == "eval":
        return _program(request, place)
    how = _PATHS.get(request.tool)
    if how is None:
        return _other(request)
    each = (request, *(msgspec.structs.replace(request, path=path) for path in request.also))
    return verdict_of([_on_path(one, how, place) for one in each])


def _command(request: CallRequest, place: CommandPlace) -> Judgement:
    command = request.arguments.get("command")
    if not isinstance(command, str):
        return verdict_of([CallPart(text="bash", risk="contained", why="there is no command to be judged")])
    verdict = judge_command(command, place)
    given = request.arguments.get("env")
    if not isinstance(given, dict) or not given:
        return verdict
    found: list[Finding] = []
    for name in given:
        found += judge_variable(str(name))
    if not found:
        return verdict
    decisive = worst(found)
    text = " ".join(f"{name}=…" for name in given)
    return verdict_of(
        [
            *verdict.parts,
            CallPart(text=text, risk=decisive.risk, why=decisive.why, words=()),
        ]
    )


def _program(request: CallRequest, place: CommandPlace) -> Judgement:
    """A cell can do what a command can, and what it does nobody can tell from its words; but what it names is seen."""
    code = request.arguments.get("code")
    if not isinstance(code, str):
        return verdict_of([CallPart(text="eval", risk="contained", why="there is no code to be judged")])
    ground = PathGround(place, ShellScope(folders=(place.folder,)))
    named = [found["path"] for found in itertools.islice(_QUOTED.finditer(code), _MOST_NAMED)]
    secret = next((one for path in named if (one := ground.read(literal(path))).risk == "forbidden"), None)
    found = secret or contained("runs Python, which can do what a command can")
    return verdict_of([CallPart(text=code.strip(), risk=found.risk, why=found.why, words=())])


def _on_path(request: CallRequest, how: str, place: CommandPlace) -> CallPart:
    ground = PathGround(place, ShellScope(folders=(place.folder,)))
    path = literal(request.path or place.folder)
    if how == "read":
        found = ground.read(path)
    elif how == "write":
        found = _changed(request, ground, path)
    elif how == "search":
        found = _searched(request, ground, path.text)
    else:
        found = safe("lists names")
    return CallPart(
        text=f"{request.tool} {ground.shown(path.text)}",
        risk=found.risk,
        why=found.why,
        words=(request.tool, path.text),
        needs_sandbox=False,
    )


def _changed(request: CallRequest, ground: PathGround, path: Word) -> Finding:
    """A patch that moves files puts what is secret where anybody reads it."""
    found, patch = ground.change(path), request.arguments.get("input")
    if isinstance(patch, str) and MOVES in patch and (read := ground.read(path)).risk == "forbidden":
        return worst([found, read])
    return found


def _searched(request: CallRequest, ground: PathGround, path: str) -> Finding:
    """`grep` in a folder: what secret files hold is left to the box; a pattern that names them is meant."""
    found = [SAFE, ground.read(literal(path))]
    glob = request.arguments.get("glob")
    for pattern in [glob] if isinstance(glob, str) and not glob.startswith("!") else []:
        named = ground.read(literal(path.rstrip("/") + "/" + as_glob(pattern).lstrip("/")))
        if named.risk == "forbidden":
            found.append(named)
    return worst(found)


def _other(request: CallRequest) -> Judgement:
    if request.is_read_only:
        return verdict_of([CallPart(text=request.tool, risk="safe", why="says that it only reads", words=())])
    if request.tool.startswith("mcp__"):
        said = json.dumps(request.arguments, ensure_ascii=False, default=repr)
        claim = f"; {request.claim}" if request.claim else ""
        why = f"a tool of an MCP server, which acts where no sandbox of bayou's reaches{claim}"
        return verdict_of(
            [CallPart(text=f"{request.tool} {said}", risk="contained", why=why, words=(), network=True)]
        )
    return verdict_of(
        [CallPart(text=request.tool, risk="contained", why="a tool that may do anything", words=())]
    )
