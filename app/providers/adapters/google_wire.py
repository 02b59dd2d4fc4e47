"""Google's generateContent format: encodes a conversation as its JSON and decodes its chunks into blocks.
Pure, without network."""

import re
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from app.providers.adapters.wire_helpers import (
    encode_user_content_parts,
    incomplete_answer_error,
    join_messages_of_same_role,
    max_answer_tokens,
    read_token_count,
)
from app.providers.errors import error_from_stream_event
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.models.pricing import add_cost_to_usage
from app.providers.models.thinking import (
    clamp_thinking_level,
    provider_name_of_thinking_level,
    thinking_budget_for,
)
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import RequestMessageList
from app.providers.request_preparation import PreparedRequest, encode_request_messages
from app.providers.stream.block_builder import GrowingTextBlock, ResponseBlockBuilder
from app.providers.transport import decode_event_json
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage

_GEMINI_GENERATION_PATTERN = re.compile(r"gemini-(\d+)")
_PLACEHOLDER_THOUGHT_SIGNATURE = "skip_thought_signature_validator"
"""The signature that Google accepts for calls that a model of another vendor made."""
_GEMINI_TOOL_CHOICE_MODES = {"auto": "AUTO", "any": "ANY", "none": "NONE"}


def build_request_payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {"maxOutputTokens": max_answer_tokens(model, options, prepared)}
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    thinking = _thinking_config(model, options)
    if thinking:
        settings["thinkingConfig"] = thinking
    body: dict[str, Any] = {"contents": build_gemini_contents(prepared, model), "generationConfig": settings}
    if prepared.system_prompt:
        body["systemInstruction"] = {"parts": [{"text": prepared.system_prompt}]}
    if prepared.tools:
        declarations = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in prepared.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
        if options.tool_choice is not None:
            body["toolConfig"] = {
                "functionCallingConfig": {"mode": _GEMINI_TOOL_CHOICE_MODES[options.tool_choice]}
            }
    if options.searches_web:
        body["tools"] = [*body.get("tools", ()), {"googleSearch": {}}]
    return body


def build_gemini_contents(
    prepared: PreparedRequest, model: Model
) -> list[dict[str, Any]] | RequestMessageList:
    return encode_request_messages(prepared, [], lambda messages, _: _encode_messages(messages, model))


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    return join_messages_of_same_role((_role_and_parts(message, model) for message in messages), "parts")


def _role_and_parts(message: ProviderMessage, model: Model) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case UserMessage():
            return "user", _encode_user_content(message.content)
        case AssistantMessage():
            return "model", _encode_assistant(message, model)
        case ToolResultMessage():
            return "user", _encode_tool_result(message)
        case _:
            assert_never(message)


def gemini_generation(model: Model) -> int:
    match = _GEMINI_GENERATION_PATTERN.search(model.id)
    return int(match[1]) if match else 0


def _thinking_config(model: Model, options: StreamOptions) -> dict[str, Any] | None:
    if not model.reasoning:
        return None
    level = clamp_thinking_level(model, options.thinking)
    if gemini_generation(model) >= 3:
        if level == "off":
            return {"thinkingLevel": "minimal"}  # the lowest level of this generation
        return {"includeThoughts": True, "thinkingLevel": provider_name_of_thinking_level(model, level)}
    if level == "off":
        return {"thinkingBudget": 0}
    return {
        "includeThoughts": True,
        "thinkingBudget": min(thinking_budget_for(level, options.thinking_budgets), 24_576),
    }


