"""The client that the official conformance suite drives: our links and our sign-in, with a person who says yes.

conformance_client.py URL, with MCP_CONFORMANCE_SCENARIO in the environment
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from app.mcp.config_entries import OAuthConfig, ServerConfig  # noqa: E402
from app.mcp.managed_server import ManagedServer  # noqa: E402
from app.mcp.server_connection import load_sdk  # noqa: E402
from app.mcp.server_context import ServerContext  # noqa: E402  (after the path)
from app.mcp.server_errors import SignInRequired  # noqa: E402
from app.mcp.token_store import TokenStore  # noqa: E402
from app.values.user_errors import UserError  # noqa: E402
from tools.running.process import LocalProcesses  # noqa: E402

ROUNDS = 4
"""Sign-ins, where a server wants more rights each time."""
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


def server_config_for(url: str) -> ServerConfig:
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    oauth = None
    if given.get("client_id"):
        is_alone = "client-credentials" in os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
        oauth = OAuthConfig(
            client_id=given["client_id"],
            client_secret=given.get("client_secret", ""),
            private_key=given.get("private_key_pem", ""),
            algorithm=given.get("signing_algorithm", ""),
            grant="client_credentials" if is_alone else "authorization_code",
        )
    return ServerConfig(name="suite", type="http", url=url, oauth=oauth, start_timeout=20, timeout=20)


async def drive(url: str, scenario: str) -> None:
    await load_sdk()
    from app.mcp.http_transport import http_transport, sign_in_with_browser

    config = server_config_for(url)
    with tempfile.TemporaryDirectory() as folder:
        sign_ins = TokenStore(Path(folder) / "mcp-auth.json")
        processes = LocalProcesses()
        ground = ServerContext(
            processes=lambda: processes,
            folder=Path.cwd,
            environment=dict,
            remote=lambda config, log: http_transport(config, sign_ins),
            elicit=accepted,
        )
        life = ManagedServer(config, ground, lambda: None)
        for _ in range(ROUNDS):
            try:
                await life.link()
                await use(life, scenario)
                break
            except SignInRequired as problem:
                print("sign-in:", problem, file=sys.stderr)
                await sign_in_with_browser(config, sign_ins, WillingPerson())
                await life.restart()
        await life.end()
        processes.close()


async def use(life: ManagedServer, scenario: str) -> None:
    if scenario in CALLS:
        await life.call(*CALLS[scenario])
        return
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls", ())
    schemas = {tool.name: tool.schema for tool in (life.manifest.tools if life.manifest is not None else ())}
    made_up = [(name, arguments_for(schema, schemas)) for name, schema in schemas.items()]
    for name, arguments in [(one["name"], one["arguments"]) for one in given] or made_up:
        try:
            print(name, str(await life.call(name, arguments))[:300], file=sys.stderr)
        except SignInRequired:
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


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], os.environ.get("MCP_CONFORMANCE_SCENARIO", "")))
