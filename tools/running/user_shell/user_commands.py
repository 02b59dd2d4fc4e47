"""Runs the user's `!` commands with the same executor as the model's, without a tool."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from tools.running.poll_interval import PollInterval
from tools.running.shell_settings import CommandToSpawn, command_environment
from tools.running.withheld_environment_variables import (
    find_withheld_variables_needed,
    format_withheld_variables_note,
    withheld_variable_names,
)
from tools.session_workspace import SessionWorkspace

if TYPE_CHECKING:
    from tools.running.running_command import CommandOutcome


class UserCommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a user's `!` command, as a message of the session records it."""

    output: str
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    seconds: float = 0.0


async def run_user_command(
    command: str,
    workspace: SessionWorkspace,
    on_output: Callable[[str], Awaitable[None] | None] = lambda text: None,
) -> UserCommandResult:
    """Runs a user's `!` command in the working directory. Cancelling ends it and returns the output so far. `on_output`
    gets new output at most ten times a second, and may take its time."""
    # Loaded with the first command.
    from tools.running.command_output_buffer import NewCommandOutputReader  # noqa: PLC0415
    from tools.running.pty.terminal_need import command_needs_terminal  # noqa: PLC0415
    from tools.running.running_command import start_command  # noqa: PLC0415

    if workspace.pty_host is not None and command_needs_terminal(command):
        return await _run_in_terminal(command, workspace)
    plan = CommandToSpawn(
        command=command,
        cwd=str(workspace.cwd),
        environment=command_environment(workspace.shell_settings()),
    )
    running = await start_command(workspace, plan, tool="user")
    finishing = asyncio.ensure_future(running.finish(None))
    shown, pace = NewCommandOutputReader(running.output), PollInterval()
    while not finishing.done():
        try:
            await asyncio.wait({finishing}, timeout=pace.seconds)
            news = shown.take_new_output()
            pace.update_interval(bool(news))
            told = on_output(news) if news else None
            if told is not None:
                await told
        except asyncio.CancelledError:
            await running.abort(finishing)
    return _make_user_command_result(command, finishing.result(), workspace)


async def _run_in_terminal(command: str, workspace: SessionWorkspace) -> UserCommandResult:
    """Runs a user's `!` command in a terminal overlay with the user's keys; the final screen is its output."""
    from tools.running.pty.pty_run import run_in_terminal_overlay  # noqa: PLC0415  (exists on POSIX only)

    assert workspace.pty_host is not None, "looked at above"
    plan = CommandToSpawn(
        command=command,
        cwd=str(workspace.cwd),
        environment=command_environment(workspace.shell_settings(), is_interactive=True),
    )
    async with workspace.terminal_turn:
        outcome = await run_in_terminal_overlay(
            workspace, workspace.pty_host, plan, title=command, timeout=None, is_own=True
        )
    return _make_user_command_result(command, outcome, workspace)


def _make_user_command_result(
    command: str, outcome: "CommandOutcome", workspace: SessionWorkspace
) -> UserCommandResult:
    code = outcome.exit_code
    return UserCommandResult(
        output=_add_missing_variables_note(command, outcome.output.text, workspace, has_failed=bool(code)),
        exit_code=128 - code if code is not None and code < 0 else code,
        cancelled=outcome.is_aborted,
        truncated=outcome.output.truncation.truncated,
        full_output_path=str(outcome.output.artifact.path) if outcome.output.artifact else None,
        seconds=outcome.seconds,
    )


def _add_missing_variables_note(
    command: str, output: str, workspace: SessionWorkspace, *, has_failed: bool
) -> str:
    hidden = withheld_variable_names(os.environ, workspace.shell_settings().passed_variable_names)
    found = find_withheld_variables_needed(command, output, has_failed=has_failed, names=hidden)
    return f"{output.rstrip()}\n\n[{format_withheld_variables_note(found)}]".lstrip() if found else output
