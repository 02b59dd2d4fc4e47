"""The Python kernel of a session: started for the first cell, reused for all others, ended when idle."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tools.box.guarded_paths_and_sockets import add_shared_files_to_policy, find_newly_hidden_paths
from tools.box.sandbox_policy import SandboxPolicy
from tools.file_and_process_operations import CommandLine
from tools.kernel.cell_output import CellOutputCollector
from tools.kernel.kernel_interpreter import (
    KernelInterpreter,
    candidate_kernel_interpreters,
    make_kernel_environment,
)
from tools.kernel.kernel_messages import (
    ArtifactRequest,
    CancelToolCallMessage,
    CellDoneMessage,
    CellMessage,
    ToolCallRequest,
)
from tools.kernel.kernel_process import KERNEL_PROGRAM, KernelProcess, KernelProcessEnded, KernelStartFailed
from tools.kernel.kernel_settings import KernelSettings
from tools.running.local_processes import SandboxStartFailed
from tools.running.shell_settings import command_environment
from tools.tool_definition import ToolError
from tools.tool_result_values import ToolResult

if TYPE_CHECKING:
    from tools.session_workspace import SessionWorkspace

CallToolByName = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]
_TOOLS_NOT_CALLABLE_FROM_CELLS: Final = frozenset(("eval", "task", "resolve"))
_KERNEL_ANSWER_TIMEOUT: Final = 2.0
_MAX_ARTIFACT_BYTES: Final = 20_000_000
KERNEL_RESTARTED_NOTICE: Final = "The kernel was restarted; its state is gone."


class CellOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a Python cell: the kernel's report, and why the cell was stopped."""

    done_message: CellDoneMessage | None = None
    """The kernel's report on the cell; None if the kernel ended before it."""
    stop_cause: str = ""
    """`timeout` or `abort` if the cell was stopped; empty otherwise."""
    keeps_state: bool = True
    exit_code: int | None = None
    """The exit code of a kernel that ended by itself during the cell; None otherwise."""

    @property
    def has_failed(self) -> bool:
        return bool(self.stop_cause) or self.done_message is None or self.done_message.error is not None


class KernelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the session's kernel as it is shown: interpreter, process, memory, number of cells."""

    state: str
    """The state of the kernel: `none`, `idle` or `busy`."""
    interpreter: str = ""
    interpreter_origin: str = ""
    """The source that names the interpreter, such as `.venv` or the setting `eval.python`."""
    version: str = ""
    pid: int | None = None
    memory_bytes: int | None = None
    """The memory that the kernel uses, in bytes."""
    cell_count: int = 0
    names: tuple[dict[str, str], ...] = ()


