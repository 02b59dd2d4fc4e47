"""Google's generateContent format: encodes a conversation as its JSON and decodes its chunks into blocks.
Pure, without network."""

import re
from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from app.providers.adapters.common import alternating, answer_limit, count, incomplete_error, user_parts
from app.providers.errors import error_in_stream
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.models.pricing import with_cost
from app.providers.models.thinking import budget_for, clamp_level, provider_word
from app.providers.provider_messages import ProviderMessage
from app.providers.request_cache import PayloadParts
from app.providers.request_preparation import PreparedRequest, encode_messages
from app.providers.stream.blocks import Blocks, OpenText
from app.providers.transport import decode_event
from app.values.content import Image, Text, Thinking, ToolCall, UnknownContent, UserContent
from app.values.messages import AssistantMessage, ToolResultMessage, UserMessage
from app.values.models import Model
from app.values.usage import Usage

_GENERATION = re.compile(r"gemini-(\d+)")
_NO_SIGNATURE = "skip_thought_signature_validator"
"""The signature that Google accepts for calls that a model of another vendor made."""
_CHOICE = {"auto": "AUTO", "any": "ANY", "none": "NONE"}


def payload(prepared: PreparedRequest, model: Model, options: StreamOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {"maxOutputTokens": answer_limit(model, options, prepared)}
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    thinking = _thinking(model, options)
    if thinking:
        settings["thinkingConfig"] = thinking
    body: dict[str, Any] = {"contents": contents(prepared, model), "generationConfig": settings}
    if prepared.system:
        body["systemInstruction"] = {"parts": [{"text": prepared.system}]}
    if prepared.tools:
        declarations = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in prepared.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
        if options.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": {"mode": _CHOICE[options.tool_choice]}}
    return body


def contents(prepared: PreparedRequest, model: Model) -> list[dict[str, Any]] | PayloadParts:
    return encode_messages(prepared, [], lambda messages, _: _encode_messages(messages, model))


def _encode_messages(messages: Sequence[ProviderMessage], model: Model) -> list[dict[str, Any]]:
    return alternating((_role_and_parts(message, model) for message in messages), "parts")


def _role_and_parts(message: ProviderMessage, model: Model) -> tuple[str, list[dict[str, Any]]]:
    match message:
        case UserMessage():
            return "user", _user_parts(message.content)
        case AssistantMessage():
            return "model", _model_parts(message, model)
        case ToolResultMessage():
            return "user", _result_parts(message)
        case _:
            assert_never(message)


def generation(model: Model) -> int:
    match = _GENERATION.search(model.id)
    return int(match[1]) if match else 0


def _thinking(model: Model, options: StreamOptions) -> dict[str, Any] | None:
    if not model.reasoning:
        return None
    level = clamp_level(model, options.thinking)
    if generation(model) >= 3:
        if level == "off":
            return {"thinkingLevel": "minimal"}  # the lowest level of this generation
        return {"includeThoughts": True, "thinkingLevel": provider_word(model, level)}
    if level == "off":
        return {"thinkingBudget": 0}
    return {
        "includeThoughts": True,
        "thinkingBudget": min(budget_for(level, options.thinking_budgets), 24_576),
    }


def _user_parts(content: str | tuple[UserContent, ...]) -> list[dict[str, Any]]:
    return user_parts(content, lambda text: {"text": text}, _image)


def _image(block: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}


def _model_parts(message: AssistantMessage, model: Model) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    is_first_call = True
    for block in message.content:
        match block:
            case Text():
                parts.append(_signed({"text": block.text}, block.text_signature))
            case Thinking():
                parts.append(_signed({"thought": True, "text": block.thinking}, block.thinking_signature))
            case ToolCall():
                signature = block.thought_signature
                if signature is None and is_first_call and generation(model) >= 3:
                    signature = _NO_SIGNATURE
                is_first_call = False
                parts.append(
                    _signed({"functionCall": {"name": block.name, "args": block.arguments}}, signature)
                )
            case UnknownContent():
                pass
            case _:
                assert_never(block)
    return parts


def _result_parts(message: ToolResultMessage) -> list[dict[str, Any]]:
    text = "\n".join(block.text for block in message.content if isinstance(block, Text))
    images = [block for block in message.content if isinstance(block, Image)]
    answer = {"error" if message.is_error else "output": text or "(see the image)"}
    response = {"functionResponse": {"name": message.tool_name, "response": answer}}
    return [response, *_user_parts(tuple(images))]


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return {**part, "thoughtSignature": signature} if signature else part


class GoogleReader:
    """Reads the chunks of one response into blocks. Parts have no index: a text block continues until a part
    of another kind arrives."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.is_over = False
        self._model = model
        self._stream = stream
        self._blocks = Blocks(stream)
        self._calls = 0
        self._has_finished = False

    def take(self, event: str, data: bytes) -> None:
        chunk = decode_event(data)
        if isinstance(chunk, list):
            chunk = chunk[0] if chunk else {}
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise error_in_stream(chunk)
        draft = self._stream.draft
        draft.response_id = draft.response_id or chunk.get("responseId")
        draft.response_model = draft.response_model or chunk.get("modelVersion")
        blocked = (chunk.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            self._end(f"blocked: {blocked}", f"The prompt was blocked by the provider's filter: {blocked}")
        for candidate in (chunk.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._part(part)
            if candidate.get("finishReason"):
                self._finished(candidate["finishReason"], candidate.get("finishMessage"))
        if chunk.get("usageMetadata"):
            self._count(chunk["usageMetadata"])
        self._stream.touch()

    def finish(self) -> None:
        self._blocks.end_all()
        if not self._has_finished:
            raise incomplete_error("no finish reason")

    def _part(self, part: dict[str, Any]) -> None:
        signature = part.get("thoughtSignature")
        call = part.get("functionCall")
        if call is not None:
            self._call(call, signature)
            return
        if part.get("text") is None:
            return
        kind = "thinking" if part.get("thought") else "text"
        if not part["text"]:
            self._sign_last(signature)
            return
        self._blocks.end("text" if kind == "thinking" else "thinking")
        opened = self._blocks.thinking(kind) if kind == "thinking" else self._blocks.text(kind)
        opened.append(part["text"])
        if signature:
            opened.signature = signature

    def _sign_last(self, signature: str | None) -> None:
        """Attaches the signature of an empty text part to the block before it."""
        if not signature:
            return
        for key in ("text", "thinking"):
            opened = self._blocks.opened(key)
            if isinstance(opened, OpenText):
                opened.signature = signature
                return
        if len(self._blocks):
            self._blocks.sign(len(self._blocks) - 1, signature)

    def _call(self, call: dict[str, Any], signature: str | None) -> None:
        """Adds a tool call, which arrives whole: one start, one delta, one end."""
        self._blocks.end_all()
        self._calls += 1
        name = call.get("name") or ""
        call_id = call.get("id") or f"{name}_{self._stream.draft.response_id or 'call'}_{self._calls}"
        opened = self._blocks.call(("call", self._calls), call_id=call_id, name=name)
        opened.signature = signature
        opened.append(msgspec.json.encode(call.get("args") or {}).decode())
        self._blocks.end(("call", self._calls))

    def _finished(self, reason: str, message: str | None) -> None:
        self._has_finished = True
        draft = self._stream.draft
        draft.raw_stop_reason = reason
        if reason == "STOP":
            draft.stop_reason = "toolUse" if self._calls else "stop"
        elif reason == "MAX_TOKENS":
            draft.stop_reason = "length"
        else:
            self._end(reason, f"{reason}: {message or _REASONS.get(reason, 'the model stopped early.')}")

    def _end(self, reason: str, sentence: str) -> None:
        draft = self._stream.draft
        draft.stop_reason = "error"
        draft.raw_stop_reason = reason
        draft.error_message = sentence
        self._has_finished = True

    def _count(self, usage: dict[str, Any]) -> None:
        cached = count(usage, "cachedContentTokenCount")
        thoughts = count(usage, "thoughtsTokenCount")
        prompt = count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount")
        self._stream.draft.usage = with_cost(
            Usage(
                input=max(prompt - cached, 0),
                output=count(usage, "candidatesTokenCount") + thoughts,
                cache_read=cached,
                reasoning=thoughts or None,
                total_tokens=count(usage, "totalTokenCount"),
            ),
            self._model,
        )


_REASONS = {
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
