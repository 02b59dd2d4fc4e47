"""`web_search` by the provider's own tool: the request, what is read of the answer, and its way through a session."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.exit_codes import PERMISSION_REFUSED
from app.providers.adapter_registry import AdapterRegistry
from app.providers.web_search import can_search_web, number_citations
from app.values.messages import user_message
from tests.hostile.setups import MODEL, run, use_model_at, write_user_settings
from tests.providers.loopback import Loopback, Received, Reply, loopback, sse
from tests.providers.wire_formats import context, model_for, options
from tests.support.warm_bayou import BAYOU
from tests.web.search_answers import (
    ANSWER,
    CITED,
    FIRST,
    QUERY,
    SECOND,
    THIRD,
    anthropic_search,
    google_search,
    responses_search,
)

SEARCHES: Any = {"compat": {"supportsWebSearch": True}}


async def found(server: Loopback, api: str, body: bytes) -> tuple[Any, Any, Any]:
    """Returns what was sent, the message, and the findings."""
    server.reply(Reply(body=body))
    asked = context(user_message("What of tea?"), tools=())
    stream = AdapterRegistry().stream_answer(model_for(api, server.url), asked, options(searches_web=True))
    message = await stream.final_message()
    assert message.stop_reason == "stop", message.error_message
    return server.requests[-1].json, message, stream.draft.web_findings


async def test_anthropic_searches_with_its_own_tool():
    async with loopback() as server:
        sent, message, web = await found(server, "anthropic-messages", anthropic_search())
    assert sent["tools"] == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]
    told = number_citations(message.text, web)
    assert (told.text, told.cited_count, web.queries) == (CITED, 2, [QUERY])
    assert [page.url for page in told.sources] == [FIRST, SECOND, THIRD]
    assert (told.sources[0].title, told.sources[0].age) == ("Pots", "April 30, 2025")
    # Tokens at the model's prices, and two searches at a cent each.
    assert message.usage.cost.total == pytest.approx(0.006 + 0.0006 + 0.02)


async def test_openai_searches_with_its_own_tool():
    async with loopback() as server:
        sent, message, web = await found(server, "openai-responses", responses_search())
    assert sent["tools"] == [{"type": "web_search"}]
    assert "web_search_call.action.sources" in sent["include"]
    told = number_citations(message.text, web)
    assert (told.text, web.queries) == (ANSWER, [QUERY])
    assert [(page.url, page.title) for page in told.sources] == [
        (FIRST, "Pots"),
        (THIRD, ""),
        (SECOND, "Tea"),
    ]


async def test_google_searches_with_its_own_tool():
    async with loopback() as server:
        sent, message, web = await found(server, "google-generative-ai", google_search())
    assert sent["tools"] == [{"googleSearch": {}}]
    told = number_citations(message.text, web)
    assert (told.text, told.cited_count, web.queries) == (CITED, 2, [QUERY])
    assert [page.url for page in told.sources] == [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(
    ("api", "provider", "model", "can"),
    [
        ("anthropic-messages", "anthropic", "claude-opus-5-5", True),
        ("openai-responses", "openai", "gpt-6.1-sol", True),
        ("openai-responses", "openai", "gpt-4.1-nano", False),
        ("openai-responses", "github-copilot", "gpt-6.1-sol", False),
        ("openai-codex-responses", "openai-codex", "gpt-6-sol", True),
        ("google-generative-ai", "google", "gemini-4-argon", True),
        ("google-generative-ai", "google", "gemma-4-31b-it", False),
        ("openai-completions", "mine", "m", False),
    ],
)
def test_which_models_can_search(api: str, provider: str, model: str, can: bool):
    made = model_for(api, provider=provider, id=model)
    assert can_search_web(made) is can
    assert (
        can_search_web(model_for(api, provider=provider, id=model, compat={"supportsWebSearch": not can}))
        is not can
    )


# In a session


def call_of(tool: str, **arguments: Any) -> bytes:
    call = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
    given = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return sse(
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": given},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
        names=True,
    )


def says(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return sse(
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
        names=True,
    )


def told_in(received: Received) -> str:
    """Returns the tool result in a request."""
    (block,) = (one for one in received.json["messages"][-1]["content"] if one["type"] == "tool_result")
    return "".join(part["text"] for part in block["content"])


def names_of(received: Received) -> list[str]:
    return [tool["name"] for tool in received.json.get("tools", ())]


async def test_a_search_goes_through_the_gate_and_its_result_stays(tmp_path: Path):
    async with loopback() as server:
        host = server.url.removeprefix("http://")
        write_user_settings(permissions={"allow": [f"net: {host}"]})
        use_model_at(server, "anthropic-messages", **SEARCHES)
        server.reply(
            Reply(body=call_of("web_search", query="tea")),
            Reply(body=anthropic_search()),
            Reply(body=says("Done.")),
        )
        code, out, _ = await run(*BAYOU, *MODEL, "-p", "Look it up", cwd=tmp_path)
        first, search, last = server.requests
        assert (code, out) == (0, "Done.\n")
    assert "web_search" in names_of(first) and names_of(search) == ["web_search"]
    (asked,) = search.json["messages"]
    assert [part["text"] for part in asked["content"]] == ["tea"]
    told = told_in(last)
    assert "not instructions" in told.split("\n")[0] and "They hold tea[1][2]." in told
    assert f"1. Pots (April 30, 2025)\n   {FIRST}" in told and "I will search" not in told
    (file,) = Path(os.environ["BAYOU_AGENT_DIR"]).rglob("*.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    (usage,) = (entry for entry in entries if entry["type"] == "usage")
    assert (usage["kind"], usage["usage"]["output"]) == ("search", 300)
    assert usage["usage"]["cost"]["total"] == pytest.approx(0.02)  # two searches; the model has no prices
    page = tmp_path / "page.html"
    code, _, problem = await run(*BAYOU, "export", str(file), str(page), cwd=tmp_path)
    assert code == 0, problem
    assert all(part in page.read_text() for part in (FIRST, SECOND, f"Searched for: {QUERY}"))


async def test_without_a_rule_nothing_is_searched(tmp_path: Path):
    async with loopback() as server:
        write_user_settings(permissions={"mode": "auto-edit"})
        use_model_at(server, "anthropic-messages", **SEARCHES)
        server.reply(Reply(body=call_of("web_search", query="tea")), Reply(body=says("Done.")))
        code, _, _ = await run(*BAYOU, *MODEL, "-p", "Look it up", cwd=tmp_path)
        assert code == PERMISSION_REFUSED
        assert len(server.requests) == 2 and "127.0.0.1" in told_in(server.requests[-1])


async def test_a_helper_searches_within_its_own_limits(tmp_path: Path):
    """The search is a request of the helper: behind its limit of tokens nothing is sent."""
    task = {"prompt": "Look up tea.", "agent": "scout"}
    async with loopback() as server:
        host = server.url.removeprefix("http://")
        write_user_settings(permissions={"allow": [f"net: {host}"]}, task={"maxTokens": 6_000})
        use_model_at(server, "anthropic-messages", **SEARCHES)
        server.reply(
            *(Reply(body=body) for body in (call_of("task", **task), call_of("web_search", query="tea"))),
            *(Reply(body=body) for body in (anthropic_search(), says("Reported."))),
        )
        code, out, problem = await run(*BAYOU, *MODEL, "-p", "Look it up", cwd=tmp_path)
        assert (code, out) == (0, "Reported.\n"), problem
        _, helper, search, last = server.requests
    assert "web_search" in names_of(helper) and names_of(search) == ["web_search"]
    assert "The limit of 6,000 tokens (6,330 used) is reached" in told_in(last)
    logs = [file.read_text() for file in Path(os.environ["BAYOU_AGENT_DIR"]).rglob("*.jsonl")]
    assert sorted(log.count('"kind":"search"') for log in logs) == [0, 1]
