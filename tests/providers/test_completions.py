"""What is particular to chat completions, and to the many servers that speak them."""

from typing import Any

import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.adapters.completions_compat import _COMPAT_SWITCH_NAMES, completions_quirks_of_model
from app.providers.adapters.wire_helpers import prompt_cache_key
from app.providers.failure_kinds import classify_failure
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage, user_message
from app.values.models import Model, ThinkingLevel
from app.values.stream import ToolCallEnd, ToolCallStart
from tests.providers.loopback import Loopback, sse
from tests.providers.wire_formats import (
    ask,
    completions_answer,
    context,
    listen,
    model_for,
    options,
    responses_answer,
)

CHAT, RESPONSES = "openai-completions", "openai-responses"


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments: Any, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": fields.pop("name")} if "name" in fields else {})}
    return chunk(tool_calls=[{"function": function, **fields}])


async def answer_to(server: Loopback, *events: Any, done: bool = True, **model: Any) -> AssistantMessage:
    server.sse(sse(*events, done=done))
    return await ask(model_for(CHAT, server.url, **model))


async def sent(
    server: Loopback, how: Any = None, asked: Any = None, api: str = CHAT, **model: Any
) -> dict[str, Any]:
    server.sse(completions_answer() if api == CHAT else responses_answer())
    message = await ask(model_for(api, server.url, **model), asked, how)
    assert message.stop_reason == "toolUse", message.error_message
    return server.requests[-1].json


@pytest.mark.parametrize(
    ("name", "events", "done"),
    [
        ("llama.cpp", [chunk(role="assistant", content=None), chunk(content="Hi"), chunk("stop")], True),
        ("no usage, no [DONE]", [chunk(content="Hi"), chunk("stop")], False),
        ("no finish reason", [chunk(content="Hi")], True),
        ("finish with the text", [chunk("stop", content="Hi")], True),
        ("vLLM's last usage", [chunk(content="Hi"), chunk("stop"), {"choices": [], "usage": None}], True),
        (
            "empty choices first",
            [{"choices": [], "prompt_filter_results": []}, chunk("stop", content="Hi")],
            True,
        ),
    ],
)
async def test_a_plain_answer_of_several_servers(name: str, events: list[Any], done: bool, server: Loopback):
    message = await answer_to(server, *events, done=done)
    assert (message.text, message.stop_reason) == ("Hi", "stop"), name


@pytest.mark.parametrize(
    ("name", "events"),
    [
        (
            "Ollama: whole calls, all number 0, arguments as object",
            [
                call({"path": "a"}, index=0, id="call_a", name="read"),
                call({"path": "b"}, index=0, id="call_b", name="read"),
            ],
        ),
        (
            "no index",
            [
                call("", id="a", name="read"),
                call('{"path": "a"}'),
                call("", id="b", name="read"),
                call('{"path": "b"}'),
            ],
        ),
        (
            "no id",
            [
                call('{"path": ', index=0, name="read"),
                call('"a"}', index=0),
                call('{"path": "b"}', index=1, name="read"),
            ],
        ),
        (
            "neither",
            [call('{"path": "a"}', name="read"), call('{"path": ', name="read"), call('"b"}')],
        ),
        (
            "interleaved",
            [
                call("", index=0, id="a", name="read"),
                call("", index=1, id="b", name="read"),
                call('{"path": ', index=0),
                call('{"path": ', index=1),
                call('"a"}', index=0),
                call('"b"}', index=1),
            ],
        ),
        (
            "one id, two indexes",
            [
                call('{"path": ', index=0, id="a", name="read"),
                call('{"path": "b"}', index=1, id="a", name="read"),
                call('"a"}', index=0, id="a"),
            ],
        ),
        (
            "one id and one index for all deltas, with the name repeated",
            [
                call('{"path": ', index=0, id="a", name="read"),
                call('"a"}', index=0, id="a", name="read"),
                call('{"path": "b"}', index=1, id="b", name="read"),
            ],
        ),
        (
            "all number 0, in pieces with their ids",
            [
                call('{"path": ', index=0, id="a", name="read"),
                call('{"path": ', index=0, id="b", name="read"),
                call('"a"}', index=0, id="a"),
                call('"b"}', index=0, id="b"),
            ],
        ),
        (
            "id with every delta",
            [
                call('{"path": ', index=0, id="a", name="read"),
                call('"a"}', index=0, id="a"),
                call('{"path": "b"}', index=1, id="b", name="read"),
            ],
        ),
    ],
)
async def test_calls_are_distinguished_without_ids_or_indexes(name: str, events: list[Any], server: Loopback):
    message = await answer_to(server, *events, chunk("stop"))
    calls = message.tool_calls
    assert [(each.name, each.arguments) for each in calls] == [
        ("read", {"path": "a"}),
        ("read", {"path": "b"}),
    ]
    assert len({each.id for each in calls}) == 2 and message.stop_reason == "toolUse", name


