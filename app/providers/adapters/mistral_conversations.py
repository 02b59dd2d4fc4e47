"""The adapter of `mistral-conversations`, Mistral's chat format: the differences from chat completions."""

from collections.abc import Sequence
from typing import Any, assert_never

from app.providers.adapters.common import answer_limit, authorization_header, base_url_of
from app.providers.adapters.completions_compat import ServerQuirks
from app.providers.adapters.completions_reader import CompletionsReader
from app.providers.adapters.completions_request import system_prompt_messages, to_wire_messages
from app.providers.model_stream import AssistantStream, Context, StreamOptions, serves_apis
from app.providers.models.thinking import clamp_level, provider_level_name
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import PayloadParts
from app.providers.request_preparation import (
    PreparedRequest,
    alphanumeric_call_id,
    encode_messages,
    prepare_request,
)
from app.providers.senders.sender_choice import sender_for
from app.providers.transport import (
    HttpRequest,
    encode_payload,
    exchange_events,
    final_payload,
    request_headers,
)
from app.values.content import Text, Thinking, ToolCall, UnknownContent
from app.values.messages import AssistantMessage
from app.values.models import Model

DEFAULT_URL = "https://api.mistral.ai"
_CALL_ID_LENGTH = 9
_MISTRAL_QUIRKS = ServerQuirks(
    supports_store=False,
    supports_developer_role=False,
    requires_tool_result_name=True,
    requires_assistant_after_tool_result=True,
    max_tokens_field="max_tokens",
)


@serves_apis("mistral-conversations")
async def adapter(model: Model, context: Context, options: StreamOptions, stream: AssistantStream) -> None:
    prepared = prepare_request(
        context,
        model,
        lambda call_id: alphanumeric_call_id(call_id, _CALL_ID_LENGTH),
        kept=options.request_cache,
    )
    body = await final_payload(payload(prepared, model, options), model, options)
    request = HttpRequest(
        base_url=base_url_of(model, options, DEFAULT_URL),
        path="/v1/chat/completions",
        body=encode_payload(body),
        headers=request_headers(model, options, **authorization_header(model, options)),
    )
    await exchange_events(
        await sender_for(model), request, options, CompletionsReader(model, _MISTRAL_QUIRKS, stream), stream
    )


def payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model.id,
        "messages": _request_messages(prepared, model),
        "stream": True,
        "max_tokens": answer_limit(model, options, prepared),
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
    level = clamp_level(model, options.thinking)
    if "magistral" in model.id:
        return {} if level == "off" else {"prompt_mode": "reasoning"}
    word = (
        (model.thinking_level_map or {}).get("off") if level == "off" else provider_level_name(model, level)
    )
    return {"reasoning_effort": word} if word else {}


def _request_messages(prepared: PreparedRequest, model: Model) -> list[dict[str, Any]] | PayloadParts:
    head = system_prompt_messages(prepared, model, _MISTRAL_QUIRKS)
    return encode_messages(prepared, head, lambda messages, _: _encode_messages(messages, model))


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    out = to_wire_messages(messages, model, _MISTRAL_QUIRKS)
    assistants = [message for message in messages if isinstance(message, AssistantMessage)]
    spelled = (item for item in out if item["role"] == "assistant")
    for message, item in zip(assistants, _without_fillers(spelled, assistants), strict=False):
        if any(isinstance(block, Thinking) for block in message.content):
            item["content"] = _encode_content(message)
    return out


def _without_fillers(spelled: Any, assistants: list[AssistantMessage]) -> list[dict[str, Any]]:
    """Removes the filler messages that only keep the sides alternating, so that the rest matches the
    conversation's messages."""
    items = list(spelled)
    if len(items) == len(assistants):
        return items
    texts = {message.text for message in assistants}
    return [item for item in items if item.get("tool_calls") or (item.get("content") or "") in texts]


def _encode_content(message: AssistantMessage) -> list[dict[str, Any]]:
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
