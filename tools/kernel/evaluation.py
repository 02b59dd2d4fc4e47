"""Runs one `eval` call from its first cell to its end: turns, time limits, interrupts, moving to the background."""

import asyncio
import time
from typing import Any, Final

import msgspec

from tools.base import ToolCaller, ToolContext, ToolError
from tools.box.policy import Box
from tools.kernel.cells import CodeCell, parse_cells
from tools.kernel.eval_results import EvalReport, NestedCall, eval_result, progress_result
from tools.kernel.output import CellOutputCollector
from tools.kernel.process import KernelGone
from tools.kernel.session_kernel import CellEnd, SessionKernel
from tools.operations import CommandLine
from tools.results import ToolResult, text_result
from tools.running.commands import compared_start, finish_despite_cancellation, watch_files
from tools.running.file_watching import CommandFiles
from tools.running.poll_interval import PollInterval
from tools.running.sandbox_notes import change_notes
from tools.text import one_line
from tools.workspace import Workspace, workspace_of

_MAX_TIMEOUT: Final = 3600.0
_MAX_CALLS_SHOWN: Final = 200


class EvalRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to run Python code in the session's kernel: the code, title, time limit and folder."""

    code: str
    title: str = ""
    timeout: float | None = None
    resets: bool = False
    cwd: str | None = None

    @property
    def display_title(self) -> str:
        """The title of the code to run, or else its first line."""
        first = next((line.strip() for line in self.code.split("\n") if line.strip()), "")
        return one_line(self.title or first)[:120]


class Evaluation:
    """One run of Python cells in the session's kernel, from the first cell to the last."""

    def __init__(
        self, wish: EvalRequest, workspace: Workspace, *, call_id: str | None, caller: ToolCaller | None
    ) -> None:
        """`call_id` is the tool call; a user's own cell has none, and its file changes are not watched."""
        self._request = wish
        self._cells = parse_cells(wish.code)
        self._workspace = workspace
        self.kernel: SessionKernel = workspace.kernel()
        self._call_id = call_id
        self._caller = caller
        self._aborted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started = time.monotonic()
        self._files: CommandFiles | None = None
        self.output: CellOutputCollector | None = None
        self.calls: list[NestedCall] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def abort(self) -> None:
        """Stops the run: interrupts the running cell and starts no further one."""
        if not self._aborted.done():
            self._aborted.set_result(None)

    def preview(self) -> str:
        return self.output.preview() if self.output is not None else ""

    async def run(self) -> EvalReport:
        """Runs all cells of the code in order, until a time limit or `abort` ends them early. Raises `ToolError` if
        nothing can run."""
        if not self._cells:
            raise ToolError("There is no code in these cells.")
        async with self.kernel.turn:
            self._started = time.monotonic()
            self.kernel.busy_with = self._request.display_title
            try:
                return await self._run_watched()
            finally:
                self.kernel.busy_with = ""

    async def _run_watched(self) -> EvalReport:
        line = CommandLine(argv=("eval", self._request.code), cwd=str(self._workspace.cwd), environment={})
        watched = await watch_files(self._workspace, self._call_id, "eval", line)
        try:
            report = await self._run_all()
        finally:
            files = await watched() if watched is not None else None
        return msgspec.structs.replace(report, files=files)

    async def _run_all(self) -> EvalReport:
        kernel, cells = self.kernel, self._cells
        confine = self._workspace.box_for_call
        # A user's cell has no call; the kernel that it shares with the agent runs in the agent's sandbox.
        box = await confine(self._call_id or "", lasts=True) if confine is not None else None
        await kernel.ensure_running(box, resets=self._request.resets or cells[0].resets)
        box = kernel.compared_policy(box)
        guard = self._workspace.guard
        async with compared_start(guard, box) as seen:
            if box is not None:
                await asyncio.to_thread(guard.watch_process, box, "the Python kernel")
            notices = kernel.take_notices()
            output = self.output = CellOutputCollector(
                self._workspace.artifacts, kernel.take_late_output(), self._workspace.mask_output
            )
            end, number, notes = await self._run_cells(box, output)
        changes = await asyncio.to_thread(guard.changes_after, seen, box)
        notes += change_notes("cell", changes)
        return EvalReport(
            title=self._request.title,
            count=len(cells),
            last=number,
            end=end,
            limit=self._cell_timeout(cells[number - 1]),
            output=await asyncio.to_thread(output.finish),
            pieces=output.pieces(),
            notices=tuple(notices),
            notes=tuple(notes),
            calls=tuple(self.calls),
            seconds=self.seconds,
        )

    async def _run_cells(
        self, box: Box | None, output: CellOutputCollector
    ) -> tuple[CellEnd, int, list[str]]:
        """Runs the cells up to the first that fails. Returns its end, its number, and the notes of all."""
        kernel, cells, notes = self.kernel, self._cells, list[str]()
        end = CellEnd()
        number = 0
        for number, cell in enumerate(cells, 1):
            if number > 1 and cell.resets:
                await kernel.ensure_running(box, resets=True)
            if len(cells) > 1:
                output.line(f"[{number}/{len(cells)}] {one_line(cell.title)}".rstrip())
            end = await self._run_one(cell, output)
            if end.done is not None:
                notes += end.done.notes
                if end.done.value is not None:
                    output.line(f"Out: {end.done.value}")
                if end.done.error is not None and not (end.stopped and end.done.error.is_interrupt):
                    output.line(end.done.error.text)
            if end.has_failed:
                break
        return end, number, notes

    def _cell_timeout(self, cell: CodeCell) -> float | None:
        asked = cell.timeout if cell.timeout is not None else self._request.timeout
        if asked is None:
            return self.kernel.default_timeout
        return min(asked, _MAX_TIMEOUT) if asked > 0 else None

    async def _run_one(self, cell: CodeCell, output: CellOutputCollector) -> CellEnd:
        kernel = self.kernel
        if self._aborted.done():
            return CellEnd(stopped="abort")
        call = self._call_tool if self._caller is not None else None
        running = asyncio.ensure_future(
            kernel.run(
                cell.code,
                output,
                cwd=self._request.cwd,
                call=call,
                tools=self._tool_parameters() if call else {},
            )
        )
        ends: set[asyncio.Future[Any]] = {running, self._aborted}
        await asyncio.wait(ends, timeout=self._cell_timeout(cell), return_when=asyncio.FIRST_COMPLETED)
        stopped, keeps_state = "", True
        if not running.done():
            stopped = "abort" if self._aborted.done() else "timeout"
            keeps_state = await kernel.stop(running)
        try:
            return CellEnd(done=running.result(), stopped=stopped, keeps_state=keeps_state)
        except KernelGone as gone:
            return CellEnd(stopped=stopped, keeps_state=False, exit_code=gone.code)

    # Tools that a cell calls

    def _tool_parameters(self) -> dict[str, list[str]]:
        assert self._caller is not None
        return {name: list(tool.schema.get("properties", {})) for name, tool in self._caller.tools().items()}

    async def _call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        assert self._caller is not None
        tool = self._caller.tools().get(name)
        made = NestedCall(name=name, subject=_call_subject(tool, arguments) if tool is not None else "")
        if len(self.calls) < _MAX_CALLS_SHOWN:
            self.calls.append(made)
        started = time.monotonic()
        try:
            result = await self._caller.call(name, arguments)
        except asyncio.CancelledError:
            made.state = "stopped"
            raise
        made.state = "failed" if result.is_error else "done"
        made.milliseconds = round((time.monotonic() - started) * 1000)
        return result


