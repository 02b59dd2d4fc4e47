"""Running a command in a pseudo-terminal that a person sees and types into. Drawing it is the host's business."""

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from typing import Final

from tools.commands import CommandOutcome, RunningCommand
from tools.operations import Command
from tools.ptyhost import PtyHost, PtyProgram, PtyView
from tools.rolling import RollingOutput
from tools.shell import SpawnPlan, prefixed, shell_argv
from tools.workspace import Workspace

_TERMINAL_TYPE: Final = "xterm-256color"


async def run_in_terminal(
    workspace: Workspace, host: PtyHost, plan: SpawnPlan, *, title: str, timeout: float | None
) -> CommandOutcome:
    """Shows the command in an overlay until it ends; its output goes into the result as well."""
    settings = workspace.shell
    if settings.spawn_hook:
        plan = settings.spawn_hook(plan)
    argv = (*shell_argv(settings, workspace.processes.find_program), prefixed(settings, plan.command))
    master, slave = os.openpty()
    started: list[RunningCommand] = []
    program = PtyProgram(
        title=title,
        send=lambda data: _send(master, data),
        resize=lambda columns, rows: _resize(master, columns, rows),
        kill=lambda: started[0].kill() if started else None,
    )
    view = host.open(program)
    try:
        _resize(master, *view.size)
        environment = {**plan.environment, "TERM": _TERMINAL_TYPE}
        command = Command(argv=argv, cwd=plan.cwd, environment=environment)
        process = await workspace.processes.start(command, slave, terminal=slave)
    except BaseException as problem:
        os.close(master)
        view.close(f"PTY error: {problem}")
        raise
    finally:
        os.close(slave)
    running = RunningCommand(workspace, process, RollingOutput(workspace.artifacts, "pty"))
    started.append(running)
    running.drain(master, on_data=_forwarder(view))
    outcome = await _finish(running, timeout)
    view.close("timed out" if outcome.is_timed_out else f"exit {outcome.exit_code}")
    return outcome


async def _finish(running: RunningCommand, timeout: float | None) -> CommandOutcome:
    finishing = asyncio.ensure_future(running.finish(timeout))
    try:
        return await asyncio.shield(finishing)
    except asyncio.CancelledError:
        return await running.abort(finishing)


def _forwarder(view: PtyView) -> Callable[[bytes], None]:
    loop = asyncio.get_running_loop()

    def forward(data: bytes) -> None:
        try:
            loop.call_soon_threadsafe(view.feed, data)
        except RuntimeError:
            pass  # The loop is closed: nobody looks any longer.

    return forward


def _send(master: int, data: bytes) -> None:
    try:
        os.write(master, data)
    except OSError:
        pass  # The program ended while the key was on its way.


def _resize(master: int, columns: int, rows: int) -> None:
    try:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    except OSError:
        pass  # As above.
