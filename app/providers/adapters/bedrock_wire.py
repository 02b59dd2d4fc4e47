"""Amazon Bedrock's Converse format: encodes a conversation as its JSON and decodes its events into blocks.
Pure, without network."""

import base64
from typing import Any, assert_never

from app.providers.adapters.anthropic_wire import has_adaptive_thinking
from app.providers.adapters.wire_helpers import (
    compat_switches_of_model,
    encode_user_content_parts,
    incomplete_answer_error,
    join_messages_of_same_role,
    max_answer_tokens,
    read_token_count,
)
from app.providers.errors import ProviderError
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

BEDROCK_EXCEPTION_EVENT_PREFIX = "exception:"
"""Prefix of the names of events that report an error."""
_BEDROCK_CACHE_POINT_BLOCK = {"cachePoint": {"type": "default"}}
_STOP_REASON_BY_BEDROCK_REASON: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "toolUse",
}
_HTTP_STATUS_BY_BEDROCK_EXCEPTION = {
    "throttlingException": 429,
    "serviceUnavailableException": 503,
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "validationException": 400,
    "modelTimeoutException": 408,
}


def is_claude_model(model: Model) -> bool:
    return "anthropic." in model.id or "claude" in model.id


def build_request_payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    is_cached = options.use_cache and (
        is_claude_model(model) or bool(compat_switches_of_model(model).get("supportsCachePoints"))
    )
    limit = max_answer_tokens(model, options, prepared)
    settings: dict[str, Any] = {"maxTokens": limit}
    more = _thinking_fields(model, options, limit)
    if options.temperature is not None and not more:
        settings["temperature"] = options.temperature
    body: dict[str, Any] = {
        "messages": build_bedrock_messages(prepared, is_cached),
        "inferenceConfig": settings,
    }
    if prepared.system_prompt:
        body["system"] = [
            {"text": prepared.system_prompt},
            *([_BEDROCK_CACHE_POINT_BLOCK] if is_cached else []),
        ]
    has_history = prepared.has_tool_results
    if prepared.tools and not (options.tool_choice == "none" and not has_history):
        body["toolConfig"] = _tool_config(prepared, options, is_cached)
    if more:
        body["additionalModelRequestFields"] = more
    return body


def build_bedrock_messages(
    prepared: PreparedRequest, is_cached: bool
) -> list[dict[str, Any]] | RequestMessageList:
    out = encode_request_messages(
        prepared,
        [],
        lambda messages, _: join_messages_of_same_role(map(_role_and_blocks, messages), "content"),
    )
    tail = out.new_messages if isinstance(out, RequestMessageList) else out
    if is_cached and tail and tail[-1]["role"] == "user":
        tail[-1]["content"].append(_BEDROCK_CACHE_POINT_BLOCK)
    return out


def _role_and_blocks(message: ProviderMessage) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case UserMessage():
            return "user", _encode_user_content(message.content)
        case AssistantMessage():
            return "assistant", _encode_assistant(message)
        case ToolResultMessage():
            return "user", [_encode_tool_result(message)]
        case _:
            assert_never(message)


def _tool_config(prepared: PreparedRequest, options: StreamOptions, is_cached: bool) -> dict[str, Any]:
    tools: list[dict[str, Any]] = [
        {
            "toolSpec": {
                "name": tool.name,
                "description": tool.description or tool.name,
                "inputSchema": {"json": tool.parameters or {"type": "object"}},
            }
        }
        for tool in prepared.tools
    ]
    out: dict[str, Any] = {"tools": [*tools, *([_BEDROCK_CACHE_POINT_BLOCK] if is_cached else [])]}
    if options.tool_choice in ("auto", "any"):
        out["toolChoice"] = {options.tool_choice: {}}
    return out


def _thinking_fields(model: Model, options: StreamOptions, limit: int) -> dict[str, Any]:
    if not model.reasoning or not is_claude_model(model):
        return {}
    level = clamp_thinking_level(model, options.thinking)
    if level == "off":
        return {}
    if has_adaptive_thinking(model):
        return {
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": provider_name_of_thinking_level(model, level)},
        }
    budget = limit_thinking_budget(limit, thinking_budget_for(level, options.thinking_budgets))
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}


