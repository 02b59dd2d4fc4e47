"""A tool call within a tool call: gated, told and changed like any other, but no message of the conversation.

Events carry the outer call's id; the model sees only what the outer tool makes of the result.
"""

import itertools
import time
from typing import Any

from app.agent.outcomes import as_outcome, checked, failure, not_found
from app.engine.hooks import Hooks
from app.engine.runner import Runner
from app.engine.telling import Telling
from app.engine.toolbox import Toolbox
from app.values.content import ToolCall
from app.values.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from tools.base import Tool, ToolError
from tools.results import ToolResult
from tools.schema import validate_arguments


class NestedCalls:
    def __init__(self, toolbox: Toolbox, runner: Runner, hooks: Hooks, telling: Telling) -> None:
        self._toolbox = toolbox
        self._runner = runner
        self._hooks = hooks
        self._telling = telling
        self._numbers = itertools.count(1)

    async def run(self, name: str, arguments: dict[str, Any], parent_id: str) -> ToolResult:
        """Never raises for what the tool or a hook does; only being cancelled goes through."""
        call = ToolCall(id=f"{parent_id}/{next(self._numbers)}", name=name, arguments=arguments)
        publish = self._telling.publish
        await publish(
            ToolExecutionStart(
                tool_call_id=call.id, tool_name=name, args=arguments, parent_tool_call_id=parent_id
            )
        )
        started = time.monotonic()
        result = await self._result(call, parent_id)
        await publish(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name=name,
                result=as_outcome(result),
                is_error=result.is_error,
                duration_ms=round((time.monotonic() - started) * 1000),
                parent_tool_call_id=parent_id,
            )
        )
        return result

    async def _result(self, call: ToolCall, parent_id: str) -> ToolResult:
        tools = self._toolbox.active()
        tool = tools.get(call.name)
        if tool is None:
            return not_found(call.name, tuple(tools))
        arguments = call.arguments
        try:
            valid = validate_arguments(tool, arguments)
            verdict = await self._hooks.before_tool(call, arguments, parent_id)
            if verdict.is_blocked:
                return failure(verdict.reason or "Tool execution was blocked")
            if verdict.arguments is not None:
                arguments = verdict.arguments
                valid = validate_arguments(tool, arguments)
            result = checked(call.name, await self._run(tool, valid, call, parent_id))
        except ToolError as problem:
            result = failure(str(problem), problem.details)
        except Exception as problem:  # noqa: BLE001  (a tool's failure is a result, here as in the loop)
            result = failure(f"Tool {call.name} failed: {type(problem).__name__}: {problem}")
        return await self._hooks.after_tool(call, arguments, result, parent_id)

    async def _run(self, tool: Tool, arguments: Any, call: ToolCall, parent_id: str) -> ToolResult:
        def show_progress(result: ToolResult) -> None:
            self._telling.publish_now(
                ToolExecutionUpdate(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    args=call.arguments,
                    partial_result=as_outcome(result),
                    parent_tool_call_id=parent_id,
                )
            )

        return await tool.run(arguments, self._runner.tool_context(call, show_progress))
