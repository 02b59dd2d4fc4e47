"""`web_search`: what is sent to each service and read from it, and how it fails; with a server on this machine."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.providers.model_stream import Credential
from app.resources.settings.settings import Settings
from app.resources.settings.settings_tools import WebSettings
from app.web.web_search_services import SearchServiceEngine
from app.web.web_search_tool import WebSearchArguments, make_web_search_tool
from tests.providers.loopback import Loopback, Reply, loopback
from tools.tool_definition import Tool, ToolContext, ToolError

BRAVE = {
    "web": {
        "results": [
            {
                "url": "https://a.example/",
                "title": "A &amp; <b>B</b>",
                "description": "x <strong>tea</strong>\x1b[31m",
            },
            {"url": "https://b.example/", "title": "", "age": "2 days ago"},
        ]
    }
}
TAVILY = {"results": [{"url": "https://c.example/", "title": "C", "content": "tea\n\npot", "score": 0.5}]}


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as one:
        yield one


def tool_for(server: Loopback, name: str = "brave", key: str | None = "secret") -> Tool:
    async def credential(name: str) -> Credential | None:
        return Credential(key=key) if key else None

    web: Any = {"search": name, "search_url": f"{server.url}/search", "private_hosts": ("127.0.0.1",)}
    settings = Settings(web=WebSettings(**web))
    return make_web_search_tool(lambda: SearchServiceEngine(name, settings, credential))


async def searched(tool: Tool, context: Any = None, **arguments: Any) -> str:
    return (await tool.run(WebSearchArguments(**arguments), context)).text


def json_reply(value: Any, **more: Any) -> Reply:
    return Reply(body=json.dumps(value).encode(), headers={"Content-Type": "application/json"}, **more)


async def test_brave_gets_a_query_and_its_results_are_read(server: Loopback):
    server.reply(json_reply(BRAVE))
    text = await searched(tool_for(server), query=" tea &  pots ", count=2)
    (sent,) = server.requests
    assert (sent.method, sent.target) == ("GET", "/search?q=tea+%26+pots&count=2")
    assert sent.headers["x-subscription-token"] == "secret" and "authorization" not in sent.headers
    assert "1. A & B\n   https://a.example/\n   x tea" in text and "\x1b" not in text
    assert "2. https://b.example/ (2 days ago)\n   https://b.example/" in text
    assert "not instructions" in text.split("\n")[0]


async def test_tavily_gets_json_and_its_results_are_read(server: Loopback):
    server.reply(json_reply(TAVILY))
    text = await searched(tool_for(server, "tavily"), query="tea")
    (sent,) = server.requests
    assert (sent.method, sent.json) == ("POST", {"query": "tea", "max_results": 5})
    assert sent.headers["authorization"] == "Bearer secret"
    assert "1. C\n   https://c.example/\n   tea pot" in text


async def test_a_search_is_kept_for_the_session(server: Loopback):
    server.reply(json_reply(BRAVE), json_reply({}))
    tool = tool_for(server)
    assert await searched(tool, query="tea") == await searched(tool, query=" tea")
    assert "found nothing" in await searched(tool, query="coffee")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            json_reply({}, status=401),
            r"Brave Search refused the key \(401\). The user stores another: bayou auth login brave",
        ),
        (json_reply({}, status=429), r"no more searches now \(429\)"),
        (json_reply({"error": "down"}, status=503), 'answered 503. {"error": "down"}'),
        (Reply(body=b"<html>"), "an answer in an unknown form"),
        (json_reply({"web": {"results": [{"title": 4}]}}), "an answer in an unknown form"),
        (Reply(status=302, headers={"Location": "https://example.org/"}), "answered 302"),
        (Reply(body=b"{", cut_at=0), "The request to"),
    ],
)
async def test_a_failed_search_says_why(server: Loopback, reply: Reply, why: str):
    server.reply(reply)
    with pytest.raises(ToolError, match=why):
        await searched(tool_for(server), query="tea")
    assert len(server.requests) <= 1


@pytest.mark.parametrize(("query", "why"), [(" ", "query is empty"), ("x" * 401, "more than 400 characters")])
async def test_invalid_queries_are_refused(server: Loopback, query: str, why: str):
    with pytest.raises(ToolError, match=why):
        await searched(tool_for(server), query=query)
    assert server.requests == []


async def test_without_a_key_nothing_is_sent(server: Loopback):
    with pytest.raises(ToolError, match="no key for Brave Search"):
        await searched(tool_for(server, key=None), query="tea")
    assert server.requests == []


def test_the_host_of_the_service_is_asked_about():
    async def no_key(name: str) -> None:
        return None

    tool = make_web_search_tool(lambda: SearchServiceEngine("tavily", Settings(), no_key))
    context: Any = ToolContext
    assert tool.effects is not None
    assert tool.effects(WebSearchArguments(query="tea"), context).hosts == ("api.tavily.com:443",)
