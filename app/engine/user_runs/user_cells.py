"""Python cells that the user runs (`$ code`, `$$ code`), in the agent's kernel."""

import asyncio
import time
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.agent.tool_results import to_wire_tool_outcome, validated_tool_result
from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.secrets.session_mask import SessionSecretMask
from app.engine.tools.nested_calls import NestedToolCalls
from app.engine.user_runs.exclusive_task import ExclusiveTask
from app.engine.user_runs.user_shell import CommandBlocked, UserShell
from app.values.cells import CELL_ENTRY_TYPE, cell_output_to_data, user_cell_call_id
from app.values.content import Image, Text, ToolCall, UserContent
from app.values.events import EntryAppended, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import CustomMessage
from app.values.user_errors import UserError
from tools.running.poll_interval import PollInterval
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError
from tools.tool_result_values import ImagePart, Part, TextPart, ToolResult

if TYPE_CHECKING:
    from tools.kernel.eval_run import EvalRun
    from tools.kernel.session_kernel import KernelInfo

_CELL_MASK_SOURCE = "your cell"


class UserCell(msgspec.Struct, frozen=True, kw_only=True):
    """A Python cell that the user ran, with its result."""

    id: str
    code: str
    title: str
    result: ToolResult


class UserCells(msgspec.Struct, eq=False):
    """Runs the user's Python cells, one at a time, and inspects the kernel."""

    workspace: SessionWorkspace
    conversation: Conversation
    hooks: Hooks
    masking: SessionSecretMask
    nested_calls: NestedToolCalls
    user_shell: UserShell
    """The part that holds messages until the current turn has ended."""
    event_bus: EventBus
    running_task: ExclusiveTask[ToolResult] = msgspec.field(
        default_factory=partial(ExclusiveTask[ToolResult], "A cell is already running.")
    )

    @property
    def is_running(self) -> bool:
        return self.running_task.is_running

    async def run_cell(
        self,
        code: str,
        *,
        title: str = "",
        timeout: float | None = 0,
        resets: bool = False,
        exclude: bool = False,
    ) -> UserCell:
        """Runs a Python cell; the model reads it with the next request unless `exclude`. Raises `UserError`."""
        call = ToolCall(id=user_cell_call_id(uuid.uuid4().hex[:12]), name="eval", arguments={"code": code})
        if title:
            call.arguments["title"] = title
        result = await self.running_task.run(lambda: self._evaluate_cell(call, timeout, resets))
        if result is None:
            raise UserError("The cell was stopped before it started. Run it again.")
        cell = UserCell(
            id=call.id, code=self.masking.masked_text(code, _CELL_MASK_SOURCE), title=title, result=result
        )
        await self._record_cell(cell, exclude=exclude)
        await self.user_shell.record_after_turn()
        return cell

    def abort(self) -> None:
        self.running_task.abort()

    async def kernel_info(self) -> "KernelInfo | None":
        """Returns the Python kernel's state; None if no kernel was needed yet."""
        return await self.workspace.kernel().kernel_info() if self.workspace.has_kernel else None

    async def restart_kernel(self) -> bool:
        """Ends the Python kernel, so that the next cell starts a new one. Returns False if none runs."""
        if not self.workspace.has_kernel:
            return False
        return await self.workspace.kernel().restart_kernel()

    async def kernel_names_starting_with(self, text: str) -> tuple[str, ...]:
        """Returns the names in the running Python kernel that start with `text`."""
        return (
            await self.workspace.kernel().complete_kernel_expression(text)
            if self.workspace.has_kernel
            else ()
        )

    async def run_notebook(self, path: Path, wanted: str = "") -> tuple[UserCell, ...]:
        """Runs the code cells of a notebook until one fails. `wanted` selects cells by number: `3`, `2-5`, `4-`."""
        from tools.kernel.notebook_cells import read_code_cells  # noqa: PLC0415  (only for notebooks)

        try:
            found = read_code_cells(path, wanted)
        except ToolError as problem:
            raise UserError(str(problem)) from None
        done: list[UserCell] = []
        for number, code in found:
            cell = await self.run_cell(code, title=f"{path.name} [{number}]")
            done.append(cell)
            if cell.result.is_error:
                break
        return tuple(done)

    async def _evaluate_cell(self, call: ToolCall, timeout: float | None, resets: bool) -> ToolResult:
        # Imports the kernel and its texts and images, which most sessions never need.
        from tools.kernel.eval_run import EvalRequest, EvalRun  # noqa: PLC0415

        verdict = await self.hooks.before_tool(call, call.arguments, None)
        if verdict.is_blocked:
            raise CommandBlocked(verdict.reason or "An extension blocked this cell.")
        given = verdict.arguments or call.arguments
        code = str(given.get("code", ""))
        await asyncio.to_thread(self.masking.known_secrets.search_files, self.workspace.cwd, (code,))
        try:
            evaluation = EvalRun(
                EvalRequest(
                    code=code, title=str(given.get("title", "")), timeout=timeout, resets_kernel=resets
                ),
                self.workspace,
                call_id=None,
                caller=self.nested_calls.nested_caller_for(call.id),
            )
            if evaluation.kernel.job_id is not None and not resets:
                raise UserError(
                    f"The kernel is busy with job {evaluation.kernel.job_id}. Wait, or stop it in /jobs."
                )
        except ToolError as problem:
            raise UserError(str(problem)) from None
        await self.event_bus.publish(
            ToolExecutionStart(tool_call_id=call.id, tool_name="eval", args=call.arguments)
        )
        started = time.monotonic()
        result = await self._await_evaluation(evaluation, call)
        await self.event_bus.publish(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name="eval",
                result=to_wire_tool_outcome(result),
                is_error=result.is_error,
                duration_ms=round((time.monotonic() - started) * 1000),
            )
        )
        return result

    async def _await_evaluation(self, evaluation: "EvalRun", call: ToolCall) -> ToolResult:
        from tools.kernel.eval_results import make_eval_progress_result, make_eval_result  # noqa: PLC0415  (as above)

        running = asyncio.ensure_future(evaluation.run_all_cells())
        shown: tuple[str, list[str]] = ("", [])
        pace = PollInterval()
        while not running.done():
            try:
                await asyncio.wait({running}, timeout=pace.seconds)
                seen = (evaluation.output_preview(), [made.state for made in evaluation.tool_calls])
                pace.update_interval(seen != shown)
                if seen != shown and not running.done():
                    shown = seen
                    progress = self._mask_result(
                        make_eval_progress_result(seen[0], evaluation.tool_calls), ""
                    )
                    await self.event_bus.publish(
                        ToolExecutionUpdate(
                            tool_call_id=call.id,
                            tool_name="eval",
                            args=call.arguments,
                            partial_result=to_wire_tool_outcome(validated_tool_result("eval", progress)),
                        )
                    )
            except asyncio.CancelledError:
                evaluation.abort_cells()
        try:
            result = make_eval_result(running.result(), self.workspace)
        except ToolError as problem:
            result = ToolResult(content=(TextPart(text=str(problem)),), is_error=True)
        return await asyncio.to_thread(
            self._mask_result, validated_tool_result("eval", result), _CELL_MASK_SOURCE
        )

    def _mask_result(self, result: ToolResult, where: str) -> ToolResult:
        def part(one: Part) -> Part:
            return (
                TextPart(text=self.masking.masked_text(one.text, where)) if isinstance(one, TextPart) else one
            )

        details = self.masking.mask_value(result.details, where) if where else result.details
        return msgspec.structs.replace(result, content=tuple(map(part, result.content)), details=details)

    async def _record_cell(self, cell: UserCell, *, exclude: bool) -> None:
        details = {
            **(cell.result.details or {}),
            "id": cell.id,
            "code": cell.code,
            "title": cell.title,
            "isError": cell.result.is_error,
        }
        content = tuple(map(_content_block, cell.result.content))
        if exclude:
            if not self.conversation.log.is_read_only:
                data = {**details, "content": cell_output_to_data(content)}
                await self.event_bus.publish(
                    EntryAppended(entry=self.conversation.record_custom_entry(CELL_ENTRY_TYPE, data))
                )
            return
        fence = "````" if "```" in cell.code else "```"
        said = Text(
            text=f"The user ran this in the Python kernel:\n{fence}python\n{cell.code}\n{fence}\nIt showed:"
        )
        self.user_shell.hold_message(
            CustomMessage(custom_type=CELL_ENTRY_TYPE, content=(said, *content), details=details)
        )


def _content_block(part: Part) -> UserContent:
    if isinstance(part, ImagePart):
        return Image(data=part.data, mime_type=part.mime_type)
    return Text(text=part.text)
