"""Runs a program that checks code, with limits on time and output, and leaves nothing behind.

The program runs under the keeper, in the given sandbox, and ends with its caller."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from io import FileIO
from pathlib import Path
from typing import Final

import msgspec

from tools.box.policy import Box, with_private_folder
from tools.diagnostics import reading
from tools.diagnostics.problems import CodeProblem
from tools.diagnostics.programs import CannotCheck, CheckerCommand
from tools.operations import CommandLine, RunningProcess
from tools.running.process import LocalProcesses, pipe
from tools.threads import await_uncancelled

MAX_OUTPUT: Final = 4 << 20
_MAX_ERROR_CHARS: Final = 20_000
_DRAIN_TIMEOUT: Final = 2.0
"""Time for reading the rest of the pipes after the program has ended."""


class CheckerEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that all checkers share."""

    processes: LocalProcesses
    environment: Mapping[str, str]
    box: Box | None
    seconds: float
    private_folder: Callable[[str], Path]
    """Creates a folder that sandboxes do not show by default."""

    def with_readable_folder(self, folder: str) -> "CheckerEnvironment":
        return msgspec.structs.replace(self, box=self.box and with_private_folder(self.box, folder))


class CheckerResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run."""

    problems: tuple[CodeProblem, ...] = ()
    is_cut: bool = False
    """Whether the output exceeded the limit."""


async def run_checker(
    how: CheckerCommand,
    around: CheckerEnvironment,
    *,
    place: reading.ResolvePath,
    works_in: str,
    argv: tuple[str, ...],
    text: bytes = b"",
) -> CheckerResult:
    """Runs a checker; `text` is its stdin. Raises `CannotCheck`."""
    command = CommandLine(argv=argv, cwd=works_in, environment=around.environment, box=around.box)
    said = await _run_program(how, command, around, text)
    if said.is_late:
        raise CannotCheck(f"{how.name} took longer than {around.seconds:g} seconds and was ended")
    whole = said.output + (b"\n" + said.errors if how.reads_both_streams else b"")
    try:
        found = await asyncio.to_thread(lambda: how.parse(whole.decode("utf-8", "replace"), how.name, place))
    except reading.UnreadableOutput as problem:
        if said.is_cut:
            raise CannotCheck(f"{how.name} said more than {MAX_OUTPUT >> 20} MB") from None
        raise CannotCheck(_failure_message(how, said, str(problem))) from None
    if not found and said.code not in how.expected_exit_codes and not said.is_cut:
        raise CannotCheck(_failure_message(how, said, ""))
    return CheckerResult(problems=tuple(found), is_cut=said.is_cut)


def _failure_message(how: CheckerCommand, said: "_ProgramOutput", why: str) -> str:
    if said.code < 0:
        return f"{how.name} was ended by signal {-said.code}"
    told = (said.errors + b"\n" + said.output if how.reads_both_streams else said.errors)[:_MAX_ERROR_CHARS]
    lines = [line for line in told.decode("utf-8", "replace").splitlines() if line.strip()]
    line = next((line for line in lines if "rror" in line), lines[0] if lines else "")
    words = why or reading.clean_text(line, reading.MAX_TEXT)
    return f"{how.name} failed (exit code {said.code})" + (f": {words}" if words else "")


class _ProgramOutput(msgspec.Struct, frozen=True, kw_only=True):
    output: bytes
    errors: bytes
    code: int
    is_late: bool
    is_cut: bool


async def _run_program(
    how: CheckerCommand, command: CommandLine, around: CheckerEnvironment, text: bytes
) -> _ProgramOutput:
    process, output, errors = await _start_program(how, command, around, text)
    ending = asyncio.ensure_future(process.wait())
    is_late = False
    try:
        full = {asyncio.ensure_future(one.full.wait()) for one in (output, errors)}
        done, _ = await asyncio.wait(
            {ending, *full}, timeout=around.seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for one in full:
            one.cancel()
        is_late = not done
        if ending in done:
            await asyncio.wait(
                {asyncio.ensure_future(one.ended.wait()) for one in (output, errors)}, timeout=_DRAIN_TIMEOUT
            )
    finally:
        # With all its children, also when the caller was cancelled.
        await await_uncancelled(process.end())
        output.close()
        errors.close()
    code = await ending
    return _ProgramOutput(
        output=bytes(output.data),
        errors=bytes(errors.data),
        code=code,
        is_late=is_late,
        is_cut=output.full.is_set() or errors.full.is_set(),
    )


async def _start_program(
    how: CheckerCommand, command: CommandLine, around: CheckerEnvironment, text: bytes
) -> "tuple[RunningProcess, _StreamReader, _StreamReader]":
    """Reads the output before the program starts: after the start, nothing is awaited that could be cancelled."""
    given = await asyncio.to_thread(_input_descriptor, text)
    my_out, his_out = pipe()
    my_errors, his_errors = pipe()
    ours = [os.fdopen(one, "rb", 0) for one in (my_out, my_errors)]
    heard: list[_StreamReader] = []
    try:
        for one in ours:
            heard.append(await _read_stream(one))
        process = await around.processes.start_piped(command, given, his_out, his_errors)
    except BaseException as problem:
        for taken in heard:
            taken.close()
        for one in ours[len(heard) :]:
            one.close()
        if isinstance(problem, OSError):
            raise CannotCheck(f"{how.name} could not be started: {problem.strerror or problem}") from None
        raise
    finally:
        for descriptor in (given, his_out, his_errors):
            os.close(descriptor)
    output, errors = heard
    return process, output, errors


def _input_descriptor(text: bytes) -> int:
    """Returns a descriptor of a file with the text, so that a large input needs no writer."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        return os.dup(file.fileno())


async def _read_stream(stream: FileIO) -> "_StreamReader":
    taken = _StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: taken, stream)
    return taken


class _StreamReader(asyncio.Protocol):
    """Reads one stream up to a limit."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.full = asyncio.Event()
        self.ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        room = MAX_OUTPUT - len(self.data)
        self.data += data[:room]
        if len(data) > room:
            self.full.set()
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
