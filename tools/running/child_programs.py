"""Runs programs of bayou's own beside the event loop, and leaves no processes or pipes behind.

asyncio's subprocesses do not work here: when a closing event loop cancels one while its pipes are being
connected, the wait inside `_make_subprocess_transport` never returns. Here starting is one step, and every wait
after it can be cancelled."""

import asyncio
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

_WAIT_FOR_KILLED_PROGRAM_TIMEOUT: Final = 0.5
"""The number of seconds to wait for a killed program to end; one that hangs in the kernel is then left to the
system."""
_MAX_PROGRAM_OUTPUT_LINE_BYTES: Final = 64 * 1024

_running_programs: "weakref.WeakSet[ChildProgram]" = weakref.WeakSet()


def kill_all_child_programs() -> None:
    """Kills all programs that run now, with their groups: for a forced end of bayou, from any thread."""
    for program in list(_running_programs):
        program.kill()


class ChildProgram:
    """A running program. As a context manager, it is ended when the block is left."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, is_apart: bool) -> None:
        self._process = process
        self._has_own_group = is_apart
        self._loop = asyncio.get_running_loop()
        self._exit_code_future: asyncio.Future[int] = self._loop.create_future()
        self._transports: list[asyncio.BaseTransport] = []
        self._unconnected_pipes = [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe]
        self._stdin: asyncio.StreamWriter | None = None
        self._stdout: asyncio.StreamReader | None = None
        self._stderr: asyncio.StreamReader | None = None
        _running_programs.add(self)
        threading.Thread(target=self._reap_process, name=f"end of {process.pid}", daemon=True).start()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        is_fed: bool = False,
        keeps_errors: bool = False,
        is_apart: bool = True,
        line_limit: int = _MAX_PROGRAM_OUTPUT_LINE_BYTES,
    ) -> "ChildProgram":
        """Starts a program. `is_fed` opens a standard input, which `stdin` or `feed` writes. `keeps_errors` opens
        `stderr`. `is_apart` starts a separate session and group, which is ended with the program. Raises `OSError`."""
        process = subprocess.Popen(  # noqa: ASYNC220  (a fork; its pipes are read by the loop)
            list(argv),
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE if is_fed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if keeps_errors else subprocess.DEVNULL,
            start_new_session=is_apart,
            bufsize=0,
        )
        program = cls(process, is_apart=is_apart)
        try:
            await program._connect_pipes(line_limit)
        except BaseException:
            await program.end()
            raise
        return program

    async def __aenter__(self) -> "ChildProgram":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program; None while it runs."""
        return self._exit_code_future.result() if self._exit_code_future.done() else None

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._stdin is not None, "started without a standard input"
        return self._stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._stdout is not None
        return self._stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        assert self._stderr is not None, "started without its standard error"
        return self._stderr

    async def write_stdin(self, data: bytes) -> None:
        """Writes the whole standard input of the program and closes it; stops without an error if the program no
        longer reads."""
        try:
            self.stdin.write(data)
            await self.stdin.drain()
        except ConnectionError:
            pass
        self.stdin.close()

    async def wait(self) -> int:
        """Waits for the program's exit code, which is negative for a signal."""
        return await asyncio.shield(self._exit_code_future)

    def kill(self) -> None:
        """Kills the program and its separate group, which may outlive the program."""
        try:
            if self._has_own_group:
                os.killpg(self._process.pid, signal.SIGKILL)
            elif not self._exit_code_future.done():
                self._process.kill()
        except (ProcessLookupError, PermissionError):
            pass  # The program has ended.

    async def end(self) -> None:
        """Kills the program if it still runs, and closes its pipes. Returns within half a second."""
        self.kill()
        self.close_program_pipes()
        _running_programs.discard(self)
        await asyncio.wait({self._exit_code_future}, timeout=_WAIT_FOR_KILLED_PROGRAM_TIMEOUT)

    def close_program_pipes(self) -> None:
        for transport in self._transports:
            transport.close()
        for pipe in self._unconnected_pipes:
            pipe.close()

    async def _connect_pipes(self, line_limit: int) -> None:
        process = self._process
        if process.stdin is not None:
            protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
            transport, _ = await self._loop.connect_write_pipe(lambda: protocol, process.stdin)
            self._note_connected(process.stdin, transport)
            self._stdin = asyncio.StreamWriter(transport, protocol, None, self._loop)
        if process.stdout is not None:
            self._stdout = await self._connect_reader(process.stdout, line_limit)
        if process.stderr is not None:
            self._stderr = await self._connect_reader(process.stderr, line_limit)

    async def _connect_reader(self, pipe: IO[bytes], line_limit: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=line_limit)
        transport, _ = await self._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._note_connected(pipe, transport)
        return reader

    def _note_connected(self, pipe: IO[bytes], transport: asyncio.BaseTransport) -> None:
        self._unconnected_pipes.remove(pipe)
        self._transports.append(transport)

    def _reap_process(self) -> None:
        code = self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._exit_code_future.set_result, code)
        except RuntimeError:
            pass  # The loop has been closed.
