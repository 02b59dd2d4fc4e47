"""The same short answer in every wire format: a thought, a text, two tool calls; and how to ask for it."""

import base64
import importlib.util
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import AssistantStream, Credential, RequestContext, StreamOptions
from app.values.messages import AssistantMessage, ToolDeclaration, user_message
from app.values.models import Model, Prices
from app.values.stream import StreamEvent
from tests.providers.loopback import sse

THOUGHT, TEXT = "Let me see. ", "Hello, wörld."
FIRST, SECOND = {"path": "a.txt"}, {"path": "b ü.txt", "limit": 3}

READ_TOOL = ToolDeclaration(
    name="read",
    description="Reads a file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def anthropic_answer() -> bytes:
    one, two = json.dumps(FIRST), json.dumps(SECOND)

    def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}

    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def stop(index: int) -> dict[str, Any]:
        return {"type": "content_block_stop", "index": index}

    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 50,
        "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 20},
        "output_tokens": 1,
    }
    return sse(
        {"type": "message_start", "message": {"id": "msg_1", "model": "claude-x", "usage": usage}},
        start(0, type="thinking", thinking="", signature=""),
        {"type": "ping"},
        *(delta(0, "thinking_delta", thinking=half) for half in _halves(THOUGHT)),
        delta(0, "signature_delta", signature="sig-1"),
        stop(0),
        start(1, type="text", text=""),
        *(delta(1, "text_delta", text=half) for half in _halves(TEXT)),
        stop(1),
        start(2, type="tool_use", id="toolu_1", name="read", input={}),
        *(delta(2, "input_json_delta", partial_json=half) for half in _halves(one)),
        stop(2),
        start(3, type="tool_use", id="toolu_2", name="read", input={}),
        *(delta(3, "input_json_delta", partial_json=half) for half in _halves(two)),
        stop(3),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 25}},
        {"type": "message_stop"},
        names=True,
    )


