"""The SDK's client is loaded without its half for servers, and whoever wants that gets it."""

import ast
import subprocess
import sys
from pathlib import Path

import mcp.client._memory
import mcp.client.client

from app.mcp.link import SERVER_HALF

ROOT = Path(__file__).parents[2]
UNNEEDED = ("cryptography", "mcp.server", "sse_starlette", "starlette", "uvicorn")
LOADED = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from app.mcp.link import load_sdk
import app.mcp.link
asyncio.run(load_sdk())
assert not [name for name in {UNNEEDED} if name in sys.modules]
"""
SERVED = """
import app.mcp.http, app.mcp.oauth, app.mcp.client_credentials
assert not [name for name in ("mcp.server", "starlette", "uvicorn") if name in sys.modules]
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
server = MCPServer("beside")

@server.tool()
def twice(number: int) -> int:
    return 2 * number

async def asked():
    async with Client(server) as client:
        return await client.call_tool("twice", {"number": 21})

print(asyncio.run(asked()).structured_content)
"""
WHOLE = """
import mcp
from mcp import ServerSession, stdio_server
print(type(mcp) is type(sys), mcp.Client is sys.modules["mcp.client.client"].Client, ServerSession.__module__)
"""


def said(program: str, tmp_path: Path) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_a_server_in_the_same_process_is_talked_to_all_the_same(tmp_path: Path) -> None:
    assert said(LOADED + SERVED, tmp_path) == "{'result': 42}"


def test_the_whole_package_is_there_for_whoever_asks(tmp_path: Path) -> None:
    assert said(LOADED + WHOLE, tmp_path) == "True True mcp.server.session"


def test_where_the_server_half_is_there_already_it_stays(tmp_path: Path) -> None:
    program = "import mcp.server.mcpserver as whole\n" + LOADED.partition("assert")[0]
    program += "print(sys.modules['mcp.client.client'].MCPServer is whole.MCPServer)"
    assert said(program, tmp_path) == "True"


def test_the_names_are_those_that_the_client_takes() -> None:
    taken: dict[str, set[str]] = {}
    for module in (mcp.client.client, mcp.client._memory):  # pyright: ignore[reportPrivateUsage]
        for node in ast.walk(ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mcp.server"):
                taken.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
    assert taken == {module: set(names) for module, names in SERVER_HALF.items()}
