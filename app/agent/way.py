"""The way of one tool call: the same for the model's calls and for those that are made within a call.

`prepare`, one call after the other in the order in which they were made:

1. the tool is found and the arguments are read: mended, checked, refused in words;
2. extensions are asked (`before_tool`): they change the arguments, which are checked again, or block the call;
3. the gate is asked, on the arguments as they will run: rules, the mode, a person;
4. its place is taken among the calls that touch the same files.

`run`, side by side with others:

5. the calls before it that touch the same files have ended;
6. marks in the arguments become the secrets of the file that is changed, where they belong;
7. the tool runs, and what it says on its way is masked;
8. what it returned is a result, whatever it was;
9. its secrets are masked;
10. extensions are asked (`after_tool`), unless the call was stopped.

A thread looks at files for 3 and 4 at once; and what a tool does in a thread (`tools.threads.InThread`) is done there
together with 6, 8 and 9.

Whatever goes wrong is a result; only that somebody stops the call goes through. What is told and recorded is up to the
caller: `app.agent.calls` for those of an answer, `app.engine.nested` for those within a call.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from app.agent.hooks import LoopHooks, Verdict
from app.agent.order import Order, Place
from app.agent.outcomes import checked, failure, in_words, not_found
from app.values.content import ToolCall
from tools.base import Tool, ToolContext, ToolError
from tools.results import ToolResult
from tools.threads import InThread, Stop, Stopped, in_thread
from tools.touches import NOTHING, TouchesFiles

Progress = Callable[[ToolResult], None]


class Gate(Protocol):
    """Whether a call may run, on the arguments with which it would. Where it looks at files in a thread and lets the
    call run, it calls `beside` there: one way to a thread costs more than what is looked at."""

    async def __call__(
        self,
        call: ToolCall,
        arguments: dict[str, Any],
        parent_id: str | None,
        *,
        tool: Tool,
        beside: Callable[[], None],
    ) -> Verdict: ...


async def open_gate(
    call: ToolCall,
    arguments: dict[str, Any],
    parent_id: str | None,
    *,
    tool: Tool,
    beside: Callable[[], None],
) -> Verdict:
    """Where nobody has made a gate, everything may run."""
    return Verdict()


class Masks(Protocol):
    """What becomes of the secrets in a call."""

    @property
    def are_needed(self) -> bool:
        """False: there is nothing to mask, and nobody to be asked in a thread."""
        ...

    def begin(
        self, tool: Tool, shown: dict[str, Any], arguments: Any, context: ToolContext
    ) -> dict[str, Any] | None:
        """The arguments with which it runs, or None where nothing in them is a mark. For a thread. Raises `ToolError`
        where a mark does not belong."""
        ...

    def progress(self, result: ToolResult) -> ToolResult: ...

    def result(self, tool: Tool, arguments: Any, context: ToolContext, result: ToolResult) -> ToolResult:
        """For a thread."""
        ...


class NoMasks:
    """Nothing is masked."""

    are_needed = False

    def begin(
        self, tool: Tool, shown: dict[str, Any], arguments: Any, context: ToolContext
    ) -> dict[str, Any] | None:
        return None

    def progress(self, result: ToolResult) -> ToolResult:
        return result

    def result(self, tool: Tool, arguments: Any, context: ToolContext, result: ToolResult) -> ToolResult:
        return result


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A call that may run."""

    call: ToolCall
    tool: Tool
    arguments: Any
    """As the tool takes them."""
    shown_arguments: dict[str, Any]
    """As they were sent, by the names that the tool has, or as somebody who was asked changed them."""
    context: ToolContext
    place: Place


