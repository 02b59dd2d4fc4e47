"""An MCP server that tells in which order its calls came."""

import itertools

from mcp.server.mcpserver import MCPServer

server = MCPServer("order")
numbers = itertools.count(1)


@server.tool()
async def note(number: int, said: str = "") -> str:
    """The number of this call, and the number that was sent with it."""
    return f"{next(numbers)}:{number}"


if __name__ == "__main__":
    server.run(transport="stdio")
