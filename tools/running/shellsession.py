"""One shell for all commands of a session: `cd`, exports and functions last from one to the next.

The shell reads the names of jobs from a FIFO and runs each job's script with its output on a FIFO of its own, so a
command looks like any other process to its caller. Ending a command ends the shell; the next one gets a new one.
"""

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.box.policy import Box
from tools.operations import CommandLine, ProcessOperations, RunningProcess

_LOOP: Final = """
exec 9<"$1/in"
while IFS= read -r __bayou_job <&9; do
  . "$1/$__bayou_job.sh" </dev/null >"$1/$__bayou_job.out" 2>&1 9<&-
  printf '%s\\n' "$?" >"$1/$__bayou_job.part" && mv "$1/$__bayou_job.part" "$1/$__bayou_job.status"
done
"""
_POLL_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05)


class ShellSession:
    def __init__(self, processes: ProcessOperations) -> None:
        self._processes = processes
        self._folder: Path | None = None
        self._process: RunningProcess | None = None
        self._exit: asyncio.Task[int] | None = None
        self._jobs = -1
        self._count = 0
        self._is_busy = asyncio.Lock()
        self._is_retired = False
        self.is_boxed = False
        """Its shell cannot do more than the commands that it was made for."""

    async def start(self, command: CommandLine, extra: Mapping[str, str]) -> "tuple[SessionCommand, int]":
        """Runs `command` once the one before is done. Answers it and the descriptor that its output comes from.

        Its folder and environment are for a new shell; `extra` is exported in it and lasts.
        """
        await self._is_busy.acquire()
        try:
            folder = await self._ensure_shell(command)
            self._count += 1
            job = f"job{self._count}"
            exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in extra.items())
            (folder / f"{job}.sh").write_text(exports + command.argv[-1] + "\n", encoding="utf-8")
            output = folder / f"{job}.out"
            os.mkfifo(output, 0o600)
            reading = os.open(output, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.write(self._jobs, f"{job}\n".encode())
        except BaseException:
            self._is_busy.release()
            raise
        assert self._process is not None and self._exit is not None
        return SessionCommand(self, self._process, self._exit, folder / job), reading

    def release(self) -> None:
        """The running command is done."""
        if self._is_busy.locked():
            self._is_busy.release()
        if self._is_retired:
            self._discard()

    def is_running(self, process: object) -> bool:
        return isinstance(process, SessionCommand) and process.session is self

    def retire(self) -> None:
        """No further command: the shell ends with the one that it runs."""
        self._is_retired = True

    def retire_when_free(self) -> None:
        """The same for one that may be idle: then it ends now."""
        self.retire()
        if not self._is_busy.locked():
            self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._discard()

    async def _ensure_shell(self, command: CommandLine) -> Path:
        if self._folder is not None and self._exit is not None and not self._exit.done():
            return self._folder
        self._discard()
        folder = Path(tempfile.mkdtemp(prefix="bayou-shell-"))
        self.is_boxed = command.box is not None
        self._folder = folder
        os.mkfifo(folder / "in", 0o600)
        self._jobs = os.open(folder / "in", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            argv = (command.argv[0], "-c", _LOOP, "bayou", str(folder))
            shell = msgspec.structs.replace(
                command, argv=argv, box=command.box and _with(command.box, folder)
            )
            self._process = await self._processes.start(shell, nowhere)
        finally:
            os.close(nowhere)
        self._exit = asyncio.ensure_future(self._process.wait())
        return folder

    def _discard(self) -> None:
        if self._jobs >= 0:
            os.close(self._jobs)
            self._jobs = -1
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._process = None
        self._exit = None


class SessionCommand(msgspec.Struct, frozen=True):
    """One command in the session's shell; a `RunningProcess`."""

    session: ShellSession
    process: RunningProcess
    exit_: "asyncio.Task[int]"
    job: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    async def wait(self) -> int:
        status = self.job.with_suffix(".status")
        delays = iter(_POLL_SECONDS)
        delay = 0.0
        try:
            while not status.exists():
                delay = next(delays, delay)
                done, _ = await asyncio.wait({self.exit_}, timeout=delay)
                if done and not status.exists():
                    self._unblock()
                    return self.exit_.result()
            return int(status.read_text())
        finally:
            self.session.release()

    async def end(self) -> None:
        await self.process.end()
        self._unblock()

    def kill(self) -> None:
        self.process.kill()
        self._unblock()

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        return is_output_open

    def _unblock(self) -> None:
        """Lets a reader go that waits for output which will never be written."""
        try:
            os.close(os.open(self.job.with_suffix(".out"), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            pass  # Nobody reads any longer.


def _with(box: Box, folder: Path) -> Box:
    """The same, with the place by which the shell is spoken to."""
    return msgspec.structs.replace(box, writable=(*box.writable, os.path.realpath(folder)))
