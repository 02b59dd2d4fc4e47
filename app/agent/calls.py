"""The tool calls of one assistant message: prepared in call order, run side by side or one by one, all answered.

Whatever a tool does, each call ends with exactly one `ToolExecutionEnd` that carries its result message.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import msgspec

from app.agent.abort import Aborted
from app.agent.hooks import Verdict
from app.agent.outcomes import (
    ABORTED,
    SKIPPED,
    as_message,
    as_outcome,
    checked,
    failure,
    in_words,
    not_found,
    not_run_after_length,
)
from app.agent.ports import Ports
from app.values.content import ToolCall
from app.values.events import RunEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import AssistantMessage
from tools.base import Tool, ToolError
from tools.results import ToolResult
from tools.schema import validate_arguments


class _Work(msgspec.Struct, kw_only=True):
    """A call on its way."""

    call: ToolCall
    tool: Tool | None = None
    arguments: Any = None
    shown_arguments: dict[str, Any]
    result: ToolResult | None = None
    progress: ToolResult | None = None
    started: float | None = None
    stopped: ToolResult | None = None
    """The result it gets if it does not make one of its own, once it was told to stop."""
    task: asyncio.Task[None] | None = None
    has_ended: bool = False
    """Its end has been told."""


class Batch:
    """Runs the calls of one message."""

    def __init__(self, message: AssistantMessage, ports: Ports) -> None:
        self._ports = ports
        self._was_cut = message.stop_reason == "length"
        self._works = [_Work(call=call, shown_arguments=call.arguments) for call in message.tool_calls]
        self._skip: ToolResult | None = None
        self._inbox: asyncio.Queue[_Work] = asyncio.Queue()
        """Calls that have something to tell: progress, or their end."""

    async def events(self) -> AsyncGenerator[RunEvent]:
        stop_watching = self._watch()
        try:
            for work in self._works:
                yield self._start(work)
                await self._prepare(work)
                if work.result is not None:
                    yield self._end(work)
            ready = [work for work in self._works if work.result is None]
            is_sequential = any(work.tool and work.tool.mode == "sequential" for work in ready)
            for group in [[work] for work in ready] if is_sequential else [ready]:
                async for event in self._run(group):
                    yield event
        finally:
            stop_watching()

    def _watch(self) -> Callable[[], None]:
        """In `immediate` mode a steering message makes the rest of the batch skip."""
        if self._ports.interrupt_mode() != "immediate":
            return lambda: None

        def skip() -> None:
            self._skip = failure(SKIPPED)
            self._stop_running(self._skip)

        if self._ports.queues.waiting("steering"):
            self._skip = failure(SKIPPED)
        return self._ports.queues.watch_steering(skip)

    async def _prepare(self, work: _Work) -> None:
        """Finds the tool, mends and validates the arguments, asks whether it may run."""
        early = self._refusal()
        if early is None and self._was_cut:
            early = not_run_after_length(work.call.name)
        if early is not None:
            work.result = early
            return
        tool = self._ports.tools().get(work.call.name)
        if tool is None:
            work.result = not_found(work.call.name, tuple(self._ports.tools()))
            return
        try:
            raw = _readable(work.call)
            work.arguments = _fitting(tool, raw)
            work.shown_arguments = raw
            verdict = await self._verdict(work.call, raw)
            if verdict.arguments is not None and not verdict.is_blocked:
                work.arguments = _fitting(tool, verdict.arguments)
                work.shown_arguments = verdict.arguments
        except ToolError as problem:
            work.result = failure(str(problem), problem.details)
            return
        except Aborted:
            work.result = failure(ABORTED)
            return
        if verdict.is_blocked:
            work.result = msgspec.structs.replace(
                failure(verdict.reason or "Tool execution was blocked"), terminate=verdict.terminate
            )
            return
        work.tool = tool
        work.result = self._refusal()

    async def _verdict(self, call: ToolCall, arguments: dict[str, Any]) -> Verdict:
        """A gate that fails is a closed gate; one that waits (for a person, say) ends with the run."""
        try:
            with self._ports.abort.interrupting():
                return await self._ports.hooks.before_tool(call, arguments)
        except Aborted:
            raise
        except asyncio.CancelledError as problem:
            if _is_cancelled():
                raise
            reason = in_words(problem)
        except BaseException as problem:  # noqa: BLE001  (foreign code; not even its SystemExit ends the loop)
            reason = in_words(problem)
        return Verdict(
            is_blocked=True, reason=f"Tool execution was blocked: the check before it failed: {reason}"
        )

    def _refusal(self) -> ToolResult | None:
        return failure(ABORTED) if self._ports.abort.is_set else self._skip

    async def _run(self, works: list[_Work]) -> AsyncGenerator[RunEvent]:
        refusal = self._refusal()
        for work in works:
            if refusal is not None:  # an earlier group of a sequential batch was stopped
                self._settle(work, refusal)
            else:
                work.task = asyncio.create_task(self._execute(work))
                work.task.add_done_callback(partial(self._task_ended, work))
        forget = self._ports.abort.on_set(lambda: self._stop_running(failure(ABORTED)))
        remaining = len(works)
        try:
            while remaining:
                work = await self._inbox.get()
                if work.result is None:
                    if work.progress is not None:
                        progress, work.progress = work.progress, None
                        yield self._update(work, progress)
                elif not work.has_ended:  # what it said last may still stand in the inbox
                    work.has_ended = True
                    remaining -= 1
                    yield self._end(work)
        finally:
            forget()
            for work in works:
                if work.task is not None:
                    work.task.cancel()

    async def _execute(self, work: _Work) -> None:
        work.started = time.monotonic()

        def show_progress(result: ToolResult) -> None:
            if work.result is not None:
                return
            is_noted = work.progress is not None
            work.progress = result
            if not is_noted:
                self._inbox.put_nowait(work)

        result = await self._outcome(work, show_progress)
        if work.stopped is None:
            result = await self._consult(work, result)
        self._settle(work, result)

    def _task_ended(self, work: _Work, task: asyncio.Task[None]) -> None:
        """A task that was stopped before it began has settled nothing."""
        self._settle(work, work.stopped or failure(f"Tool {work.call.name} was cancelled"))

    async def _outcome(self, work: _Work, show_progress: Callable[[ToolResult], None]) -> ToolResult:
        assert work.tool is not None
        try:
            context = self._ports.tool_context(work.call, show_progress)
            return checked(work.call.name, await work.tool.run(work.arguments, context))
        except ToolError as problem:
            return checked(work.call.name, failure(str(problem), problem.details))
        except asyncio.CancelledError:
            return work.stopped or failure(f"Tool {work.call.name} was cancelled")
        except BaseException as problem:  # noqa: BLE001  (a tool can never take the loop down, not even by SystemExit)
            return failure(f"Tool {work.call.name} failed: {in_words(problem)}")

    async def _consult(self, work: _Work, result: ToolResult) -> ToolResult:
        try:
            changed = await self._ports.hooks.after_tool(work.call, work.shown_arguments, result)
            return result if changed is result else checked(work.call.name, changed)
        except asyncio.CancelledError:
            return result  # stopped meanwhile: the result stands as the tool made it
        except BaseException as problem:  # noqa: BLE001  (a failing hook must not hide what the tool did)
            details = {**(result.details or {}), "hookError": in_words(problem)}
            return msgspec.structs.replace(result, details=details)

    def _settle(self, work: _Work, result: ToolResult) -> None:
        """The first result counts; what comes later, from a tool that was left behind, does not."""
        if work.result is None:
            work.result = result
            work.progress = None
            self._inbox.put_nowait(work)

    def _stop_running(self, result: ToolResult) -> None:
        loop = asyncio.get_running_loop()
        for work in self._works:
            if work.task is not None and work.result is None and work.stopped is None:
                work.stopped = result
                work.task.cancel()
                loop.call_later(self._ports.unwind_seconds, self._settle, work, result)

    def _start(self, work: _Work) -> RunEvent:
        return ToolExecutionStart(
            tool_call_id=work.call.id, tool_name=work.call.name, args=work.call.arguments
        )

    def _update(self, work: _Work, progress: ToolResult) -> RunEvent:
        return ToolExecutionUpdate(
            tool_call_id=work.call.id,
            tool_name=work.call.name,
            args=work.shown_arguments,
            partial_result=as_outcome(checked(work.call.name, progress)),
        )

    def _end(self, work: _Work) -> RunEvent:
        assert work.result is not None
        duration = None if work.started is None else round((time.monotonic() - work.started) * 1000)
        return ToolExecutionEnd(
            tool_call_id=work.call.id,
            tool_name=work.call.name,
            result=as_outcome(work.result),
            is_error=work.result.is_error,
            duration_ms=duration,
            message=as_message(work.call, work.result, duration),
        )


def _readable(call: ToolCall) -> dict[str, Any]:
    if call.arguments_error is not None:
        raise ToolError(
            f"The arguments of {call.name} are not valid JSON: {call.arguments_error} "
            "Send the call again with complete, valid arguments."
        )
    return call.arguments


def _fitting(tool: Tool, raw: dict[str, Any]) -> Any:
    try:
        return validate_arguments(tool, raw)
    except ToolError:
        raise
    except Exception as problem:  # noqa: BLE001  (a tool's own preparation of arguments)
        raise ToolError(
            f"The arguments of {tool.name} could not be prepared: {in_words(problem)}. "
            "Send the call again with other arguments."
        ) from None


def _is_cancelled() -> bool:
    """Somebody cancels this task, as opposed to a hook that raised `CancelledError` by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
