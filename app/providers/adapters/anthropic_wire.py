"""Anthropic's messages format: encodes a conversation as its JSON and decodes its events into blocks. Pure,
without network."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, assert_never

import msgspec

from app.providers.adapters.wire_helpers import (
    compat_switches_of_model,
    encode_user_content_parts,
    incomplete_answer_error,
    max_answer_tokens,
    read_token_count,
)
from app.providers.errors import error_from_stream_event
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.models.pricing import add_cost_to_usage
from app.providers.models.thinking import (
    clamp_thinking_level,
    limit_thinking_budget,
    provider_name_of_thinking_level,
    thinking_budget_for,
)
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import RequestMessageList
from app.providers.request_preparation import PreparedRequest, encode_request_messages
from app.providers.stream.block_builder import GrowingTextBlock, GrowingToolCall, ResponseBlockBuilder
from app.providers.transport import decode_event_json
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, StopReason, ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage
from tools.lazy_patterns import lazy_regex

_STOP_REASON_BY_ANTHROPIC_REASON: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}
_ANTHROPIC_USAGE_FIELD_NAMES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_ANTHROPIC_WEB_SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
_DOLLARS_PER_WEB_SEARCH = 0.01
"""The price in dollars of one web search, which is charged besides the tokens."""
_EFFORT_BY_THINKING_LEVEL = {"minimal": "low"}
_CLAUDE_VERSION_PATTERN = lazy_regex(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?!\d)")


def build_request_payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    switches = compat_switches_of_model(model)
    cache = _cache_control_field(model, options)
    limit = max_answer_tokens(model, options, prepared)
    body: dict[str, Any] = {
        "model": model.id,
        "max_tokens": limit,
        "stream": True,
        "messages": build_anthropic_messages(prepared, model, cache),
    }
    if prepared.system_prompt:
        body["system"] = [_add_cache_control(_encode_text(prepared.system_prompt), cache)]
    if prepared.tools:
        tools = [_encode_tool(tool, switches) for tool in prepared.tools]
        if switches.get("supportsCacheControlOnTools", True):
            tools[-1] = _add_cache_control(tools[-1], cache)
        body["tools"] = tools
        if options.tool_choice is not None:
            body["tool_choice"] = {"type": options.tool_choice}
    if options.searches_web:
        body["tools"] = [*body.get("tools", ()), _ANTHROPIC_WEB_SEARCH_TOOL]
    thinking = _thinking_fields(model, options, limit)
    body.update(thinking)
    is_thinking = thinking.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if options.temperature is not None and not is_thinking and switches.get("supportsTemperature", True):
        body["temperature"] = options.temperature
    return body


def build_anthropic_messages(
    prepared: PreparedRequest, model: Model, cache: dict[str, Any] | None
) -> list[dict[str, Any]] | RequestMessageList:
    out = encode_request_messages(prepared, [], lambda messages, _: _encode_messages(messages, model))
    tail = out.new_messages if isinstance(out, RequestMessageList) else out
    if cache and tail and tail[-1]["role"] == "user":
        tail[-1]["content"][-1] = _add_cache_control(tail[-1]["content"][-1], cache)
    return out


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    """Encodes messages, joining neighbours of the user's side into one, because the format only alternates
    between two sides."""
    out: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case AssistantMessage():
                content = _encode_assistant(message, model)
                if content:
                    out.append({"role": "assistant", "content": content})
                continue
            case UserMessage():
                blocks = _encode_user_content(message.content)
            case ToolResultMessage():
                blocks = [
                    {
                        "type": "tool_result",
                        "tool_use_id": message.tool_call_id,
                        "content": _encode_user_content(message.content),
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


def has_adaptive_thinking(model: Model) -> bool:
    """Says whether the model decides itself how long it thinks (from version 4.6 on): it takes an effort
    instead of a budget."""
    forced = compat_switches_of_model(model).get("forceAdaptiveThinking")
    if forced is not None:
        return bool(forced)
    match = _CLAUDE_VERSION_PATTERN.search(model.id)
    return bool(match) and (int(match[1]), int(match[2] or 0)) >= (4, 6) if match else False


def _thinking_fields(model: Model, options: StreamOptions, limit: int) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level = clamp_thinking_level(model, options.thinking)
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    if has_adaptive_thinking(model):
        effort = _EFFORT_BY_THINKING_LEVEL.get(level, provider_name_of_thinking_level(model, level))
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": _EFFORT_BY_THINKING_LEVEL.get(effort, effort)},
        }
    budget = limit_thinking_budget(limit, thinking_budget_for(level, options.thinking_budgets))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}


def _cache_control_field(model: Model, options: StreamOptions) -> dict[str, Any] | None:
    if not options.use_cache:
        return None
    is_long = options.is_long_cache and compat_switches_of_model(model).get(
        "supportsLongCacheRetention", model.provider == "anthropic"
    )
    return {"type": "ephemeral", "ttl": "1h"} if is_long else {"type": "ephemeral"}


def _add_cache_control(block: dict[str, Any], cache: dict[str, Any] | None) -> dict[str, Any]:
    return {**block, "cache_control": cache} if cache else block


def _encode_tool(tool: Any, switches: Any) -> dict[str, Any]:
    schema = dict(tool.parameters)
    schema.setdefault("type", "object")
    out = {"name": tool.name, "description": tool.description, "input_schema": schema}
    if switches.get("supportsEagerToolInputStreaming"):
        out["eager_input_streaming"] = True
    return out


def _encode_user_content(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return encode_user_content_parts(content, _encode_text, _encode_image)


def _encode_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _encode_image(block: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
    return {"type": "image", "source": source}


def _encode_assistant(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case Text():
                out.append(_encode_text(block.text))
            case Thinking() if block.redacted and block.thinking_signature:
                out.append({"type": "redacted_thinking", "data": block.thinking_signature})
            case Thinking() if block.thinking_signature or compat_switches_of_model(model).get(
                "allowEmptySignature"
            ):
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


class AnthropicResponseReader:
    """Decodes the events of one response into blocks, identified by their index in the format."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.has_ended = False
        self._model = model
        self._stream = stream
        self._block_builder = ResponseBlockBuilder(stream)
        self._usage = Usage()
        self._search_fees = 0.0
        self._search_reader = AnthropicWebSearchReader(stream)

    def read_event(self, event: str, data: bytes) -> None:
        message = decode_event_json(data)
        if not isinstance(message, dict):
            return
        kind = message.get("type") or event
        if kind == "content_block_delta":
            self._read_block_delta(message.get("index", 0), message.get("delta") or {})
        elif kind == "ping":
            return
        elif kind == "content_block_start":
            self._begin_block(message.get("index", 0), message.get("content_block") or {})
        elif kind == "content_block_stop":
            self._end_block(message.get("index", 0))
        elif kind == "message_start":
            self._read_message_start(message.get("message") or {})
        elif kind == "message_delta":
            self._read_message_delta(message)
        elif kind == "message_stop":
            self.has_ended = True
        elif kind == "error":
            raise error_from_stream_event(message)
        else:
            return
        self._stream.report_alive()

    def finish_response(self) -> None:
        self._block_builder.end_all_blocks()
        if not self.has_ended and self._stream.draft.stop_reason == "pending":
            raise incomplete_answer_error("no message_stop")

    def _read_message_start(self, message: dict[str, Any]) -> None:
        draft = self._stream.draft
        draft.response_id = message.get("id")
        draft.response_model = message.get("model")
        self._update_usage(message.get("usage") or {})

    def _read_message_delta(self, message: dict[str, Any]) -> None:
        draft = self._stream.draft
        delta = message.get("delta") or {}
        self._update_usage(message.get("usage") or {})
        reason = delta.get("stop_reason")
        if reason is None:
            return
        draft.raw_stop_reason = reason
        if reason in _STOP_REASON_BY_ANTHROPIC_REASON:
            draft.stop_reason = _STOP_REASON_BY_ANTHROPIC_REASON[reason]
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

    def _update_usage(self, usage: dict[str, Any]) -> None:
        """Updates the usage. Counts are cumulative, so a count that an event leaves out keeps its value."""
        named = {
            field: read_token_count(usage, name)
            for field, name in _ANTHROPIC_USAGE_FIELD_NAMES.items()
            if usage.get(name) is not None
        }
        old = self._usage
        self._usage = msgspec.structs.replace(
            old,
            **named,
            cache_write1h=read_token_count(usage, "cache_creation", "ephemeral_1h_input_tokens")
            or old.cache_write1h,
            reasoning=read_token_count(usage, "output_tokens_details", "thinking_tokens") or old.reasoning,
        )
        if usage:
            self._search_fees = (
                _DOLLARS_PER_WEB_SEARCH * read_token_count(usage, "server_tool_use", "web_search_requests")
                or self._search_fees
            )
            self._stream.draft.usage = add_cost_to_usage(self._usage, self._model, fees=self._search_fees)

    def _begin_block(self, index: int, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            opened = self._block_builder.get_or_begin_text(index)
            if block.get("text"):
                opened.append_text(block["text"])
        elif kind == "thinking":
            opened = self._block_builder.get_or_begin_thinking(index)
            if block.get("thinking"):
                opened.append_text(block["thinking"])
            opened.signature = block.get("signature") or None
        elif kind == "redacted_thinking":
            self._block_builder.add_thinking_block(
                Thinking(thinking="", thinking_signature=block.get("data"), redacted=True)
            )
        elif kind == "tool_use":
            call = self._block_builder.get_or_begin_tool_call(
                index, call_id=block.get("id") or "", name=block.get("name") or ""
            )
            if block.get("input"):
                call.append_arguments(msgspec.json.encode(block["input"]).decode())
        elif kind == "server_tool_use":
            self._search_reader.begin_query(index, block)
        elif kind == "web_search_tool_result":
            self._search_reader.add_results(block.get("content"))

    def _end_block(self, index: int) -> None:
        self._block_builder.end_block(index)
        self._search_reader.end_query(index)

    def _read_block_delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._block_builder.get_or_begin_text(index).append_text(delta.get("text") or "")
        elif kind == "citations_delta":
            self._search_reader.add_citation(delta.get("citation") or {})
        elif kind == "input_json_delta":
            self._search_reader.add_query_text(index, delta.get("partial_json") or "")
            opened = self._block_builder.find_open_block(index)
            if isinstance(opened, GrowingToolCall):
                opened.append_arguments(delta.get("partial_json") or "")
        elif kind == "thinking_delta":
            self._block_builder.get_or_begin_thinking(index).append_text(delta.get("thinking") or "")
        elif kind == "signature_delta":
            opened = self._block_builder.find_open_block(index)
            if isinstance(opened, GrowingTextBlock):
                opened.signature = (opened.signature or "") + (delta.get("signature") or "")


class AnthropicWebSearchReader:
    """Reads the web searches and citations of a response."""

    def __init__(self, stream: AssistantStream) -> None:
        self._stream = stream
        self._findings = stream.draft.web_findings
        self._queries: dict[int, list[str]] = {}
        """The input of each web search that is still arriving, by the index of its block."""
        self._cited_urls: list[str] = []

    def begin_query(self, index: int, block: dict[str, Any]) -> None:
        self._queries[index] = []
        self._findings.add_query((block.get("input") or {}).get("query"))
        self._findings.mark_answer_start(self._stream.partial_message.text)

    def add_query_text(self, index: int, text: str) -> None:
        if index in self._queries:
            self._queries[index].append(text)

    def add_results(self, content: Any) -> None:
        if isinstance(content, dict):
            self._findings.search_problem = content.get("error_code") or "unknown error"
            return
        for result in content or ():
            self._findings.add_source(result.get("url"), result.get("title"), result.get("page_age"))

    def add_citation(self, citation: dict[str, Any]) -> None:
        self._findings.add_source(citation.get("url"), citation.get("title"))
        self._cited_urls.append(citation.get("url") or "")

    def end_query(self, index: int) -> None:
        pieces = self._queries.pop(index, None)
        if pieces is not None:
            with suppress(msgspec.MsgspecError):
                self._findings.add_query(msgspec.json.decode("".join(pieces), type=_WebSearchInput).query)
        elif self._cited_urls:
            at = len(self._stream.partial_message.text)
            self._findings.citations += [(at, url) for url in dict.fromkeys(self._cited_urls)]
            self._cited_urls.clear()


class _WebSearchInput(msgspec.Struct, frozen=True):
    query: str
