"""A persistent shell for all commands of a session: `cd`, exports and functions last from one to the next.

The shell reads job names from a FIFO and runs each job's script with its output on a separate FIFO, so that a
command looks like any other process to its caller. Ending a command ends the shell; the next command gets a new
one."""

import asyncio
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tools.box.sandbox_policy import SandboxPolicy, add_private_folder_to_policy
from tools.file_and_process_operations import CommandLine, ProcessOperations, RunningProcess
from tools.running.pipeline_exit_codes import PIPE_STATUS_COMMAND, PipelineExitCodeReport

_PERSISTENT_SHELL_SCRIPT: Final = (
    """
exec 9<"$1/in"
trap -- """
    + shlex.quote(PIPE_STATUS_COMMAND % '"$1/$__bayou_job.parts${BASH_SOURCE[0]:+-of-a-file-that-it-reads}"')
    + """ RETURN 2>/dev/null
while IFS= read -r __bayou_job <&9; do
  . "$1/$__bayou_job.sh" </dev/null >"$1/$__bayou_job.out" 2>&1 9<&-
  printf '%s %s\\n' "$__bayou_job" "$?" >"$1/status"
done
"""
)
_FIFO_OPEN_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_MAX_SHELL_STATUS_READ_BYTES: Final = 65_536
_MAX_SHELL_STATUS_LINE_BYTES: Final = 100
_SHELL_STATUS_POLL_INTERVALS: Final = (0.002, 0.005, 0.01, 0.02, 0.05)


class PersistentShell:
    def __init__(self, processes: ProcessOperations, private_folder: Callable[[str], Path]) -> None:
        self._private_folder = private_folder
        self._processes = processes
        self._folder: Path | None = None
        self._process: RunningProcess | None = None
        self._exit_task: asyncio.Task[int] | None = None
        self._jobs_descriptor = -1
        self._statuses_descriptor = -1
        self._partial_status = b""
        """The incomplete last line of the statuses read so far."""
        self._job_count = 0
        self._busy_lock = asyncio.Lock()
        self._is_retired = False
        self.box: SandboxPolicy | None = None
        """The sandbox policy of the shell, and so of all commands that run in it."""

    async def start(
        self, command: CommandLine, extra: Mapping[str, str]
    ) -> "tuple[PersistentShellCommand, int]":
        """Runs a command in the session's shell after the one before. Returns it and the descriptor of its output.
        Folder and environment apply to a new shell; `extra` is exported in it and lasts."""
        await self._busy_lock.acquire()
        try:
            folder = await self._ensure_shell(command)
            self._job_count += 1
            job = f"job{self._job_count}"
            exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in extra.items())
            _write_new_file(folder / f"{job}.sh", exports + command.argv[-1] + "\n")
            reading = _create_and_open_fifo(folder / f"{job}.out", os.O_RDONLY)
            report = PipelineExitCodeReport(folder / f"{job}.parts")
            os.write(self._jobs_descriptor, f"{job}\n".encode())
        except BaseException:
            self._busy_lock.release()
            raise
        assert self._process is not None and self._exit_task is not None
        return PersistentShellCommand(self, self._process, self._exit_task, folder / job, report), reading

    def exit_status_of_last_command(self, job: str) -> int | None:
        """Returns the exit status of the shell's most recent command; None if the shell has not reported it."""
        if self._statuses_descriptor < 0:
            return None
        try:
            said = self._partial_status + os.read(self._statuses_descriptor, _MAX_SHELL_STATUS_READ_BYTES)
        except BlockingIOError:
            return None
        *lines, rest = said.split(b"\n")
        self._partial_status = rest[-_MAX_SHELL_STATUS_LINE_BYTES:]
        for line in lines:
            name, _, status = line.partition(b" ")
            if name == job.encode() and status.isdigit():
                return int(status)
        return None

    def release(self) -> None:
        """Marks the shell's running command as done, so that the next can start."""
        if self._busy_lock.locked():
            self._busy_lock.release()
        if self._is_retired:
            self._discard_shell()

    def is_running(self, process: object) -> bool:
        return isinstance(process, PersistentShellCommand) and process.session is self

    def stop_accepting_commands(self) -> None:
        """Makes the shell accept no further command: it ends with its current one."""
        self._is_retired = True

    def end_when_idle(self) -> None:
        """Makes the shell accept no further command, and ends an idle shell at once."""
        self.stop_accepting_commands()
        if not self._busy_lock.locked():
            self.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._discard_shell()

    async def _ensure_shell(self, command: CommandLine) -> Path:
        if self._folder is not None and self._exit_task is not None and not self._exit_task.done():
            return self._folder
        self._discard_shell()
        folder = self._private_folder("shell")
        self.box = command.box
        self._folder = folder
        self._jobs_descriptor = _create_and_open_fifo(folder / "in", os.O_RDWR)
        self._statuses_descriptor = _create_and_open_fifo(folder / "status", os.O_RDWR)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            argv = (command.argv[0], "-c", _PERSISTENT_SHELL_SCRIPT, "bayou", str(folder))
            shell = msgspec.structs.replace(
                command, argv=argv, box=command.box and add_private_folder_to_policy(command.box, str(folder))
            )
            self._process = await self._processes.start(shell, nowhere)
        finally:
            os.close(nowhere)
        self._exit_task = asyncio.ensure_future(self._process.wait())
        return folder

    def _discard_shell(self) -> None:
        if self._jobs_descriptor >= 0:
            os.close(self._jobs_descriptor)
            self._jobs_descriptor = -1
        if self._statuses_descriptor >= 0:
            os.close(self._statuses_descriptor)
            self._statuses_descriptor, self._partial_status = -1, b""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._process = None
        self._exit_task = None


class PersistentShellCommand(msgspec.Struct, frozen=True):
    """A command that runs in the session's persistent shell; a `RunningProcess`."""

    session: PersistentShell
    process: RunningProcess
    shell_exit_task: "asyncio.Task[int]"
    job: Path
    report: PipelineExitCodeReport

    @property
    def pid(self) -> int:
        return self.process.pid

    async def wait(self) -> int:
        delays = iter(_SHELL_STATUS_POLL_INTERVALS)
        delay = 0.0
        try:
            while True:
                has_ended = self.shell_exit_task.done()
                status = self.session.exit_status_of_last_command(self.job.name)
                if status is not None:
                    return status
                if has_ended:
                    self._release_output_reader()
                    return self.shell_exit_task.result()
                delay = next(delays, delay)
                await asyncio.wait({self.shell_exit_task}, timeout=delay)
        finally:
            self.session.release()

    async def end(self) -> None:
        await self.process.end()
        self._release_output_reader()

    def kill(self) -> None:
        self.process.kill()
        self._release_output_reader()

    async def has_survivors(self, *, is_output_open: bool) -> bool:
        return is_output_open

    def _release_output_reader(self) -> None:
        """Releases a reader that waits for output which will never be written."""
        try:
            os.close(os.open(self.job.with_suffix(".out"), os.O_WRONLY | _FIFO_OPEN_FLAGS))
        except OSError:
            pass  # There is no reader any more.


def _create_and_open_fifo(path: Path, way: int) -> int:
    """Creates and opens a FIFO. A command that can write its folder may replace it meanwhile."""
    os.mkfifo(path, 0o600)
    descriptor = os.open(path, way | _FIFO_OPEN_FLAGS)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} was replaced while it was opened")
    return descriptor


def _write_new_file(path: Path, text: str) -> None:
    """Writes a new file; fails if it exists, because a link would lead elsewhere."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
