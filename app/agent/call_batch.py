"""Runs the tool calls of one assistant message: prepares them in order, runs them concurrently or one by
one, and answers all.

`app.agent.tool_pipeline` has the steps of one call; this module schedules calls, stops them and
publishes their events. Each call ends with exactly one `ToolExecutionEnd` that carries its result
message."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import msgspec

from app.agent.loop_ports import AgentLoopDependencies
from app.agent.tool_pipeline import PreparedToolCall, ToolPipeline
from app.agent.tool_results import (
    ABORTED_TOOL_RESULT_TEXT,
    SKIPPED_TOOL_RESULT_TEXT,
    describe_error_in_one_line,
    failed_tool_result,
    to_tool_result_message,
    to_wire_tool_outcome,
    truncated_call_result,
    validated_tool_result,
)
from app.values.content import ToolCall
from app.values.events import RunEvent, ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from app.values.messages import AssistantMessage
from tools.tool_result_values import ToolResult


class _CallState(msgspec.Struct, kw_only=True):
    """The state of one tool call while its batch runs: its task, and its result once it has one."""

    call: ToolCall
    prepared_call: PreparedToolCall | None = None
    begin_event: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    result: ToolResult | None = None
    progress: ToolResult | None = None
    started_at: float | None = None
    stop_result: ToolResult | None = None
    """The result of the call if it is stopped and does not return one itself."""
    task: asyncio.Task[None] | None = None
    has_ended: bool = False
    """Whether the call's `ToolExecutionEnd` was published."""

    @property
    def display_arguments(self) -> dict[str, Any]:
        return self.prepared_call.parsed_call.plain_arguments if self.prepared_call else self.call.arguments

    @property
    def is_prepared(self) -> bool:
        """Whether preparation of the tool call is over: the call can run, or already has a result."""
        return self.prepared_call is not None or self.result is not None


