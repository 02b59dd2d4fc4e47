"""Implements `bayou permissions check [--json] [COMMAND …]`: shows the decision on command lines here,
running nothing."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.commands.folder_settings_and_rules import folder_settings_and_rules
from app.engine.permissions.permission_context import current_permission_mode
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandboxes import is_sandbox_usable
from app.permits.permission_decisions import PermissionPolicy, ToolCallDecision, decide_tool_call
from app.permits.tool_call_judge import ToolCallToJudge, judge_tool_call
from app.printing import print_json, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from tools.call_effects import Effects, ProgramOfCall

_PERMISSIONS_USAGE_TEXT = (
    "bayou permissions check [--json] [COMMAND …]\n\nShows how each command line is judged, "
    "part by part, and which rule or mode decides; nothing is run. Without COMMAND\nthe "
    'command lines are read from standard input, one a line, as text or as {"command": '
    '"…"}.\n\n  --json  one JSON object a line: command, letter, parts, outcome, '
    "decided_by\n\nsafe: only reads · contained: runs in the sandbox, or needs approval · "
    "forbidden: dangerous, needs a typed word\n"
)


class _CommandLine(msgspec.Struct, frozen=True):
    """A command line, or an error in its place."""

    command: str | None
    is_json: bool
    problem: str = ""


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words[:2]):
        print_text(_PERMISSIONS_USAGE_TEXT)
        return 0
    if words[0] != "check":
        raise UsageError(
            f"Unknown command: bayou permissions {words[0]}. The only command is: bayou permissions check."
        )
    is_json, commands = _parse_arguments(words[1:])
    judge = _make_judge(BayouPaths.from_env(os.environ, current_folder()))
    failed = False
    for line in (
        (_CommandLine(text, is_json) for text in commands) if commands else _read_command_lines(is_json)
    ):
        if line.command is None:
            failed = True
            print_problem(line.problem)
            continue
        decision = judge(line.command)
        if line.is_json:
            print_json(_decision_data(line.command, decision), flush=True)
        else:
            print_line(_decision_text(line.command, decision), flush=True)
    return 1 if failed else 0


def _parse_arguments(words: list[str]) -> tuple[bool, list[str]]:
    is_json, commands, rest = False, list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return is_json, commands + rest
        if word == "--json":
            is_json = True
        elif word.startswith("--"):
            raise UsageError(f"Unknown option: {word}. bayou permissions check takes --json.")
        else:
            commands.append(word)
    return is_json, commands


def _read_command_lines(is_json: bool) -> Iterator[_CommandLine]:
    for number, raw in enumerate(sys.stdin.buffer, 1):
        text = raw.rstrip(b"\n").decode("utf-8", "surrogateescape")
        if not text.strip():
            continue
        try:
            said: Any = json.loads(text)
        except ValueError:
            yield _CommandLine(text, is_json)
            continue
        if isinstance(said, dict):
            command = said.get("command")
            if isinstance(command, str):
                yield _CommandLine(command, True)
            else:
                yield _CommandLine(
                    None, True, f'line {number} has no command; {{"command": "…"}} is expected.'
                )
        else:
            yield _CommandLine(text, is_json)


def _make_judge(paths: BayouPaths) -> Callable[[str], ToolCallDecision]:
    """Judges the command lines as a session at the full screen would in this folder."""
    effective_settings, standing, rules = folder_settings_and_rules(paths)
    for problem in (*effective_settings.problems, *rules.problems):
        print_problem(str(problem))
    mode = current_permission_mode(
        effective_settings, standing, has_box=lambda: is_sandbox_usable(effective_settings.settings)
    )
    has_box = is_sandbox_usable(effective_settings.settings) and (
        mode != "full" or effective_settings.settings.sandbox.mode == "required"
    )
    policy = PermissionPolicy(
        mode=mode,
        rules=rules.rules,
        has_sandbox=has_box,
        sandbox_exceptions=effective_settings.settings.permissions.floor_exceptions,
    )
    place = CommandPlaceFacts(paths.home, paths.agent_dir).describe_command_place(
        Path(paths.cwd), effective_settings.settings.shell.shell_pass_environment, has_box=has_box
    )

    def judge(command: str) -> ToolCallDecision:
        line = ProgramOfCall(language="shell", code=command, folder=place.working_folder)
        verdict = judge_tool_call(ToolCallToJudge(tool_name="bash", effects=Effects(runs=line)), place)
        return decide_tool_call(verdict, "bash", policy, place)

    return judge


def _decision_data(command: str, decision: ToolCallDecision) -> dict[str, Any]:
    parts = [{"text": part.text, "letter": part.risk, "why": part.why} for part in decision.verdict.parts]
    return {
        "command": command,
        "letter": decision.verdict.risk,
        "parts": parts,
        "outcome": decision.outcome,
        "decided_by": decision.decided_by,
    }


def _decision_text(command: str, decision: ToolCallDecision) -> str:
    verb = {"run": "runs", "ask": "asks", "refuse": "is refused"}[decision.outcome]
    lines = [
        f"{decision.verdict.risk}  {command}",
        f"   {decision.verdict.decisive_part.risk_description}; {verb}, by {decision.decided_by}",
    ]
    for part in decision.verdict.parts:
        lines.append(f"   {part.risk}  {part.text}: {part.why}")
    return "\n".join(lines)
