"""The vendors' clients as judges: what they would send is what we send, and what they make of a stream we make of it.

They are known by names of their own (`user-agent`, `x-stainless-…`); those are theirs alone, bayou says its own.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from app.providers.model_stream import RequestContext, StreamOptions
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.messages import (
    AssistantMessage,
    ToolDeclaration,
    ToolResultMessage,
    user_message,
)
from tests.providers.loopback import Loopback, Received, Reply
from tests.providers.recordings import RECORDINGS
from tests.providers.wire_formats import READ_TOOL, TEXT, THOUGHT, ask, context, model_for, options

APIS = ("anthropic-messages", "openai-completions", "openai-responses")
_PIXEL = Image(data="iVBORw0KGgo=", mime_type="image/png")
_ITEM = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}'
_SIGNATURES = {
    "anthropic-messages": "sig",
    "openai-completions": "reasoning_content",
    "openai-responses": _ITEM,
}


def conversation(api: str) -> tuple[Any, ...]:
    """A question with a picture, a thought, two calls, their results, one of them a picture."""
    answer = AssistantMessage(
        id="a1", timestamp=2, api=api, provider="local", model="model-x", stop_reason="toolUse",
        content=(
            Thinking(thinking="Which one?", thinking_signature=_SIGNATURES[api]),
            Text(text="Both, “as asked”.\n\tü"),
            ToolCall(id="call_1", name="read", arguments={"path": "a.txt"}),
            ToolCall(id="call_2", name="read", arguments={"path": "b\\ü.txt", "limit": 3}),
        ),
    )  # fmt: skip
    results = (
        ToolResultMessage(
            id="r1", timestamp=3, tool_call_id="call_1", tool_name="read", content=(Text(text="one"),)
        ),
        ToolResultMessage(
            id="r2",
            timestamp=4,
            tool_call_id="call_2",
            tool_name="read",
            content=(Text(text="no"), _PIXEL),
            is_error=True,
        ),
    )
    first = msgspec.structs.replace(
        user_message("Read\u2028both"), content=(Text(text="Read\u2028both"), _PIXEL)
    )
    return (first, answer, *results, user_message("And now?"))


TOOL = ToolDeclaration(name="write", description="Writes", parameters={"type": "object", "properties": {}})
TABLE: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]] = {
    "a greeting": ({}, {}, {}),
    "without tools and prompt": ({"tools": (), "system_prompt": ""}, {}, {}),
    "two tools, one must be used": ({"tools": (READ_TOOL, TOOL)}, {"tool_choice": "any"}, {}),
    "high thinking": ({}, {"thinking": "high"}, {}),
    "a temperature": ({}, {"temperature": 0.5}, {"reasoning": False}),
    "a session and a long cache": (
        {},
        {"session_id": "s-1", "is_long_cache": True},
        {"provider": "anthropic"},
    ),
    "headers of one's own": ({}, {"headers": {"X-Team": "blue"}}, {"headers": {"X-Model": "m"}}),
    "a conversation with pictures and calls": ({"messages": "conversation"}, {}, {}),
}
cases = pytest.mark.parametrize("case", TABLE)
every_api = pytest.mark.parametrize("api", APIS)


def given(api: str, case: str, url: str) -> tuple[Any, RequestContext, StreamOptions]:
    of_context, of_options, of_model = (dict(part) for part in TABLE[case])
    messages = conversation(api) if of_context.pop("messages", None) else ()
    return model_for(api, url, **of_model), context(*messages, **of_context), options(**of_options)


async def their_request(api: str, url: str, body: dict[str, Any], headers: Mapping[str, str]) -> Any:
    """The same through the vendor's documented call, read to its end by the vendor's own accumulator."""
    rest = {name: value for name, value in body.items() if name != "stream"}
    extra: dict[str, Any] = {"extra_headers": dict(headers)}
    if api == "anthropic-messages":
        extra["extra_body"] = {name: rest.pop(name) for name in ("temperature",) if name in rest}
        import anthropic  # importing either SDK takes as long as collecting all tests of this folder

        client = anthropic.AsyncAnthropic(api_key="sk-judge", base_url=url, max_retries=0)
        async with client, client.messages.stream(**rest, **extra) as stream:
            return await stream.get_final_message()
    import openai

    client = openai.AsyncOpenAI(api_key="sk-judge", base_url=url, max_retries=0)
    if api == "openai-responses":
        async with client, client.responses.stream(**rest, **extra) as stream:
            async for _ in stream:
                pass
            return await stream.get_final_response()
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state = ChatCompletionStreamState()
    async with client, await client.chat.completions.create(**body, **extra) as stream:
        async for chunk in stream:
            state.handle_chunk(chunk)
    return state.get_final_completion()


_THEIR_OWN = ("user-agent", "host", "content-length", "accept", "accept-encoding", "connection")


def compared(request: Received) -> dict[str, str]:
    """The headers without those that tell who sends, and how. Anthropic takes a key in either of two headers, and
    an older version of its format beside the newest: ours are those that every compatible server knows.
    """
    out = {
        name: value
        for name, value in request.headers.items()
        if name not in _THEIR_OWN and not name.startswith("x-stainless-")
    }
    if "anthropic-version" in out:
        assert out["anthropic-version"] >= "2023-06-01"
        out["anthropic-version"] = "some"
        out["key"] = out.pop("x-api-key", "") or out.pop("authorization", "").removeprefix("Bearer ")
    return out


@every_api
@cases
async def test_a_request_equals_that_of_the_vendors_client(api: str, case: str, server: Loopback):
    server.sse(RECORDINGS[api]())
    model, asked, how = given(api, case, server.url)
    how = msgspec.structs.replace(how, credential=msgspec.structs.replace(how.credential, key="sk-judge"))
    message = await ask(model, asked, how)
    assert message.stop_reason == "toolUse", message.error_message
    ours = server.requests[0]
    own = {**(model.headers or {}), **how.headers}
    await their_request(api, server.url, ours.json, own)
    theirs = server.requests[1]
    assert (ours.method, ours.target) == (theirs.method, theirs.target)
    assert ours.json == theirs.json
    assert compared(ours) == compared(theirs)
    assert ours.headers["user-agent"].startswith("bayou/") and "stainless" not in str(ours.headers)


@every_api
async def test_a_stream_means_to_us_what_it_means_to_the_vendors_client(api: str, server: Loopback):
    server.sse(RECORDINGS[api]())
    model, asked, how = given(api, "a greeting", server.url)
    message = await ask(model, asked, how)
    theirs = await their_request(api, server.url, server.requests[0].json, {})
    assert as_told(message) == as_told_by_them(api, theirs)


def as_told(message: AssistantMessage) -> dict[str, Any]:
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    return {
        "thinking": message.thinking,
        "text": message.text,
        "calls": [(call.id.partition("|")[0], call.name, call.arguments) for call in calls],
        "output": message.usage.output,
        "input": message.usage.input + message.usage.cache_read + message.usage.cache_write,
        "id": message.response_id,
    }


def as_told_by_them(api: str, final: Any) -> dict[str, Any]:
    if api == "anthropic-messages":
        blocks = final.content
        usage = final.usage
        return {
            "thinking": "".join(block.thinking for block in blocks if block.type == "thinking"),
            "text": "".join(block.text for block in blocks if block.type == "text"),
            "calls": [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"],
            "output": usage.output_tokens,
            "input": usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
            "id": final.id,
        }
    if api == "openai-completions":
        message = final.choices[0].message
        return {
            "thinking": message.reasoning_content,
            "text": message.content,
            "calls": [
                (call.id, call.function.name, json.loads(call.function.arguments))
                for call in message.tool_calls
            ],
            "output": final.usage.completion_tokens,
            "input": final.usage.prompt_tokens,
            "id": final.id,
        }
    calls = [item for item in final.output if item.type == "function_call"]
    thoughts = [item for item in final.output if item.type == "reasoning"]
    return {
        "thinking": "\n\n".join(part.text for item in thoughts for part in item.summary),
        "text": final.output_text,
        "calls": [(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
        "output": final.usage.output_tokens,
        "input": final.usage.input_tokens,
        "id": final.id,
    }


# The same through the SDKs, where a model's card asks for them


@every_api
async def test_a_card_may_ask_for_the_vendors_client(api: str, server: Loopback):
    server.sse(RECORDINGS[api]())
    for transport in ("http", "sdk"):
        message = await ask(model_for(api, server.url, transport=transport))
        assert (message.stop_reason, message.text, message.thinking) == ("toolUse", TEXT, THOUGHT)
    ours, theirs = server.requests
    assert (ours.method, ours.target, ours.body) == (theirs.method, theirs.target, theirs.body)
    for request in (ours, theirs):
        assert request.headers["user-agent"].startswith("bayou/") and "stainless" not in str(request.headers)


async def test_no_sdk_speaks_to_every_api(server: Loopback):
    message = await ask(model_for("google-generative-ai", server.url, transport="sdk"))
    assert message.stop_reason == "error" and "no SDK for google-generative-ai" in (
        message.error_message or ""
    )
    assert not server.requests


async def test_an_sdk_follows_no_redirect(server: Loopback):
    server.reply(Reply(status=307, headers={"Location": server.url.replace("127.0.0.1", "localhost")}))
    message = await ask(model_for("openai-completions", server.url, transport="sdk"))
    assert message.stop_reason == "error" and "307" in (message.error_message or "")
    assert len(server.requests) == 1
