"""Runs ripgrep: chooses the program, adds the default arguments, and reads its output as it arrives. Each tool
interprets the output."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from tools.base import ToolError
from tools.files.existence import is_file
from tools.operations import CommandLine, RunningProcess
from tools.patterns import late
from tools.running.own_programs import find_own_program
from tools.running.process import create_pipe
from tools.running.shell import child_environment
from tools.text import escape_controls
from tools.workspace import Workspace

DEFAULT_ARGUMENTS: Final = ("--no-config", "--hidden", "--no-require-git", "--glob=!.git")
_CHUNK: Final = 1 << 20
_MAX_ERRORS: Final = 16 * 1024
_MAX_RECORD_BYTES: Final = 64 << 20
"""A longer record is a file with one enormous line; it is skipped."""
_VERSION_PATTERN: Final = late(rb"ripgrep (\d+)\.(\d+)(?:\.(\d+))?")


class SearchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    errors: str
    is_stopped: bool
    """Whether the consumer stopped the search."""

    @property
    def failure_message(self) -> str:
        """Returns why the ripgrep search failed; empty if at most some places could not be searched."""
        return "" if self.exit_code != 2 or "os error" in self.errors else _tidy_errors(self.errors)

    @property
    def unread_notice(self) -> str:
        """Returns a notice on the places that ripgrep could not search."""
        lines = [_tidy_errors(line) for line in self.errors.splitlines() if "os error" in line]
        if not lines:
            return ""
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        return f"Not searched: {lines[0]}{more}"


def _tidy_errors(text: str) -> str:
    return escape_controls(text.strip().removeprefix("rg: "))


async def find_ripgrep(workspace: Workspace) -> str:
    """Returns the bundled ripgrep, or the system's if it is newer. Determined once per session."""
    if workspace.ripgrep is None:
        workspace.ripgrep = await _choose_program(workspace)
    return workspace.ripgrep


async def _choose_program(workspace: Workspace) -> str:
    is_here = workspace.has_local_processes
    bundled = bundled_ripgrep() if is_here else None
    find = partial(find_own_program, outside=workspace.cwd) if is_here else workspace.processes.find_program
    system = find("rg")
    if bundled is None and system is None:
        raise ToolError("ripgrep (rg) was not found. Search with bash, or install ripgrep.")
    if bundled is None or system is None or bundled == system:
        return bundled or system or ""
    own, other = await asyncio.gather(
        _program_version(workspace, bundled), _program_version(workspace, system)
    )
    return system if other > own else bundled


def bundled_ripgrep() -> str | None:
    """Returns the path of the ripgrep that was installed beside this Python."""
    program = Path(sys.executable).parent / "rg"
    return str(program) if is_file(program) else None


async def _program_version(workspace: Workspace, program: str) -> tuple[int, ...]:
    lines: list[bytes] = []

    def take(more: list[bytes]) -> bool:
        lines.extend(more)
        return True

    await run_ripgrep(workspace, (program, "--version"), "/", b"\n", take)
    match = _VERSION_PATTERN.search(b"\n".join(lines))
    return tuple(int(part or 0) for part in match.groups()) if match else ()


async def run_ripgrep(
    workspace: Workspace,
    argv: tuple[str, ...],
    cwd: str,
    separator: bytes,
    take: Callable[[list[bytes]], bool],
    *,
    call_id: str | None = None,
) -> SearchOutcome:
    """Runs ripgrep and passes the records of its output to `take` as they arrive, in a thread, until it returns False.
    `call_id` is the call whose sandbox applies."""
    reading, writing = create_pipe()
    # A file, because a full pipe would block the search.
    errors = os.memfd_create("errors") if hasattr(os, "memfd_create") else _temporary_file()
    try:
        environment = child_environment(workspace.shell())
        command = CommandLine(argv=argv, cwd=cwd, environment=environment)
        from tools.running.commands import with_box  # noqa: PLC0415  (with the first search)

        command = await with_box(workspace, command, call_id)
        process = await _start_or_end(workspace.processes.start(command, writing, errors=errors))
    except BaseException:
        os.close(reading)
        os.close(errors)
        raise
    finally:
        os.close(writing)
    records = asyncio.ensure_future(asyncio.to_thread(_read_records, reading, separator, take))
    try:
        is_complete = await asyncio.shield(records)
        if not is_complete:
            process.kill()
        code = await process.wait()
        return SearchOutcome(exit_code=code, errors=_read_errors(errors), is_stopped=not is_complete)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        await asyncio.wait({records})
        raise
    finally:
        os.close(errors)


async def _start_or_end(start: Coroutine[Any, Any, RunningProcess]) -> RunningProcess:
    """Starts a process, and ends it if the caller is cancelled while it is starting."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        if not starting.cancelled():
            process = await starting
            process.kill()
            await process.wait()
        raise


def _read_records(descriptor: int, separator: bytes, take: Callable[[list[bytes]], bool]) -> bool:
    """Reads the records of ripgrep's output; returns False if `take` stopped the search."""
    rest: list[bytes] = []
    held = 0
    try:
        while data := os.read(descriptor, _CHUNK):
            first, found, tail = data.partition(separator)
            if not found:
                held += len(data)
                if held <= _MAX_RECORD_BYTES:
                    rest.append(data)
                continue
            *records, last = tail.split(separator)
            if held <= _MAX_RECORD_BYTES:
                records.insert(0, b"".join([*rest, first]))
            if not take(records):
                return False
            rest, held = [last], len(last)
        return not (held and held <= _MAX_RECORD_BYTES) or take([b"".join(rest)])
    finally:
        os.close(descriptor)


def _read_errors(descriptor: int) -> str:
    return os.pread(descriptor, _MAX_ERRORS, 0).decode("utf-8", "replace")


def _temporary_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