class SessionKernel:
    def __init__(self, workspace: "SessionWorkspace", settings: Callable[[], KernelSettings]) -> None:
        self._workspace = workspace
        self._settings = settings
        self.turn_lock = asyncio.Lock()
        """A lock by which cells run one after the other, in the order in which they were sent."""
        self.busy_with = ""
        """The title of the running cell; empty while the kernel is idle."""
        self.job_id: str | None = None
        """The id of the background job as which the kernel's cell is running; None if it is none."""
        self._kernel: KernelProcess | None = None
        self._interpreter: KernelInterpreter | None = None
        self._box: SandboxPolicy | None = None
        self._notices: list[str] = []
        self._idle_timer: asyncio.TimerHandle | None = None

    # Cells; the caller has the turn

    async def ensure_running(self, box: SandboxPolicy | None, *, resets: bool = False) -> KernelProcess:
        """Returns the running kernel process, starting it if necessary; an unsandboxed kernel is never used for a call
        that needs a sandbox. Raises `ToolError`."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if resets and self._kernel is not None:
            await self._kernel.end_process()
            self._kernel = None
        if self._kernel is not None and self._kernel.is_gone:
            self._note_lost_state("It had ended by itself.")
        if self._kernel is not None and box is not None:
            more = find_newly_hidden_paths(box, self._box) if self._box is not None else ()
            why = f"The sandbox hides {', '.join(more[:3])} now." if more else "Cells run in the sandbox now."
            if more or self._box is None:
                await self._kernel.end_process()
                self._note_lost_state(why)
        if self._kernel is None:
            self._kernel = await self._start_kernel(box)
            self._box = box
        elif box is None and self._box is not None:
            self._notices.append(
                "This kernel runs in the sandbox; with reset: true another one begins outside."
            )
        return self._kernel

    def policy_for_file_comparison(self, box: SandboxPolicy | None) -> SandboxPolicy | None:
        """Returns the sandbox policy by which file changes of the kernel are judged: the current one, with files
        marked that the kernel's older sandbox lets it write."""
        return box and add_shared_files_to_policy(box, self._box)

    async def run_cell(
        self,
        code: str,
        output: CellOutputCollector,
        *,
        cwd: str | None,
        call: CallToolByName | None,
        tools: Mapping[str, Any],
    ) -> CellDoneMessage:
        """Runs a cell in the session's kernel. Raises `KernelProcessEnded`; a cell that fails returns its error."""
        kernel = self._kernel
        assert kernel is not None
        calls = _CellToolCalls(kernel, call, self._workspace)
        try:
            order: dict[str, Any] = {"code": code, "cwd": cwd, "tools": tools}
            return await kernel.run_cell(order, output, calls.handle)
        except KernelProcessEnded:
            await kernel.end_process()  # The processes it started end with it.
            self._note_lost_state("")
            raise
        finally:
            await calls.close()
            self._start_idle_timer()

    async def stop_cell(self, running: "asyncio.Future[Any]") -> bool:
        """Interrupts the running cell; returns whether the kernel's state is kept."""
        return await self._kernel.stop_cell(running) if self._kernel is not None else False

    def take_notices(self) -> list[str]:
        """Returns notices for the next result of `eval`, once: a restart, an unusable interpreter."""
        notices, self._notices = self._notices, []
        return notices

    def take_output_between_cells(self) -> str:
        return self._kernel.take_output_between_cells() if self._kernel is not None else ""

    @property
    def default_timeout(self) -> float | None:
        return self._settings().default_timeout

    @property
    def idle_timeout(self) -> float:
        """The time in seconds after which an idle kernel is ended."""
        return self._settings().idle_seconds

    # Between cells

    async def restart_kernel(self) -> bool:
        """Ends the kernel, even during a cell; the next cell starts a new one. Returns False if none runs."""
        kernel = self._kernel
        if kernel is None:
            return False
        await kernel.end_process()
        if self._kernel is kernel:  # otherwise its cell has reported the end already
            self._note_lost_state("")
        return True

    def end_kernel(self, why: str = "") -> None:
        """Ends the kernel at once: at the end of the session, or because the working directory changed."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._kernel is not None:
            self._kernel.kill_process()
            self._note_lost_state(why)

    @property
    def is_busy(self) -> bool:
        return self.turn_lock.locked()

    async def kernel_info(self) -> KernelInfo:
        kernel, interpreter = self._kernel, self._interpreter
        if kernel is None or kernel.is_gone or kernel.hello_message is None or interpreter is None:
            return KernelInfo(state="none")
        names: Any = None
        if not self.is_busy:
            names = await kernel.ask_kernel({"op": "names"}, _KERNEL_ANSWER_TIMEOUT)
        return KernelInfo(
            state="busy" if self.is_busy else "idle",
            interpreter=kernel.hello_message.executable or interpreter.path,
            interpreter_origin=interpreter.origin,
            version=kernel.hello_message.version,
            pid=kernel.pid,
            memory_bytes=await asyncio.to_thread(_memory_bytes_of, kernel.pid),
            cell_count=kernel.cell_count,
            names=tuple(names or ()),
        )

    async def complete_kernel_expression(self, text: str) -> tuple[str, ...]:
        """Returns completions of a text in the kernel's namespace; none while a cell runs, or without a kernel. There
        is no timeout: the caller cancels the request when the user types on."""
        kernel = self._kernel
        if kernel is None or kernel.is_gone or self.is_busy:
            return ()
        return tuple(await kernel.ask_kernel({"op": "complete", "text": text}, None) or ())

    # The process

    async def _start_kernel(self, box: SandboxPolicy | None) -> KernelProcess:
        processes = self._workspace.local_processes
        if processes is None:
            raise ToolError(
                "Cells run only on this machine, but this session's commands run on another one. Use bash."
            )
        settings = self._settings()
        environment = command_environment(self._workspace.shell_settings())
        cwd = self._workspace.cwd
        chosen, uses_folder = await settings.interpreter_choice()
        passed: list[str] = []
        for interpreter in candidate_kernel_interpreters(chosen, cwd, os.environ, uses_folder=uses_folder):
            try:
                kernel = await KernelProcess.start(
                    processes,
                    CommandLine(
                        argv=(interpreter.path, str(KERNEL_PROGRAM)),
                        cwd=str(cwd),
                        environment=make_kernel_environment(interpreter, environment),
                        box=box,
                    ),
                )
            except SandboxStartFailed as problem:
                raise ToolError(
                    f"No kernel was started, because its sandbox could not be created: {problem.strerror}. "
                    "`bayou sandbox` shows what works here; the user can change sandbox.mode in /settings."
                ) from None
            except KernelStartFailed as problem:
                told = f"{interpreter.path} ({interpreter.origin}) does not run: {problem}"
                if interpreter.is_set_by_user:
                    raise ToolError(f"{told}. Correct the setting eval.python, or clear it.") from None
                passed.append(told)
                continue
            self._interpreter = interpreter
            if passed:
                self._notices.append(f"{'; '.join(passed)}. Cells run with {interpreter.path} instead.")
            self._workspace.running_processes.add(kernel.process)
            return kernel
        raise ToolError(
            f"No Python could be started. {'; '.join(passed)}. Name one in the setting eval.python."
        )

    def _note_lost_state(self, why: str) -> None:
        if self._kernel is not None:
            self._workspace.running_processes.discard(self._kernel.process)
        self._kernel = None
        self._notices.append(f"{why} {KERNEL_RESTARTED_NOTICE}".strip())

    def _start_idle_timer(self) -> None:
        """Starts the timer that ends an idle kernel."""
        seconds = self.idle_timeout
        if self._kernel is not None and seconds:
            self._idle_timer = asyncio.get_running_loop().call_later(seconds, self._end_idle_kernel)

    def _end_idle_kernel(self) -> None:
        self._idle_timer = None
        if not self.is_busy:
            minutes = self.idle_timeout / 60
            self.end_kernel(f"No cell ran for {minutes:g} minutes.")


class _CellToolCalls:
    """Runs the tool calls of one cell, concurrently with it."""

    def __init__(
        self, kernel: KernelProcess, call: CallToolByName | None, workspace: "SessionWorkspace"
    ) -> None:
        self._kernel = kernel
        self._call = call
        self._workspace = workspace
        self._running: dict[int, asyncio.Task[None]] = {}

    def handle(self, word: CellMessage) -> None:
        if isinstance(word, CancelToolCallMessage):
            if word.id in self._running:
                self._running[word.id].cancel()
            return
        if isinstance(word, ToolCallRequest):
            work = self._run_tool_call(word)
        elif isinstance(word, ArtifactRequest):
            work = self._send_artifact(word)
        else:
            work = self._kernel.send_answer_to_kernel(word.id)  # Already displayed.
        task = asyncio.ensure_future(work)
        self._running[word.id] = task
        task.add_done_callback(lambda _: self._running.pop(word.id, None))

    async def close(self) -> None:
        """Cancels the tool calls that the cell has not awaited."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run_tool_call(self, word: ToolCallRequest) -> None:
        if self._call is None:
            await self._kernel.send_answer_to_kernel(word.id, error="Tools cannot be called here.")
            return
        if word.name in _TOOLS_NOT_CALLABLE_FROM_CELLS:
            await self._kernel.send_answer_to_kernel(
                word.id, error=f"{word.name} cannot be called from a cell."
            )
            return
        result = await self._call(word.name, word.arguments)
        if result.is_error:
            await self._kernel.send_answer_to_kernel(word.id, error=result.text)
        else:
            await self._kernel.send_answer_to_kernel(word.id, text=result.text, details=result.details)

    async def _send_artifact(self, word: ArtifactRequest) -> None:
        number = word.number.removeprefix("artifact://")
        path = self._workspace.artifacts.find(int(number)) if number.isdecimal() else None
        if path is None:
            await self._kernel.send_answer_to_kernel(word.id, error=f"There is no artifact {word.number}.")
            return
        text = await asyncio.to_thread(_read_artifact, path)
        await self._kernel.send_answer_to_kernel(word.id, text=text)


def _read_artifact(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MAX_ARTIFACT_BYTES).decode("utf-8", "replace")


def _memory_bytes_of(pid: int) -> int | None:
    try:
        resident = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return None
    return int(resident) * os.sysconf("SC_PAGE_SIZE")