def completions_answer() -> bytes:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"id": "cmpl-1", "model": "gpt-x", "choices": [{"index": 0, "delta": delta}]}

    def call(index: int, arguments: str, **fields: Any) -> dict[str, Any]:
        function = {"arguments": arguments, **{k: v for k, v in fields.items() if k == "name"}}
        rest = {k: v for k, v in fields.items() if k != "name"}
        return chunk(tool_calls=[{"index": index, "function": function, **rest}])

    one, two = _halves(json.dumps(FIRST)), _halves(json.dumps(SECOND))
    return sse(
        chunk(role="assistant", content=""),
        *(chunk(reasoning_content=half) for half in _halves(THOUGHT)),
        *(chunk(content=half) for half in _halves(TEXT)),
        call(0, "", id="call_1", type="function", name="read"),
        *(call(0, half) for half in one),
        call(1, "", id="call_2", type="function", name="read"),
        *(call(1, half) for half in two),
        {"id": "cmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {
            "id": "cmpl-1",
            "choices": [],
            "usage": {
                "prompt_tokens": 110,
                "completion_tokens": 25,
                "prompt_tokens_details": {"cached_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        },
        done=True,
    )


def responses_answer() -> bytes:
    def item(kind: str, index: int, **fields: Any) -> dict[str, Any]:
        return {"type": f"response.output_item.{kind}", "output_index": index, "item": fields}

    def call_events(index: int, number: int, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        text = json.dumps(arguments)
        fields = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "read",
        }
        deltas = [
            {"type": "response.function_call_arguments.delta", "output_index": index, "delta": half}
            for half in _halves(text)
        ]
        done = {"type": "response.function_call_arguments.done", "output_index": index, "arguments": text}
        return [
            item("added", index, **fields, arguments=""),
            *deltas,
            done,
            item("done", index, **fields, arguments=text),
        ]

    reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "secret"}
    message = {"type": "message", "id": "msg_1", "role": "assistant"}
    return sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt-x"}},
        item("added", 0, **reasoning, summary=[]),
        *(
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": half}
            for half in _halves(THOUGHT)
        ),
        item("done", 0, **reasoning, summary=[{"type": "summary_text", "text": THOUGHT}]),
        item("added", 1, **message, content=[]),
        *({"type": "response.output_text.delta", "output_index": 1, "delta": half} for half in _halves(TEXT)),
        item("done", 1, **message, content=[{"type": "output_text", "text": TEXT}]),
        *call_events(2, 1, FIRST),
        *call_events(3, 2, SECOND),
        {
            "type": "response.completed",
            "response": {
                "id": "resp_1",
                "status": "completed",
                "usage": {
                    "input_tokens": 110,
                    "input_tokens_details": {"cached_tokens": 100},
                    "output_tokens": 25,
                    "output_tokens_details": {"reasoning_tokens": 5},
                    "total_tokens": 135,
                },
            },
        },
        names=True,
    )


def google_answer() -> bytes:
    def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        content = {"role": "model", "parts": list(parts)}
        return {"responseId": "r1", "modelVersion": "g", "candidates": [{"content": content, **more}]}

    usage = {
        "promptTokenCount": 110,
        "cachedContentTokenCount": 100,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 135,
    }
    return sse(
        *(chunk({"text": half, "thought": True}) for half in _halves(THOUGHT)),
        chunk({"text": "", "thought": True, "thoughtSignature": "sig-t"}),
        *(chunk({"text": half}) for half in _halves(TEXT)),
        chunk({"functionCall": {"name": "read", "args": FIRST}, "thoughtSignature": "sig-1"}),
        chunk({"functionCall": {"name": "read", "args": SECOND}}),
        {**chunk(finishReason="STOP"), "usageMetadata": usage},
    )


def mistral_answer() -> bytes:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"id": "m-1", "model": "mistral-x", "choices": [{"index": 0, "delta": delta}]}

    def thought(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    def call(index: int, arguments: dict[str, Any]) -> dict[str, Any]:
        function = {"name": "read", "arguments": json.dumps(arguments)}
        return {"index": index, "id": f"abcdefgh{index}", "function": function}

    usage = {"prompt_tokens": 110, "completion_tokens": 25, "prompt_tokens_details": {"cached_tokens": 100}}
    return sse(
        chunk(role="assistant", content=""),
        *(chunk(content=[thought(half)]) for half in _halves(THOUGHT)),
        *(chunk(content=half) for half in _halves(TEXT)),
        chunk(tool_calls=[call(0, FIRST), call(1, SECOND)]),
        {"id": "m-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": usage},
        done=True,
    )


def frame(event: str, data: Any, kind: str = "event") -> bytes:
    """One message of Amazon's event stream: lengths, checksum, headers, payload, checksum."""

    def header(name: str, value: str) -> bytes:
        return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()

    name = ":event-type" if kind == "event" else ":exception-type"
    headers = header(":message-type", kind) + header(name, event)
    payload = json.dumps(data).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def bedrock_answer() -> bytes:
    def delta(index: int, **fields: Any) -> bytes:
        return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": fields})

    def call(index: int, call_id: str, arguments: dict[str, Any]) -> bytes:
        start = {"toolUse": {"toolUseId": call_id, "name": "read"}}
        return b"".join(
            (
                frame("contentBlockStart", {"contentBlockIndex": index, "start": start}),
                *(delta(index, toolUse={"input": half}) for half in _halves(json.dumps(arguments))),
                frame("contentBlockStop", {"contentBlockIndex": index}),
            )
        )

    usage = {"inputTokens": 10, "outputTokens": 25, "cacheReadInputTokens": 100, "totalTokens": 135}
    return b"".join(
        (
            frame("messageStart", {"role": "assistant"}),
            *(delta(0, reasoningContent={"text": half}) for half in _halves(THOUGHT)),
            delta(0, reasoningContent={"signature": "sig-1"}),
            frame("contentBlockStop", {"contentBlockIndex": 0}),
            *(delta(1, text=half) for half in _halves(TEXT)),
            frame("contentBlockStop", {"contentBlockIndex": 1}),
            call(2, "tooluse_1", FIRST),
            call(3, "tooluse_2", SECOND),
            frame("messageStop", {"stopReason": "tool_use"}),
            frame("metadata", {"usage": usage, "metrics": {"latencyMs": 5}}),
        )
    )


def account_key(name: str, account: str = "acc-1") -> str:
    """A key that is a ChatGPT account's token too, so that every adapter takes it."""
    claims = json.dumps({"https://api.openai.com/auth": {"chatgpt_account_id": account}}).encode()
    return f"{name}.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.sig"


KEY = account_key("sk-test")

ANSWERS = {
    "anthropic-messages": anthropic_answer,
    "azure-openai-responses": responses_answer,
    "openai-codex-responses": responses_answer,
    "google-generative-ai": google_answer,
    "google-vertex": google_answer,
    "mistral-conversations": mistral_answer,
    "openai-completions": completions_answer,
    "openai-responses": responses_answer,
}
if importlib.util.find_spec("botocore") is not None:  # the optional extra bayou[bedrock]
    ANSWERS["bedrock-converse-stream"] = bedrock_answer


def model_for(api: str, base_url: str = "", **changes: Any) -> Model:
    fields: dict[str, Any] = {
        "id": "model-x",
        "name": "Model X",
        "api": api,
        "provider": "local",
        "base_url": base_url,
        "reasoning": True,
        "input": ("text", "image"),
        "cost": Prices(input=1.0, output=2.0, cache_read=0.1, cache_write=1.25),
        "context_window": 200_000,
        "max_tokens": 32_000,
    }
    return Model(**{**fields, **changes})


def options(key: str = KEY, **changes: Any) -> StreamOptions:
    fields: dict[str, Any] = {
        "credential": Credential(key=key),
        "first_event_seconds": 20,
        "idle_seconds": 20,
    }
    return StreamOptions(**{**fields, **changes})


def context(*messages: Any, **changes: Any) -> RequestContext:
    fields: dict[str, Any] = {
        "system_prompt": "You are helpful.",
        "messages": messages or (user_message("Hi"),),
        "tools": (READ_TOOL,),
    }
    return RequestContext(**{**fields, **changes})


async def ask(
    model: Model, asked: RequestContext | None = None, how: StreamOptions | None = None
) -> AssistantMessage:
    return await AdapterRegistry().stream_answer(model, asked or context(), how or options()).final_message()


async def listen(stream: AssistantStream) -> list[StreamEvent]:
    return [event async for event in stream]


def shape(events: list[StreamEvent]) -> list[str]:
    """The types in order, deltas of one block as one."""
    out: list[str] = []
    for event in events:
        name: str = event.__struct_config__.tag  # pyright: ignore[reportAssignmentType]
        if not (name.endswith("_delta") and out and out[-1] == name):
            out.append(name)
    return out


def header(headers: Mapping[str, str], name: str) -> str | None:
    return headers.get(name.lower())
