"""Judges what a tool call does: its command as shell, its paths as the tool uses them."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from app.permits.command_findings import RiskFinding, contained_risk_finding, highest_risk_finding
from app.permits.command_place import CommandPlace
from app.permits.environment_variables import judge_variable_assignment
from app.permits.path_effects import PathEffectJudge
from app.permits.programs.find_and_xargs import quoted_pattern_to_glob
from app.permits.risk_classes import ToolCallJudgement, ToolCallPart, judgement_of_parts
from app.permits.shell.command_line import judge_command_line
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import literal_shell_word
from tools.call_effects import Effects, ProgramOfCall
from tools.lazy_patterns import lazy_regex

_QUOTED_PATH = lazy_regex(r"""(["'])(?P<path>[~/.\w][^"'\n]{1,400})\1""")
_HOME_FOLDER_PREFIXES = ("~", "$HOME", "${HOME}")
_MAX_NAMED_PATHS = 500
"""The maximum number of quoted texts of a cell, or texts in arguments, that are checked as paths."""
_MAX_PATH_CHARS = 4096


class ToolCallToJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as the permission gate judges it."""

    tool_name: str
    """The name of the tool in permission rules."""
    effects: Effects
    arguments: Mapping[str, Any] = {}
    """The arguments of the call, shown in the question about a tool that may do anything; their texts are checked
    as paths."""
    claimed_effect: str = ""
    """The tool's own description of its effect, shown in the question about a tool that may do anything."""


def judge_tool_call(request: ToolCallToJudge, place: CommandPlace) -> ToolCallJudgement:
    """Judges a tool call by its effects."""
    effects = request.effects
    parts: list[ToolCallPart] = []
    if effects.runs is not None:
        parts += _judge_started_program(effects.runs, place)
    ground = PathEffectJudge(place, ShellScope(possible_folders=(place.working_folder,)))
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
    return judgement_of_parts(parts or [_judge_harmless(request)])


def _judge_started_program(program: ProgramOfCall, place: CommandPlace) -> Iterable[ToolCallPart]:
    if program.language == "python":
        return [_judge_code(program, place)]
    verdict = judge_command_line(program.code, place)
    found: list[RiskFinding] = []
    for name, value in program.environment.items():
        found += judge_variable_assignment(name, value, is_exported=True)
    if not found:
        return verdict.parts
    decisive = highest_risk_finding(found)
    text = " ".join(f"{name}=…" for name in program.environment)
    return [
        *verdict.parts,
        ToolCallPart(text=text, risk=decisive.risk, why=decisive.why, command_words=()),
    ]


def _judge_code(program: ProgramOfCall, place: CommandPlace) -> ToolCallPart:
    """Judges a code cell: it can do anything, and only the paths in its string literals are visible."""
    ground = PathEffectJudge(place, ShellScope(possible_folders=(place.working_folder,)))
    named = [
        found["path"] for found in itertools.islice(_QUOTED_PATH.finditer(program.code), _MAX_NAMED_PATHS)
    ]
    secret = next(
        (one for path in named if (one := _judge_read_text(path, ground)).risk == "forbidden"), None
    )
    found = secret or contained_risk_finding("runs Python, which can do what a command can")
    return ToolCallPart(
        text=program.code.strip(), risk=found.risk, why=found.why, command_words=(), kind="code"
    )


def _judge_read_text(text: str, ground: PathEffectJudge) -> RiskFinding:
    """Judges reading the path that a text may be; the program that reads it may understand `~`, `$HOME` and
    `file://`."""
    text = text.strip().removeprefix("file://")
    start, _, rest = text.partition("/")
    return ground.judge_read(
        literal_shell_word(f"{ground.place.home_folder}/{rest}" if start in _HOME_FOLDER_PREFIXES else text)
    )


def _judge_named_secrets(request: ToolCallToJudge, ground: PathEffectJudge) -> Iterable[ToolCallPart]:
    """Judges the texts in the arguments of a tool that does not state its files: a text that is the path of a
    secret file is judged as reading that file."""
    for text in itertools.islice(_argument_texts(request.arguments), _MAX_NAMED_PATHS):
        if not text.strip() or len(text) > _MAX_PATH_CHARS or "\n" in text:
            continue
        found = _judge_read_text(text, ground)
        if found.risk == "forbidden":
            yield ToolCallPart(
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


def _judge_path(tool: str, path: str, effects: Effects, ground: PathEffectJudge) -> ToolCallPart:
    changes = path in effects.writes
    found = [ground.judge_unsandboxed_write(literal_shell_word(path))] if changes else []
    if path in effects.reads:
        found.append(ground.judge_read(literal_shell_word(path)))
    decisive = highest_risk_finding(found)
    return ToolCallPart(
        text=f"{tool} {ground.display_path(path)}",
        risk=decisive.risk,
        why=decisive.why,
        command_words=(tool, path),
        kind="file",
        path=path,
        changes_file=changes,
        needs_sandbox=False,
    )


def _judge_glob(tool: str, glob: str, ground: PathEffectJudge) -> ToolCallPart | None:
    """Judges a search pattern: only one that names secret files is a risk, because other secret files are hidden in
    searches."""
    found = ground.judge_read(literal_shell_word(quoted_pattern_to_glob(glob)))
    if found.risk != "forbidden":
        return None
    return ToolCallPart(
        text=f"{tool} {ground.display_path(glob)}",
        risk="forbidden",
        why=found.why,
        command_words=(tool, glob),
        kind="file",
        path=glob,
        needs_sandbox=False,
    )


def _judge_host(host: str) -> ToolCallPart:
    return ToolCallPart(
        text=host,
        risk="contained",
        why="connects to this host",
        command_words=(),
        named_hosts=(host,),
        uses_network=True,
        kind="host",
    )


def _judge_unknown(request: ToolCallToJudge) -> ToolCallPart:
    family = request.effects.server
    if not family:
        return ToolCallPart(
            text=request.tool_name,
            risk="contained",
            why="a tool that may do anything",
            command_words=(),
            kind="tool",
        )
    said = json.dumps(request.arguments, ensure_ascii=False, default=repr)
    claim = f"; {request.claimed_effect}" if request.claimed_effect else ""
    why = f"an MCP tool, which runs outside bayou's sandbox{claim}"
    return ToolCallPart(
        text=f"{request.tool_name} {said}",
        risk="contained",
        why=why,
        command_words=(),
        uses_network=True,
        kind="tool",
        program_family=family,
    )


def _judge_harmless(request: ToolCallToJudge) -> ToolCallPart:
    why = "lists file names" if request.effects.lists else "touches no file and runs nothing"
    return ToolCallPart(
        text=request.tool_name, risk="safe", why=why, command_words=(), kind="tool", needs_sandbox=False
    )