async def test_a_call_begins_with_the_id_that_it_ends_with(server: Loopback):
    server.sse(sse(call('{"path": "a"}', index=0, id="call_a", name="read"), chunk("tool_calls"), done=True))
    events = await listen(AdapterRegistry().stream_answer(model_for(CHAT, server.url), context(), options()))
    begun = next(event for event in events if isinstance(event, ToolCallStart))
    ended = next(event for event in events if isinstance(event, ToolCallEnd))
    assert begun.id == ended.tool_call.id == "call_a"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
async def test_thoughts_come_by_several_names_and_go_back_by_the_same(field: str, server: Loopback):
    message = await answer_to(server, chunk(**{field: "hm"}), chunk(content="ok"), chunk("stop"))
    assert message.content == (Thinking(thinking="hm", thinking_signature=field), Text(text="ok"))
    await ask(model_for(CHAT, server.url), context(user_message("a"), message, user_message("b")))
    assert server.requests[-1].json["messages"][2][field] == "hm"


async def test_malformed_arguments_are_told_and_crash_nothing(server: Loopback):
    message = await answer_to(
        server, call('{"path": oops', index=0, id="a", name="read"), chunk("tool_calls")
    )
    (only,) = message.tool_calls
    assert only.arguments == {} and "not valid JSON" in (only.arguments_error or "")
    assert message.stop_reason == "toolUse"


@pytest.mark.parametrize(
    ("finish", "stop", "words"),
    [
        ("length", "length", None),
        ("content_filter", "error", "content_filter"),
        ("error", "error", "Provider returned error"),
        ("model_context_window_exceeded", "error", "model_context_window_exceeded"),
        ("whatever_new", "stop", None),
    ],
)
async def test_finish_reasons(finish: str, stop: str, words: str | None, server: Loopback):
    message = await answer_to(server, chunk(content="Hi"), chunk(finish))
    assert message.stop_reason == stop and (words is None or words in (message.error_message or ""))


@pytest.mark.parametrize("api", [CHAT, RESPONSES, "mistral-conversations"])
async def test_a_stream_with_only_done_is_an_error(api: str, server: Loopback):
    server.sse(sse(done=True))
    message = await ask(model_for(api, server.url))
    assert message.stop_reason == "error" and classify_failure(message).is_retryable
    assert "closed before the answer was complete" in (message.error_message or "")


async def test_an_answer_of_usage_alone_is_none(server: Loopback):
    message = await answer_to(server, {"choices": [], "usage": {"prompt_tokens": 7}})
    assert message.stop_reason == "error" and message.usage.input == 7


async def test_an_error_inside_a_stream(server: Loopback):
    error = {"error": {"message": "Upstream died", "code": 502, "metadata": {"raw": '{"error": "deep"}'}}}
    message = await answer_to(server, chunk(content="half"), error)
    assert (message.text, message.stop_reason) == ("half", "error")
    assert "Upstream died (deep)" in (message.error_message or "")
    assert message.diagnostics[0]["details"]["status"] == 502


async def test_what_a_router_says_it_charged(server: Loopback):
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}
    message = await answer_to(server, chunk("stop", content="Hi"), {"choices": [], "usage": usage})
    assert (message.usage.cost.total, message.usage.cost.total_from_provider) == (0.5, True)


