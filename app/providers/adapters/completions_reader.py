"""Decodes the chunks of a chat-completions response into blocks. Pure, without network.

Servers may leave out indices and ids of calls, the usage, the finish reason and the closing `[DONE]`."""

from typing import Any

import msgspec

from app.providers.adapters.completions_compat import CompletionsServerQuirks
from app.providers.adapters.completions_request import REASONING_FIELDS
from app.providers.adapters.wire_helpers import incomplete_answer_error, read_token_count
from app.providers.errors import error_from_stream_event
from app.providers.model_stream import AssistantStream
from app.providers.models.pricing import add_cost_to_usage
from app.providers.stream.block_builder import GrowingToolCall, ResponseBlockBuilder
from app.providers.transport import decode_event_json
from app.values.messages import StopReason
from app.values.models import Model
from app.values.usage import Usage

_STOP_REASON_BY_FINISH_REASON: dict[str, StopReason] = {
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
_ERROR_TEXT_BY_FINISH_REASON = {
    "content_filter": "content_filter: the provider's filter stopped the answer.",
    "network_error": "network_error: the provider lost its connection to the model.",
    "model_context_window_exceeded": "model_context_window_exceeded: the conversation does not fit the model.",
}


class ChatCompletionsReader:
    """Reads the chunks of one chat-completions response into blocks."""

    def __init__(self, model: Model, switches: CompletionsServerQuirks, stream: AssistantStream) -> None:
        self.has_ended = False
        self._model = model
        self._quirks = switches
        self._stream = stream
        self._block_builder = ResponseBlockBuilder(stream)
        self._has_finished = False
        self._open_call_numbers: list[int] = []
        """The numbers of the tool calls so far; a delta without id and index belongs to the last one."""
        self._call_number_by_id: dict[str, int] = {}
        self._call_number_by_id_and_index: dict[tuple[str, int], int] = {}
        """The number of each tool call by its id and index: neither is enough, because some servers repeat an id
        and some give every call the index 0."""
        self._last_call_number_by_index: dict[int, int] = {}

    def read_event(self, event: str, data: bytes) -> None:
        if data == b"[DONE]":
            self.has_ended = True
            return
        chunk = decode_event_json(data)
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise error_from_stream_event(chunk)
        choices = chunk.get("choices")
        if chunk.get("usage"):
            self._update_usage(chunk["usage"])
        draft = self._stream.draft
        if draft.response_id is None and chunk.get("id"):
            draft.response_id = chunk["id"]
            draft.response_model = chunk.get("model")
        if choices:
            self._read_choice(choices[0])
        self._stream.report_alive()

    def finish_response(self) -> None:
        self._block_builder.end_all_blocks()
        if self._has_finished:
            return
        if not len(self._block_builder):
            raise incomplete_answer_error(
                "no answer and no finish reason" if self.has_ended else "no finish reason"
            )
        if self._quirks.supports_finish_reason and not self.has_ended:
            raise incomplete_answer_error("no finish reason")

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message") or {}
        content = delta.get("content")
        if isinstance(content, list):  # Mistral sends a list of texts and thoughts
            self._read_content_parts(content)
        elif content:
            self._end_thinking()
            self._block_builder.get_or_begin_text("text").append_text(content)
        refusal = delta.get("refusal")
        if refusal:
            self._end_thinking()
            self._block_builder.get_or_begin_text("text").append_text(refusal)
        for field in REASONING_FIELDS:
            thought = delta.get(field)
            if thought and isinstance(thought, str):
                self._read_thinking(field, thought)
                break
        for call in delta.get("tool_calls") or ():
            self._read_call_delta(call)
        for detail in delta.get("reasoning_details") or ():
            self._attach_signature(detail)
        if choice.get("usage") is not None and not self._stream.draft.usage.total_tokens:
            self._update_usage(choice["usage"])
        reason = choice.get("finish_reason")
        if reason:
            self._record_stop_reason(reason)

    def _read_content_parts(self, parts: list[Any]) -> None:
        for part in parts:
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                inner = part.get("thinking")
                texts = inner if isinstance(inner, list) else [{"text": inner}]
                self._read_thinking("thinking", "".join(item.get("text") or "" for item in texts))
            elif part.get("text"):
                self._end_thinking()
                self._block_builder.get_or_begin_text("text").append_text(part["text"])

    def _read_thinking(self, field: str, thought: str) -> None:
        self._block_builder.end_block("text")
        opened = self._block_builder.get_or_begin_thinking("thinking")
        opened.signature = field
        opened.append_text(thought)

    def _end_thinking(self) -> None:
        if self._block_builder.find_open_block("thinking") is not None:
            self._block_builder.end_block("thinking")

    def _read_call_delta(self, delta: dict[str, Any]) -> None:
        function = delta.get("function") or {}
        key = self._call_number(delta, function)
        own_id = delta["id"] if self._call_number_by_id.get(delta.get("id") or "") == key else ""
        opened = self._block_builder.find_open_block(key)
        if opened is None:
            self._end_thinking()
            self._block_builder.end_block("text")
            name = function.get("name") or ""
            opened = self._block_builder.get_or_begin_tool_call(
                key, call_id=own_id or f"call_{key}", name=name
            )
        assert isinstance(opened, GrowingToolCall)
        if own_id:
            opened.id = own_id
        if not opened.name and function.get("name"):
            opened.name = function["name"]
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # Ollama sends an object
            arguments = msgspec.json.encode(arguments).decode()
        if arguments:
            opened.append_arguments(arguments)

    def _call_number(self, delta: dict[str, Any], function: dict[str, Any]) -> int:
        """Returns the number of the call that a delta belongs to: by id and index, else by id, else by index,
        else the last call.

        A name begins a new call if the index is new, or if a known index comes with another id."""
        call_id, index, begins = delta.get("id"), delta.get("index"), bool(function.get("name"))
        is_numbered = isinstance(index, int)
        if call_id and is_numbered and (call_id, index) in self._call_number_by_id_and_index:
            return self._call_number_by_id_and_index[call_id, index]
        is_new_index = is_numbered and index not in self._last_call_number_by_index
        if call_id in self._call_number_by_id and not (begins and is_new_index):
            return self._call_number_by_id[call_id]
        if is_numbered and not is_new_index and not (begins and self._has_other_call_id(index, call_id)):
            key = self._last_call_number_by_index[index]
        elif not is_numbered and not call_id and not begins and self._open_call_numbers:
            return self._open_call_numbers[-1]
        else:
            key = len(self._open_call_numbers)
            self._open_call_numbers.append(key)
        if call_id:
            self._call_number_by_id.setdefault(call_id, key)
        if is_numbered:
            self._last_call_number_by_index[index] = key
            if call_id:
                self._call_number_by_id_and_index[call_id, index] = key
        return key

    def _has_other_call_id(self, index: int, call_id: str | None) -> bool:
        known = {given for given, number in self._call_number_by_id_and_index if number == index}
        return bool(call_id and known) and call_id not in known

    def _attach_signature(self, detail: Any) -> None:
        """Attaches encrypted reasoning to the call whose id it carries."""
        if (
            not isinstance(detail, dict)
            or detail.get("type") != "reasoning.encrypted"
            or not detail.get("data")
        ):
            return
        key = self._call_number_by_id.get(detail.get("id") or "")
        opened = self._block_builder.find_open_block(key) if key is not None else None
        if isinstance(opened, GrowingToolCall):
            opened.signature = msgspec.json.encode(detail).decode()

    def _record_stop_reason(self, reason: str) -> None:
        draft = self._stream.draft
        draft.raw_stop_reason = reason
        self._has_finished = True
        if reason in _ERROR_TEXT_BY_FINISH_REASON:
            draft.stop_reason = "error"
            draft.error_message = _ERROR_TEXT_BY_FINISH_REASON[reason]
        elif reason == "error":
            draft.stop_reason = "error"
            draft.error_message = (
                "Provider returned error: the answer ended with an error and no explanation."
            )
        elif self._open_call_numbers and reason not in ("length", "max_tokens"):
            draft.stop_reason = "toolUse"  # several servers say `stop` behind calls
        else:
            draft.stop_reason = _STOP_REASON_BY_FINISH_REASON.get(reason, "stop")
            if draft.stop_reason == "toolUse":
                draft.stop_reason = "stop"  # calls were announced, but none arrived

    def _update_usage(self, usage: dict[str, Any]) -> None:
        cached = (
            read_token_count(usage, "prompt_tokens_details", "cached_tokens")
            or read_token_count(usage, "prompt_cache_hit_tokens")
            or read_token_count(usage, "cached_tokens")
        )
        written = read_token_count(usage, "prompt_tokens_details", "cache_write_tokens")
        prompt = read_token_count(usage, "prompt_tokens")
        output = read_token_count(usage, "completion_tokens")
        reasoning = read_token_count(usage, "completion_tokens_details", "reasoning_tokens")
        billed = usage.get("cost")
        self._stream.draft.usage = add_cost_to_usage(
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
