"""Runs one command to its end: output, time limit, abort, surviving processes. The tool or the user's shell words
the result."""

import asyncio
import errno
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import msgspec

from tools.box.git_backups import RestoredGitFiles
from tools.box.guarded_paths_and_sockets import add_shared_files_to_policy, find_newly_hidden_paths
from tools.box.sandbox_policy import SandboxPolicy
from tools.box.unprotected_changes import (
    MovedAutorunFile,
    UnpreventedChangeDetector,
    UnpreventedChanges,
    UnprotectedPathsSnapshot,
    join_unprevented_changes,
)
from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.running.command_file_watching import FilesChangedByCommand, GetFilesChangedByCommand
from tools.running.command_output_buffer import CommandOutputBuffer, CommandOutputSnapshot
from tools.running.local_processes import SandboxStartFailed, create_large_pipe
from tools.running.persistent_shell import PersistentShell, PersistentShellCommand
from tools.running.pipeline_exit_codes import (
    PipelineExitCodeReport,
    add_pipeline_exit_code_report,
    describe_failed_pipeline_part,
)
from tools.running.shell_settings import CommandToSpawn, ShellSettings, add_command_prefix, make_shell_argv
from tools.running.user_shell.shell_snapshot import get_user_shell_snapshot, prepend_shell_snapshot
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

FutureResult = TypeVar("FutureResult")

_COMMAND_OUTPUT_DRAIN_TIMEOUT: Final = 30.0
_SURVIVING_PROCESS_GRACE_SECONDS: Final = 1.0
"""The number of seconds that processes left behind by a sandboxed command get to end by themselves."""
_SECONDS_WITHOUT_OUTPUT_UNTIL_END: Final = 0.1
"""The number of seconds without output after which waiting for output of background children ends, once the shell
has ended."""


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int | None
    is_timed_out: bool = False
    is_aborted: bool = False
    output: CommandOutputSnapshot
    seconds: float
    has_survivors: bool = False
    killed_survivors: bool = False
    """Whether processes that the command left running were ended."""
    files: FilesChangedByCommand | None = None
    """The files that the command changed; None if they were not watched."""
    command: CommandLine | None = None
    refused_hosts: tuple[str, ...] = ()
    """The hosts, each as `host:port`, to which the sandbox's proxy refused the command a connection."""
    new_autorun_files: tuple[str, ...] = ()
    """Autorun files that the command created or changed, which the sandbox could not prevent."""
    moved_autorun_files: tuple[MovedAutorunFile, ...] = ()
    """Autorun files that were moved out of the workspace."""
    restored_git_files: tuple[RestoredGitFiles, ...] = ()
    """Parts of git folders that the command destroyed and bayou restored."""
    files_written_by_links: tuple[str, ...] = ()
    """Files that the command changed and that have further hard links outside the workspace."""
    check_limits: tuple[str, ...] = ()
    """Places where the search for new autorun files was cut short because of a limit."""
    failed_pipeline_part: str = ""
    """A note on the part of the last pipeline that failed although the exit code is 0."""


