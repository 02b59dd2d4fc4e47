"""A conversation begun on any adapter goes on on any other, and the same prompt stays the same bytes."""

import re
from itertools import pairwise
from typing import Any

import pytest

from app.providers.model_stream import RequestContext
from app.values.content import Image, Text, ToolCall
from app.values.messages import AssistantMessage, Message, ToolResultMessage, UserMessage, user_message
from tests.providers.loopback import Loopback
from tests.providers.wire_formats import (
    ANSWERS,
    FIRST,
    READ_TOOL,
    SECOND,
    TEXT,
    THOUGHT,
    ask,
    context,
    model_for,
)

APIS = sorted(ANSWERS)
PICTURE = Image(data="aGVsbG8=", mime_type="image/png")


def conversation(answer: AssistantMessage) -> tuple[Message, ...]:
    """Text, a picture, the answer with a thought and two calls, their results, an aborted turn, a question."""
    first, second = answer.tool_calls
    return (
        UserMessage(content=(Text(text="What is this?"), PICTURE)),
        answer,
        ToolResultMessage(tool_call_id=first.id, tool_name="read", content=(Text(text="one"),)),
        ToolResultMessage(tool_call_id=second.id, tool_name="read", content=(Text(text="two"), PICTURE)),
        AssistantMessage(
            content=(Text(text="half an ans"), ToolCall(id="x", name="read", arguments={})),
            api=answer.api,
            provider=answer.provider,
            model=answer.model,
            stop_reason="aborted",
        ),
        user_message("Go on"),
    )


def check_anthropic(body: dict[str, Any]) -> str:
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    assert roles == ["user", "assistant", "user"]
    uses = [block for block in messages[1]["content"] if block["type"] == "tool_use"]
    results = [block for block in messages[2]["content"] if block["type"] == "tool_result"]
    assert [use["id"] for use in uses] == [answer["tool_use_id"] for answer in results]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", use["id"]) for use in uses)
    assert [use["input"] for use in uses] == [FIRST, SECOND]
    assert messages[2]["content"][: len(results)] == results, "results come first"
    assert messages[0]["content"][1]["type"] == "image" and results[1]["content"][1]["type"] == "image"
    assert all(block.get("text", "x").strip() for message in messages for block in message["content"])
    return str([block for block in messages[1]["content"] if "thinking" in block["type"]])


def check_completions(body: dict[str, Any]) -> str:
    messages = body["messages"]
    assistant = next(message for message in messages if message["role"] == "assistant")
    tools = [message for message in messages if message["role"] == "tool"]
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in tools] and all(len(each) <= 40 for each in ids)
    start = messages.index(assistant)
    assert [message["role"] for message in messages[start + 1 : start + 3]] == ["tool", "tool"]
    urls = [
        p["image_url"]["url"] for m in messages if isinstance(m["content"], list) for p in m["content"][1:2]
    ]
    assert len(urls) == 2 and all(url.startswith("data:image/png;base64,") for url in urls)
    assert messages[-1] == {"role": "user", "content": "Go on"}
    return str([assistant.get(name) for name in ("reasoning_content", "reasoning") if assistant.get(name)])


def check_mistral(body: dict[str, Any]) -> str:
    messages = body["messages"]
    tools = [message for message in messages if message["role"] == "tool"]
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", message["tool_call_id"]) for message in tools)
    assert all(message["name"] == "read" for message in tools)
    for before, after in pairwise(messages):
        assert (before["role"], after["role"]) != ("tool", "user")
    assistant = next(message for message in messages if message.get("tool_calls"))
    assert [call["id"] for call in assistant["tool_calls"]] == [message["tool_call_id"] for message in tools]
    content = assistant["content"]
    return str([p for p in content if p["type"] == "thinking"] if isinstance(content, list) else [])


def check_responses(body: dict[str, Any]) -> str:
    items = body["input"]
    calls = [item for item in items if item.get("type") == "function_call"]
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    assert [item["call_id"] for item in calls] == [item["call_id"] for item in outputs]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["call_id"]) for item in calls)
    assert outputs[1]["output"][1]["type"] == "input_image"
    reasoning = [item for item in items if item.get("type") == "reasoning"]
    assert all(("id" in item) == bool(reasoning) for item in calls)
    assert items[-1]["content"] == [{"type": "input_text", "text": "Go on"}]
    return str(reasoning)


def check_google(body: dict[str, Any]) -> str:
    contents = body["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    parts = contents[1]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    responses = [part["functionResponse"] for part in contents[2]["parts"] if "functionResponse" in part]
    assert [call["name"] for call in calls] == [response["name"] for response in responses]
    assert [response["response"]["output"] for response in responses] == ["one", "two"]
    assert sum("inlineData" in part for content in contents for part in content["parts"]) == 2
    return str([part for part in parts if part.get("thought")])


def check_bedrock(body: dict[str, Any]) -> str:
    messages = body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    uses = [block["toolUse"]["toolUseId"] for block in messages[1]["content"] if "toolUse" in block]
    results = [block["toolResult"]["toolUseId"] for block in messages[2]["content"] if "toolResult" in block]
    assert uses == results and all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", each) for each in uses)
    assert messages[0]["content"][1]["image"]["format"] == "png"
    return str([block for block in messages[1]["content"] if "reasoningContent" in block])


CHECKS = {
    "anthropic-messages": check_anthropic,
    "azure-openai-responses": check_responses,
    "bedrock-converse-stream": check_bedrock,
    "google-generative-ai": check_google,
    "google-vertex": check_google,
    "mistral-conversations": check_mistral,
    "openai-codex-responses": check_responses,
    "openai-completions": check_completions,
    "openai-responses": check_responses,
}


@pytest.mark.parametrize("source", APIS)
async def test_a_conversation_goes_on_on_every_adapter(source: str, server: Loopback):
    server.sse(ANSWERS[source]())
    answer = await ask(model_for(source, server.url))
    for target in APIS:
        server.sse(ANSWERS[target]())
        asked = context(*conversation(answer))
        reply = await ask(model_for(target, server.url), asked)
        assert reply.stop_reason == "toolUse", (source, target, reply.error_message)
        body = server.requests[-1].json
        thoughts = CHECKS[target](body)
        assert (THOUGHT.strip() in thoughts) == (source == target), (source, target)
        assert TEXT in str(body) and "half an ans" not in str(body)


MOVING = re.compile(rb',?"cache_control":\{"type":"ephemeral"\}|,?\{"cachePoint":\{"type":"default"\}\}')
"""Marks of the cache belong to the end of the conversation and move with it."""


@pytest.mark.parametrize("api", APIS)
async def test_two_requests_share_every_byte_up_to_the_new_messages(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    model = model_for(api, server.url)
    first = RequestContext(
        system_prompt="Be kind.",
        messages=(user_message("Hi"),),
        tools=(READ_TOOL, tool("write"), tool("bash")),
    )
    answer = await ask(model, first)
    later = conversation(answer)[2:4]
    second = RequestContext(
        system_prompt="Be kind.",
        messages=(*first.messages, answer, *later),
        tools=(tool("bash"), READ_TOOL, tool("write")),
    )
    await ask(model, second)
    before, after = (MOVING.sub(b"", request.body) for request in server.requests)
    shared = before.rstrip(b"]}")
    assert after.startswith(shared) and b"Hi" in shared and b"Be kind." in shared and b"write" in shared
    await ask(model, second)
    assert server.requests[1].body == server.requests[2].body, "there is no clock in it"


def tool(name: str):
    import msgspec

    return msgspec.structs.replace(READ_TOOL, name=name)
