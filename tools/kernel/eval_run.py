"""Runs one `eval` call from its first cell to its end: turns, time limits, interrupts, moving to the background."""

import asyncio
import time
from typing import Any, Final

import msgspec

from tools.box.sandbox_policy import SandboxPolicy
from tools.file_and_process_operations import CommandLine
from tools.kernel.cell_output import CellOutputCollector
from tools.kernel.code_cells import CodeCell, parse_code_cells
from tools.kernel.eval_results import EvalReport, ToolCallOfCell, make_eval_progress_result, make_eval_result
from tools.kernel.kernel_process import KernelProcessEnded
from tools.kernel.session_kernel import CellOutcome, SessionKernel
from tools.running.command_file_watching import FilesChangedByCommand
from tools.running.poll_interval import PollInterval
from tools.running.running_command import (
    finish_despite_cancellation,
    snapshot_around_process_start,
    watch_command_files,
)
from tools.running.sandbox_notes import format_unprevented_change_notes
from tools.session_workspace import SessionWorkspace, workspace_of_context
from tools.text_sanitizing import one_line
from tools.tool_definition import ToolCaller, ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result

_MAX_EVAL_TIMEOUT: Final = 3600.0
_MAX_LISTED_TOOL_CALLS_OF_CELL: Final = 200


class EvalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to run Python code in the session's kernel: the code, title, time limit and folder."""

    code: str
    title: str = ""
    timeout: float | None = None
    resets_kernel: bool = False
    cwd: str | None = None

    @property
    def display_title(self) -> str:
        """The title of the code to run, or else its first line."""
        first = next((line.strip() for line in self.code.split("\n") if line.strip()), "")
        return one_line(self.title or first)[:120]


class EvalRun:
    """One run of Python cells in the session's kernel, from the first cell to the last."""

    def __init__(
        self,
        wish: EvalRequest,
        workspace: SessionWorkspace,
        *,
        call_id: str | None,
        caller: ToolCaller | None,
    ) -> None:
        """Prepares the run. `call_id` is the tool call; None for a user's own cell, whose file changes are not
        watched."""
        self._request = wish
        self._cells = parse_code_cells(wish.code)
        self._workspace = workspace
        self.kernel: SessionKernel = workspace.kernel()
        self._call_id = call_id
        self._caller = caller
        self._aborted_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started = time.monotonic()
        self._file_changes: FilesChangedByCommand | None = None
        self.output: CellOutputCollector | None = None
        self.tool_calls: list[ToolCallOfCell] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def abort_cells(self) -> None:
        """Stops the run: interrupts the running cell and starts no further one."""
        if not self._aborted_future.done():
            self._aborted_future.set_result(None)

    def output_preview(self) -> str:
        return self.output.output_preview() if self.output is not None else ""

    async def run_all_cells(self) -> EvalReport:
        """Runs all cells of the code in order, until a time limit or `abort` ends them early. Raises `ToolError` if
        nothing can run."""
        if not self._cells:
            raise ToolError("There is no code in these cells.")
        async with self.kernel.turn_lock:
            self._started = time.monotonic()
            self.kernel.busy_with = self._request.display_title
            try:
                return await self._run_with_file_watch()
            finally:
                self.kernel.busy_with = ""

    async def _run_with_file_watch(self) -> EvalReport:
        line = CommandLine(argv=("eval", self._request.code), cwd=str(self._workspace.cwd), environment={})
        watched = await watch_command_files(self._workspace, self._call_id, "eval", line)
        try:
            report = await self._run_in_turn()
        finally:
            files = await watched() if watched is not None else None
        return msgspec.structs.replace(report, changed_files=files)

    async def _run_in_turn(self) -> EvalReport:
        kernel, cells = self.kernel, self._cells
        confine = self._workspace.box_for_call
        # A user's cell has no call; the kernel that it shares with the agent runs in the agent's sandbox.
        box = await confine(self._call_id or "", lasts=True) if confine is not None else None
        await kernel.ensure_running(box, resets=self._request.resets_kernel or cells[0].resets_kernel)
        box = kernel.policy_for_file_comparison(box)
        guard = self._workspace.guard
        async with snapshot_around_process_start(guard, box) as seen:
            if box is not None:
                await asyncio.to_thread(guard.watch_lasting_process, box, "the Python kernel")
            notices = kernel.take_notices()
            output = self.output = CellOutputCollector(
                self._workspace.artifacts, kernel.take_output_between_cells(), self._workspace.mask_output
            )
            end, number, notes = await self._run_cells(box, output)
        changes = await asyncio.to_thread(guard.changes_after_process, seen, box)
        notes += format_unprevented_change_notes("cell", changes)
        return EvalReport(
            title=self._request.title,
            cell_count=len(cells),
            last_cell_number=number,
            last_cell_end=end,
            time_limit=self._cell_timeout(cells[number - 1]),
            output=await asyncio.to_thread(output.finish_output),
            output_pieces=output.output_pieces(),
            notices=tuple(notices),
            notes=tuple(notes),
            tool_calls=tuple(self.tool_calls),
            seconds=self.seconds,
        )

    async def _run_cells(
        self, box: SandboxPolicy | None, output: CellOutputCollector
    ) -> tuple[CellOutcome, int, list[str]]:
        """Runs the cells up to the first that fails. Returns how the last one ended, its number, and the notes on
        all cells."""
        kernel, cells, notes = self.kernel, self._cells, list[str]()
        end = CellOutcome()
        number = 0
        for number, cell in enumerate(cells, 1):
            if number > 1 and cell.resets_kernel:
                await kernel.ensure_running(box, resets=True)
            if len(cells) > 1:
                output.add_line(f"[{number}/{len(cells)}] {one_line(cell.title)}".rstrip())
            end = await self._run_one_cell(cell, output)
            if end.done_message is not None:
                notes += end.done_message.notes
                if end.done_message.value is not None:
                    output.add_line(f"Out: {end.done_message.value}")
                if end.done_message.error is not None and not (
                    end.stop_cause and end.done_message.error.is_interrupt
                ):
                    output.add_line(end.done_message.error.text)
            if end.has_failed:
                break
        return end, number, notes

    def _cell_timeout(self, cell: CodeCell) -> float | None:
        asked = cell.timeout if cell.timeout is not None else self._request.timeout
        if asked is None:
            return self.kernel.default_timeout
        return min(asked, _MAX_EVAL_TIMEOUT) if asked > 0 else None

    async def _run_one_cell(self, cell: CodeCell, output: CellOutputCollector) -> CellOutcome:
        kernel = self.kernel
        if self._aborted_future.done():
            return CellOutcome(stop_cause="abort")
        call = self._call_tool if self._caller is not None else None
        running = asyncio.ensure_future(
            kernel.run_cell(
                cell.code,
                output,
                cwd=self._request.cwd,
                call=call,
                tools=self._list_tool_parameters() if call else {},
            )
        )
        ends: set[asyncio.Future[Any]] = {running, self._aborted_future}
        await asyncio.wait(ends, timeout=self._cell_timeout(cell), return_when=asyncio.FIRST_COMPLETED)
        stopped, keeps_state = "", True
        if not running.done():
            stopped = "abort" if self._aborted_future.done() else "timeout"
            keeps_state = await kernel.stop_cell(running)
        try:
            return CellOutcome(done_message=running.result(), stop_cause=stopped, keeps_state=keeps_state)
        except KernelProcessEnded as gone:
            return CellOutcome(stop_cause=stopped, keeps_state=False, exit_code=gone.code)

    # Tools that a cell calls

    def _list_tool_parameters(self) -> dict[str, list[str]]:
        assert self._caller is not None
        return {name: list(tool.schema.get("properties", {})) for name, tool in self._caller.tools().items()}

    async def _call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        assert self._caller is not None
        tool = self._caller.tools().get(name)
        made = ToolCallOfCell(
            name=name, subject=_tool_call_subject(tool, arguments) if tool is not None else ""
        )
        if len(self.tool_calls) < _MAX_LISTED_TOOL_CALLS_OF_CELL:
            self.tool_calls.append(made)
        started = time.monotonic()
        try:
            result = await self._caller.call(name, arguments)
        except asyncio.CancelledError:
            made.state = "stopped"
            raise
        made.state = "failed" if result.is_error else "done"
        made.milliseconds = round((time.monotonic() - started) * 1000)
        return result


