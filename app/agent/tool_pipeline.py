"""The steps of one tool call, the same for the model's calls and for calls made within a call.

`prepare`, one call after the other in the order in which they were made:

1. find the tool; normalise and check the arguments, which later steps read, or refuse them with a message;
2. run the `before_tool` hooks: an extension may block the call or change its arguments, normalised again;
3. determine the call's `Effects` and ask the gate: rules, mode, user;
4. take a place in the order of calls that touch the same files or share a state.

`run`, concurrently with other calls:

5. wait until earlier calls that touch the same resources have ended, and check that mode and rules still allow the
   call;
6. replace masks in the arguments by the secrets of the changed file, where they belong;
7. wait until earlier calls have begun, except those that wait;
8. run the tool and mask its progress;
9. validate what it returned;
10. mask the secrets in the result;
11. run the `after_tool` hooks, unless the call was stopped.

Steps 3 and 4 read files in one thread; a tool that works in a thread (`tools.thread_work.RunToolInThread`) does so
together with steps 6, 9 and 10.

Every failure becomes a result; only cancellation propagates. The caller publishes events and records results:
`app.agent.call_batch` for calls of an answer, `app.engine.tools.nested_calls` for calls within a call.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from app.agent.call_order import CallOrderSlot, CallResourceClaim, ToolCallOrder, resource_claim_of_call
from app.agent.hooks import AgentLoopHooks, ToolCallVerdict
from app.agent.tool_results import (
    DENIAL_REASON_DETAILS_KEY,
    describe_error_in_one_line,
    failed_tool_result,
    unknown_tool_result,
    validated_tool_result,
)
from app.values.content import ToolCall
from tools.call_effects import UNKNOWN_CALL_EFFECTS, Effects
from tools.session_workspace import workspace_of_context
from tools.thread_work import RunToolInThread, StopFlag, ThreadWorkStopped, run_in_thread
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import TextPart, ToolResult

ReportProgress = Callable[[ToolResult], None]


class ParsedToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call with checked arguments, its effects and the resources it claims, parsed once for all steps of
    the pipeline."""

    call: ToolCall
    tool: Tool
    arguments: Any
    """The checked arguments in the tool's own type."""
    plain_arguments: dict[str, Any]
    """The normalised arguments as plain JSON data."""
    context: ToolContext
    effects: Effects
    claim: CallResourceClaim


class ParseToolCall(Protocol):
    """Parses a tool call, optionally with other arguments, which are normalised like the model's. For a thread,
    since tools may read files to determine effects. Raises `ToolError`."""

    def __call__(self, arguments: dict[str, Any] | None = None) -> ParsedToolCall: ...


class ToolCallGate(Protocol):
    """A permission gate: decides whether a tool call may run. The arguments that the gate parsed last are those
    that run."""

    async def __call__(self, call: ToolCall, read: ParseToolCall) -> ToolCallVerdict: ...


async def allow_every_call(call: ToolCall, read: ParseToolCall) -> ToolCallVerdict:
    """A permission gate that allows every tool call."""
    return ToolCallVerdict()


class SecretMasks(Protocol):
    """Replaces masks by secrets in the arguments of tool calls, and secrets by masks in their results."""

    @property
    def is_masking(self) -> bool:
        """Whether secrets can be masked; if not, no thread is needed."""
        ...

    def unmask_arguments(self, reading: ParsedToolCall) -> dict[str, Any] | None:
        """Returns a tool call's arguments with secrets in place of their masks, or None without masks. For a
        thread. Raises `ToolError` where a mask is not allowed."""
        ...

    def mask_progress(self, result: ToolResult) -> ToolResult: ...

    def mask_result(self, reading: ParsedToolCall, result: ToolResult) -> ToolResult:
        """Masks the secrets in a tool result. For a thread."""
        ...


