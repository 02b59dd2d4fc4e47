"""Encodes a conversation as a chat-completions request. Pure, without network."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from app.providers.adapters.completions_compat import CompletionsServerQuirks, completions_server_of_model
from app.providers.adapters.wire_helpers import encode_user_content_parts, max_answer_tokens, prompt_cache_key
from app.providers.model_stream import StreamOptions
from app.providers.models.thinking import (
    clamp_thinking_level,
    provider_name_of_thinking_level,
    thinking_budget_for,
)
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import RequestMessageList
from app.providers.request_preparation import PreparedRequest, encode_request_messages
from app.values.content import Image, Text, Thinking, ToolCall, UserContent
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from app.values.models import Model, ThinkingLevel

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_SEE_IMAGE_BELOW_TEXT = "(see the image below)"
_TOOL_IMAGE_INTRODUCTION = "The image from the tool result:"
_FILLER_ASSISTANT_MESSAGE = "I have read the tool results."


def build_request_payload(
    prepared: PreparedRequest, model: Model, options: StreamOptions, switches: CompletionsServerQuirks
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model.id,
        "messages": build_completions_messages(prepared, model, switches, options),
        "stream": True,
        switches.max_tokens_field: max_answer_tokens(model, options, prepared),
    }
    if switches.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if switches.supports_store:
        body["store"] = False
    if options.temperature is not None:
        body["temperature"] = options.temperature
    body.update(_tool_fields(prepared, options, switches))
    body.update(_cache_fields(model, options, switches))
    if model.reasoning:
        body.update(_thinking_fields(model, options, switches))
    if switches.open_router_routing:
        body["provider"] = switches.open_router_routing
    if switches.vercel_gateway_routing:
        body["providerOptions"] = {"gateway": switches.vercel_gateway_routing}
    if switches.vllm_priority is not None:
        body["priority"] = switches.vllm_priority
    return body


def build_completions_messages(
    prepared: PreparedRequest, model: Model, switches: CompletionsServerQuirks, options: StreamOptions
) -> list[dict[str, Any]] | RequestMessageList:
    head = system_prompt_messages(prepared, model, switches)
    out = encode_request_messages(
        prepared, head, lambda messages, _: to_completions_messages(messages, model, switches)
    )
    if switches.cache_control_format == "anthropic" and options.use_cache:
        tail = out.new_messages if isinstance(out, RequestMessageList) else out
        _add_cache_marks([*head, *tail[-1:]])
    return out


def system_prompt_messages(
    prepared: PreparedRequest, model: Model, switches: CompletionsServerQuirks
) -> list[dict[str, Any]]:
    if not prepared.system_prompt:
        return []
    role = "developer" if model.reasoning and switches.supports_developer_role else "system"
    return [{"role": role, "content": prepared.system_prompt}]


def to_completions_messages(
    messages: Sequence[ProviderMessage], model: Model, switches: CompletionsServerQuirks
) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    for message in messages:
        if images and not isinstance(message, ToolResultMessage):
            _append_user_message(out, _tool_image_message(images), switches)
            images = []
        match message:
            case UserMessage():
                _append_user_message(
                    out, {"role": "user", "content": _encode_user_content(message.content)}, switches
                )
            case AssistantMessage():
                out.append(_encode_assistant(message, model, switches))
            case ToolResultMessage():
                out.append(_encode_tool_result(message, switches))
                images += [_encode_image(block) for block in message.content if isinstance(block, Image)]
            case _:
                assert_never(message)
    if images:
        _append_user_message(out, _tool_image_message(images), switches)
    return out


def _append_user_message(
    out: list[dict[str, Any]], message: dict[str, Any], switches: CompletionsServerQuirks
) -> None:
    """Appends a user message, with a filler before it for servers that refuse a user message right after a
    tool message."""
    if switches.requires_assistant_after_tool_result and out and out[-1]["role"] == "tool":
        out.append({"role": "assistant", "content": _FILLER_ASSISTANT_MESSAGE})
    out.append(message)


def _encode_user_content(content: str | tuple[UserContent, ...]) -> str | list[dict[str, Any]]:
    """Encodes content as a plain string if it is a single text, which every server reads, else as a list of
    parts."""
    if isinstance(content, str):
        return content
    texts = [block for block in content if isinstance(block, Text)]
    if len(texts) == len(content) == 1:
        return texts[0].text
    return encode_user_content_parts(content, lambda text: {"type": "text", "text": text}, _encode_image)


def _encode_image(block: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _tool_image_message(images: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a user message with the images of tool results, because tool messages hold only text."""
    return {"role": "user", "content": [{"type": "text", "text": _TOOL_IMAGE_INTRODUCTION}, *images]}


