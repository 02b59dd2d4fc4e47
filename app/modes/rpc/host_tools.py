"""Offers the model tools that the client runs: the client declares them, and answers their calls over the
same pipe."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from app.engine.commands.session_command import session_command
from app.engine.session import Session
from app.values.user_errors import UserError
from app.values.wire import new_id
from tools.tool_definition import Tool, ToolContext, ToolError
from tools.tool_result_values import ImagePart, Part, TextPart, ToolResult

HOST_TOOLS_OWNER_NAME = "rpc-client"
_CLIENT_DISCONNECTED_ERROR = "The client that runs this tool has disconnected."


class HostTool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    label: str = ""


@session_command(
    "Give the model tools that the client carries out", "They replace the earlier set.", answer="toolNames"
)
async def set_host_tools(session: Session, tools: Sequence[HostTool]) -> Sequence[str]:
    """Refuses the command where no client is connected; with a client, `HostTools.replace_tools` handles it."""
    raise UserError("Only a connected client can run host tools.")


class HostTools:
    """Holds the client's tools and their open calls."""

    def __init__(self, session: Session, put: Callable[[dict[str, Any]], None]) -> None:
        self._session = session
        self._put = put
        self._names: list[str] = []
        self._open: dict[str, tuple[asyncio.Future[dict[str, Any]], ToolContext]] = {}
        self._is_closed = False

    def replace_tools(self, tools: Sequence[HostTool]) -> list[str]:
        """Replaces the earlier set of tools; returns their names."""
        names = [tool.name for tool in tools]
        for index, tool in enumerate(tools):
            if not tool.name.strip():
                raise UserError(f"Host tool at index {index} must provide a non-empty name")
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise UserError(f"Two host tools have the same name: {', '.join(sorted(twice))}")
        self.unregister_all_tools()
        for declared in tools:
            self._session.tools.register_tool(self._make_tool(declared), owner=HOST_TOOLS_OWNER_NAME)
            self._names.append(declared.name)
        return names

    def handle_host_tool_line(self, data: dict[str, Any]) -> None:
        """Handles a `host_tool_update` or `host_tool_result`; ignores one for a call that is not open."""
        call_id = data.get("id")
        known = self._open.get(call_id) if isinstance(call_id, str) else None
        if known is None:
            return
        future, context = known
        if data.get("type") == "host_tool_update":
            partial = data.get("partialResult")
            if isinstance(partial, dict):
                context.progress(_convert_result(partial))
        elif not future.done():
            future.set_result(data)

    def unregister_all_tools(self) -> None:
        for name in self._names:
            self._session.tools.unregister_tool(name)
        self._names.clear()

    def close(self) -> None:
        self._is_closed = True
        for future, _ in self._open.values():
            if not future.done():
                future.set_exception(ToolError(_CLIENT_DISCONNECTED_ERROR))

    def _make_tool(self, declared: HostTool) -> Tool:
        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            return await self._call_client(declared.name, arguments, context)

        return Tool(
            name=declared.name,
            label=declared.label,
            description=declared.description,
            schema=declared.parameters,
            snippet=declared.description.split("\n", 1)[0],
            run=run,
        )

    async def _call_client(self, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        if self._is_closed:
            raise ToolError(_CLIENT_DISCONNECTED_ERROR)
        call_id = f"host_{new_id()}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[call_id] = (future, context)
        self._put(
            {
                "type": "host_tool_call",
                "id": call_id,
                "toolCallId": context.call_id,
                "toolName": name,
                "arguments": arguments,
            }
        )
        try:
            data = await future
        except asyncio.CancelledError:
            self._put({"type": "host_tool_cancel", "id": f"cancel_{new_id()}", "targetId": call_id})
            raise
        finally:
            del self._open[call_id]
        result = _convert_result(data.get("result"))
        if data.get("isError") or result.is_error:
            raise ToolError(result.text or "Host tool execution failed", details=result.details)
        return result


def _convert_result(data: Any) -> ToolResult:
    """Converts the valid parts of the client's data to a tool result."""
    if not isinstance(data, dict):
        return ToolResult(content=(TextPart(text=str(data)),) if data is not None else ())
    parts: list[Part] = []
    content = data.get("content")
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str):
            parts.append(TextPart(text=block["text"]))
        elif isinstance(block.get("data"), str) and isinstance(block.get("mimeType"), str):
            parts.append(ImagePart(data=block["data"], mime_type=block["mimeType"]))
    details = data.get("details")
    return ToolResult(
        content=tuple(parts),
        details=details if isinstance(details, dict) else None,
        is_error=bool(data.get("isError")),
    )