class NoSecretMasks:
    """The secret masks of a session in which nothing is masked."""

    is_masking = False

    def unmask_arguments(self, reading: ParsedToolCall) -> dict[str, Any] | None:
        return None

    def mask_progress(self, result: ToolResult) -> ToolResult:
        return result

    def mask_result(self, reading: ParsedToolCall, result: ToolResult) -> ToolResult:
        return result


class PreparedToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that may run, with its place in the order of calls."""

    parsed_call: ParsedToolCall
    slot: CallOrderSlot
    note: str = ""
    """The note to the model, added after the result."""
    recheck: Callable[[], Awaitable[str]] | None = None
    """A function that returns why the call may not begin any more; empty if it may."""


class ToolPipeline:
    """Prepares and runs tool calls that share one order: those of an answer, or those made within one call."""

    def __init__(
        self,
        *,
        tools: Callable[[], Mapping[str, Tool]],
        tool_context: Callable[[ToolCall, ReportProgress], ToolContext],
        hooks: AgentLoopHooks,
        gate: ToolCallGate = allow_every_call,
        masks: SecretMasks | None = None,
        parent_id: str | None = None,
        why_missing: Callable[[str], str] = lambda name: "",
    ) -> None:
        """Creates a pipeline. `parent_id` is the call within which these calls are made. `why_missing` returns why
        a known tool cannot be called now."""
        self._reason_unavailable = why_missing
        self._tools = tools
        self._tool_context = tool_context
        self._hooks = hooks
        self._gate = gate
        self._masks = masks or NoSecretMasks()
        self._parent_id = parent_id
        self._order = ToolCallOrder()

    async def prepare_call(self, call: ToolCall, progress: ReportProgress) -> PreparedToolCall | ToolResult:
        """Returns a tool call ready to run, or the result that says why it does not run. Called for one call at
        a time, in order."""
        tools = self._tools()
        tool = tools.get(call.name)
        if tool is None:
            return unknown_tool_result(call.name, tuple(tools), self._reason_unavailable(call.name))
        read = _CallParser(tool, call, partial(self._context_for_call, call, progress))
        try:
            read.replace_arguments(_arguments_for_display(call))
            verdict = await self._check_permission(
                lambda: self._hooks.before_tool(call, read.shown_arguments, self._parent_id)
            )
            if verdict.arguments is not None and not verdict.is_blocked:
                read.replace_arguments(verdict.arguments)
            if not verdict.is_blocked:
                verdict = await self._check_permission(lambda: self._gate(call, read))
            if verdict.is_blocked:
                return self._masks.mask_progress(_blocked_result(verdict))  # the refusal may quote a secret
            reading = read.parsed_call or await asyncio.to_thread(read)
        except ToolError as problem:
            return failed_tool_result(str(problem), problem.details)
        place, context = self._order.add_call(reading.claim), reading.context
        context.is_waited_for = lambda: self._parent_id is not None or place.has_waiting_calls
        return PreparedToolCall(parsed_call=reading, slot=place, note=verdict.note, recheck=verdict.recheck)

    async def _check_permission(self, ask: Callable[[], Awaitable[ToolCallVerdict]]) -> ToolCallVerdict:
        try:
            return await ask()
        except ToolError:
            raise  # what was made of the arguments does not fit the tool
        except BaseException as problem:  # noqa: BLE001  (foreign code; not even its SystemExit ends the loop)
            return _gate_failure(problem)

    def _context_for_call(self, call: ToolCall, progress: ReportProgress) -> ToolContext:
        return self._tool_context(call, partial(self._report_progress, progress))

    async def run_prepared_call(self, prepared: PreparedToolCall) -> ToolResult:
        """Runs a prepared tool call and returns its result. Raises only when the call is stopped."""
        try:
            work = prepared.parsed_call.tool.run
            await prepared.slot.wait_for_dependencies()
            reason = await self._reason_to_block(prepared)
            if reason:
                return self._masks.mask_progress(failed_tool_result(reason))
            if isinstance(work, RunToolInThread):
                await prepared.slot.wait_for_turn()
                result = await run_in_thread(partial(self._run_in_one_thread, prepared, work))
            else:
                result = await self._run_in_steps(prepared)
            if prepared.note:
                result = msgspec.structs.replace(
                    result, content=(*result.content, TextPart(text=prepared.note))
                )
            if is_current_task_being_cancelled():
                return result
            return await self._run_after_hook(prepared, result)
        finally:
            prepared.slot.release()

    async def _reason_to_block(self, prepared: PreparedToolCall) -> str:
        """Returns why the call may no longer begin; empty if it may."""
        try:
            return await prepared.recheck() if prepared.recheck is not None else ""
        except BaseException as problem:  # noqa: BLE001  (as in `_check_permission`)
            return _gate_failure(problem).reason

    def _report_progress(self, progress: ReportProgress, result: ToolResult) -> None:
        """Masks the secrets in a tool's partial result and passes the result on."""
        progress(self._masks.mask_progress(result) if isinstance(result, ToolResult) else result)  # pyright: ignore[reportUnnecessaryIsInstance]

    def _run_in_one_thread(
        self, prepared: PreparedToolCall, work: RunToolInThread, stop: StopFlag
    ) -> ToolResult:
        """Unmasks the arguments of a tool call, runs the tool and masks its result, all in the current thread."""
        try:
            done = work.work(
                self._unmasked_arguments(prepared.parsed_call), prepared.parsed_call.context, stop
            )
            result = validated_tool_result(prepared.parsed_call.tool.name, done)
        except ThreadWorkStopped:
            raise
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed_result(prepared.parsed_call.tool.name, problem)
        return self._mask_result(prepared.parsed_call, result)

    async def _run_in_steps(self, prepared: PreparedToolCall) -> ToolResult:
        """Runs an async tool, with a separate thread for masking secrets if there are any."""
        reading = prepared.parsed_call
        arguments = reading.arguments
        try:
            if self._masks.is_masking:
                arguments = await asyncio.to_thread(self._unmasked_arguments, reading)
            await prepared.slot.wait_for_turn()
            result = validated_tool_result(
                reading.call.name, await reading.tool.run(arguments, reading.context)
            )
        except asyncio.CancelledError as problem:
            if is_current_task_being_cancelled():
                raise
            result = _failed_result(prepared.parsed_call.tool.name, problem)
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed_result(prepared.parsed_call.tool.name, problem)
        return (
            await asyncio.to_thread(self._mask_result, reading, result) if self._masks.is_masking else result
        )

    def _unmasked_arguments(self, reading: ParsedToolCall) -> Any:
        """Returns the arguments that the tool gets, with secrets in place of masks."""
        from tools.argument_schema import convert_to_arguments_struct  # noqa: PLC0415  (with the first tools)

        turned = self._masks.unmask_arguments(reading)
        return reading.arguments if turned is None else convert_to_arguments_struct(reading.tool, turned)

    def _mask_result(self, reading: ParsedToolCall, result: ToolResult) -> ToolResult:
        """Masks the secrets in a tool result; if that fails, returns a failure, so that no unmasked result is
        recorded."""
        try:
            return self._masks.mask_result(reading, result)
        except Exception as problem:  # noqa: BLE001  (any fault in a result of foreign code)
            return failed_tool_result(
                f"The result of {reading.call.name} could not be masked: {describe_error_in_one_line(problem)}"
            )

    async def _run_after_hook(self, prepared: PreparedToolCall, result: ToolResult) -> ToolResult:
        call = prepared.parsed_call.call
        try:
            changed = await self._hooks.after_tool(
                call, prepared.parsed_call.plain_arguments, result, self._parent_id
            )
            return result if changed is result else validated_tool_result(call.name, changed)
        except asyncio.CancelledError:
            return result  # stopped meanwhile: the result stands as the tool made it
        except BaseException as problem:  # noqa: BLE001  (a failing hook must not hide what the tool did)
            details = {**(result.details or {}), "hookError": describe_error_in_one_line(problem)}
            return msgspec.structs.replace(result, details=details)