class ToolCallBatch:
    """Runs the tool calls of one assistant message and yields their events."""

    def __init__(self, message: AssistantMessage, ports: AgentLoopDependencies) -> None:
        self._ports = ports
        self._was_truncated = message.stop_reason == "length"
        self._call_states = [_CallState(call=call) for call in message.tool_calls]
        self._pipeline = ToolPipeline(
            tools=ports.tools,
            tool_context=ports.tool_context,
            hooks=ports.hooks,
            gate=ports.gate,
            masks=ports.secret_masks,
            why_missing=ports.reason_unavailable,
        )
        self._skip_result: ToolResult | None = None
        self._inbox: asyncio.Queue[_CallState] = asyncio.Queue()
        """A queue of calls that have news: they are prepared, have progress, or have ended."""

    async def run_and_yield_events(self) -> AsyncGenerator[RunEvent]:
        """Runs each tool call in a separate task and yields the events of all calls."""
        stop_watching = self._skip_when_steered()
        forget = self._ports.abort.on_set(self._stop_all_calls)
        try:
            for work in self._call_states:
                yield self._start_event(work)
                self._start_call(work)
                while not (work.prepared_call or work.has_ended):
                    if event := await self._next_event():
                        yield event
            while not all(work.has_ended for work in self._call_states):
                if event := await self._next_event():
                    yield event
        finally:
            forget()
            stop_watching()
            for work in self._call_states:
                if work.task is not None:
                    work.task.cancel()

    def _skip_when_steered(self) -> Callable[[], None]:
        """In `immediate` mode, skips the rest of the batch when a steering message arrives."""
        if self._ports.interrupt_mode() != "immediate":
            return lambda: None

        def skip() -> None:
            self._skip_result = failed_tool_result(SKIPPED_TOOL_RESULT_TEXT)
            self._stop_calls([work for work in self._call_states if work.prepared_call], self._skip_result)

        if self._ports.queues.queued_messages("steering"):
            self._skip_result = failed_tool_result(SKIPPED_TOOL_RESULT_TEXT)
        return self._ports.queues.watch_steering(skip)

    def _start_call(self, work: _CallState) -> None:
        early = self._skipped_result() or self._ports.call_watch.result_of_doomed_call(work.call)
        if early is None and self._was_truncated:
            early = truncated_call_result(work.call.name)
        if early is not None:
            self._set_result(work, early)
            return
        work.task = asyncio.create_task(self._prepare_and_run(work))
        work.task.add_done_callback(partial(self._on_task_end, work))

    def _skipped_result(self) -> ToolResult | None:
        return failed_tool_result(ABORTED_TOOL_RESULT_TEXT) if self._ports.abort.is_set else self._skip_result

    async def _next_event(self) -> RunEvent | None:
        """Returns the event of the next call in the inbox; None if there is none to publish."""
        work = await self._inbox.get()
        if work.result is None:
            progress, work.progress = work.progress, None
            return self._progress_event(work, progress) if progress is not None else None
        if work.has_ended:  # what it said last may still stand in the inbox
            return None
        work.has_ended = True
        return self._end_event(work)

    def _on_progress(self, work: _CallState, result: ToolResult) -> None:
        if work.result is not None:
            return
        is_noted = work.progress is not None
        work.progress = result
        if not is_noted:
            self._inbox.put_nowait(work)

    async def _prepare_and_run(self, work: _CallState) -> None:
        try:
            outcome = await self._pipeline.prepare_call(work.call, partial(self._on_progress, work))
            if isinstance(outcome, PreparedToolCall):
                outcome = await self._run_prepared(work, outcome)
        except asyncio.CancelledError:
            outcome = work.stop_result or _cancelled_result(work)
        self._set_result(work, outcome)

    async def _run_prepared(self, work: _CallState, prepared: PreparedToolCall) -> ToolResult:
        work.prepared_call = prepared
        refusal = self._skipped_result()
        try:
            if refusal is None and len(self._call_states) > 1:
                await self._wait_for_turn(work)
                refusal = self._skipped_result()
            if refusal is None:
                work.started_at = time.monotonic()
        finally:
            if work.started_at is None:  # it will not run
                prepared.slot.release()
        return refusal or await self._pipeline.run_prepared_call(prepared)

    async def _wait_for_turn(self, work: _CallState) -> None:
        self._release_prepared_calls()
        if not work.begin_event.is_set():
            self._inbox.put_nowait(work)
            await work.begin_event.wait()

    def _release_prepared_calls(self) -> None:
        """Lets tool calls begin once all calls of the batch are prepared: all together, or one by one if a tool
        requires that."""
        if not all(work.is_prepared for work in self._call_states):
            return
        waiting = [work for work in self._call_states if work.result is None]
        is_sequential = any(
            work.prepared_call and work.prepared_call.parsed_call.tool.mode == "sequential"
            for work in self._call_states
        )
        for work in waiting[:1] if is_sequential else waiting:
            work.begin_event.set()

    def _on_task_end(self, work: _CallState, task: asyncio.Task[None]) -> None:
        """Gives a result to a tool call whose task was cancelled before it began, or failed with an exception."""
        problem = None if task.cancelled() else task.exception()
        fault = (
            failed_tool_result(f"Tool {work.call.name} failed: {describe_error_in_one_line(problem)}")
            if problem
            else _cancelled_result(work)
        )
        self._set_result(work, work.stop_result or fault)

    def _set_result(self, work: _CallState, result: ToolResult) -> None:
        """Sets a tool call's result; a later result of an abandoned call is ignored."""
        if work.result is None:
            work.result = result
            work.progress = None
            self._inbox.put_nowait(work)
            if len(self._call_states) > 1:
                self._release_prepared_calls()

    def _abandon_call(self, work: _CallState, result: ToolResult) -> None:
        """Gives a result to a cancelled tool call that does not end, so that the batch no longer waits for it."""
        self._set_result(work, result)
        if work.prepared_call is not None:
            work.prepared_call.slot.release()

    def _stop_all_calls(self) -> None:
        self._stop_calls(self._call_states, failed_tool_result(ABORTED_TOOL_RESULT_TEXT))

    def _stop_calls(self, works: list[_CallState], result: ToolResult) -> None:
        loop = asyncio.get_running_loop()
        for work in works:
            if work.task is not None and work.result is None and work.stop_result is None:
                work.stop_result = result
                work.task.cancel()
                loop.call_later(self._ports.stop_grace_seconds, self._abandon_call, work, result)

    def _start_event(self, work: _CallState) -> RunEvent:
        return ToolExecutionStart(
            tool_call_id=work.call.id, tool_name=work.call.name, args=work.call.arguments
        )

    def _progress_event(self, work: _CallState, progress: ToolResult) -> RunEvent:
        return ToolExecutionUpdate(
            tool_call_id=work.call.id,
            tool_name=work.call.name,
            args=work.display_arguments,
            partial_result=to_wire_tool_outcome(validated_tool_result(work.call.name, progress)),
        )

    def _end_event(self, work: _CallState) -> RunEvent:
        assert work.result is not None
        duration = None if work.started_at is None else round((time.monotonic() - work.started_at) * 1000)
        return ToolExecutionEnd(
            tool_call_id=work.call.id,
            tool_name=work.call.name,
            result=to_wire_tool_outcome(work.result),
            is_error=work.result.is_error,
            duration_ms=duration,
            message=to_tool_result_message(work.call, work.result, duration),
        )


def _cancelled_result(work: _CallState) -> ToolResult:
    return failed_tool_result(f"Tool {work.call.name} was cancelled")
