"""Turns an extension's function into a tool: describes its arguments, converts its answer, limits how long it
blocks the loop."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.extensions.extension_registrations import Extension
from app.extensions.extension_views import View, view_text
from app.extensions.handler_contexts import ToolCallContext
from app.extensions.time_limits import (
    ExtensionTimeLimitExceeded,
    HookLimits,
    TimeLimitedAwaitable,
    call_sync_with_time_limit,
)
from tools.argument_schema import make_arguments_schema
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result


def make_extension_tool(
    function: Callable[..., Any],
    *,
    name: str,
    description: str,
    arguments: type[msgspec.Struct] | None,
    schema: dict[str, Any] | None,
    context_of: Callable[[ToolContext], ToolCallContext],
    extension: Extension,
    limits: Callable[[], HookLimits],
    **more: Any,
) -> Tool:
    async def run(given: Any, call: ToolContext) -> ToolResult:
        if not extension.is_open:
            raise ToolError(f"The tool {name} belongs to an extension that was reloaded or removed.")
        block = limits().block_seconds
        try:
            answer = call_sync_with_time_limit(function, given, context_of(call), block=block)
            if isinstance(answer, Awaitable):
                # The function may take any time, but must not block the event loop.
                answer = await TimeLimitedAwaitable(answer, block)
        except ExtensionTimeLimitExceeded as problem:
            raise ToolError(f"The tool {name} failed: {problem}") from None
        return to_tool_result(answer)

    if schema is None:
        empty = {"type": "object", "properties": {}}
        schema = make_arguments_schema(arguments) if arguments is not None else empty
    return Tool(name=name, description=description, schema=schema, run=run, arguments=arguments, **more)


def to_tool_result(answer: Any) -> ToolResult:
    """Converts a result, a text, a view, or None to a tool result."""
    if isinstance(answer, ToolResult):
        return answer
    if isinstance(answer, View):
        return text_result(view_text(answer))
    if answer is None:
        return text_result("(done)")
    if isinstance(answer, str):
        return text_result(answer)
    raise ToolError(
        f"The tool returned {type(answer).__name__}; a text, a View or a ToolResult was expected."
    )