def _encode_tool_result(message: ToolResultMessage, switches: CompletionsServerQuirks) -> dict[str, Any]:
    text = "\n".join(block.text for block in message.content if isinstance(block, Text))
    out = {"role": "tool", "tool_call_id": message.tool_call_id, "content": text or _SEE_IMAGE_BELOW_TEXT}
    if switches.requires_tool_result_name:
        out["name"] = message.tool_name
    return out


def _encode_assistant(
    message: AssistantMessage, model: Model, switches: CompletionsServerQuirks
) -> dict[str, Any]:
    out: dict[str, Any] = {"role": "assistant"}
    text = "".join(block.text for block in message.content if isinstance(block, Text))
    thoughts = [block for block in message.content if isinstance(block, Thinking) and block.thinking]
    if thoughts and switches.requires_thinking_as_text:
        thinking = "\n\n".join(block.thinking for block in thoughts)
        text = f"<thinking>\n{thinking}\n</thinking>\n\n{text}".rstrip()
    elif thoughts:
        field = next(
            (b.thinking_signature for b in thoughts if b.thinking_signature in REASONING_FIELDS), None
        )
        if field:
            out[field] = "\n\n".join(block.thinking for block in thoughts)
    if switches.requires_reasoning_content_on_assistant_messages and model.reasoning:
        out.setdefault("reasoning_content", "")
    calls = [_encode_tool_call(block) for block in message.content if isinstance(block, ToolCall)]
    if calls:
        out["tool_calls"] = calls
        details = _reasoning_details(message)
        if details:
            out["reasoning_details"] = details
    out["content"] = text or ("" if switches.requires_non_null_assistant_content or not calls else None)
    return out


def _reasoning_details(message: AssistantMessage) -> list[Any]:
    """Returns the encrypted reasoning that a router sent along with calls, unchanged."""
    details: list[Any] = []
    for block in message.content:
        if isinstance(block, ToolCall) and block.thought_signature:
            try:
                details.append(msgspec.json.decode(block.thought_signature))
            except (ValueError, RecursionError):
                continue
    return details


def _encode_tool_call(block: ToolCall) -> dict[str, Any]:
    arguments = msgspec.json.encode(block.arguments).decode()
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _tool_fields(
    prepared: PreparedRequest, options: StreamOptions, switches: CompletionsServerQuirks
) -> dict[str, Any]:
    if prepared.tools:
        tools: list[dict[str, Any]] = []
        for tool in prepared.tools:
            function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            if switches.supports_strict_mode:
                function["strict"] = False
            tools.append({"type": "function", "function": function})
        out: dict[str, Any] = {"tools": tools}
        if options.tool_choice is not None:
            out["tool_choice"] = "required" if options.tool_choice == "any" else options.tool_choice
        if switches.zai_tool_stream:
            out["tool_stream"] = True
        return out
    # LiteLLM in front of Anthropic refuses a history with calls when no tools are declared.
    return {"tools": []} if prepared.has_tool_results and switches.requires_tools_with_tool_history else {}