def _tool_call_subject(tool: Any, arguments: dict[str, Any]) -> str:
    try:
        return one_line(tool.card(arguments).subject)[:200]
    except Exception:  # noqa: BLE001  (arguments of a cell's making, drawn by a tool that may be foreign)
        return ""


async def run_eval_request(wish: EvalRequest, context: ToolContext) -> ToolResult:
    """Runs an `eval` call of the model and returns its result."""
    workspace = workspace_of_context(context)
    evaluation = EvalRun(wish, workspace, call_id=context.call_id, caller=context.caller)
    kernel = evaluation.kernel
    if kernel.job_id is not None:
        if not wish.resets_kernel:
            raise ToolError(
                f"The kernel is busy: {kernel.busy_with} runs as job {kernel.job_id}. Its result is delivered "
                f"when it ends; "
                "end the job, or start a new kernel with reset: true."
            )
        await kernel.restart_kernel()
    running = asyncio.ensure_future(evaluation.run_all_cells())
    threshold = workspace.shell_settings().background_after_seconds
    shown: object = None
    pace = PollInterval()
    try:
        while True:
            done, _ = await asyncio.wait({running}, timeout=pace.seconds)
            if done:
                return make_eval_result(running.result(), workspace)
            is_late = (
                threshold is not None and evaluation.seconds >= threshold and not context.is_waited_for()
            )
            if context.jobs is not None and (is_late or context.background_requested()):
                return _move_eval_to_background(wish, context, evaluation, running)
            state = (
                evaluation.output and evaluation.output.total_bytes,
                tuple(call.state for call in evaluation.tool_calls),
            )
            pace.update_interval(state != shown)
            if state != shown:
                shown = state
                context.progress(
                    make_eval_progress_result(evaluation.output_preview(), evaluation.tool_calls)
                )
    except asyncio.CancelledError:
        evaluation.abort_cells()
        return make_eval_result(await finish_despite_cancellation(running), workspace)


def _move_eval_to_background(
    wish: EvalRequest, context: ToolContext, evaluation: EvalRun, running: "asyncio.Task[EvalReport]"
) -> ToolResult:
    """Moves the running cell, and with it the kernel, to the background as a job; the call itself ends."""
    assert context.jobs is not None
    kernel = evaluation.kernel

    async def work() -> ToolResult:
        try:
            report = await asyncio.shield(running)
        except asyncio.CancelledError:
            evaluation.abort_cells()
            report = await finish_despite_cancellation(running)
        finally:
            kernel.job_id = None
        return make_eval_result(report, workspace_of_context(context))

    kernel.job_id = context.jobs.adopt(
        call_id=context.call_id,
        title=wish.display_title,
        work=work(),
        tail=lambda: evaluation.output_preview()[-4096:],
        kill=evaluation.abort_cells,
    )
    return text_result(
        f"Background job {kernel.job_id} started: {wish.display_title}\n"
        "Its result arrives by itself when it ends. The kernel is busy until then.",
        details={"jobId": kernel.job_id, "background": True},
    )
