"""A server on the network, on the official SDK: served.py sse|streamable-http PORT"""

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("served", instructions="Served over the network.")


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
async def slow(context: Context, steps: int = 5) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, "on it")
        await asyncio.sleep(0.2)
    return "slowly done"


@server.tool()
async def die() -> str:
    """Goes away in the middle."""
    os._exit(7)


@server.resource("note://1")
def note() -> str:
    """A note."""
    return "written down"


if __name__ == "__main__":
    server.run(transport=sys.argv[1], host="127.0.0.1", port=int(sys.argv[2]))  # type: ignore[call-overload]
