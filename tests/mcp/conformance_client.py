"""The client that the official conformance suite drives: our links and our sign-in, with a person who says yes.

The suite starts a program for each scenario. That is `CALLS_CLIENT`, which only calls the client, so that the SDK is
imported once for all scenarios.
"""

import asyncio
import json
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.mcp.managed_server import ManagedMcpServer
from app.mcp.mcp_token_store import McpTokenStore
from app.mcp.server_config_entries import McpOAuthConfig, McpServerConfig
from app.mcp.server_connection import load_mcp_sdk
from app.mcp.server_context import McpServerContext
from app.mcp.server_errors import McpSignInRequired
from app.values.user_errors import UserError
from tools.running.local_processes import LocalProcesses

ROUNDS = 4
"""Sign-ins, where a server wants more rights each time."""
CALLS_CLIENT = """
import json, os, socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.sendall(json.dumps([sys.argv[2], dict(os.environ)]).encode() + b"\\n")
failure = client.makefile().read()
sys.exit(failure or 0)
"""
"""Its arguments: the port of `serve_calls`, and the URL that the suite adds."""
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "tools_call": ("add_numbers", {"a": 5, "b": 3}),
    "sse-retry": ("test_reconnection", {}),
    "elicitation-sep1034-client-defaults": ("test_client_elicitation_defaults", {}),
}


class WillingPerson:
    """Opens the page and follows it to the end, as a browser would."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open_url(self, url: str, instructions: str) -> None:
        import httpx2

        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(url, follow_redirects=False)
        if not self._answer.done():
            self._answer.set_result(answer.headers["location"])

    async def show_code(self, code: str, url: str, seconds: float) -> None:
        raise AssertionError("no server of the suite asks for a code")

    async def prompt(self, question: str) -> str:
        return await self._answer

    async def select(self, question: str, options: Sequence[tuple[str, str]]) -> str:
        return options[0][0]

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr)


async def accepted(server: str, params: dict[str, Any]) -> dict[str, Any]:
    properties = params.get("requestedSchema", {}).get("properties", {})
    content = {name: node["default"] for name, node in properties.items() if "default" in node}
    return {"action": "accept", "content": content}


async def serve_calls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Drives one scenario for `CALLS_CLIENT`, and answers with what went wrong."""
    url, environment = json.loads(await reader.readline())
    try:
        await drive(url, environment)
    except Exception:
        writer.write(traceback.format_exc().encode())
    writer.close()
    await writer.wait_closed()


def context_of(environment: Mapping[str, str]) -> dict[str, Any]:
    return json.loads(environment.get("MCP_CONFORMANCE_CONTEXT") or "{}")


def server_config_for(url: str, environment: Mapping[str, str]) -> McpServerConfig:
    given = context_of(environment)
    oauth = None
    if given.get("client_id"):
        is_alone = "client-credentials" in environment.get("MCP_CONFORMANCE_SCENARIO", "")
        oauth = McpOAuthConfig(
            client_id=given["client_id"],
            client_secret=given.get("client_secret", ""),
            private_key=given.get("private_key_pem", ""),
            algorithm=given.get("signing_algorithm", ""),
            grant="client_credentials" if is_alone else "authorization_code",
        )
    return McpServerConfig(name="suite", type="http", url=url, oauth=oauth, start_timeout=20, timeout=20)


async def drive(url: str, environment: Mapping[str, str]) -> None:
    await load_mcp_sdk()
    from app.mcp.http_transport import make_mcp_http_transport, sign_in_to_mcp_server_with_browser

    config = server_config_for(url, environment)
    with tempfile.TemporaryDirectory() as folder:
        sign_ins = McpTokenStore(Path(folder) / "mcp-auth.json")
        processes = LocalProcesses()
        ground = McpServerContext(
            processes=lambda: processes,
            working_folder=Path.cwd,
            environment=dict,
            remote_transport=lambda config, log: make_mcp_http_transport(config, sign_ins),
            ask_elicitation=accepted,
        )
        life = ManagedMcpServer(config, ground, lambda: None)
        for _ in range(ROUNDS):
            try:
                await life.connect_if_needed()
                await use(life, environment)
                break
            except McpSignInRequired as problem:
                print("sign-in:", problem, file=sys.stderr)
                await sign_in_to_mcp_server_with_browser(config, sign_ins, WillingPerson())
                await life.reset_connection()
        await life.disconnect()
        processes.close()


async def use(life: ManagedMcpServer, environment: Mapping[str, str]) -> None:
    scenario = environment.get("MCP_CONFORMANCE_SCENARIO", "")
    if scenario in CALLS:
        await life.call_tool(*CALLS[scenario])
        return
    given = context_of(environment).get("toolCalls", ())
    schemas = {tool.name: tool.schema for tool in (life.manifest.tools if life.manifest is not None else ())}
    made_up = [(name, arguments_for(schema, schemas)) for name, schema in schemas.items()]
    for name, arguments in [(one["name"], one["arguments"]) for one in given] or made_up:
        try:
            print(name, str(await life.call_tool(name, arguments))[:300], file=sys.stderr)
        except McpSignInRequired:
            raise
        except UserError as problem:
            print(name, "refused:", problem, file=sys.stderr)


def arguments_for(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Something that fits; where a schema is asked for, the one that was received."""
    if "schema" in schema.get("properties", {}):
        return {"schema": next(iter(schemas.values()))}
    some = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties", {})
    return {
        name: node.get("default", some.get(str(node.get("type")), "x")) for name, node in properties.items()
    }
