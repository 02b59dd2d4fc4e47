"""Runs the commands `setup` and `check` of a task in the folder of its run, with a time limit, and ends all their
processes."""

import os
from pathlib import Path

from app.batch.tasks import BatchError, Permissions
from app.engine.core.session_options import SessionOptions, shell_settings
from app.engine.sandbox.command_context import CommandContext
from app.engine.sandbox.sandboxes import Sandboxes
from app.resources.paths import Paths
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.text_files import write_text
from tools.base import ToolError
from tools.files.artifacts import Artifacts
from tools.running.running_command import start_command
from tools.running.shell_settings import SpawnPlan, command_environment
from tools.workspace import Workspace

_CALL_ID = "check"


async def run_step(
    command: str, folder: Path, *, seconds: float, log: Path, confined_by: Permissions | None
) -> int | None:
    """Runs a command, writes its output to `log` and returns its exit code; None: the time was over.

    With `confined_by` it runs in the sandbox that the agent's commands have in that mode. Raises `BatchError` if it
    cannot be started."""
    paths = Paths.from_env(os.environ, folder)
    effective_settings = EffectiveSettings(paths)
    workspace = Workspace(
        folder,
        artifacts=Artifacts(working=paths.temporary_dir),
        shell=lambda: shell_settings(effective_settings),
        cache_dir=paths.cache_dir,
    )
    mode = confined_by or "full"
    sandboxes = Sandboxes(
        SessionOptions(effective_settings),
        workspace,
        CommandContext(paths.home, paths.agent_dir, paths.sessions_dir),
        mode=lambda: mode,
        home=paths.home,
        own=paths.agent_dir,
        sessions=paths.sessions_dir,
    )
    plan = SpawnPlan(
        command=command, cwd=str(folder), environment=command_environment(workspace.shell_settings())
    )
    try:
        call_id = _CALL_ID if confined_by is not None else None
        running = await start_command(workspace, plan, tool="bash", call_id=call_id, has_own_shell=True)
        outcome = await running.finish(seconds)
    except ToolError as problem:
        raise BatchError(str(problem)) from None
    finally:
        workspace.close()
        sandboxes.close()
    write_text(log, outcome.output.text)
    return outcome.exit_code