@pytest.mark.parametrize(
    ("provider", "url", "expected"),
    [
        (
            "openai",
            "https://api.openai.com/v1",
            {
                "supportsStore": True,
                "supportsDeveloperRole": True,
                "maxTokensField": "max_completion_tokens",
            },
        ),
        ("mine", "http://localhost:11434/v1", {"supportsDeveloperRole": False, "supportsStore": False}),
        (
            "deepseek",
            "https://api.deepseek.com",
            {"thinkingFormat": "deepseek", "maxTokensField": "max_tokens"},
        ),
        ("x", "https://api.z.ai/api/paas/v4", {"thinkingFormat": "zai", "supportsStore": False}),
        ("moonshotai-cn", "", {"supportsReasoningEffort": False, "maxTokensField": "max_tokens"}),
        ("xai", "https://api.x.ai/v1", {"supportsReasoningEffort": False, "supportsDeveloperRole": False}),
        ("cerebras", "", {"supportsStore": False, "maxTokensField": "max_completion_tokens"}),
        (
            "openrouter",
            "https://openrouter.ai/api/v1",
            {"thinkingFormat": "openrouter", "supportsDeveloperRole": False},
        ),
    ],
)
def test_servers_are_known_by_provider_or_address(provider: str, url: str, expected: dict[str, Any]):
    import msgspec

    found = msgspec.to_builtins(completions_quirks_of_model(model_for(CHAT, url, provider=provider)))
    assert {name: found[name] for name in expected} == expected


def test_openrouter_differs_by_vendor_and_own_switches_win():
    url = "https://openrouter.ai/api/v1"
    claude = completions_quirks_of_model(model_for(CHAT, url, id="anthropic/claude-x"))
    assert (claude.cache_control_format, claude.supports_developer_role) == ("anthropic", False)
    own = {"supportsStore": False, "maxTokensField": "max_tokens", "zaiToolStream": "nonsense"}
    switches = completions_quirks_of_model(model_for(CHAT, "http://x", compat=own))
    assert (switches.supports_store, switches.max_tokens_field) == (False, "max_tokens")
    assert switches.zai_tool_stream is False, "a switch of the wrong type is ignored"


@pytest.mark.parametrize(
    ("compat", "level", "expected"),
    [
        ({}, "high", {"reasoning_effort": "high"}),
        ({"supportsReasoningEffort": False}, "high", {"reasoning_effort": None}),
        ({"thinkingFormat": "openrouter"}, "low", {"reasoning": {"effort": "low"}}),
        ({"thinkingFormat": "openrouter"}, "off", {"reasoning": {"enabled": False}}),
        ({"thinkingFormat": "zai"}, "off", {"thinking": {"type": "disabled"}}),
        (
            {"thinkingFormat": "deepseek"},
            "high",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        ),
        ({"thinkingFormat": "together"}, "off", {"reasoning": {"enabled": False}}),
        ({"thinkingFormat": "qwen"}, "low", {"enable_thinking": True}),
        (
            {"thinkingFormat": "qwen-chat-template"},
            "off",
            {"chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": True}},
        ),
        (
            {
                "thinkingFormat": "chat-template",
                "chatTemplateKwargs": {"on": {"$var": "thinking.enabled"}, "b": {"$var": "thinking.budget"}},
            },
            "low",
            {"chat_template_kwargs": {"on": True, "b": 2048}},
        ),
        ({"thinkingFormat": "string-thinking"}, "medium", {"thinking": "medium"}),
        ({"thinkingTokenBudgetField": "thinking_budget"}, "low", {"thinking_budget": 2048}),
        ({"supportsThinkingTokenBudget": True}, "low", {"thinking_token_budget": 2048}),
    ],
)
async def test_ways_to_ask_for_thinking(
    compat: dict[str, Any], level: ThinkingLevel, expected: dict[str, Any], server: Loopback
):
    body = await sent(server, options(thinking=level), compat=compat)
    assert {name: body.get(name) for name in expected} == expected


