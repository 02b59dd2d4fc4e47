"""Encodes a conversation as a request of OpenAI's responses format. Pure, without network."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from app.providers.adapters.wire_helpers import (
    compat_switches_of_model,
    encode_user_content_parts,
    max_answer_tokens,
    prompt_cache_key,
)
from app.providers.model_stream import StreamOptions
from app.providers.models.thinking import clamp_thinking_level, provider_name_of_thinking_level
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import RequestMessageList
from app.providers.request_preparation import PreparedRequest, encode_request_messages, shorten_tool_call_id
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from app.values.models import Model

OPENAI_HOST = "api.openai.com"


def join_call_and_item_id(call_id: str) -> str:
    """Returns `call|item` with both ids made valid for the format."""
    call, _, item = call_id.partition("|")
    return (
        f"{shorten_tool_call_id(call)}|{shorten_tool_call_id(item)}" if item else shorten_tool_call_id(call)
    )


def build_request_payload(
    prepared: PreparedRequest, model: Model, options: StreamOptions, *, is_prompt_separate: bool = False
) -> dict[str, Any]:
    switches = compat_switches_of_model(model)
    body: dict[str, Any] = {
        "model": model.id,
        "input": build_responses_input_items(prepared, model, with_prompt=not is_prompt_separate),
        "stream": True,
        "store": False,
    }
    if is_prompt_separate:
        body["instructions"] = prepared.system_prompt
    is_account = _uses_chatgpt_account(model, options)
    if switches.get("supportsMaxOutputTokens", True) and not is_account:
        body["max_output_tokens"] = max_answer_tokens(model, options, prepared)
    if options.temperature is not None and not model.reasoning and not is_account:
        body["temperature"] = options.temperature
    if prepared.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in prepared.tools
        ]
        if options.tool_choice is not None:
            body["tool_choice"] = "required" if options.tool_choice == "any" else options.tool_choice
    body.update(_cache_fields(model, options))
    body.update(_reasoning_fields(model, options))
    if options.searches_web:
        body["tools"] = [*body.get("tools", ()), {"type": "web_search"}]
        body["include"] = [*body.get("include", ()), "web_search_call.action.sources"]
    return body


def _uses_chatgpt_account(model: Model, options: StreamOptions) -> bool:
    """Says whether the request uses a ChatGPT account instead of a key; OpenAI refuses some fields then."""
    return model.provider == "openai" and options.credential.is_bearer


def build_responses_input_items(
    prepared: PreparedRequest, model: Model, *, with_prompt: bool
) -> list[dict[str, Any]] | RequestMessageList:
    head: list[dict[str, Any]] = []
    if prepared.system_prompt and with_prompt:
        is_developer = model.reasoning and compat_switches_of_model(model).get("supportsDeveloperRole", True)
        head.append({"role": "developer" if is_developer else "system", "content": prepared.system_prompt})
    return encode_request_messages(
        prepared, head, lambda messages, start: _encode_messages(messages, start, model)
    )


def _encode_messages(messages: Sequence[ProviderMessage], start: int, model: Model) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for index, message in enumerate(messages, start):
        match message:
            case UserMessage():
                out.append({"role": "user", "content": _encode_user_content(message.content)})
            case AssistantMessage():
                out.extend(_encode_answer_items(message, model, index))
            case ToolResultMessage():
                call = message.tool_call_id.partition("|")[0]
                out.append(
                    {
                        "type": "function_call_output",
                        "call_id": call,
                        "output": _encode_tool_result(message.content),
                    }
                )
            case _:
                assert_never(message)
    return out


def _encode_user_content(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return encode_user_content_parts(
        content, lambda text: {"type": "input_text", "text": text}, _encode_image
    )


def _encode_image(block: Image) -> dict[str, Any]:
    url = f"data:{block.mime_type};base64,{block.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _encode_tool_result(content: tuple[UserContent, ...]) -> str | list[dict[str, Any]]:
    if any(isinstance(block, Image) for block in content):
        return _encode_user_content(content)
    return "\n".join(block.text for block in content if isinstance(block, Text))


def _encode_answer_items(message: AssistantMessage, model: Model, index: int) -> list[dict[str, Any]]:
    """Encodes an answer as the items that it arrived as. Item ids of other models are left out, because they
    mean nothing here."""
    is_own = (message.provider, message.model) == (model.provider, model.id)
    out: list[dict[str, Any]] = []
    has_reasoning = False
    for position, block in enumerate(message.content):
        match block:
            case Thinking():
                item = _reasoning_item(block)
                if item is not None:
                    has_reasoning = True
                    out.append(item)
            case Text():
                out.append(
                    {
                        "type": "message",
                        "role": "assistant",
                        "id": block.text_signature or f"msg_{index}_{position}",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": block.text, "annotations": []}],
                    }
                )
            case ToolCall():
                call, _, item_id = block.id.partition("|")
                item = {
                    "type": "function_call",
                    "call_id": call,
                    "name": block.name,
                    "arguments": msgspec.json.encode(block.arguments).decode(),
                }
                if is_own and has_reasoning and item_id.startswith("fc_"):
                    item["id"] = item_id
                out.append(item)
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return out


def _reasoning_item(block: Thinking) -> dict[str, Any] | None:
    """Returns the reasoning item unchanged from the signature of the thinking block, where this format keeps
    it."""
    try:
        item = msgspec.json.decode(block.thinking_signature or "")
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) and item.get("type") == "reasoning" else None


def _cache_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    if not options.use_cache or compat_switches_of_model(model).get("promptCacheKeyMode") == "disabled":
        return {}
    out: dict[str, Any] = {}
    key = prompt_cache_key(options.session_id)
    if key:
        out["prompt_cache_key"] = key
    has_long = compat_switches_of_model(model).get(
        "supportsLongCacheRetention", OPENAI_HOST in model.base_url
    )
    if options.is_long_cache and has_long and not _uses_chatgpt_account(model, options):
        if compat_switches_of_model(model).get("supportsExplicitPromptCacheMode"):
            out["prompt_cache_options"] = {"ttl": "30m"}
        else:
            out["prompt_cache_retention"] = "24h"
    return out


def _reasoning_fields(model: Model, options: StreamOptions) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level = clamp_thinking_level(model, options.thinking)
    if level == "off":
        word = (model.thinking_level_map or {}).get("off")
        return {"reasoning": {"effort": word}} if word else {}
    return {
        "reasoning": {"effort": provider_name_of_thinking_level(model, level), "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    }