class RunningCommand:
    """A started command whose output is being read."""

    def __init__(
        self,
        workspace: SessionWorkspace,
        process: RunningProcess,
        output: CommandOutputBuffer,
        watched: GetFilesChangedByCommand | None = None,
        *,
        command: CommandLine,
        seen: UnprotectedPathsSnapshot,
        call_id: str | None = None,
        report: PipelineExitCodeReport | None = None,
    ) -> None:
        """Prepares the reading of the command's output. `seen` is a snapshot of the unprotected places from before
        the command."""
        self._call_id = call_id
        self._reported_hidden: set[str] = set()
        self._command = command
        self._compared_box = command.box
        self._report = report
        self._snapshot_before = seen
        self.output = output
        self._file_watch = watched
        self._workspace = workspace
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._drained_future: asyncio.Future[None] = self._loop.create_future()
        self._aborted_future: asyncio.Future[None] = self._loop.create_future()
        self._timeout_removed_future: asyncio.Future[None] = self._loop.create_future()
        self._started = time.monotonic()
        self._earlier_changes = UnpreventedChanges()
        """The changes in unprotected places that were found while the command still ran."""
        workspace.running_processes.add(process)

    def read_output(self, descriptor: int, on_data: Callable[[bytes], None] | None = None) -> None:
        def ended() -> None:
            try:
                self._loop.call_soon_threadsafe(_resolve_future, self._drained_future)
            except RuntimeError:
                pass  # The loop is closed.

        self.output.read_pipe(descriptor, on_data=on_data, on_end=ended)

    async def find_unprevented_changes_so_far(self) -> UnpreventedChanges:
        """Returns the changes that the command made since the last check in places that the sandbox cannot protect."""
        self._compared_box = await asyncio.to_thread(self._compared_policy)
        changes, self._snapshot_before = await asyncio.to_thread(
            self._workspace.guard.changes_of_running_process, self._snapshot_before, self._compared_box
        )
        self._earlier_changes = join_unprevented_changes(self._earlier_changes, changes)
        return changes

    def _compared_policy(self) -> SandboxPolicy | None:
        """Returns the sandbox policy by which the command's changes are judged: its own, with the files marked that
        only a newer sandbox would protect."""
        box, call_id = self._command.box, self._call_id
        now = self._workspace.current_box_of(call_id) if box is not None and call_id is not None else None
        if box is None or now is None:
            return box
        return msgspec.structs.replace(box, shared=add_shared_files_to_policy(now, box).shared)

    async def find_late_credential_files(self) -> tuple[str, ...]:
        """Returns the paths of key files that appeared after the command's start, which its sandbox therefore does
        not hide; each is reported once."""
        box, call_id = self._command.box, self._call_id
        now = await asyncio.to_thread(self._workspace.current_box_of, call_id) if box and call_id else None
        if box is None or now is None:
            return ()
        new = tuple(path for path in find_newly_hidden_paths(now, box) if path not in self._reported_hidden)
        self._reported_hidden.update(new)
        return new

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def pid(self) -> int:
        """The id of the command's first process, which leads a process group."""
        return self._process.pid

    def kill(self) -> None:
        """Makes `finish` end the command, without waiting; callable from any thread."""
        try:
            self._loop.call_soon_threadsafe(_resolve_future, self._aborted_future)
        except RuntimeError:
            self._process.kill()  # The loop is closed: `finish` will not end it.

    def keep_persistent_shell_for_command(self) -> None:
        """Gives the session's persistent shell to this command alone, if it runs in it; other commands get a new
        shell."""
        session = self._workspace.shell_session
        if session is not None and session.is_running(self._process):
            session.stop_accepting_commands()
            self._workspace.shell_session = None

    async def abort(self, finishing: "asyncio.Future[CommandOutcome]") -> CommandOutcome:
        """Ends the command with everything that it started; returns the outcome of `finish`."""
        _resolve_future(self._aborted_future)
        return await finish_despite_cancellation(finishing)

    def remove_timeout(self) -> None:
        """Removes the time limit of the running command."""
        _resolve_future(self._timeout_removed_future)

    async def finish(self, timeout: float | None) -> CommandOutcome:
        """Waits for the end of the command, which a time limit, `abort` or a cancellation cause early; returns its
        outcome."""
        exiting = asyncio.ensure_future(self._process.wait())
        is_timed_out = is_aborted = False
        try:
            ends = {exiting, self._aborted_future}
            done, _ = await asyncio.wait(
                {*ends, self._timeout_removed_future}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if done == {self._timeout_removed_future}:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            is_aborted = self._aborted_future.done() and not exiting.done()
            is_timed_out = not is_aborted and not exiting.done()
        except asyncio.CancelledError:
            is_aborted = True
        if is_timed_out or is_aborted:
            await finish_despite_cancellation(self._process.end())
        code = await finish_despite_cancellation(exiting)
        seconds = self.seconds
        parts = (
            await finish_despite_cancellation(asyncio.to_thread(self._report.read_exit_codes))
            if self._report
            else ()
        )
        has_survivors = await finish_despite_cancellation(self._drain_output())
        ends_rest = has_survivors and self._command.box is not None and self._has_own_sandbox
        if ends_rest:
            has_survivors = False
            ends_rest = await finish_despite_cancellation(self._end_surviving_processes())
        output = await finish_despite_cancellation(
            asyncio.to_thread(self.output.finish, keep_all=has_survivors)
        )
        if not has_survivors:
            self._workspace.running_processes.discard(self._process)
        changes = join_unprevented_changes(
            self._earlier_changes,
            await finish_despite_cancellation(
                asyncio.to_thread(
                    self._workspace.guard.changes_after_process, self._snapshot_before, self._compared_box
                )
            ),
        )
        files = await finish_despite_cancellation(self._file_watch()) if self._file_watch else None
        return CommandOutcome(
            exit_code=None if is_timed_out or is_aborted else code,
            is_timed_out=is_timed_out,
            is_aborted=is_aborted,
            output=output,
            seconds=seconds,
            has_survivors=has_survivors,
            killed_survivors=ends_rest,
            files=files,
            command=self._command,
            refused_hosts=self._workspace.end_proxy_caller(self._command.box.caller)
            if self._command.box
            else (),
            new_autorun_files=changes.planted,
            moved_autorun_files=changes.set_aside,
            restored_git_files=changes.put_back,
            files_written_by_links=changes.written_through,
            check_limits=changes.limits,
            failed_pipeline_part=describe_failed_pipeline_part(self._command.argv[-1], parts)
            if code == 0
            else "",
        )

    @property
    def _has_own_sandbox(self) -> bool:
        """Returns whether the command has a separate sandbox, and does not share that of a persistent shell."""
        return not isinstance(self._process, PersistentShellCommand)

    async def _end_surviving_processes(self) -> bool:
        """Ends processes left by a sandboxed command. Returns whether there were any."""
        deadline = time.monotonic() + _SURVIVING_PROCESS_GRACE_SECONDS
        while await self._process.has_survivors(is_output_open=False):
            if time.monotonic() > deadline:
                await self._process.end()
                await asyncio.wait({self._drained_future}, timeout=_COMMAND_OUTPUT_DRAIN_TIMEOUT)
                return True
        await asyncio.wait({self._drained_future}, timeout=_COMMAND_OUTPUT_DRAIN_TIMEOUT)
        return False

    async def _drain_output(self) -> bool:
        """Reads the rest of the command's output. Returns whether a process of the command still runs."""
        while True:
            before = self.output.received_bytes
            done, _ = await asyncio.wait({self._drained_future}, timeout=_SECONDS_WITHOUT_OUTPUT_UNTIL_END)
            is_quiet = self.output.received_bytes == before and not self.output.is_reading_pipe
            if not done and not is_quiet:
                continue
            if await self._process.has_survivors(is_output_open=not done):
                return True
            # No process can write any more: the pipe ends soon, even with a slow disk.
            await asyncio.wait({self._drained_future}, timeout=_COMMAND_OUTPUT_DRAIN_TIMEOUT)
            return False


def _resolve_future(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


async def finish_despite_cancellation(ending: Awaitable[FutureResult]) -> FutureResult:
    """Awaits a future even if the caller is cancelled repeatedly, so that ending a command is never abandoned."""
    running = asyncio.ensure_future(ending)
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError:
            continue
    return running.result()


async def start_command(
    workspace: SessionWorkspace,
    plan: CommandToSpawn,
    *,
    tool: str,
    extra: dict[str, str] | None = None,
    has_own_shell: bool = False,
    call_id: str | None = None,
) -> RunningCommand:
    """Starts a command according to the session's settings, and reads its output.

    `call_id` is the tool call; a user's own command has none, and is not watched."""
    command = await make_shell_command_line(workspace, plan)
    lasts = workspace.shell_settings().is_persistent and not has_own_shell
    command = await add_sandbox_policy(workspace, command, call_id, lasts=lasts)
    if lasts and workspace.shell_session is not None and workspace.shell_session.box and not command.box:
        has_own_shell = True  # an unsandboxed command runs beside the sandboxed shell
    watched = await watch_command_files(workspace, call_id, tool, command)
    try:
        return await _start_watched_command(
            workspace,
            command,
            watched,
            tool=tool,
            extra=extra,
            has_own_shell=has_own_shell,
            call_id=call_id,
        )
    except BaseException:
        if watched is not None:
            await watched()
        raise


async def add_sandbox_policy(
    workspace: SessionWorkspace, command: CommandLine, call_id: str | None, *, lasts: bool = False
) -> CommandLine:
    """Adds the sandbox policy of a tool call to its command line; a user's own command, which has no call, gets
    none."""
    if workspace.box_for_call is None or call_id is None:
        return command
    return msgspec.structs.replace(command, box=await workspace.box_for_call(call_id, lasts=lasts))


async def watch_command_files(
    workspace: SessionWorkspace, call_id: str | None, tool: str, command: CommandLine
) -> GetFilesChangedByCommand | None:
    """Starts watching the files that a command changes, unless its sandbox lets it write nothing."""
    if workspace.watch_command is None or call_id is None or (command.box and command.box.kind == "read"):
        return None
    return await workspace.watch_command(call_id, tool, command)


async def _start_watched_command(
    workspace: SessionWorkspace,
    command: CommandLine,
    watched: GetFilesChangedByCommand | None,
    *,
    tool: str,
    extra: dict[str, str] | None,
    has_own_shell: bool,
    call_id: str | None,
) -> RunningCommand:
    output = CommandOutputBuffer(workspace.artifacts, tool, workspace.mask_output)
    if workspace.shell_settings().is_persistent and not has_own_shell:
        session = workspace.shell_session
        if session is not None and command.box is not None:
            if session.box is None or find_newly_hidden_paths(command.box, session.box):
                session.end_when_idle()
                workspace.shell_session = None
            else:
                compared = add_shared_files_to_policy(command.box, session.box)
                command = msgspec.structs.replace(command, box=compared)
    async with snapshot_around_process_start(workspace.guard, command.box) as seen:
        command, process, reading, report = await _start_command_in_shell(
            workspace, command, extra or {}, has_own_shell=has_own_shell
        )
    running = RunningCommand(
        workspace, process, output, watched, command=command, seen=seen, call_id=call_id, report=report
    )
    running.read_output(reading)
    return running


@asynccontextmanager
async def snapshot_around_process_start(
    guard: UnpreventedChangeDetector, box: SandboxPolicy | None
) -> AsyncGenerator[UnprotectedPathsSnapshot]:
    """Yields a snapshot of the unprotected places, in which a process is started; if that fails or is cancelled, they
    are compared at once, because the process may have run before."""
    taken = asyncio.ensure_future(asyncio.to_thread(guard.snapshot_before_process, box))
    try:
        yield await asyncio.shield(taken)
    except BaseException:
        seen = await finish_despite_cancellation(taken)
        await finish_despite_cancellation(asyncio.to_thread(guard.compare_after_failed_process, seen, box))
        raise


async def _start_command_in_shell(
    workspace: SessionWorkspace, command: CommandLine, extra: dict[str, str], *, has_own_shell: bool
) -> tuple[CommandLine, RunningProcess, int, PipelineExitCodeReport | None]:
    """Starts a command in the session's persistent shell, or in one of its own; also returns the descriptor of its
    output."""
    if workspace.shell_settings().is_persistent and not has_own_shell:
        if command.box is not None:
            await asyncio.to_thread(workspace.guard.watch_lasting_process, command.box, "the shell")
        if workspace.shell_session is None:
            workspace.shell_session = PersistentShell(workspace.processes, workspace.private_folder)
        process, reading = await workspace.shell_session.start(command, extra)
        os.set_blocking(reading, True)
        return command, process, reading, process.report
    report = None
    if workspace.has_local_processes:
        command, report = await asyncio.to_thread(
            add_pipeline_exit_code_report, command, workspace.private_folder
        )
    reading, writing = create_large_pipe()
    try:
        return command, await start_command_process(workspace, command, writing), reading, report
    except BaseException:
        os.close(reading)
        if report is not None:
            report.close_and_delete_report()
        raise
    finally:
        os.close(writing)


async def make_shell_command_line(workspace: SessionWorkspace, plan: CommandToSpawn) -> CommandLine:
    """Returns the command line of a command after the spawn hook, shell and prefix of the settings."""
    settings = workspace.shell_settings()
    if settings.may_use_shell is not None and not await settings.may_use_shell():
        settings = settings.fallback or ShellSettings()
    if workspace.spawn_hook:
        plan = await workspace.spawn_hook(plan)
    argv = make_shell_argv(settings, workspace.processes.find_program)
    text = add_command_prefix(settings, plan.command)
    snapshot = await get_user_shell_snapshot(workspace, settings)
    if snapshot is not None:
        text = prepend_shell_snapshot(snapshot, argv[0], text)
    return CommandLine(argv=(*argv, text), cwd=plan.cwd, environment=plan.environment)


async def start_command_process(
    workspace: SessionWorkspace, command: CommandLine, output: int, *, terminal: int | None = None
) -> RunningProcess:
    try:
        return await workspace.processes.start(command, output, terminal=terminal)
    except SandboxStartFailed as problem:
        raise ToolError(
            f"The command was not run, because its sandbox could not be created: {problem.strerror}. "
            "`bayou sandbox` shows what works here; the user can change sandbox.mode in /settings."
        ) from None
    except OSError as problem:
        hint = " Put long texts into files." if problem.errno == errno.E2BIG else ""
        raise ToolError(f"The command could not be started: {problem.strerror}.{hint}") from None
