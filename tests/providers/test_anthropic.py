"""What is particular to `anthropic-messages`."""

from typing import Any

import pytest

from app.providers.model_stream import Credential
from app.values.content import Text, Thinking, ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage, user_message
from app.values.models import ThinkingLevel
from tests.providers.loopback import Loopback, sse
from tests.providers.wire_formats import anthropic_answer, ask, context, model_for, options

API = "anthropic-messages"
BEGIN = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def text_block(text: str, index: int = 0) -> list[dict[str, Any]]:
    delta = {"type": "text_delta", "text": text}
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def ending(reason: str, **delta: Any) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, **delta},
        "usage": {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
    }


async def sent_body(server: Loopback, how: Any = None, asked: Any = None, **model: Any) -> dict[str, Any]:
    server.sse(anthropic_answer())
    await ask(model_for(API, server.url, **model), asked, how)
    return server.requests[-1].json


@pytest.mark.parametrize(
    ("reason", "expected", "words"),
    [
        ("end_turn", "stop", None),
        ("stop_sequence", "stop", None),
        ("pause_turn", "stop", None),
        ("max_tokens", "length", None),
        ("tool_use", "toolUse", None),
        ("refusal", "error", "refusal: "),
        ("model_context_window_exceeded", "error", "model_context_window_exceeded"),
        ("something_new", "error", "something_new"),
    ],
)
async def test_every_stop_reason(reason: str, expected: str, words: str | None, server: Loopback):
    server.sse(sse(BEGIN, *text_block("Hi"), ending(reason), STOP, names=True))
    message = await ask(model_for(API, server.url))
    assert (message.stop_reason, message.raw_stop_reason, message.text) == (expected, reason, "Hi")
    assert words is None or words in (message.error_message or "")
    assert (message.usage.output, message.usage.reasoning) == (9, 4)


async def test_an_error_inside_a_stream_keeps_the_received_part(server: Loopback):
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.sse(sse(BEGIN, *text_block("half")[:2], {"type": "ping"}, error, names=True))
    message = await ask(model_for(API, server.url))
    assert (message.stop_reason, message.text) == ("error", "half")
    assert message.error_message == "overloaded_error: Overloaded"


async def test_redacted_thinking_is_kept_and_goes_back_as_it_came(server: Loopback):
    block = {"type": "redacted_thinking", "data": "encrypted"}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    stop = {"type": "content_block_stop", "index": 0}
    server.sse(sse(BEGIN, start, stop, *text_block("ok", 1), ending("end_turn"), STOP, names=True))
    model = model_for(API, server.url)
    first = await ask(model)
    assert first.content[0] == Thinking(thinking="", thinking_signature="encrypted", redacted=True)
    await ask(model, context(user_message("a"), first, user_message("b")))
    assert server.requests[-1].json["messages"][1]["content"][0] == block


async def test_thoughts_go_back_with_their_signature(server: Loopback):
    server.sse(anthropic_answer())
    model = model_for(API, server.url)
    first = await ask(model)
    await ask(model, context(user_message("a"), first))
    thought = server.requests[-1].json["messages"][1]["content"][0]
    assert thought == {"type": "thinking", "thinking": "Let me see. ", "signature": "sig-1"}


async def test_the_cache_is_marked_on_prompt_tools_and_the_last_block_of_the_user(server: Loopback):
    mark = {"type": "ephemeral"}
    body = await sent_body(server)
    assert body["system"][-1]["cache_control"] == body["tools"][-1]["cache_control"] == mark
    assert body["messages"][-1]["content"][-1]["cache_control"] == mark
    long = await sent_body(server, options(is_long_cache=True), provider="anthropic")
    assert long["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in str(await sent_body(server, options(use_cache=False)))
    no_tools = await sent_body(server, compat={"supportsCacheControlOnTools": False})
    assert "cache_control" not in no_tools["tools"][-1] and "cache_control" in no_tools["system"][0]


async def test_the_last_result_carries_the_mark_too(server: Loopback):
    answer = AssistantMessage(content=(ToolCall(id="a", name="read", arguments={}),), stop_reason="toolUse")
    result = ToolResultMessage(tool_call_id="a", tool_name="read", content=(Text(text="x"),), is_error=True)
    body = await sent_body(server, None, context(user_message("a"), answer, result))
    block = body["messages"][-1]["content"][-1]
    assert (block["type"], block["is_error"], block["cache_control"]) == (
        "tool_result",
        True,
        {"type": "ephemeral"},
    )


@pytest.mark.parametrize(
    ("model_id", "level", "thinking", "effort"),
    [
        ("claude-sonnet-4-5", "off", {"type": "disabled"}, None),
        ("claude-sonnet-4-5", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-sonnet-4-5", "high", {"type": "enabled", "budget_tokens": 16384}, None),
        ("claude-opus-4-6", "minimal", {"type": "adaptive", "display": "summarized"}, "low"),
        ("claude-sonnet-5", "high", {"type": "adaptive", "display": "summarized"}, "high"),
        ("eu.anthropic.claude-opus-4-8", "medium", {"type": "adaptive", "display": "summarized"}, "medium"),
        ("claude-opus-4-20250514", "low", {"type": "enabled", "budget_tokens": 2048}, None),
    ],
)
async def test_thinking_by_budget_or_by_effort(
    model_id: str, level: ThinkingLevel, thinking: dict[str, Any], effort: str | None, server: Loopback
):
    body = await sent_body(server, options(thinking=level, temperature=0.5), id=model_id)
    assert body["thinking"] == thinking
    assert body.get("output_config", {}).get("effort") == effort
    assert ("temperature" in body) == (thinking["type"] == "disabled"), "thinking allows no temperature"


async def test_budgets_leave_room_for_the_answer(server: Loopback):
    how = options(thinking="high", thinking_budgets={"high": 50_000})
    body = await sent_body(server, how, id="claude-sonnet-4-5", max_tokens=8_000)
    assert body["thinking"]["budget_tokens"] == 8_000 - 1_024
    body = await sent_body(server, options(thinking="low"), id="claude-sonnet-4-5", max_tokens=1_500)
    assert "thinking" not in body


async def test_the_answer_limit_shrinks_with_what_is_left_of_the_window(server: Loopback):
    long = context(user_message("word " * 20_000))
    body = await sent_body(server, None, long, context_window=30_000, max_tokens=20_000)
    assert 1_024 <= body["max_tokens"] < 5_000


async def test_keys_tokens_and_copilot(server: Loopback):
    await sent_body(server, options(key="sk-1"))
    assert server.requests[-1].headers["x-api-key"] == "sk-1"
    assert "authorization" not in server.requests[-1].headers
    token = options(credential=Credential(key="tok", is_bearer=True, headers={"Anthropic-Beta": "b"}))
    await sent_body(server, token)
    assert server.requests[-1].headers["authorization"] == "Bearer tok"
    assert server.requests[-1].headers["anthropic-beta"] == "b"
    await sent_body(server, options(key="gh"), provider="github-copilot")
    headers = server.requests[-1].headers
    assert (headers["authorization"], headers["x-initiator"]) == ("Bearer gh", "user")
    assert "copilot-vision-request" not in headers
