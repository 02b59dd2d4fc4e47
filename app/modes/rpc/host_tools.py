"""Tools that the client carries out: declared by it, called by the model, answered over the same pipe."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from app.engine.commands.base import CommandError, Params
from app.engine.session import Session
from app.values.wire import new_id
from tools.base import Tool, ToolContext, ToolError
from tools.results import ImagePart, Part, TextPart, ToolResult

OWNER = "rpc-client"


class HostTool(Params, frozen=True, kw_only=True):
    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    label: str = ""


class SetHostTools(Params, frozen=True, kw_only=True):
    tools: tuple[HostTool, ...]


class HostTools:
    """The client's tools and the calls that wait for it."""

    def __init__(self, session: Session, put: Callable[[dict[str, Any]], None]) -> None:
        self._session = session
        self._put = put
        self._names: list[str] = []
        self._open: dict[str, tuple[asyncio.Future[dict[str, Any]], ToolContext]] = {}

    async def set(self, params: SetHostTools) -> dict[str, Any]:
        """Replaces the earlier set."""
        names = [tool.name for tool in params.tools]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise CommandError(f"Host tools must have names of their own: {', '.join(sorted(twice))}")
        self.clear()
        for declared in params.tools:
            self._session.toolbox.register(self._tool(declared), owner=OWNER)
            self._names.append(declared.name)
        return {"toolNames": names}

    def take(self, data: dict[str, Any]) -> None:
        """A `host_tool_update` or `host_tool_result`; one for a call that is not open is passed over."""
        known = self._open.get(str(data.get("id")))
        if known is None:
            return
        future, context = known
        if data.get("type") == "host_tool_update":
            partial = data.get("partialResult")
            if isinstance(partial, dict):
                context.progress(_result(partial))
        elif not future.done():
            future.set_result(data)

    def clear(self) -> None:
        for name in self._names:
            self._session.toolbox.unregister(name)
        self._names.clear()

    def close(self) -> None:
        for future, _ in self._open.values():
            if not future.done():
                future.set_exception(ToolError("The client that carries out this tool has gone."))

    def _tool(self, declared: HostTool) -> Tool:
        async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
            return await self._call(declared.name, arguments, context)

        return Tool(
            name=declared.name,
            label=declared.label,
            description=declared.description,
            schema=declared.parameters,
            snippet=declared.description.split("\n", 1)[0],
            run=run,
        )

    async def _call(self, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
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
        result = _result(data.get("result"))
        if data.get("isError") or result.is_error:
            raise ToolError(result.text or "Host tool execution failed", details=result.details)
        return result


def _result(data: Any) -> ToolResult:
    """What the client sent, as far as it is a result."""
    if not isinstance(data, dict):
        return ToolResult(content=(TextPart(text=str(data)),) if data is not None else ())
    parts: list[Part] = []
    for block in data.get("content") or ():
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
