"""This machine's processes: started in a group of their own, ended with everything they started."""

import asyncio
import fcntl
import os
import secrets
import shutil
import termios
from collections.abc import Callable

from tools import processtree
from tools.guard import Guard
from tools.operations import Command

_PATIENCE_SECONDS = 0.3


class LocalProcess:
    """A running command and its descendants."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str, guard: Guard) -> None:
        self._process = process
        self._mark = mark
        self._guard = guard

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> int:
        return await self._process.wait()

    async def end(self) -> None:
        await asyncio.to_thread(processtree.end, self.pid, self._mark, _PATIENCE_SECONDS)
        self._guard.forget(self._mark)

    def kill(self) -> None:
        processtree.kill(self.pid, self._mark)
        self._guard.forget(self._mark)

    def has_survivors(self, *, is_output_open: bool) -> bool:
        if processtree.members(self.pid, self._mark):
            return True
        self._guard.forget(self._mark)
        return False


class LocalProcesses:
    def __init__(self) -> None:
        self._guard = Guard()

    async def start(
        self, command: Command, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> LocalProcess:
        mark = secrets.token_hex(8)
        stdin = asyncio.subprocess.DEVNULL if terminal is None else terminal
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            cwd=command.cwd,
            env={**command.environment, processtree.MARK_VARIABLE: mark},
            stdin=stdin,
            stdout=output,
            stderr=output if errors is None else errors,
            start_new_session=True,
            preexec_fn=_controlling_terminal(terminal),
        )
        if command.is_guarded:
            self._guard.watch(mark, process.pid)
        return LocalProcess(process, mark, self._guard)

    def find_program(self, name: str) -> str | None:
        return shutil.which(name)

    def close(self) -> None:
        self._guard.close()


def _controlling_terminal(terminal: int | None) -> Callable[[], None] | None:
    if terminal is None:
        return None

    def take_it() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    return take_it


def pipe() -> tuple[int, int]:
    """A pipe with room for a megabyte where the system allows it, so that a fast writer seldom waits."""
    read_end, write_end = os.pipe()
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        try:
            fcntl.fcntl(write_end, set_size, 1 << 20)
        except OSError:
            pass  # The system's limit for this user; the usual size works too.
    return read_end, write_end