def _gate_failure(problem: BaseException) -> ToolCallVerdict:
    """Returns the verdict when the permission gate raised an error: the tool call is blocked. Cancellation while
    the gate waits ends with the run."""
    if isinstance(problem, asyncio.CancelledError) and is_current_task_being_cancelled():
        raise problem
    return ToolCallVerdict(
        is_blocked=True,
        reason=f"Tool execution was blocked: the check before it failed: {describe_error_in_one_line(problem)}",
    )


def _failed_result(name: str, problem: BaseException) -> ToolResult:
    if isinstance(problem, ToolError):
        return validated_tool_result(name, failed_tool_result(str(problem), problem.details))
    if isinstance(problem, asyncio.CancelledError):
        return failed_tool_result(f"Tool {name} was cancelled")
    return failed_tool_result(f"Tool {name} failed: {describe_error_in_one_line(problem)}")


def is_current_task_being_cancelled() -> bool:
    """Whether the current asyncio task is being cancelled, as opposed to foreign code that raised
    `CancelledError`."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _arguments_for_display(call: ToolCall) -> dict[str, Any]:
    if call.arguments_error is not None:
        raise ToolError(
            f"The arguments of {call.name} are not valid JSON: {call.arguments_error} "
            "Send the call again with complete, valid arguments."
        )
    return call.arguments


def _normalise_arguments(tool: Tool, raw: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Returns a tool call's normalised arguments as plain data, and in the tool's argument type."""
    from tools.argument_schema import convert_to_arguments_struct, normalise_tool_arguments  # noqa: PLC0415  (with the first tools)

    try:
        shown = normalise_tool_arguments(tool, raw)
        return shown, convert_to_arguments_struct(tool, shown)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (a tool's own preparation of arguments)
        raise ToolError(
            f"The arguments of {tool.name} could not be prepared: {describe_error_in_one_line(problem)}. "
            "Send the call again with other arguments."
        ) from None


def _blocked_result(verdict: ToolCallVerdict) -> ToolResult:
    details = None if verdict.denied_with is None else {DENIAL_REASON_DETAILS_KEY: verdict.denied_with}
    told = failed_tool_result(verdict.reason or "Tool execution was blocked", details)
    return msgspec.structs.replace(told, terminate=verdict.should_end_run)


class _CallParser:
    """Parses one tool call and keeps the last parsed form."""

    def __init__(self, tool: Tool, call: ToolCall, context: Callable[[], ToolContext]) -> None:
        self._tool = tool
        self._call = call
        self._context = context
        self.shown_arguments: dict[str, Any] = {}
        self._arguments: Any = None
        self.parsed_call: ParsedToolCall | None = None

    def replace_arguments(self, raw: dict[str, Any]) -> None:
        """Replaces the arguments of the tool call. Raises `ToolError`."""
        self.shown_arguments, self._arguments = _normalise_arguments(self._tool, raw)
        self.parsed_call = None

    def __call__(self, arguments: dict[str, Any] | None = None) -> ParsedToolCall:
        """Parses the call, optionally with other arguments, which are normalised like the model's. Raises
        `ToolError`."""
        if arguments is not None:
            self.replace_arguments(arguments)
        context = self._context()
        effects = _effects_of_call(self._tool, self._arguments, context)
        self.parsed_call = ParsedToolCall(
            call=self._call,
            tool=self._tool,
            arguments=self._arguments,
            plain_arguments=self.shown_arguments,
            context=context,
            effects=effects,
            claim=resource_claim_of_call(effects, workspace_of_context(context).files),
        )
        return self.parsed_call


def _effects_of_call(tool: Tool, arguments: Any, context: ToolContext) -> Effects:
    """Returns the effects of a tool call. If they cannot be determined, raises `ToolError`, so that the call
    does not run."""
    try:
        return UNKNOWN_CALL_EFFECTS if tool.effects is None else tool.effects(arguments, context)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (an extension's own function)
        raise ToolError(
            f"What the call of {tool.name} touches could not be told: {describe_error_in_one_line(problem)}"
        ) from None