def _encode_user_content(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return encode_user_content_parts(content, lambda text: {"text": text}, _encode_image)


def _encode_image(block: Image) -> dict[str, Any]:
    kind = block.mime_type.rpartition("/")[2].replace("jpg", "jpeg")
    return {"image": {"format": kind, "source": {"bytes": block.data}}}


def _encode_assistant(message: AssistantMessage) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case Text():
                out.append({"text": block.text})
            case Thinking() if block.redacted and block.thinking_signature:
                out.append({"reasoningContent": {"redactedContent": block.thinking_signature}})
            case Thinking() if block.thinking_signature:
                text = {"text": block.thinking, "signature": block.thinking_signature}
                out.append({"reasoningContent": {"reasoningText": text}})
            case ToolCall():
                use = {"toolUseId": block.id, "name": block.name, "input": block.arguments}
                out.append({"toolUse": use})
            case Thinking() | UnknownContent():
                pass
            case _:
                assert_never(block)
    return out


def _encode_tool_result(message: ToolResultMessage) -> dict[str, Any]:
    return {
        "toolResult": {
            "toolUseId": message.tool_call_id,
            "content": _encode_user_content(message.content),
            "status": "error" if message.is_error else "success",
        }
    }


class BedrockResponseReader:
    """Reads the events of one response into blocks. A text block begins with its first delta, because this
    format announces only tool calls."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.has_ended = False
        self._model = model
        self._stream = stream
        self._block_builder = ResponseBlockBuilder(stream)
        self._has_stop_reason = False

    def read_event(self, event: str, data: bytes) -> None:
        message = decode_event_json(data) if data else {}
        if not isinstance(message, dict):
            return
        if event.startswith(BEDROCK_EXCEPTION_EVENT_PREFIX):
            kind = event.removeprefix(BEDROCK_EXCEPTION_EVENT_PREFIX)
            text = message.get("message") or message.get("Message") or "no explanation"
            raise ProviderError(
                f"{kind}: {text}", kind=kind, status=_HTTP_STATUS_BY_BEDROCK_EXCEPTION.get(kind)
            )
        index = message.get("contentBlockIndex", 0)
        match event:
            case "contentBlockStart":
                use = (message.get("start") or {}).get("toolUse")
                if use:
                    self._block_builder.get_or_begin_tool_call(
                        index, call_id=use.get("toolUseId") or "", name=use.get("name") or ""
                    )
            case "contentBlockDelta":
                self._read_block_delta(index, message.get("delta") or {})
            case "contentBlockStop":
                self._block_builder.end_block(index)
            case "messageStop":
                self._record_stop_reason(message.get("stopReason") or "")
            case "metadata":
                self._update_usage(message.get("usage") or {})
                self.has_ended = self._has_stop_reason
            case "messageStart":
                pass
            case _:
                return
        self._stream.report_alive()

    def finish_response(self) -> None:
        self._block_builder.end_all_blocks()
        if not self._has_stop_reason:
            raise incomplete_answer_error("no messageStop")

    def _read_block_delta(self, index: int, delta: dict[str, Any]) -> None:
        if delta.get("text") is not None:
            self._block_builder.get_or_begin_text(index).append_text(delta["text"])
        elif delta.get("toolUse") is not None:
            opened = self._block_builder.find_open_block(index)
            if isinstance(opened, GrowingToolCall):
                opened.append_arguments(delta["toolUse"].get("input") or "")
        elif delta.get("reasoningContent") is not None:
            self._read_reasoning(index, delta["reasoningContent"])

    def _read_reasoning(self, index: int, reasoning: dict[str, Any]) -> None:
        opened: GrowingTextBlock = self._block_builder.get_or_begin_thinking(index)
        if reasoning.get("text"):
            opened.append_text(reasoning["text"])
        if reasoning.get("signature"):
            opened.signature = (opened.signature or "") + reasoning["signature"]
        if reasoning.get("redactedContent"):
            opened.is_redacted = True
            redacted = reasoning["redactedContent"]
            opened.signature = redacted if isinstance(redacted, str) else base64.b64encode(redacted).decode()

    def _record_stop_reason(self, reason: str) -> None:
        self._has_stop_reason = True
        draft = self._stream.draft
        draft.raw_stop_reason = reason
        if reason in _STOP_REASON_BY_BEDROCK_REASON:
            draft.stop_reason = _STOP_REASON_BY_BEDROCK_REASON[reason]
            return
        draft.stop_reason = "error"
        draft.error_message = f"{reason}: Bedrock stopped the answer."

    def _update_usage(self, usage: dict[str, Any]) -> None:
        self._stream.draft.usage = add_cost_to_usage(
            Usage(
                input=read_token_count(usage, "inputTokens"),
                output=read_token_count(usage, "outputTokens"),
                cache_read=read_token_count(usage, "cacheReadInputTokens"),
                cache_write=read_token_count(usage, "cacheWriteInputTokens"),
                total_tokens=read_token_count(usage, "totalTokens"),
            ),
            self._model,
        )