def _encode_user_content(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return encode_user_content_parts(content, lambda text: {"text": text}, _encode_image)


def _encode_image(block: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}


def _encode_assistant(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    is_first_call = True
    for block in message.content:
        match block:
            case Text():
                parts.append(_with_signature({"text": block.text}, block.text_signature))
            case Thinking():
                parts.append(
                    _with_signature({"thought": True, "text": block.thinking}, block.thinking_signature)
                )
            case ToolCall():
                signature = block.thought_signature
                if signature is None and is_first_call and gemini_generation(model) >= 3:
                    signature = _PLACEHOLDER_THOUGHT_SIGNATURE
                is_first_call = False
                parts.append(
                    _with_signature(
                        {"functionCall": {"name": block.name, "args": block.arguments}}, signature
                    )
                )
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return parts


def _encode_tool_result(message: ToolResultMessage) -> list[dict[str, Any]]:
    text = "\n".join(block.text for block in message.content if isinstance(block, Text))
    images = [block for block in message.content if isinstance(block, Image)]
    answer = {"error" if message.is_error else "output": text or "(see the image)"}
    response = {"functionResponse": {"name": message.tool_name, "response": answer}}
    return [response, *_encode_user_content(tuple(images))]


def _with_signature(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return {**part, "thoughtSignature": signature} if signature else part


class GeminiResponseReader:
    """Reads the chunks of one response into blocks. Parts have no index: a text block continues until a part
    of another kind arrives."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.has_ended = False
        self._model = model
        self._stream = stream
        self._block_builder = ResponseBlockBuilder(stream)
        self._call_count = 0
        self._has_finished = False

    def read_event(self, event: str, data: bytes) -> None:
        chunk = decode_event_json(data)
        if isinstance(chunk, list):
            chunk = chunk[0] if chunk else {}
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise error_from_stream_event(chunk)
        draft = self._stream.draft
        draft.response_id = draft.response_id or chunk.get("responseId")
        draft.response_model = draft.response_model or chunk.get("modelVersion")
        blocked = (chunk.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            self._end_with_error(
                f"blocked: {blocked}", f"The prompt was blocked by the provider's filter: {blocked}"
            )
        for candidate in (chunk.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._read_part(part)
            if candidate.get("groundingMetadata"):
                self._read_grounding(candidate["groundingMetadata"])
            if candidate.get("finishReason"):
                self._record_finish_reason(candidate["finishReason"], candidate.get("finishMessage"))
        if chunk.get("usageMetadata"):
            self._update_usage(chunk["usageMetadata"])
        self._stream.report_alive()

    def finish_response(self) -> None:
        self._block_builder.end_all_blocks()
        if not self._has_finished:
            raise incomplete_answer_error("no finish reason")

    def _read_part(self, part: dict[str, Any]) -> None:
        signature = part.get("thoughtSignature")
        call = part.get("functionCall")
        if call is not None:
            self._read_call(call, signature)
            return
        if part.get("text") is None:
            return
        kind = "thinking" if part.get("thought") else "text"
        if not part["text"]:
            self._sign_last_block(signature)
            return
        self._block_builder.end_block("text" if kind == "thinking" else "thinking")
        opened = (
            self._block_builder.get_or_begin_thinking(kind)
            if kind == "thinking"
            else self._block_builder.get_or_begin_text(kind)
        )
        opened.append_text(part["text"])
        if signature:
            opened.signature = signature

    def _sign_last_block(self, signature: str | None) -> None:
        """Attaches the signature that comes with an empty text part to the block before it."""
        if not signature:
            return
        for key in ("text", "thinking"):
            opened = self._block_builder.find_open_block(key)
            if isinstance(opened, GrowingTextBlock):
                opened.signature = signature
                return
        if len(self._block_builder):
            self._block_builder.add_signature(len(self._block_builder) - 1, signature)

    def _read_call(self, call: dict[str, Any], signature: str | None) -> None:
        """Adds a tool call, which arrives complete, as a start, one delta and an end."""
        self._block_builder.end_all_blocks()
        self._call_count += 1
        name = call.get("name") or ""
        call_id = call.get("id") or f"{name}_{self._stream.draft.response_id or 'call'}_{self._call_count}"
        opened = self._block_builder.get_or_begin_tool_call(
            ("call", self._call_count), call_id=call_id, name=name
        )
        opened.signature = signature
        opened.append_arguments(msgspec.json.encode(call.get("args") or {}).decode())
        self._block_builder.end_block(("call", self._call_count))

    def _read_grounding(self, grounding: dict[str, Any]) -> None:
        """Records the pages and citations of a web search. Finds the place of each citation by its words, because
        Google's offsets count bytes, from the beginning of a chunk or of the answer."""
        findings, text = self._stream.draft.web_findings, self._stream.partial_message.text
        for query in grounding.get("webSearchQueries") or ():
            findings.add_query(query)
        pages = [chunk.get("web") or {} for chunk in grounding.get("groundingChunks") or ()]
        for page in pages:
            findings.add_source(page.get("uri"), page.get("title"))
        for support in grounding.get("groundingSupports") or ():
            words = (support.get("segment") or {}).get("text") or ""
            at = text.find(words) if words else -1
            named = [pages[i] for i in support.get("groundingChunkIndices") or () if 0 <= i < len(pages)]
            findings.citations += [(at + len(words), page.get("uri") or "") for page in named if at >= 0]

    def _record_finish_reason(self, reason: str, message: str | None) -> None:
        self._has_finished = True
        draft = self._stream.draft
        draft.raw_stop_reason = reason
        if reason == "STOP":
            draft.stop_reason = "toolUse" if self._call_count else "stop"
        elif reason == "MAX_TOKENS":
            draft.stop_reason = "length"
        else:
            self._end_with_error(
                reason,
                f"{reason}: {message or _ERROR_TEXT_BY_GEMINI_FINISH_REASON.get(reason, 'the model stopped early.')}",
            )

    def _end_with_error(self, reason: str, sentence: str) -> None:
        draft = self._stream.draft
        draft.stop_reason = "error"
        draft.raw_stop_reason = reason
        draft.error_message = sentence
        self._has_finished = True

    def _update_usage(self, usage: dict[str, Any]) -> None:
        cached = read_token_count(usage, "cachedContentTokenCount")
        thoughts = read_token_count(usage, "thoughtsTokenCount")
        prompt = read_token_count(usage, "promptTokenCount") + read_token_count(
            usage, "toolUsePromptTokenCount"
        )
        self._stream.draft.usage = add_cost_to_usage(
            Usage(
                input=max(prompt - cached, 0),
                output=read_token_count(usage, "candidatesTokenCount") + thoughts,
                cache_read=cached,
                reasoning=thoughts or None,
                total_tokens=read_token_count(usage, "totalTokenCount"),
            ),
            self._model,
        )


_ERROR_TEXT_BY_GEMINI_FINISH_REASON = {
    "SAFETY": "the provider's safety filter stopped the answer.",
    "RECITATION": "the answer came too close to existing text.",
    "PROHIBITED_CONTENT": "the provider's filter stopped the answer.",
    "BLOCKLIST": "the answer held a blocked word.",
    "SPII": "the answer may have held personal data.",
    "MALFORMED_FUNCTION_CALL": "the model wrote a tool call that cannot be read.",
    "UNEXPECTED_TOOL_CALL": "the model called a tool although none was allowed.",
    "LANGUAGE": "the language is not supported.",
    "OTHER": "the provider gave no reason.",
}