def _cache_fields(model: Model, options: StreamOptions, switches: CompletionsServerQuirks) -> dict[str, Any]:
    mode = switches.prompt_cache_key_mode
    is_openai = completions_server_of_model(model) == "openai"
    if not options.use_cache or mode == "disabled" or not (is_openai or mode == "enabled"):
        return {}
    out: dict[str, Any] = {}
    key = prompt_cache_key(options.session_id)
    if key:
        out["prompt_cache_key"] = key
    has_long = (
        is_openai
        if switches.supports_long_cache_retention is None
        else switches.supports_long_cache_retention
    )
    if options.is_long_cache and has_long:
        out["prompt_cache_retention"] = "24h"
    return out


def _add_cache_marks(out: list[dict[str, Any]]) -> None:
    """Adds cache marks to the prompt and to the last text of the conversation, for Anthropic models behind a
    router."""
    for message in out:
        content = message.get("content")
        if isinstance(content, str) and content:
            message["content"] = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
        elif isinstance(content, list):
            texts = [part for part in content if part.get("type") == "text"]
            if texts:
                texts[-1]["cache_control"] = {"type": "ephemeral"}


def _thinking_fields(
    model: Model, options: StreamOptions, switches: CompletionsServerQuirks
) -> dict[str, Any]:
    level = clamp_thinking_level(model, options.thinking)
    is_on = level != "off"
    word = provider_name_of_thinking_level(model, level)
    out: dict[str, Any] = {}
    match switches.thinking_format:
        case "openrouter":
            out["reasoning"] = {"effort": word} if is_on else {"enabled": False}
        case "deepseek" | "zai":
            out["thinking"] = {"type": "enabled" if is_on else "disabled"}
            if is_on and switches.supports_reasoning_effort:
                out["reasoning_effort"] = word
        case "together" | "ant-ling":
            out["reasoning"] = {"enabled": is_on}
            if is_on and switches.supports_reasoning_effort:
                out["reasoning_effort"] = word
        case "qwen":
            out["enable_thinking"] = is_on
        case "qwen-chat-template":
            out["chat_template_kwargs"] = {"enable_thinking": is_on, "preserve_thinking": True}
        case "chat-template":
            values = {"thinking.enabled": is_on, "thinking.effort": word if is_on else None}
            values["thinking.budget"] = (
                thinking_budget_for(level, options.thinking_budgets) if is_on else None
            )
            out["chat_template_kwargs"] = _fill_template_variables(switches.chat_template_kwargs, values)
        case "baseten":
            values = {"thinking.enabled": is_on, "thinking.effort": word if is_on else None}
            out["chat_template_args"] = _fill_template_variables(switches.chat_template_args, values) or {
                "enable_thinking": is_on
            }
        case "string-thinking":
            out["thinking"] = word if is_on else "none"
        case _:
            if switches.supports_reasoning_effort and (is_on or _can_turn_thinking_off(model)):
                out["reasoning_effort"] = word if is_on else (model.thinking_level_map or {})["off"]
    out.update(_thinking_budget_fields(level, options, switches))
    return out


def _can_turn_thinking_off(model: Model) -> bool:
    return bool((model.thinking_level_map or {}).get("off"))


def _thinking_budget_fields(
    level: ThinkingLevel, options: StreamOptions, switches: CompletionsServerQuirks
) -> dict[str, Any]:
    field = switches.thinking_token_budget_field
    if field is None and switches.supports_thinking_token_budget:
        field = "thinking_token_budget"
    return {field: thinking_budget_for(level, options.thinking_budgets)} if field and level != "off" else {}


def _fill_template_variables(template: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Replaces `{"$var": "thinking.enabled"}` and the like in a template by values; a variable without a
    value is dropped."""
    out: dict[str, Any] = {}
    for name, item in template.items():
        if isinstance(item, dict) and set(item) == {"$var"}:
            value = values.get(item["$var"])
            if value is not None:
                out[name] = value
        else:
            out[name] = item
    return out