class Way:
    """For calls that stand in one order: those of an answer, or those within one call."""

    def __init__(
        self,
        *,
        tools: Callable[[], Mapping[str, Tool]],
        tool_context: Callable[[ToolCall, Progress], ToolContext],
        hooks: LoopHooks,
        gate: Gate = open_gate,
        masks: Masks | None = None,
        parent_id: str | None = None,
    ) -> None:
        """`parent_id`: the call within which these are made."""
        self._tools = tools
        self._tool_context = tool_context
        self._hooks = hooks
        self._gate = gate
        self._masks = masks or NoMasks()
        self._parent_id = parent_id
        self._order = Order()

    async def prepare(self, call: ToolCall, progress: Progress) -> Prepared | ToolResult:
        """The call, ready to run, or why it does not. One at a time, in the order of the calls."""
        tools = self._tools()
        tool = tools.get(call.name)
        if tool is None:
            return not_found(call.name, tuple(tools))
        told, looked_at = partial(self._tell, progress), _LookedAt()
        try:
            shown, arguments = _read(tool, _readable(call))

            def look() -> None:
                looked_at.take(arguments, self._tool_context(call, told))

            gate = partial(self._gate, tool=tool, beside=look)
            for ask in (self._hooks.before_tool, gate):
                try:
                    verdict = await ask(call, shown, self._parent_id)
                except ToolError:
                    raise  # what the one who was asked made of the arguments does not fit the tool
                except BaseException as problem:  # noqa: BLE001  (foreign code; not even its SystemExit ends the loop)
                    verdict = _closed(problem)
                if verdict.is_blocked:
                    return self._masks.progress(_blocked(verdict))  # the words of whoever says no
                if verdict.arguments is not None:
                    shown, arguments = _read(tool, verdict.arguments)
            if looked_at.arguments is not arguments:  # whoever was asked took their time, or changed them
                await asyncio.to_thread(look)
        except ToolError as problem:
            return failure(str(problem), problem.details)
        place, context = self._order.take(looked_at.touches), looked_at.context
        assert context is not None
        context.is_waited_for = lambda: self._parent_id is not None or place.is_waited_for
        return Prepared(
            call=call,
            tool=tool,
            arguments=arguments,
            shown_arguments=shown,
            context=context,
            place=place,
        )

    async def run(self, prepared: Prepared) -> ToolResult:
        """What comes of it. Raises only what stops it."""
        try:
            if prepared.place.has_to_wait:
                await prepared.place.reached()
            work = prepared.tool.run
            if isinstance(work, InThread):
                result = await in_thread(partial(self._in_one_go, prepared, work))
            else:
                result = await self._step_by_step(prepared)
            if is_being_cancelled():
                return result
            return await self._consulted(prepared, result)
        finally:
            prepared.place.leave()

    def _tell(self, progress: Progress, result: ToolResult) -> None:
        """A result so far."""
        progress(self._masks.progress(result) if isinstance(result, ToolResult) else result)  # pyright: ignore[reportUnnecessaryIsInstance]

    def _in_one_go(self, prepared: Prepared, work: InThread, stop: Stop) -> ToolResult:
        """All that a thread can do, in one."""
        try:
            done = work.work(self._turned(prepared), prepared.context, stop)
            result = checked(prepared.call.name, done)
        except Stopped:
            raise
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed(prepared.call.name, problem)
        return self._masked(prepared, result)

    async def _step_by_step(self, prepared: Prepared) -> ToolResult:
        """With a thread for what is masked, where anything is."""
        arguments = prepared.arguments
        try:
            if self._masks.are_needed:
                arguments = await asyncio.to_thread(self._turned, prepared)
            result = checked(prepared.call.name, await prepared.tool.run(arguments, prepared.context))
        except asyncio.CancelledError as problem:
            if is_being_cancelled():
                raise
            result = _failed(prepared.call.name, problem)
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            result = _failed(prepared.call.name, problem)
        return await asyncio.to_thread(self._masked, prepared, result) if self._masks.are_needed else result

    def _turned(self, prepared: Prepared) -> Any:
        """The arguments with which it runs: with secrets where marks stood for them."""
        turned = self._masks.begin(
            prepared.tool, prepared.shown_arguments, prepared.arguments, prepared.context
        )
        return prepared.arguments if turned is None else _read(prepared.tool, turned)[1]

    def _masked(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        """Closed where it fails: what could not be masked enters no session."""
        try:
            return self._masks.result(prepared.tool, prepared.arguments, prepared.context, result)
        except Exception as problem:  # noqa: BLE001  (whatever is wrong with a result of foreign code)
            return failure(f"The result of {prepared.call.name} could not be masked: {in_words(problem)}")

    async def _consulted(self, prepared: Prepared, result: ToolResult) -> ToolResult:
        call = prepared.call
        try:
            changed = await self._hooks.after_tool(call, prepared.shown_arguments, result, self._parent_id)
            return result if changed is result else checked(call.name, changed)
        except asyncio.CancelledError:
            return result  # stopped meanwhile: the result stands as the tool made it
        except BaseException as problem:  # noqa: BLE001  (a failing hook must not hide what the tool did)
            details = {**(result.details or {}), "hookError": in_words(problem)}
            return msgspec.structs.replace(result, details=details)


def _closed(problem: BaseException) -> Verdict:
    """A gate that fails is a closed gate; one that waits (for a person, say) ends with the run."""
    if isinstance(problem, asyncio.CancelledError) and is_being_cancelled():
        raise problem
    return Verdict(
        is_blocked=True,
        reason=f"Tool execution was blocked: the check before it failed: {in_words(problem)}",
    )


def _failed(name: str, problem: BaseException) -> ToolResult:
    if isinstance(problem, ToolError):
        return checked(name, failure(str(problem), problem.details))
    if isinstance(problem, asyncio.CancelledError):
        return failure(f"Tool {name} was cancelled")
    return failure(f"Tool {name} failed: {in_words(problem)}")


def is_being_cancelled() -> bool:
    """Somebody cancels this task, as opposed to foreign code that raised `CancelledError` by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _readable(call: ToolCall) -> dict[str, Any]:
    if call.arguments_error is not None:
        raise ToolError(
            f"The arguments of {call.name} are not valid JSON: {call.arguments_error} "
            "Send the call again with complete, valid arguments."
        )
    return call.arguments


def _read(tool: Tool, raw: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Normalised, which is what everything before the tool reads, and the same as the tool takes it."""
    from tools.schema import normalised, typed  # noqa: PLC0415  (with the first tools)

    try:
        shown = normalised(tool, raw)
        return shown, typed(tool, shown)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (a tool's own preparation of arguments)
        raise ToolError(
            f"The arguments of {tool.name} could not be prepared: {in_words(problem)}. "
            "Send the call again with other arguments."
        ) from None


def _blocked(verdict: Verdict) -> ToolResult:
    told = failure(verdict.reason or "Tool execution was blocked")
    return msgspec.structs.replace(told, terminate=verdict.terminate)


class _LookedAt:
    """What a call touches with the arguments with which it runs, and what it is given, as of the moment it was let
    run."""

    def __init__(self) -> None:
        self.arguments: Any = None
        self.context: ToolContext | None = None
        self.touches = NOTHING

    def take(self, arguments: Any, context: ToolContext) -> None:
        """For a thread."""
        self.arguments, self.context, self.touches = arguments, context, NOTHING
        if isinstance(arguments, TouchesFiles):
            try:
                self.touches = arguments.touches(context)
            except (ToolError, OSError, ValueError):
                pass  # The tool itself says what is wrong with its path.
