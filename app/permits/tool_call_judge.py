"""Judges what a tool call does: its command as shell, its paths as the tool uses them."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.permits.command_findings import Finding, contained_finding, worst_finding
from app.permits.command_place import CommandPlace
from app.permits.environment_variables import judge_variable_assignment
from app.permits.path_effects import PathEffects
from app.permits.programs.finders import as_glob
from app.permits.shell.command_line import judge_command
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import literal_text_of
from app.permits.verdicts import CallPart, Judgement, verdict_of
from tools.effects import Effects, Program
from tools.patterns import late

_QUOTED_PATH = late(r"""(["'])(?P<path>[~/.\w][^"'\n]{1,400})\1""")
_HOME_PREFIXES = ("~", "$HOME", "${HOME}")
_MAX_NAMED_PATHS = 500
"""The maximum number of quoted texts of a cell, or texts in arguments, that are checked as paths."""
_MAX_PATH_CHARS = 4096


class CallRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as the permission gate judges it."""

    tool_name: str
    """The name of the tool in permission rules."""
    effects: Effects
    arguments: Mapping[str, Any] = {}
    """The arguments of the call, shown in the question about a tool that may do anything; their texts are checked
    as paths."""
    claimed_effect: str = ""
    """The tool's own description of its effect, shown in the question about a tool that may do anything."""


def judge_call(request: CallRequest, place: CommandPlace) -> Judgement:
    """Judges a tool call by its effects."""
    effects = request.effects
    parts: list[CallPart] = []
    if effects.runs is not None:
        parts += _judge_started_program(effects.runs, place)
    ground = PathEffects(place, ShellScope(possible_folders=(place.working_folder,)))
    if effects.opaque:
        parts.append(_judge_unknown(request))
    if effects.opaque or effects.server:
        parts += _judge_named_secrets(request, ground)
    touched = dict.fromkeys((*effects.reads, *effects.writes))
    parts += [_judge_path(request.tool_name, path, effects, ground) for path in touched]
    parts += [
        found for glob in effects.globs if (found := _judge_glob(request.tool_name, glob, ground)) is not None
    ]
    parts += [_judge_host(host) for host in effects.hosts]
    return verdict_of(parts or [_judge_harmless(request)])


def _judge_started_program(program: Program, place: CommandPlace) -> Iterable[CallPart]:
    if program.language == "python":
        return [_judge_code(program, place)]
    verdict = judge_command(program.code, place)
    found: list[Finding] = []
    for name, value in program.environment.items():
        found += judge_variable_assignment(name, value, is_exported=True)
    if not found:
        return verdict.parts
    decisive = worst_finding(found)
    text = " ".join(f"{name}=…" for name in program.environment)
    return [
        *verdict.parts,
        CallPart(text=text, risk=decisive.risk, why=decisive.why, command_words=()),
    ]


def _judge_code(program: Program, place: CommandPlace) -> CallPart:
    """Judges a code cell: it can do anything, and only the paths in its string literals are visible."""
    ground = PathEffects(place, ShellScope(possible_folders=(place.working_folder,)))
    named = [
        found["path"] for found in itertools.islice(_QUOTED_PATH.finditer(program.code), _MAX_NAMED_PATHS)
    ]
    secret = next(
        (one for path in named if (one := _judge_read_text(path, ground)).risk == "forbidden"), None
    )
    found = secret or contained_finding("runs Python, which can do what a command can")
    return CallPart(text=program.code.strip(), risk=found.risk, why=found.why, command_words=(), kind="code")


def _judge_read_text(text: str, ground: PathEffects) -> Finding:
    """Judges reading the path that a text may be; the program that reads it may understand `~`, `$HOME` and
    `file://`."""
    text = text.strip().removeprefix("file://")
    start, _, rest = text.partition("/")
    return ground.judge_read(
        literal_text_of(f"{ground.place.home_folder}/{rest}" if start in _HOME_PREFIXES else text)
    )


def _judge_named_secrets(request: CallRequest, ground: PathEffects) -> Iterable[CallPart]:
    """Judges the texts in the arguments of a tool that does not state its files: a text that is the path of a
    secret file is judged as reading that file."""
    for text in itertools.islice(_argument_texts(request.arguments), _MAX_NAMED_PATHS):
        if not text.strip() or len(text) > _MAX_PATH_CHARS or "\n" in text:
            continue
        found = _judge_read_text(text, ground)
        if found.risk == "forbidden":
            yield CallPart(
                text=f"{request.tool_name} {text}",
                risk=found.risk,
                why=found.why,
                command_words=(request.tool_name, text),
                kind="file",
                path=text,
                needs_sandbox=False,
            )


def _argument_texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yields all texts in arguments, names too, at any depth."""
    waiting: list[Any] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += [one for pair in value.items() for one in pair]
        elif isinstance(value, list | tuple):
            waiting += value


def _judge_path(tool: str, path: str, effects: Effects, ground: PathEffects) -> CallPart:
    changes = path in effects.writes
    found = [ground.judge_unsandboxed_write(literal_text_of(path))] if changes else []
    if path in effects.reads:
        found.append(ground.judge_read(literal_text_of(path)))
    decisive = worst_finding(found)
    return CallPart(
        text=f"{tool} {ground.display_path(path)}",
        risk=decisive.risk,
        why=decisive.why,
        command_words=(tool, path),
        kind="file",
        path=path,
        changes_file=changes,
        needs_sandbox=False,
    )


def _judge_glob(tool: str, glob: str, ground: PathEffects) -> CallPart | None:
    """Judges a search pattern: only one that names secret files is a risk, because other secret files are hidden in
    searches."""
    found = ground.judge_read(literal_text_of(as_glob(glob)))
    if found.risk != "forbidden":
        return None
    return CallPart(
        text=f"{tool} {ground.display_path(glob)}",
        risk="forbidden",
        why=found.why,
        command_words=(tool, glob),
        kind="file",
        path=glob,
        needs_sandbox=False,
    )


def _judge_host(host: str) -> CallPart:
    return CallPart(
        text=host,
        risk="contained",
        why="connects to this host",
        command_words=(),
        named_hosts=(host,),
        uses_network=True,
        kind="host",
    )


def _judge_unknown(request: CallRequest) -> CallPart:
    family = request.effects.server
    if not family:
        return CallPart(
            text=request.tool_name,
            risk="contained",
            why="a tool that may do anything",
            command_words=(),
            kind="tool",
        )
    said = json.dumps(request.arguments, ensure_ascii=False, default=repr)
    claim = f"; {request.claimed_effect}" if request.claimed_effect else ""
    why = f"an MCP tool, which runs outside bayou's sandbox{claim}"
    return CallPart(
        text=f"{request.tool_name} {said}",
        risk="contained",
        why=why,
        command_words=(),
        uses_network=True,
        kind="tool",
        program_family=family,
    )


def _judge_harmless(request: CallRequest) -> CallPart:
    why = "lists file names" if request.effects.lists else "touches no file and runs nothing"
    return CallPart(
        text=request.tool_name, risk="safe", why=why, command_words=(), kind="tool", needs_sandbox=False
    )