async def test_switches_of_the_request(server: Loopback):
    body = await sent(server)
    assert "store" not in body and body["messages"][0]["role"] == "system"
    body = await sent(server, compat={"supportsStore": True, "supportsDeveloperRole": True})
    assert body["store"] is False and body["stream_options"] == {"include_usage": True}
    assert body["messages"][0]["role"] == "developer" and "max_completion_tokens" in body
    assert "strict" not in body["tools"][0]["function"]
    old = {
        "supportsStore": False,
        "supportsUsageInStreaming": False,
        "supportsDeveloperRole": False,
        "maxTokensField": "max_tokens",
        "supportsStrictMode": True,
        "zaiToolStream": True,
        "vllmPriority": 3,
        "openRouterRouting": {"only": ["x"]},
        "vercelGatewayRouting": {"order": ["y"]},
    }
    body = await sent(server, compat=old)
    assert not {"store", "stream_options", "max_completion_tokens"} & set(body)
    assert body["messages"][0]["role"] == "system" and body["tool_stream"] is True and body["priority"] == 3
    assert body["tools"][0]["function"]["strict"] is False
    assert body["provider"] == {"only": ["x"]}
    assert body["providerOptions"] == {"gateway": {"order": ["y"]}}


async def test_switches_of_the_history(server: Loopback):
    model = model_for(CHAT)
    answer = AssistantMessage(
        content=(
            Thinking(thinking="hm", thinking_signature="reasoning"),
            ToolCall(id="a", name="read", arguments={}),
        ),
        api=CHAT,
        provider=model.provider,
        model=model.id,
        stop_reason="toolUse",
    )
    result = ToolResultMessage(tool_call_id="a", tool_name="read", content=(Text(text="x"),))
    history = context(user_message("a"), answer, result, user_message("b"))
    plain = (await sent(server, None, history))["messages"]
    assert plain[2]["content"] is None and plain[2]["reasoning"] == "hm" and "name" not in plain[3]
    needy = {
        "requiresToolResultName": True,
        "requiresAssistantAfterToolResult": True,
        "requiresNonNullAssistantContent": True,
        "requiresThinkingAsText": True,
        "requiresReasoningContentOnAssistantMessages": True,
    }
    full = (await sent(server, None, history, compat=needy))["messages"]
    assert "hm" in full[2]["content"] and full[2]["reasoning_content"] == "" and full[3]["name"] == "read"
    assert [message["role"] for message in full[3:]] == ["tool", "assistant", "user"]
    without_tools = context(user_message("a"), answer, result, tools=())
    body = await sent(server, None, without_tools, compat={"requiresToolsWithToolHistory": True})
    assert body["tools"] == []


async def test_the_cache_key_and_affinity(server: Loopback):
    session = "\U0001f600" * 80
    assert prompt_cache_key(session) == "\U0001f600" * 64 and prompt_cache_key(None) is None
    body = await sent(server, options(session_id=session), api=RESPONSES)
    assert body["prompt_cache_key"] == "\U0001f600" * 64
    assert "prompt_cache_key" not in await sent(server, options(session_id="s"))
    assert (await sent(server, options(session_id="s"), compat={"promptCacheKeyMode": "enabled"}))[
        "prompt_cache_key"
    ] == "s"
    await sent(server, options(session_id="s"), compat={"sendSessionAffinityHeaders": True})
    assert server.requests[-1].headers["session_id"] == "s"
    marked = await sent(server, compat={"cacheControlFormat": "anthropic"})
    assert "cache_control" in str(marked["messages"][0]) and "cache_control" in str(marked["messages"][-1])


async def test_copilot_headers_name_the_initiator_and_images(server: Loopback):
    picture = UserMessage(content=(Text(text="x"), Image(data="aA==", mime_type="image/png")))
    await sent(server, None, context(picture), provider="github-copilot")
    headers = server.requests[-1].headers
    assert (headers["x-initiator"], headers["copilot-vision-request"]) == ("user", "true")
    assert headers["user-agent"].startswith("bayou/") and headers["editor-version"].startswith("bayou/")
    answer = AssistantMessage(content=(ToolCall(id="a", name="read", arguments={}),), stop_reason="toolUse")
    await sent(server, None, context(user_message("x"), answer), provider="github-copilot", api=RESPONSES)
    assert server.requests[-1].headers["x-initiator"] == "agent"


def test_models_of_the_catalogue_name_their_switches_rightly(tmp_path):
    from app.providers.models.catalogue import ModelCatalogue

    unknown = {
        name
        for model in ModelCatalogue.load_catalogue(tmp_path, env={}).all_models()
        if isinstance(model, Model) and model.api == CHAT
        for name in model.compat or {}
        if name not in _COMPAT_SWITCH_NAMES
    }
    assert unknown <= {"supportsLongCacheRetention", "allowEmptySignature", "sessionAffinityFormat"}
