"""Runs the commands `setup` and `check` of a task in the folder of its run, with a time limit, and ends all their
processes."""

import os
from pathlib import Path

from app.batch.tasks import BatchError, Permissions
from app.engine.core.session_options import SessionOptions, shell_settings
from app.engine.sandbox.command_context import CommandPlaceFacts
from app.engine.sandbox.sandboxes import ToolCallSandboxes
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.text_files import write_text
from tools.files.output_artifacts import OutputArtifacts
from tools.running.running_command import start_command
from tools.running.shell_settings import CommandToSpawn, command_environment
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

_CHECK_TOOL_CALL_ID = "check"


async def run_setup_or_check(
    command: str, folder: Path, *, seconds: float, log: Path, confined_by: Permissions | None
) -> int | None:
    """Runs a command, writes its output to `log` and returns its exit code; None: the time was over.

    With `confined_by` it runs in the sandbox that the agent's commands have in that mode. Raises `BatchError` if it
    cannot be started."""
    paths = BayouPaths.from_env(os.environ, folder)
    effective_settings = EffectiveSettings(paths)
    workspace = SessionWorkspace(
        folder,
        artifacts=OutputArtifacts(working=paths.temporary_dir),
        shell=lambda: shell_settings(effective_settings),
        cache_dir=paths.cache_dir,
    )
    mode = confined_by or "full"
    sandboxes = ToolCallSandboxes(
        SessionOptions(effective_settings),
        workspace,
        CommandPlaceFacts(paths.home, paths.agent_dir, paths.sessions_dir),
        mode=lambda: mode,
        home=paths.home,
        own=paths.agent_dir,
        sessions=paths.sessions_dir,
    )
    plan = CommandToSpawn(
        command=command, cwd=str(folder), environment=command_environment(workspace.shell_settings())
    )
    try:
        call_id = _CHECK_TOOL_CALL_ID if confined_by is not None else None
        running = await start_command(workspace, plan, tool="bash", call_id=call_id, has_own_shell=True)
        outcome = await running.finish(seconds)
    except ToolError as problem:
        raise BatchError(str(problem)) from None
    finally:
        workspace.close()
        sandboxes.close()
    write_text(log, outcome.output.text)
    return outcome.exit_code
