"""Implements `bayou sandbox`: shows what the agent's commands can write, see and reach in this folder, and
which limits work on this system."""

import asyncio
import os
from pathlib import Path

import msgspec

from app.assembly.command_line_options import UsageError
from app.cli.change_folder import current_folder
from app.cli.commands.folder_settings_and_rules import folder_settings_and_rules
from app.engine.core.session_options import SessionOptions, shell_settings
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandbox_texts import sandbox_report_lines
from app.engine.sandbox.sandboxes import SandboxState, ToolCallSandboxes
from app.printing import print_json, print_line, print_problem, print_text
from app.resources.paths import BayouPaths
from tools.box.sandbox_policy import SandboxPolicy, innermost_containing
from tools.files.output_artifacts import OutputArtifacts
from tools.files.paths import absolute_path
from tools.running.running_command import start_command
from tools.running.sandbox_notes import format_sandbox_notes
from tools.running.shell_settings import CommandToSpawn, command_environment
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

_SANDBOX_USAGE_TEXT = (
    "bayou sandbox [--json]           show whether the sandbox works here, and what commands "
    "in it can read, write and reach\nbayou sandbox explain PATH …     show whether commands "
    "can read and write these paths, and why\nbayou sandbox try COMMAND        run a command "
    "in the sandbox and print its output\n"
)
_SANDBOX_TRIAL_CALL_ID = "try"


def run(words: list[str]) -> int:
    if {"-h", "--help"} & set(words[:1]):
        print_text(_SANDBOX_USAGE_TEXT)
        return 0
    if words[:1] == ["explain"] and len(words) > 1:
        return asyncio.run(_explain_paths(words[1:]))
    if words[:1] == ["try"] and len(words) > 1:
        return asyncio.run(_run_in_sandbox(" ".join(words[1:])))
    if words not in ([], ["--json"], ["check"], ["check", "--json"]):
        raise UsageError(
            f"Unknown command: bayou sandbox {' '.join(words)}. Commands:\n{_SANDBOX_USAGE_TEXT}"
        )
    return _print_state(is_json="--json" in words)


def _session_boxes() -> tuple[ToolCallSandboxes, SessionWorkspace]:
    """Returns the sandboxes of a session at the full screen in this folder."""
    paths = BayouPaths.from_env(os.environ, current_folder())
    effective_settings = folder_settings_and_rules(paths).effective_settings
    for problem in effective_settings.problems:
        print_problem(str(problem))
    workspace = SessionWorkspace(
        paths.cwd,
        artifacts=OutputArtifacts(working=paths.temporary_dir),
        shell=lambda: shell_settings(effective_settings),
        cache_dir=paths.cache_dir,
    )
    boxes = ToolCallSandboxes(
        SessionOptions(effective_settings),
        workspace,
        CommandPlaceFacts(paths.home, paths.agent_dir, paths.sessions_dir, workspace.added),
        mode=lambda: "auto-edit",
        home=paths.home,
        own=paths.agent_dir,
        sessions=paths.sessions_dir,
    )
    return boxes, workspace


def sandbox_state() -> SandboxState:
    """Returns whether the sandbox works in this folder."""
    boxes, workspace = _session_boxes()
    state = boxes.sandbox_state()
    boxes.close()
    workspace.close()
    return state


def _print_state(*, is_json: bool) -> int:
    state = sandbox_state()
    if is_json:
        print_json(msgspec.to_builtins(state))
    else:
        print_line("\n".join(sandbox_report_lines(state)))
    return 0 if state.is_in_force else 1


async def _explain_paths(paths: list[str]) -> int:
    boxes, workspace = _session_boxes()
    try:
        box = await boxes.box_for_call(_SANDBOX_TRIAL_CALL_ID)
        for path in paths:
            whole = absolute_path(path, Path(workspace.cwd))
            print_line(f"{path}: {_path_reason(box, workspace.files.real_path(whole))}")
    except ToolError as problem:
        raise UsageError(str(problem)) from None
    finally:
        boxes.close()
        workspace.close()
    return 0


def _path_reason(box: SandboxPolicy | None, path: str) -> str:
    if box is None:
        return "no sandbox: commands can do everything that you can"
    hidden = innermost_containing(path, box.hidden)
    if hidden is not None:
        return f"hidden: {hidden} is hidden from commands"
    guard, place = (
        innermost_containing(path, box.guarded),
        innermost_containing(path, box.writable),
    )
    if box.may_write(path):
        return f"readable and writable, because it is in {place}"
    if guard is not None and place is not None:
        return f"readable, not writable: {guard} is protected"
    return "readable, not writable: it is outside the writable folders (setting sandbox.write adds folders)"


async def _run_in_sandbox(command: str) -> int:
    boxes, workspace = _session_boxes()
    plan = CommandToSpawn(
        command=command,
        cwd=str(workspace.cwd),
        environment=command_environment(workspace.shell_settings()),
    )
    try:
        running = await start_command(
            workspace, plan, tool="bash", call_id=_SANDBOX_TRIAL_CALL_ID, has_own_shell=True
        )
        outcome = await running.finish(None)
        print_text(outcome.output.text)
        for note in format_sandbox_notes(outcome, outcome.output.text):
            print_line(note)
        return outcome.exit_code or 0
    except ToolError as problem:
        raise UsageError(str(problem)) from None
    finally:
        workspace.close()
        boxes.close()
