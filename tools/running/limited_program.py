"""Runs one program to its end, with limits on time and output, and leaves nothing behind.

The supervisor program (`supervisor`) runs it in the given sandbox and ends it, with all its children, when the
caller ends.
"""

import asyncio
import os
import tempfile
from io import FileIO
from typing import Final

import msgspec

from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.running.local_processes import LocalProcesses, create_large_pipe
from tools.thread_work import await_despite_cancellation

_PROGRAM_PIPE_DRAIN_TIMEOUT: Final = 2.0
"""The maximum time in seconds for reading the rest of the output after the program has ended."""


class ProgramOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The output of a program, with its exit code and whether it was ended by a limit."""

    output: bytes
    errors: bytes
    exit_code: int
    """The exit code of the program; the negative signal number if a signal ended it."""
    is_timed_out: bool
    """Whether the program was ended because its time was over."""
    is_output_cut: bool
    """Whether the program was ended because it wrote more than the limit."""


async def run_limited_program(
    processes: LocalProcesses, command: CommandLine, *, text: bytes = b"", seconds: float, max_bytes: int
) -> ProgramOutput:
    """Runs a program with `text` as its stdin; `max_bytes` limits each of its two streams. Raises `OSError`
    if it cannot be started."""
    process, output, errors = await _start_limited_program(processes, command, text, max_bytes)
    ending = asyncio.ensure_future(process.wait())
    is_late = False
    try:
        full = {asyncio.ensure_future(one.full.wait()) for one in (output, errors)}
        done, _ = await asyncio.wait({ending, *full}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for one in full:
            one.cancel()
        is_late = not done
        if ending in done:
            await asyncio.wait(
                {asyncio.ensure_future(one.ended.wait()) for one in (output, errors)},
                timeout=_PROGRAM_PIPE_DRAIN_TIMEOUT,
            )
    finally:
        # With all its children, also when the caller was cancelled.
        await await_despite_cancellation(process.end())
        output.close()
        errors.close()
    code = await ending
    return ProgramOutput(
        output=bytes(output.data),
        errors=bytes(errors.data),
        exit_code=code,
        is_timed_out=is_late,
        is_output_cut=output.full.is_set() or errors.full.is_set(),
    )


async def _start_limited_program(
    processes: LocalProcesses, command: CommandLine, text: bytes, max_bytes: int
) -> "tuple[RunningProcess, _LimitedReader, _LimitedReader]":
    """Connects the readers of a program's output, then starts it: after the start, nothing is awaited that could be
    cancelled."""
    given = await asyncio.to_thread(_open_input_descriptor, text)
    my_out, his_out = create_large_pipe()
    my_errors, his_errors = create_large_pipe()
    ours = [os.fdopen(one, "rb", 0) for one in (my_out, my_errors)]
    heard: list[_LimitedReader] = []
    try:
        for one in ours:
            heard.append(await _start_reading_stream(one, max_bytes))
        process = await processes.start_piped(command, given, his_out, his_errors)
    except BaseException:
        for taken in heard:
            taken.close()
        for one in ours[len(heard) :]:
            one.close()
        raise
    finally:
        for descriptor in (given, his_out, his_errors):
            os.close(descriptor)
    output, errors = heard
    return process, output, errors


def _open_input_descriptor(text: bytes) -> int:
    """Returns a descriptor from which a program reads the text as its standard input, so that a large input needs no
    writer."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        return os.dup(file.fileno())


async def _start_reading_stream(stream: FileIO, max_bytes: int) -> "_LimitedReader":
    taken = _LimitedReader(max_bytes)
    await asyncio.get_running_loop().connect_read_pipe(lambda: taken, stream)
    return taken


class _LimitedReader(asyncio.Protocol):
    """Reads one output stream of a program up to a limit of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self.full = asyncio.Event()
        self.ended = asyncio.Event()
        self._max_bytes = max_bytes
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        room = self._max_bytes - len(self.data)
        self.data += data[:room]
        if len(data) > room:
            self.full.set()
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
