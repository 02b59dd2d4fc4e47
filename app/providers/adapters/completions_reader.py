"""Decodes the chunks of a chat-completions response into blocks. Pure, without network.

Servers may leave out indices and ids of calls, the usage, the finish reason and the closing `[DONE]`."""

from typing import Any

import msgspec

from app.providers.adapters.common import count, incomplete_error
from app.providers.adapters.completions_compat import ServerQuirks
from app.providers.adapters.completions_request import REASONING_FIELDS
from app.providers.errors import error_in_stream
from app.providers.model_stream import AssistantStream
from app.providers.models.pricing import with_cost
from app.providers.stream.blocks import Blocks, OpenCall
from app.providers.transport import decode_event
from app.values.messages import StopReason
from app.values.models import Model
from app.values.usage import Usage

_STOP: dict[str, StopReason] = {
    "stop": "stop",
    "end": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "tool_use": "toolUse",
}
_ERRORS = {
    "content_filter": "content_filter: the provider's filter stopped the answer.",
    "network_error": "network_error: the provider lost its connection to the model.",
    "model_context_window_exceeded": "model_context_window_exceeded: the conversation does not fit the model.",
}


class CompletionsReader:
    """Reads the chunks of one chat-completions response into blocks."""

    def __init__(self, model: Model, switches: ServerQuirks, stream: AssistantStream) -> None:
        self.is_over = False
        self._model = model
        self._switches = switches
        self._stream = stream
        self._blocks = Blocks(stream)
        self._has_finished = False
        self._calls: list[int] = []
        """Keys of the calls so far; the last call takes deltas without an id and index."""
        self._key_of_id: dict[str, int] = {}
        self._key_of_both: dict[tuple[str, int], int] = {}
        """Keys by id and index: some servers repeat an id, and some give every call the index 0."""
        self._last_key_of_index: dict[int, int] = {}

    def take(self, event: str, data: bytes) -> None:
        if data == b"[DONE]":
            self.is_over = True
            return
        chunk = decode_event(data)
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise error_in_stream(chunk)
        choices = chunk.get("choices")
        if chunk.get("usage"):
            self._count(chunk["usage"])
        draft = self._stream.draft
        if draft.response_id is None and chunk.get("id"):
            draft.response_id = chunk["id"]
            draft.response_model = chunk.get("model")
        if choices:
            self._choice(choices[0])
        self._stream.touch()

    def finish(self) -> None:
        self._blocks.end_all()
        if self._has_finished:
            return
        if not len(self._blocks):
            raise incomplete_error("no answer and no finish reason" if self.is_over else "no finish reason")
        if self._switches.supports_finish_reason and not self.is_over:
            raise incomplete_error("no finish reason")

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        content = delta.get("content")
        if isinstance(content, list):  # Mistral sends a list of texts and thoughts
            self._parts(content)
        elif content:
            self._end_thinking()
            self._blocks.text("text").append(content)
        refusal = delta.get("refusal")
        if refusal:
            self._end_thinking()
            self._blocks.text("text").append(refusal)
        for field in REASONING_FIELDS:
            thought = delta.get(field)
            if thought and isinstance(thought, str):
                self._think(field, thought)
                break
        for call in delta.get("tool_calls") or ():
            self._call(call)
        for detail in delta.get("reasoning_details") or ():
            self._sign(detail)
        if choice.get("usage") is not None and not self._stream.draft.usage.total_tokens:
            self._count(choice["usage"])
        reason = choice.get("finish_reason")
        if reason:
            self._stop(reason)

    def _parts(self, parts: list[Any]) -> None:
        for part in parts:
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                texts = inner if isinstance(inner, list) else [{"text": inner}]
                self._think("thinking", "".join(item.get("text") or "" for item in texts))
            elif part.get("text"):
                self._end_thinking()
                self._blocks.text("text").append(part["text"])

    def _think(self, field: str, thought: str) -> None:
        self._blocks.end("text")
        opened = self._blocks.thinking("thinking")
        opened.signature = field
        opened.append(thought)

    def _end_thinking(self) -> None:
        if self._blocks.opened("thinking") is not None:
            self._blocks.end("thinking")

    def _call(self, delta: dict[str, Any]) -> None:
        function = delta.get("function") or {}
        key = self._key(delta, function)
        own_id = delta["id"] if self._key_of_id.get(delta.get("id") or "") == key else ""
        opened = self._blocks.opened(key)
        if opened is None:
            self._end_thinking()
            self._blocks.end("text")
            name = function.get("name") or ""
            opened = self._blocks.call(key, call_id=own_id or f"call_{key}", name=name)
        assert isinstance(opened, OpenCall)
        if own_id:
            opened.id = own_id
        if not opened.name and function.get("name"):
            opened.name = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # Ollama sends an object
            arguments = msgspec.json.encode(arguments).decode()
        if arguments:
            opened.append(arguments)

    def _key(self, delta: dict[str, Any], function: dict[str, Any]) -> int:
        """Returns the number of the call that a delta belongs to: by id and index, else by id, else by index,
        else the last call.

        A name begins a new call if the index is new, or if a known index comes with another id."""
        call_id, index, begins = delta.get("id"), delta.get("index"), bool(function.get("name"))
        is_numbered = isinstance(index, int)
        if call_id and is_numbered and (call_id, index) in self._key_of_both:
            return self._key_of_both[call_id, index]
        is_new_index = is_numbered and index not in self._last_key_of_index
        if call_id in self._key_of_id and not (begins and is_new_index):
            return self._key_of_id[call_id]
        if is_numbered and not is_new_index and not (begins and self._has_other_id(index, call_id)):
            key = self._last_key_of_index[index]
        elif not is_numbered and not call_id and not begins and self._calls:
            return self._calls[-1]
        else:
            key = len(self._calls)
            self._calls.append(key)
        if call_id:
            self._key_of_id.setdefault(call_id, key)
        if is_numbered:
            self._last_key_of_index[index] = key
            if call_id:
                self._key_of_both[call_id, index] = key
        return key

    def _has_other_id(self, index: int, call_id: str | None) -> bool:
        known = {given for given, number in self._key_of_both if number == index}
        return bool(call_id and known) and call_id not in known

    def _sign(self, detail: Any) -> None:
        """Attaches encrypted reasoning to the call whose id it carries."""
        if (
            not isinstance(detail, dict)
            or detail.get("type") != "reasoning.encrypted"
            or not detail.get("data")
        ):
            return
        key = self._key_of_id.get(detail.get("id") or "")
        opened = self._blocks.opened(key) if key is not None else None
        if isinstance(opened, OpenCall):
            opened.signature = msgspec.json.encode(detail).decode()

    def _stop(self, reason: str) -> None:
        draft = self._stream.draft
        draft.raw_stop_reason = reason
        self._has_finished = True
        if reason in _ERRORS:
            draft.stop_reason = "error"
            draft.error_message = _ERRORS[reason]
        elif reason == "error":
            draft.stop_reason = "error"
            draft.error_message = (
                "Provider returned error: the answer ended with an error and no explanation."
            )
        elif self._calls and reason not in ("length", "max_tokens"):
            draft.stop_reason = "toolUse"  # several servers say `stop` behind calls
        else:
            draft.stop_reason = _STOP.get(reason, "stop")
            if draft.stop_reason == "toolUse":
                draft.stop_reason = "stop"  # calls were announced, but none arrived

    def _count(self, usage: dict[str, Any]) -> None:
        cached = (
            count(usage, "prompt_tokens_details", "cached_tokens")
            or count(usage, "prompt_cache_hit_tokens")
            or count(usage, "cached_tokens")
        )
        written = count(usage, "prompt_tokens_details", "cache_write_tokens")
        prompt = count(usage, "prompt_tokens")
        output = count(usage, "completion_tokens")
        reasoning = count(usage, "completion_tokens_details", "reasoning_tokens")
        billed = usage.get("cost")
        self._stream.draft.usage = with_cost(
            Usage(
                input=max(prompt - cached - written, 0),
                output=output,
                cache_read=cached,
                cache_write=written,
                reasoning=reasoning or None,
            ),
            self._model,
            billed=float(billed)
            if isinstance(billed, int | float) and not isinstance(billed, bool)
            else None,
        )
