"""The tool calls of one assistant message: prepared in call order, run side by side or one by one, all answered.

The way of each is `app.agent.way`'s; here is who runs when, what stops them, and what is told of them. Whatever a tool
does, each call ends with exactly one `ToolExecutionEnd` that carries its result message.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import msgspec

from app.agent.outcomes import (
    ABORTED,
    SKIPPED,
    as_message,
    as_outcome,
    checked,
    failure,
    not_run_after_length,
)
from app.agent.ports import Ports
from app.agent.way import Prepared, Way
from app.values.content import ToolCall
from app.values.events import RunEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import AssistantMessage
from tools.results import ToolResult


class _Work(msgspec.Struct, kw_only=True):
    """A call on its way."""

    call: ToolCall
    prepared: Prepared | None = None
    result: ToolResult | None = None
    progress: ToolResult | None = None
    started: float | None = None
    stopped: ToolResult | None = None
    """The result it gets if it does not make one of its own, once it was told to stop."""
    task: asyncio.Task[None] | None = None
    has_ended: bool = False
    """Its end has been told."""

    @property
    def shown_arguments(self) -> dict[str, Any]:
        return self.prepared.shown_arguments if self.prepared else self.call.arguments


class Batch:
    """Runs the calls of one message."""

    def __init__(self, message: AssistantMessage, ports: Ports) -> None:
        self._ports = ports
        self._was_cut = message.stop_reason == "length"
        self._works = [_Work(call=call) for call in message.tool_calls]
        self._way = Way(
            tools=ports.tools,
            tool_context=ports.tool_context,
            hooks=ports.hooks,
            gate=ports.gate,
            masks=ports.masks,
            abort=ports.abort,
        )
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
            is_sequential = any(work.prepared and work.prepared.tool.mode == "sequential" for work in ready)
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
        early = self._refusal() or self._ports.watch.refusal(work.call)
        if early is None and self._was_cut:
            early = not_run_after_length(work.call.name)
        if early is not None:
            work.result = early
            return
        prepared = await self._way.prepare(work.call, partial(self._progressed, work))
        if isinstance(prepared, ToolResult):
            work.result = prepared
            return
        work.prepared = prepared
        work.result = self._refusal()
        if work.result is not None:
            prepared.place.leave()

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

    def _progressed(self, work: _Work, result: ToolResult) -> None:
        if work.result is not None:
            return
        is_noted = work.progress is not None
        work.progress = result
        if not is_noted:
            self._inbox.put_nowait(work)

    async def _execute(self, work: _Work) -> None:
        assert work.prepared is not None
        work.started = time.monotonic()
        try:
            result = await self._way.run(work.prepared)
        except asyncio.CancelledError:
            result = work.stopped or _cancelled(work)
        self._settle(work, result)

    def _task_ended(self, work: _Work, task: asyncio.Task[None]) -> None:
        """A task that was stopped before it began has settled nothing."""
        self._settle(work, work.stopped or _cancelled(work))

    def _settle(self, work: _Work, result: ToolResult) -> None:
        """The first result counts; what comes later, from a tool that was left behind, does not."""
        if work.result is None:
            work.result = result
            work.progress = None
            if work.prepared is not None:
                work.prepared.place.leave()
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


def _cancelled(work: _Work) -> ToolResult:
    return failure(f"Tool {work.call.name} was cancelled")
