"""Runs a command in a pseudo-terminal that the user sees and types into. The host draws it."""

import asyncio
import fcntl
import functools
import os
import queue
import struct
import termios
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from tools.files.atomic_replacement import write_all
from tools.result_limits import keep_last_lines
from tools.running.command_output_buffer import CommandOutputBuffer, CommandOutputSnapshot
from tools.running.pty.pty_host import PtyHost, PtyProgram
from tools.running.running_command import (
    CommandOutcome,
    RunningCommand,
    add_sandbox_policy,
    make_shell_command_line,
    start_command_process,
    watch_command_files,
)
from tools.running.shell_settings import CommandToSpawn
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls

_TERM_OF_PTY_COMMAND: Final = "xterm-256color"


async def run_in_terminal_overlay(
    workspace: SessionWorkspace,
    host: PtyHost,
    plan: CommandToSpawn,
    *,
    title: str,
    timeout: float | None,
    call_id: str | None = None,
    is_own: bool = False,
) -> CommandOutcome:
    """Runs a command in a terminal overlay until it ends; the final screen is its output. The caller holds
    `workspace.terminal_turn`, because there is only one overlay."""
    command = await make_shell_command_line(workspace, plan)
    command = msgspec.structs.replace(
        command, environment={**command.environment, "TERM": _TERM_OF_PTY_COMMAND}
    )
    command = await add_sandbox_policy(workspace, command, call_id)
    if command.box is not None:
        seen_box = msgspec.structs.replace(command.box, has_terminal=True)
        command = msgspec.structs.replace(command, box=seen_box)
    watched = await watch_command_files(workspace, call_id, "bash", command)
    seen = await asyncio.to_thread(workspace.guard.snapshot_before_process, command.box)
    master, slave = os.openpty()
    hands = _TerminalInput(os.dup(master))
    aborted = asyncio.Event()
    program = PtyProgram(
        title=title,
        send_keys=hands.send,
        resize_terminal=hands.resize,
        kill=aborted.set,
        is_started_by_user=is_own,
    )
    view = host.open(program)
    try:
        _set_terminal_size(master, *view.size)
        process = await start_command_process(workspace, command, slave, terminal=slave)
    except BaseException:
        os.close(master)
        hands.close()
        view.close()
        if watched is not None:
            await watched()
        raise
    finally:
        os.close(slave)
    output = CommandOutputBuffer(workspace.artifacts, "pty", workspace.mask_output)
    running = RunningCommand(workspace, process, output, watched, command=command, seen=seen)
    running.read_output(master, on_data=view.feed)
    killing = asyncio.ensure_future(_kill_when_event_set(aborted, running))
    try:
        outcome = await _finish_or_abort(running, timeout)
    finally:
        killing.cancel()
        hands.close()
        text = view.close()
    return msgspec.structs.replace(outcome, output=_replace_output_by_screen(outcome.output, text))


async def _kill_when_event_set(asked: asyncio.Event, running: RunningCommand) -> None:
    await asked.wait()
    running.kill()


async def _finish_or_abort(running: RunningCommand, timeout: float | None) -> CommandOutcome:
    finishing = asyncio.ensure_future(running.finish(timeout))
    try:
        return await asyncio.shield(finishing)
    except asyncio.CancelledError:
        return await running.abort(finishing)


def _replace_output_by_screen(written: CommandOutputSnapshot, text: str) -> CommandOutputSnapshot:
    """Returns the output as it stands on the terminal at the end, instead of everything that was written."""
    shown = keep_last_lines(escape_controls(text))
    if shown.truncated:
        lines = max(shown.total_lines, written.truncation.total_lines)
        shown = msgspec.structs.replace(shown, total_lines=lines)
    return msgspec.structs.replace(written, truncation=shown)


class _TerminalInput:
    """Sends keys and sizes to a terminal from a thread, so that a program that reads no keys blocks nothing."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._pending_writes: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write_pending_input, daemon=True, name="bayou-keys").start()

    def send(self, data: bytes) -> None:
        if data:
            self._pending_writes.put(functools.partial(write_all, self._terminal, data))

    def resize(self, columns: int, rows: int) -> None:
        self._pending_writes.put(functools.partial(_set_terminal_size, self._terminal, columns, rows))

    def close(self) -> None:
        self._pending_writes.put(None)

    def _write_pending_input(self) -> None:
        try:
            while (action := self._pending_writes.get()) is not None:
                try:
                    action()
                except OSError:
                    continue  # The program ended before it read the key.
        finally:
            os.close(self._terminal)


def _set_terminal_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
