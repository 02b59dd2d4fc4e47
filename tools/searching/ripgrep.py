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

from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.files.path_existence import is_file
from tools.lazy_patterns import lazy_regex
from tools.running.local_processes import create_large_pipe
from tools.running.programs_outside_project import find_program_outside_project
from tools.running.shell_settings import command_environment
from tools.session_workspace import SessionWorkspace
from tools.text_sanitizing import escape_controls
from tools.tool_definition import ToolError

DEFAULT_RIPGREP_ARGUMENTS: Final = ("--no-config", "--hidden", "--no-require-git", "--glob=!.git")
_RIPGREP_READ_CHUNK_BYTES: Final = 1 << 20
_MAX_RIPGREP_ERROR_BYTES: Final = 16 * 1024
_MAX_RIPGREP_RECORD_BYTES: Final = 64 << 20
"""The maximum length of a record of ripgrep's output; a longer one comes from a file with an enormous line and is
skipped."""
_RIPGREP_VERSION_PATTERN: Final = lazy_regex(rb"ripgrep (\d+)\.(\d+)(?:\.(\d+))?")


class RipgrepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int
    errors: str
    was_stopped: bool
    """Whether the search ended early because the consumer of the records wanted no more."""

    @property
    def format_search_failure(self) -> str:
        """Returns why the ripgrep search failed; empty if at most some places could not be searched."""
        return (
            "" if self.exit_code != 2 or "os error" in self.errors else _shorten_ripgrep_errors(self.errors)
        )

    @property
    def format_unread_places_notice(self) -> str:
        """Returns a notice on the places that ripgrep could not search."""
        lines = [_shorten_ripgrep_errors(line) for line in self.errors.splitlines() if "os error" in line]
        if not lines:
            return ""
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        return f"Not searched: {lines[0]}{more}"


def _shorten_ripgrep_errors(text: str) -> str:
    return escape_controls(text.strip().removeprefix("rg: "))


async def find_ripgrep(workspace: SessionWorkspace) -> str:
    """Returns the bundled ripgrep, or the system's if it is newer. Determined once per session."""
    if workspace.ripgrep is None:
        workspace.ripgrep = await _choose_ripgrep(workspace)
    return workspace.ripgrep


async def _choose_ripgrep(workspace: SessionWorkspace) -> str:
    is_here = workspace.has_local_processes
    bundled = find_bundled_ripgrep() if is_here else None
    find = (
        partial(find_program_outside_project, outside=workspace.cwd)
        if is_here
        else workspace.processes.find_program
    )
    system = find("rg")
    if bundled is None and system is None:
        raise ToolError("ripgrep (rg) was not found. Search with bash, or install ripgrep.")
    if bundled is None or system is None or bundled == system:
        return bundled or system or ""
    own, other = await asyncio.gather(
        _read_ripgrep_version(workspace, bundled), _read_ripgrep_version(workspace, system)
    )
    return system if other > own else bundled


def find_bundled_ripgrep() -> str | None:
    """Returns the path of the ripgrep that was installed beside this Python."""
    program = Path(sys.executable).parent / "rg"
    return str(program) if is_file(program) else None


async def _read_ripgrep_version(workspace: SessionWorkspace, program: str) -> tuple[int, ...]:
    lines: list[bytes] = []

    def take(more: list[bytes]) -> bool:
        lines.extend(more)
        return True

    await run_ripgrep(workspace, (program, "--version"), "/", b"\n", take)
    match = _RIPGREP_VERSION_PATTERN.search(b"\n".join(lines))
    return tuple(int(part or 0) for part in match.groups()) if match else ()


async def run_ripgrep(
    workspace: SessionWorkspace,
    argv: tuple[str, ...],
    cwd: str,
    separator: bytes,
    take: Callable[[list[bytes]], bool],
    *,
    call_id: str | None = None,
) -> RipgrepOutcome:
    """Runs ripgrep and passes the records of its output to `take` as they arrive, in a thread, until it returns False.
    `call_id` is the call whose sandbox applies."""
    reading, writing = create_large_pipe()
    # A file, because a full pipe would block the search.
    errors = os.memfd_create("errors") if hasattr(os, "memfd_create") else _create_temporary_file()
    try:
        environment = command_environment(workspace.shell_settings())
        command = CommandLine(argv=argv, cwd=cwd, environment=environment)
        from tools.running.running_command import add_sandbox_policy  # noqa: PLC0415  (with the first search)

        command = await add_sandbox_policy(workspace, command, call_id)
        process = await _start_unless_cancelled(workspace.processes.start(command, writing, errors=errors))
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
        return RipgrepOutcome(exit_code=code, errors=_read_error_output(errors), was_stopped=not is_complete)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        await asyncio.wait({records})
        raise
    finally:
        os.close(errors)


async def _start_unless_cancelled(start: Coroutine[Any, Any, RunningProcess]) -> RunningProcess:
    """Starts a process; if the caller is cancelled meanwhile, waits for the start and ends the process."""
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
        while data := os.read(descriptor, _RIPGREP_READ_CHUNK_BYTES):
            first, found, tail = data.partition(separator)
            if not found:
                held += len(data)
                if held <= _MAX_RIPGREP_RECORD_BYTES:
                    rest.append(data)
                continue
            *records, last = tail.split(separator)
            if held <= _MAX_RIPGREP_RECORD_BYTES:
                records.insert(0, b"".join([*rest, first]))
            if not take(records):
                return False
            rest, held = [last], len(last)
        return not (held and held <= _MAX_RIPGREP_RECORD_BYTES) or take([b"".join(rest)])
    finally:
        os.close(descriptor)


def _read_error_output(descriptor: int) -> str:
    return os.pread(descriptor, _MAX_RIPGREP_ERROR_BYTES, 0).decode("utf-8", "replace")


def _create_temporary_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
