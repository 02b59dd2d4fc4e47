"""The pipeline of one tool call: the same for the model's calls and for those that are made within a call.

`prepare`, one call after the other in the order in which they were made:

1. the tool is found, and the arguments are normalised, checked, or refused in words: everything below reads that value;
2. extensions are asked (`before_tool`): they change the arguments, which are normalised again, or block the call;
3. the tool says what the call touches, its `Effects`, and the gate is asked: rules, the mode, a person;
4. its place is taken among the calls that touch the same files or share a state.

`run`, side by side with others:

5. the calls before it that touch the same have ended;
6. marks in the arguments become the secrets of the file that is changed, where they belong;
7. the calls before it have begun, but for those that wait;
8. the tool runs, and what it says on its way is masked;
9. what it returned is a result, whatever it was;
10. its secrets are masked;
11. extensions are asked (`after_tool`), unless the call was stopped.

A thread looks at files for 3 and 4 at once; and what a tool does in a thread (`tools.threads.ThreadedTool`) is done
there together with 6, 9 and 10.

Whatever goes wrong is a result; only that somebody stops the call goes through. What is told and recorded is up to the
caller: `app.agent.calls` for those of an answer, `app.engine.tools.nested_calls` for those within a call.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from app.agent.hooks import LoopHooks, Verdict
from app.agent.order import CallOrder, CallSlot, ResourceClaim, claim_of
from app.agent.outcomes import describe_error, failure, not_found, validated_result
from app.values.content import ToolCall
from tools.base import Tool, ToolContext, ToolError
from tools.effects import OPAQUE_EFFECTS, Effects
from tools.results import ToolResult
from tools.threads import StopFlag, Stopped, ThreadedTool, in_thread
from tools.workspace import workspace_of

Progress = Callable[[ToolResult], None]


class ParsedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it is judged, ordered, masked and run: read once, and the same for all of these."""

    call: ToolCall
    tool: Tool
    arguments: Any
    """As the tool takes them."""
    shown_arguments: dict[str, Any]
    """The same, normalised, by the names that the tool has."""
    context: ToolContext
    effects: Effects
    claim: ResourceClaim


class ParseCall(Protocol):
    """Reads the call, with other arguments where some are given: they are normalised like the model's. For a thread,
    since the tool may look at files to say what it touches. Raises `ToolError`."""

    def __call__(self, arguments: dict[str, Any] | None = None) -> ParsedCall: ...


class Gate(Protocol):
    """Whether a call may run. What it read last is what runs."""

    async def __call__(self, call: ToolCall, read: ParseCall) -> Verdict: ...


async def allow_all_calls(call: ToolCall, read: ParseCall) -> Verdict:
    """Lets everything run."""
    return Verdict()


class SecretMasks(Protocol):
    """What becomes of the secrets in a call."""

    @property
    def are_needed(self) -> bool:
        """False: there is nothing to mask, and nobody to be asked in a thread."""
        ...

    def begin(self, reading: ParsedCall) -> dict[str, Any] | None:
        """The arguments with which it runs, or None where nothing in them is a mark. For a thread. Raises `ToolError`
        where a mark does not belong."""
        ...

    def progress(self, result: ToolResult) -> ToolResult: ...

    def result(self, reading: ParsedCall, result: ToolResult) -> ToolResult:
        """For a thread."""
        ...


class NoMasks:
    """Nothing is masked."""

    are_needed = False

    def begin(self, reading: ParsedCall) -> dict[str, Any] | None:
        return None

    def progress(self, result: ToolResult) -> ToolResult:
        return result

    def result(self, reading: ParsedCall, result: ToolResult) -> ToolResult:
        return result


class PreparedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may run."""

    reading: ParsedCall
    place: CallSlot


class ToolPipeline:
    """For calls that stand in one order: those of an answer, or those within one call."""

    def __init__(
        self,
        *,
        tools: Callable[[], Mapping[str, Tool]],
        tool_context: Callable[[ToolCall, Progress], ToolContext],
        hooks: LoopHooks,
        gate: Gate = allow_all_calls,
        masks: SecretMasks | None = None,
        parent_id: str | None = None,
    ) -> None:
        """`parent_id`: the call within which these are made."""
        self._tools = tools
        self._tool_context = tool_context
        self._hooks = hooks
        self._gate = gate
        self._masks = masks or NoMasks()
        self._parent_id = parent_id
        self._order = CallOrder()

    async def prepare(self, call: ToolCall, progress: Progress) -> PreparedCall | ToolResult:
        """The call, ready to run, or why it does not. One at a time, in the order of the calls."""
        tools = self._tools()
        tool = tools.get(call.name)
        if tool is None:
            return not_found(call.name, tuple(tools))
        read = _CallParser(tool, call, partial(self._context, call, progress))
        try:
            read.take(_arguments_for_display(call))
            verdict = await self._ask_gate(lambda: self._hooks.before_tool(call, read.shown, self._parent_id))
            if verdict.arguments is not None and not verdict.is_blocked:
                read.take(verdict.arguments)
            if not verdict.is_blocked:
                verdict = await self._ask_gate(lambda: self._gate(call, read))
            if verdict.is_blocked:
                return self._masks.progress(_blocked_result(verdict))  # the words of whoever says no
            reading = read.last or await asyncio.to_thread(read)
        except ToolError as problem:
            return failure(str(problem), problem.details)
        place, context = self._order.take(reading.claim), reading.context
        context.is_waited_for = lambda: self._parent_id is not None or place.is_waited_for
        return PreparedCall(reading=reading, place=place)

    async def _ask_gate(self, ask: Callable[[], Awaitable[Verdict]]) -> Verdict:
        try:
            return await ask()
        except ToolError:
            raise  # what was made of the arguments does not fit the tool
        except BaseException as problem:  # noqa: BLE001  (foreign code; not even its SystemExit ends the loop)
            return _gate_failure(problem)

    def _context(self, call: ToolCall, progress: Progress) -> ToolContext:
        return self._tool_context(call, partial(self._report_progress, progress))

    async def run(self, prepared: PreparedCall) -> ToolResult:
        """What comes of it. Raises only what stops it."""
        try:
            work = prepared.reading.tool.run
            if isinstance(work, ThreadedTool):
                await prepared.place.ready()
                result = await in_thread(partial(self._run_in_one_thread, prepared, work))
            else:
                result = await self._run_in_steps(prepared)
            if is_being_cancelled():
                return result
            return await self._run_after_hook(prepared, result)
        finally:
            prepared.place.leave()

    def _report_progress(self, progress: Progress, result: ToolResult) -> None:
        """A result so far."""
        progress(self._masks.progress(result) if isinstance(result, ToolResult) else result)  # pyright: ignore[reportUnnecessaryIsInstance]

    def _run_in_one_thread(self, prepared: PreparedCall, work: ThreadedTool, stop: StopFlag) -> ToolResult:
        """All that a thread can do, in one."""
        try:
            done = work.work(self._final_arguments(prepared.reading), prepared.reading.context, stop)
            result = validated_result(prepared.reading.tool.name, done)
        except Stopped:
            raise
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed_result(prepared.reading.tool.name, problem)
        return self._mask_result(prepared.reading, result)

    async def _run_in_steps(self, prepared: PreparedCall) -> ToolResult:
        """With a thread for what is masked, where anything is."""
        reading = prepared.reading
        arguments = reading.arguments
        try:
            if self._masks.are_needed:
                await prepared.place.reached()
                arguments = await asyncio.to_thread(self._final_arguments, reading)
                await prepared.place.turn()
            else:
                await prepared.place.ready()
            result = validated_result(reading.call.name, await reading.tool.run(arguments, reading.context))
        except asyncio.CancelledError as problem:
            if is_being_cancelled():
                raise
            result = _failed_result(prepared.reading.tool.name, problem)
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed_result(prepared.reading.tool.name, problem)
        return (
            await asyncio.to_thread(self._mask_result, reading, result) if self._masks.are_needed else result
        )

    def _final_arguments(self, reading: ParsedCall) -> Any:
        """The arguments with which it runs: with secrets where marks stood for them."""
        from tools.schema import typed_arguments  # noqa: PLC0415  (with the first tools)

        turned = self._masks.begin(reading)
        return reading.arguments if turned is None else typed_arguments(reading.tool, turned)

    def _mask_result(self, reading: ParsedCall, result: ToolResult) -> ToolResult:
        """Closed where it fails: what could not be masked enters no session."""
        try:
            return self._masks.result(reading, result)
        except Exception as problem:  # noqa: BLE001  (whatever is wrong with a result of foreign code)
            return failure(
                f"The result of {reading.call.name} could not be masked: {describe_error(problem)}"
            )

    async def _run_after_hook(self, prepared: PreparedCall, result: ToolResult) -> ToolResult:
        call = prepared.reading.call
        try:
            changed = await self._hooks.after_tool(
                call, prepared.reading.shown_arguments, result, self._parent_id
            )
            return result if changed is result else validated_result(call.name, changed)
        except asyncio.CancelledError:
            return result  # stopped meanwhile: the result stands as the tool made it
        except BaseException as problem:  # noqa: BLE001  (a failing hook must not hide what the tool did)
            details = {**(result.details or {}), "hookError": describe_error(problem)}
            return msgspec.structs.replace(result, details=details)


def _gate_failure(problem: BaseException) -> Verdict:
    """A gate that fails is a closed gate; one that waits (for a person, say) ends with the run."""
    if isinstance(problem, asyncio.CancelledError) and is_being_cancelled():
        raise problem
    return Verdict(
        is_blocked=True,
        reason=f"Tool execution was blocked: the check before it failed: {describe_error(problem)}",
    )


def _failed_result(name: str, problem: BaseException) -> ToolResult:
    if isinstance(problem, ToolError):
        return validated_result(name, failure(str(problem), problem.details))
    if isinstance(problem, asyncio.CancelledError):
        return failure(f"Tool {name} was cancelled")
    return failure(f"Tool {name} failed: {describe_error(problem)}")


def is_being_cancelled() -> bool:
    """Somebody cancels this task, as opposed to foreign code that raised `CancelledError` by itself."""
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
    """Normalised, which is what everything before the tool reads, and the same as the tool takes it."""
    from tools.schema import normalised_arguments, typed_arguments  # noqa: PLC0415  (with the first tools)

    try:
        shown = normalised_arguments(tool, raw)
        return shown, typed_arguments(tool, shown)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (a tool's own preparation of arguments)
        raise ToolError(
            f"The arguments of {tool.name} could not be prepared: {describe_error(problem)}. "
            "Send the call again with other arguments."
        ) from None


def _blocked_result(verdict: Verdict) -> ToolResult:
    told = failure(verdict.reason or "Tool execution was blocked")
    return msgspec.structs.replace(told, terminate=verdict.terminate)


class _CallParser:
    """Reads one call."""

    def __init__(self, tool: Tool, call: ToolCall, context: Callable[[], ToolContext]) -> None:
        self._tool = tool
        self._call = call
        self._context = context
        self.shown: dict[str, Any] = {}
        self._arguments: Any = None
        self.last: ParsedCall | None = None

    def take(self, raw: dict[str, Any]) -> None:
        """Other arguments. Raises `ToolError`."""
        self.shown, self._arguments = _normalise_arguments(self._tool, raw)
        self.last = None

    def __call__(self, arguments: dict[str, Any] | None = None) -> ParsedCall:
        """As `ParseCall` says."""
        if arguments is not None:
            self.take(arguments)
        context = self._context()
        effects = _effects(self._tool, self._arguments, context)
        self.last = ParsedCall(
            call=self._call,
            tool=self._tool,
            arguments=self._arguments,
            shown_arguments=self.shown,
            context=context,
            effects=effects,
            claim=claim_of(effects, workspace_of(context).files),
        )
        return self.last


def _effects(tool: Tool, arguments: Any, context: ToolContext) -> Effects:
    """Closed where it fails: a call of which nothing can be told does not run."""
    try:
        return OPAQUE_EFFECTS if tool.effects is None else tool.effects(arguments, context)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (an extension's own function)
        raise ToolError(
            f"What the call of {tool.name} touches could not be told: {describe_error(problem)}"
        ) from None
