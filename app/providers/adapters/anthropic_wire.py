"""Anthropic's messages format: encodes a conversation as its JSON and decodes its events into blocks. Pure,
without network."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from app.providers.adapters.common import answer_limit, compat, count, incomplete_error, user_parts
from app.providers.errors import error_in_stream
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.models.pricing import with_cost
from app.providers.models.thinking import budget_for, clamp_level, provider_word, room_for_thinking
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import PayloadParts
from app.providers.request_preparation import PreparedRequest, encode_messages
from app.providers.stream.blocks import Blocks, OpenCall, OpenText
from app.providers.transport import decode_event
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, StopReason, ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage
from tools.patterns import late

_STOP: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}
_USAGE_FIELDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_EFFORT = {"minimal": "low"}
_VERSION = late(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    switches = compat(model)
    cache = _cache_control(model, options)
    limit = answer_limit(model, options, prepared)
    body: dict[str, Any] = {
        "model": model.id,
        "max_tokens": limit,
        "stream": True,
        "messages": messages(prepared, model, cache),
    }
    if prepared.system:
        body["system"] = [_cached(_text(prepared.system), cache)]
    if prepared.tools:
        tools = [_tool(tool, switches) for tool in prepared.tools]
        if switches.get("supportsCacheControlOnTools", True):
            tools[-1] = _cached(tools[-1], cache)
        body["tools"] = tools
        if options.tool_choice is not None:
            body["tool_choice"] = {"type": options.tool_choice}
    thinking = _thinking(model, options, limit)
    body.update(thinking)
    is_thinking = thinking.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if options.temperature is not None and not is_thinking and switches.get("supportsTemperature", True):
        body["temperature"] = options.temperature
    return body


def messages(
    prepared: PreparedRequest, model: Model, cache: dict[str, Any] | None
) -> list[dict[str, Any]] | PayloadParts:
    out = encode_messages(prepared, [], lambda messages, _: _encode_messages(messages, model))
    tail = out.tail if isinstance(out, PayloadParts) else out
    if cache and tail and tail[-1]["role"] == "user":
        tail[-1]["content"][-1] = _cached(tail[-1]["content"][-1], cache)
    return out


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    """Encodes messages, joining neighbours of the user's side into one, because the format only alternates
    between two sides."""
    out: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case AssistantMessage():
                content = _assistant_blocks(message, model)
                if content:
                    out.append({"role": "assistant", "content": content})
                continue
            case UserMessage():
                blocks = _user_blocks(message.content)
            case ToolResultMessage():
                blocks = [
                    {
                        "type": "tool_result",
                        "tool_use_id": message.tool_call_id,
                        "content": _user_blocks(message.content),
                        "is_error": message.is_error,
                    }
                ]
            case _:
                assert_never(message)
        if out and out[-1]["role"] == "user":
            out[-1]["content"].extend(blocks)
        else:
            out.append({"role": "user", "content": blocks})
    return out


def is_adaptive(model: Model) -> bool:
    """Says whether the model decides itself how long it thinks (from version 4.6 on): it takes an effort
    instead of a budget."""
    forced = compat(model).get("forceAdaptiveThinking")
    if forced is not None:
        return bool(forced)
    match = _VERSION.search(model.id)
    return bool(match) and (int(match[1]), int(match[2] or 0)) >= (4, 6) if match else False


def _thinking(model: Model, options: StreamOptions, limit: int) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level = clamp_level(model, options.thinking)
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    if is_adaptive(model):
        effort = _EFFORT.get(level, provider_word(model, level))
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": _EFFORT.get(effort, effort)},
        }
    budget = room_for_thinking(limit, budget_for(level, options.thinking_budgets))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}


def _cache_control(model: Model, options: StreamOptions) -> dict[str, Any] | None:
    if not options.use_cache:
        return None
    is_long = options.is_long_cache and compat(model).get(
        "supportsLongCacheRetention", model.provider == "anthropic"
    )
    return {"type": "ephemeral", "ttl": "1h"} if is_long else {"type": "ephemeral"}


def _cached(block: dict[str, Any], cache: dict[str, Any] | None) -> dict[str, Any]:
    return {**block, "cache_control": cache} if cache else block


def _tool(tool: Any, switches: Any) -> dict[str, Any]:
    schema = dict(tool.parameters)
    schema.setdefault("type", "object")
    out = {"name": tool.name, "description": tool.description, "input_schema": schema}
    if switches.get("supportsEagerToolInputStreaming"):
        out["eager_input_streaming"] = True
    return out


def _user_blocks(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return user_parts(content, _text, _image)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(block: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
    return {"type": "image", "source": source}


def _assistant_blocks(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case Text():
                out.append(_text(block.text))
            case Thinking() if block.redacted and block.thinking_signature:
                out.append({"type": "redacted_thinking", "data": block.thinking_signature})
            case Thinking() if block.thinking_signature or compat(model).get("allowEmptySignature"):
                out.append(
                    {
                        "type": "thinking",
                        "thinking": block.thinking,
                        "signature": block.thinking_signature or "",
                    }
                )
            case ToolCall():
                out.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments})
            case Thinking() | UnknownContent():
                pass
            case _:
                assert_never(block)
    return out


class MessagesReader:
    """Reads the events of one response into blocks, which it keys by their index on the wire."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.is_over = False
        self._model = model
        self._stream = stream
        self._blocks = Blocks(stream)
        self._usage = Usage()

    def take(self, event: str, data: bytes) -> None:
        message = decode_event(data)
        if not isinstance(message, dict):
            return
        kind = message.get("type") or event
        if kind == "content_block_delta":
            self._delta(message.get("index", 0), message.get("delta") or {})
        elif kind == "ping":
            return
        elif kind == "content_block_start":
            self._start(message.get("index", 0), message.get("content_block") or {})
        elif kind == "content_block_stop":
            self._blocks.end(message.get("index", 0))
        elif kind == "message_start":
            self._message_start(message.get("message") or {})
        elif kind == "message_delta":
            self._message_delta(message)
        elif kind == "message_stop":
            self.is_over = True
        elif kind == "error":
            raise error_in_stream(message)
        else:
            return
        self._stream.touch()

    def finish(self) -> None:
        self._blocks.end_all()
        if not self.is_over and self._stream.draft.stop_reason == "pending":
            raise incomplete_error("no message_stop")

    def _message_start(self, message: dict[str, Any]) -> None:
        draft = self._stream.draft
        draft.response_id = message.get("id")
        draft.response_model = message.get("model")
        self._count(message.get("usage") or {})

    def _message_delta(self, message: dict[str, Any]) -> None:
        draft = self._stream.draft
        delta = message.get("delta") or {}
        self._count(message.get("usage") or {})
        reason = delta.get("stop_reason")
        if reason is None:
            return
        draft.raw_stop_reason = reason
        if reason in _STOP:
            draft.stop_reason = _STOP[reason]
            return
        draft.stop_reason = "error"
        if reason == "refusal":
            details = delta.get("stop_details") or {}
            explanation = details.get("explanation") or "The model refused to answer."
            draft.error_message = f"refusal: {explanation}"
        elif reason == "model_context_window_exceeded":
            draft.error_message = f"{reason}: the conversation no longer fits the model's context window."
        else:
            draft.error_message = f"The model stopped for an unknown reason: {reason}"

    def _count(self, usage: dict[str, Any]) -> None:
        """Updates the usage. Counts are cumulative, so a count that an event leaves out keeps its value."""
        named = {
            field: count(usage, name) for field, name in _USAGE_FIELDS.items() if usage.get(name) is not None
        }
        old = self._usage
        self._usage = msgspec.structs.replace(
            old,
            **named,
            cache_write1h=count(usage, "cache_creation", "ephemeral_1h_input_tokens") or old.cache_write1h,
            reasoning=count(usage, "output_tokens_details", "thinking_tokens") or old.reasoning,
        )
        if usage:
            self._stream.draft.usage = with_cost(self._usage, self._model)

    def _start(self, index: int, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            opened = self._blocks.text(index)
            if block.get("text"):
                opened.append(block["text"])
        elif kind == "thinking":
            opened = self._blocks.thinking(index)
            if block.get("thinking"):
                opened.append(block["thinking"])
            opened.signature = block.get("signature") or None
        elif kind == "redacted_thinking":
            self._blocks.add_thinking(
                Thinking(thinking="", thinking_signature=block.get("data"), redacted=True)
            )
        elif kind == "tool_use":
            call = self._blocks.call(index, call_id=block.get("id") or "", name=block.get("name") or "")
            if block.get("input"):
                call.append(msgspec.json.encode(block["input"]).decode())

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._blocks.text(index).append(delta.get("text") or "")
        elif kind == "input_json_delta":
            opened = self._blocks.opened(index)
            if isinstance(opened, OpenCall):
                opened.append(delta.get("partial_json") or "")
        elif kind == "thinking_delta":
            self._blocks.thinking(index).append(delta.get("thinking") or "")
        elif kind == "signature_delta":
            opened = self._blocks.opened(index)
            if isinstance(opened, OpenText):
                opened.signature = (opened.signature or "") + (delta.get("signature") or "")