def _call_subject(tool: Any, arguments: dict[str, Any]) -> str:
    try:
        return one_line(tool.card(arguments).subject)[:200]
    except Exception:  # noqa: BLE001  (arguments of a cell's making, drawn by a tool that may be foreign)
        return ""


async def evaluate(wish: EvalRequest, context: ToolContext) -> ToolResult:
    """Runs an `eval` call of the model and returns its result."""
    workspace = workspace_of(context)
    evaluation = Evaluation(wish, workspace, call_id=context.call_id, caller=context.caller)
    kernel = evaluation.kernel
    if kernel.job is not None:
        if not wish.resets:
            raise ToolError(
                f"The kernel is busy: {kernel.busy_with} runs as job {kernel.job}. Its result is delivered "
                f"when it ends; "
                "end the job, or start a new kernel with reset: true."
            )
        await kernel.restart()
    running = asyncio.ensure_future(evaluation.run())
    threshold = workspace.shell().background_after_seconds
    shown: object = None
    pace = PollInterval()
    try:
        while True:
            done, _ = await asyncio.wait({running}, timeout=pace.seconds)
            if done:
                return eval_result(running.result(), workspace)
            is_late = (
                threshold is not None and evaluation.seconds >= threshold and not context.is_waited_for()
            )
            if context.jobs is not None and (is_late or context.background_requested()):
                return _move_to_background(wish, context, evaluation, running)
            state = (
                evaluation.output and evaluation.output.total_bytes,
                tuple(call.state for call in evaluation.calls),
            )
            pace.update(state != shown)
            if state != shown:
                shown = state
                context.progress(progress_result(evaluation.preview(), evaluation.calls))
    except asyncio.CancelledError:
        evaluation.abort()
        return eval_result(await finish_despite_cancellation(running), workspace)


def _move_to_background(
    wish: EvalRequest, context: ToolContext, evaluation: Evaluation, running: "asyncio.Task[EvalReport]"
) -> ToolResult:
    """Moves the running cell, and with it the kernel, to the background as a job; the call itself ends."""
    assert context.jobs is not None
    kernel = evaluation.kernel

    async def work() -> ToolResult:
        try:
            report = await asyncio.shield(running)
        except asyncio.CancelledError:
            evaluation.abort()
            report = await finish_despite_cancellation(running)
        finally:
            kernel.job = None
        return eval_result(report, workspace_of(context))

    kernel.job = context.jobs.adopt(
        call_id=context.call_id,
        title=wish.display_title,
        work=work(),
        tail=lambda: evaluation.preview()[-4096:],
        kill=evaluation.abort,
    )
    return text_result(
        f"Background job {kernel.job} started: {wish.display_title}\n"
        "Its result arrives by itself when it ends. The kernel is busy until then.",
        details={"jobId": kernel.job, "background": True},
    )
