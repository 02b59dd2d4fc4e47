"""Runs tool calls within tool calls through the same pipeline (`app.agent.tool_pipeline`), without messages.

Events carry the outer call's id; the model sees only what the outer tool makes of the result."""

import asyncio
import itertools
import time
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from app.agent.tool_pipeline import ReportProgress, SecretMasks, ToolCallGate, ToolPipeline
from app.agent.tool_results import to_wire_tool_outcome, validated_tool_result
from app.engine.core.event_bus import EventBus
from app.engine.core.hooks import Hooks
from app.engine.core.model_choice import ModelChoice
from app.engine.core.toolbox import Toolbox
from app.engine.jobs.background_jobs import JobTable
from app.values.content import ToolCall
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import ToolResult


class _OuterCall:
    """A tool call with the nested calls that it makes, while one of them is running."""

    def __init__(self, pipeline: ToolPipeline) -> None:
        self.pipeline = pipeline
        self.prepare_lock = asyncio.Lock()
        """A lock that is held while a nested call is prepared, so that nested calls begin in the order in which
        they were made."""


class NestedToolCalls(msgspec.Struct, eq=False):
    toolbox: Toolbox
    model_choice: ModelChoice
    """The model that reads the results of the calls."""
    jobs: JobTable
    hooks: Hooks
    gate: ToolCallGate
    masks: SecretMasks
    event_bus: EventBus
    _call_numbers: Iterator[int] = msgspec.field(default_factory=lambda: itertools.count(1))
    _outer_call_by_id: WeakValueDictionary[str, _OuterCall] = msgspec.field(
        default_factory=WeakValueDictionary[str, _OuterCall]
    )
    _background_call_ids: set[str] = msgspec.field(default_factory=set[str])

    def tool_context(self, call: ToolCall, progress: ReportProgress) -> ToolContext:
        """Returns the context of a tool call, including the means to make nested calls."""
        model, workspace = self.model_choice.model, self.toolbox.workspace
        return ToolContext(
            call_id=call.id,
            cwd=workspace.cwd,
            progress=progress,
            workspace=workspace,
            jobs=self.jobs,
            caller=self.nested_caller_for(call.id),
            background_requested=lambda: call.id in self._background_call_ids,
            model_reads_images=model is None or model.reads_images,
            model_window=model.context_window if model is not None else None,
        )

    def send_to_background(self, call_id: str) -> None:
        """Sends a running tool call to the background, as the user asked."""
        self._background_call_ids.add(call_id)

    def nested_caller_for(self, parent_id: str) -> "NestedToolCaller":
        return NestedToolCaller(self, self.toolbox, parent_id)

    async def run(self, name: str, arguments: dict[str, Any], parent_id: str) -> ToolResult:
        """Runs a nested tool call. Errors of tools and hooks become results; only cancellation is raised."""
        call = ToolCall(id=f"{parent_id}/{next(self._call_numbers)}", name=name, arguments=arguments)
        within = self._outer_call(parent_id)
        async with within.prepare_lock:
            await self.event_bus.publish(
                ToolExecutionStart(
                    tool_call_id=call.id, tool_name=name, args=arguments, parent_tool_call_id=parent_id
                )
            )
            started = time.monotonic()
            prepared = await within.pipeline.prepare_call(call, self._progress_publisher(call, parent_id))
        result = (
            prepared
            if isinstance(prepared, ToolResult)
            else await within.pipeline.run_prepared_call(prepared)
        )
        await self.event_bus.publish(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name=name,
                result=to_wire_tool_outcome(result),
                is_error=result.is_error,
                duration_ms=round((time.monotonic() - started) * 1000),
                parent_tool_call_id=parent_id,
            )
        )
        return result

    def _outer_call(self, parent_id: str) -> _OuterCall:
        known = self._outer_call_by_id.get(parent_id)
        if known is None:
            pipeline = ToolPipeline(
                tools=self.toolbox.callable_tools,
                tool_context=self.tool_context,
                hooks=self.hooks,
                gate=self.gate,
                masks=self.masks,
                parent_id=parent_id,
                why_missing=self.toolbox.withheld_reason,
            )
            self._outer_call_by_id[parent_id] = known = _OuterCall(pipeline)
        return known

    def _progress_publisher(self, call: ToolCall, parent_id: str) -> ReportProgress:
        def show(result: ToolResult) -> None:
            self.event_bus.publish_now(
                ToolExecutionUpdate(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    args=call.arguments,
                    partial_result=to_wire_tool_outcome(validated_tool_result(call.name, result)),
                    parent_tool_call_id=parent_id,
                )
            )

        return show


class NestedToolCaller:
    """Makes the nested calls of one tool call; a `ToolCaller`."""

    def __init__(self, nested: NestedToolCalls, toolbox: Toolbox, parent_id: str) -> None:
        self._nested = nested
        self._toolbox = toolbox
        self._parent_id = parent_id

    def tools(self) -> Mapping[str, Tool]:
        return self._toolbox.active_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        return await self._nested.run(name, arguments, self._parent_id)
