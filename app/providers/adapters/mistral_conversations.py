"""The adapter of `mistral-conversations`, Mistral's chat format: the differences from chat completions."""

from collections.abc import Sequence
from typing import Any, assert_never

from app.providers.adapters.completions_compat import CompletionsServerQuirks
from app.providers.adapters.completions_reader import ChatCompletionsReader
from app.providers.adapters.completions_request import system_prompt_messages, to_completions_messages
from app.providers.adapters.wire_helpers import authorization_header, base_url_of_model, max_answer_tokens
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions, declare_adapter_apis
from app.providers.models.thinking import clamp_thinking_level, provider_name_of_thinking_level
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import RequestMessageList
from app.providers.request_preparation import (
    PreparedRequest,
    alphanumeric_tool_call_id,
    encode_request_messages,
    prepare_request,
)
from app.providers.senders.sender_choice import http_sender_for_model
from app.providers.transport import (
    HttpRequest,
    encode_request_payload,
    finish_request_payload,
    merge_request_headers,
    stream_response_events,
)
from app.values.content import Text, Thinking, ToolCall, UnknownContent
from app.values.messages import AssistantMessage
from app.values.models import Model

MISTRAL_DEFAULT_URL = "https://api.mistral.ai"
_MISTRAL_CALL_ID_LENGTH = 9
_MISTRAL_QUIRKS = CompletionsServerQuirks(
    supports_store=False,
    supports_developer_role=False,
    requires_tool_result_name=True,
    requires_assistant_after_tool_result=True,
    max_tokens_field="max_tokens",
)


@declare_adapter_apis("mistral-conversations")
async def stream_response(
    model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
) -> None:
    prepared = prepare_request(
        context,
        model,
        lambda call_id: alphanumeric_tool_call_id(call_id, _MISTRAL_CALL_ID_LENGTH),
        kept=options.request_cache,
    )
    body = await finish_request_payload(build_request_payload(prepared, model, options), model, options)
    request = HttpRequest(
        base_url=base_url_of_model(model, options, MISTRAL_DEFAULT_URL),
        path="/v1/chat/completions",
        body=encode_request_payload(body),
        headers=merge_request_headers(model, options, **authorization_header(model, options)),
    )
    await stream_response_events(
        await http_sender_for_model(model),
        request,
        options,
        ChatCompletionsReader(model, _MISTRAL_QUIRKS, stream),
        stream,
    )


def build_request_payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model.id,
        "messages": _request_messages(prepared, model),
        "stream": True,
        "max_tokens": max_answer_tokens(model, options, prepared),
    }
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if prepared.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in prepared.tools
        ]
        if options.tool_choice is not None:
            body["tool_choice"] = options.tool_choice
    body.update(_thinking_fields(model, options))
    return body


def _thinking_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    """Returns the thinking fields: older reasoning models have a prompt mode, newer ones an effort."""
    if not model.reasoning:
        return {}
    level = clamp_thinking_level(model, options.thinking)
    if "magistral" in model.id:
        return {} if level == "off" else {"prompt_mode": "reasoning"}
    word = (
        (model.thinking_level_map or {}).get("off")
        if level == "off"
        else provider_name_of_thinking_level(model, level)
    )
    return {"reasoning_effort": word} if word else {}


def _request_messages(prepared: PreparedRequest, model: Model) -> list[dict[str, Any]] | RequestMessageList:
    head = system_prompt_messages(prepared, model, _MISTRAL_QUIRKS)
    return encode_request_messages(prepared, head, lambda messages, _: _encode_messages(messages, model))


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    out = to_completions_messages(messages, model, _MISTRAL_QUIRKS)
    assistants = [message for message in messages if isinstance(message, AssistantMessage)]
    spelled = (item for item in out if item["role"] == "assistant")
    for message, item in zip(assistants, _remove_filler_messages(spelled, assistants), strict=False):
        if any(isinstance(block, Thinking) for block in message.content):
            item["content"] = _encode_assistant_content(message)
    return out


def _remove_filler_messages(spelled: Any, assistants: list[AssistantMessage]) -> list[dict[str, Any]]:
    """Removes the filler messages that only keep the sides alternating, so that the rest matches the
    conversation's messages."""
    items = list(spelled)
    if len(items) == len(assistants):
        return items
    texts = {message.text for message in assistants}
    return [item for item in items if item.get("tool_calls") or (item.get("content") or "") in texts]


def _encode_assistant_content(message: AssistantMessage) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case Thinking():
                parts.append({"type": "thinking", "thinking": [{"type": "text", "text": block.thinking}]})
            case Text():
                parts.append({"type": "text", "text": block.text})
            case ToolCall() | UnknownContent():
                pass
            case _:
                assert_never(block)
    return parts
