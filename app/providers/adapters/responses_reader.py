"""Decodes the events of OpenAI's responses format into blocks. Pure, without network.

Blocks are keyed by the output index of their item. Content that arrives only with the end of an item is
added then."""

from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from app.providers.adapters.wire_helpers import incomplete_answer_error, read_token_count
from app.providers.errors import ProviderError, error_from_json, error_from_stream_event, prefix_error_type
from app.providers.model_stream import AssistantStream
from app.providers.models.pricing import add_cost_to_usage
from app.providers.stream.block_builder import GrowingTextBlock, GrowingToolCall, ResponseBlockBuilder
from app.providers.transport import decode_event_json
from app.values.models import Model
from app.values.usage import Usage


class OpenAIResponsesReader:
    """Reads the events of one response into blocks."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.has_ended = False
        self._model = model
        self._stream = stream
        self._block_builder = ResponseBlockBuilder(stream)
        self._finished_item_keys: set[Hashable] = set()

    def read_event(self, event: str, data: bytes) -> None:
        if data == b"[DONE]":
            return
        message = decode_event_json(data)
        if not isinstance(message, dict):
            return
        kind = message.get("type") or event
        if kind in ("keepalive", "ping"):
            return
        handle = _READ_METHOD_BY_EVENT_TYPE.get(kind)
        if handle is not None:
            handle(self, message)
        self._stream.report_alive()

    def _read_text_delta(self, message: dict[str, Any]) -> None:
        self._block_builder.get_or_begin_text(self._item_key(message)).append_text(message.get("delta") or "")

    def _read_thinking_delta(self, message: dict[str, Any]) -> None:
        self._thinking_block(message).append_text(message.get("delta") or "")

    def _read_thinking_part(self, message: dict[str, Any]) -> None:
        opened = self._thinking_block(message)
        if opened.text:
            opened.append_text("\n\n")

    def _read_arguments_delta(self, message: dict[str, Any]) -> None:
        opened = self._block_builder.find_open_block(self._item_key(message))
        if isinstance(opened, GrowingToolCall):
            opened.append_arguments(message.get("delta") or "")

    def _read_arguments_done(self, message: dict[str, Any]) -> None:
        opened = self._block_builder.find_open_block(self._item_key(message))
        if isinstance(opened, GrowingToolCall):
            _add_missing_arguments(opened, message.get("arguments") or "")

    def _read_error(self, message: dict[str, Any]) -> None:
        raise error_from_stream_event(message)

    def finish_response(self) -> None:
        self._block_builder.end_all_blocks()
        if not self.has_ended:
            raise incomplete_answer_error("no terminal response event")

    def _item_key(self, message: dict[str, Any]) -> Hashable:
        index = message.get("output_index")
        return index if index is not None else message.get("item_id") or "only"

    def _thinking_block(self, message: dict[str, Any]) -> GrowingTextBlock:
        return self._block_builder.get_or_begin_thinking(self._item_key(message))

    def _read_response_start(self, message: dict[str, Any]) -> None:
        response = message.get("response") or {}
        draft = self._stream.draft
        draft.response_id = response.get("id") or draft.response_id
        draft.response_model = response.get("model") or draft.response_model

    def _read_item_added(self, message: dict[str, Any]) -> None:
        item = message.get("item") or {}
        key = self._item_key(message)
        match item.get("type"):
            case "reasoning":
                self._block_builder.get_or_begin_thinking(key)
            case "message":
                self._block_builder.get_or_begin_text(key)
            case "function_call":
                call = self._block_builder.get_or_begin_tool_call(
                    key, call_id=_call_id(item), name=item.get("name") or ""
                )
                call.append_arguments(item.get("arguments") or "")

    def _read_item_done(self, message: dict[str, Any]) -> None:
        key = self._item_key(message)
        if key in self._finished_item_keys:
            return
        self._finished_item_keys.add(key)
        self._finish_item(key, message.get("item") or {})

    def _finish_item(self, key: Hashable, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "reasoning":
                thought = self._block_builder.get_or_begin_thinking(key)
                if not thought.text:
                    thought.append_text(
                        _join_part_texts(item.get("summary")) or _join_part_texts(item.get("content"))
                    )
                thought.signature = msgspec.json.encode(item).decode()
            case "message":
                text = self._block_builder.get_or_begin_text(key)
                if not text.text:
                    text.append_text(_join_part_texts(item.get("content"), separator=""))
                text.signature = item.get("id")
                for part in item.get("content") or ():
                    for note in part.get("annotations") or ():
                        if note.get("type") == "url_citation":
                            self._stream.draft.web_findings.add_source(note.get("url"), note.get("title"))
            case "function_call":
                call = self._block_builder.get_or_begin_tool_call(
                    key, call_id=_call_id(item), name=item.get("name") or ""
                )
                call.id = _call_id(item) or call.id
                call.name = item.get("name") or call.name
                _add_missing_arguments(call, item.get("arguments") or "")
            case "web_search_call":
                self._read_search_item(item)
            case _:
                return
        self._block_builder.end_block(key)

    def _read_search_item(self, item: dict[str, Any]) -> None:
        action, findings = item.get("action") or {}, self._stream.draft.web_findings
        findings.mark_answer_start(self._stream.partial_message.text)
        for query in action.get("queries") or (action.get("query"),):
            findings.add_query(query)
        for source in action.get("sources") or ():
            findings.add_source(source.get("url"))
        if item.get("status") == "failed":
            findings.search_problem = "the search failed"

    def _read_response_end(self, message: dict[str, Any]) -> None:
        self._read_response_start(message)
        response = message.get("response") or {}
        if not len(self._block_builder):
            for index, item in enumerate(response.get("output") or ()):
                self._finish_item(index, item)
        self._block_builder.end_all_blocks()
        self._update_usage(response.get("usage") or {})
        self.has_ended = True
        draft = self._stream.draft
        status = response.get("status") or "completed"
        reason = (response.get("incomplete_details") or {}).get("reason")
        draft.raw_stop_reason = f"{status}:{reason}" if reason else status
        if status == "incomplete" and reason == "content_filter":
            draft.stop_reason = "error"
            draft.error_message = "content_filter: the provider's filter stopped the answer."
        elif status == "incomplete":
            draft.stop_reason = "length"
        elif status in ("failed", "cancelled"):
            self._read_response_failure(message)

    def _read_response_failure(self, message: dict[str, Any]) -> None:
        self._read_response_start(message)
        response = message.get("response") or {}
        self._update_usage(response.get("usage") or {})
        text, word = error_from_json({"error": response.get("error") or {}})
        if not text and response.get("incomplete_details"):
            text = f"incomplete: {response['incomplete_details'].get('reason')}"
        raise ProviderError(
            prefix_error_type(text or "The provider reported a failed response.", word), kind=word
        )

    def _update_usage(self, usage: dict[str, Any]) -> None:
        if not usage:
            return
        cached = read_token_count(usage, "input_tokens_details", "cached_tokens")
        written = read_token_count(usage, "input_tokens_details", "cache_write_tokens")
        self._stream.draft.usage = add_cost_to_usage(
            Usage(
                input=max(read_token_count(usage, "input_tokens") - cached - written, 0),
                output=read_token_count(usage, "output_tokens"),
                cache_read=cached,
                cache_write=written,
                reasoning=read_token_count(usage, "output_tokens_details", "reasoning_tokens") or None,
                total_tokens=read_token_count(usage, "total_tokens"),
            ),
            self._model,
        )


_READ_METHOD_BY_EVENT_TYPE: dict[str, Callable[[OpenAIResponsesReader, dict[str, Any]], None]] = {
    "response.output_text.delta": OpenAIResponsesReader._read_text_delta,
    "response.refusal.delta": OpenAIResponsesReader._read_text_delta,
    "response.reasoning_summary_text.delta": OpenAIResponsesReader._read_thinking_delta,
    "response.reasoning_text.delta": OpenAIResponsesReader._read_thinking_delta,
    "response.reasoning_summary_part.added": OpenAIResponsesReader._read_thinking_part,
    "response.function_call_arguments.delta": OpenAIResponsesReader._read_arguments_delta,
    "response.function_call_arguments.done": OpenAIResponsesReader._read_arguments_done,
    "response.output_item.added": OpenAIResponsesReader._read_item_added,
    "response.output_item.done": OpenAIResponsesReader._read_item_done,
    "response.created": OpenAIResponsesReader._read_response_start,
    "response.in_progress": OpenAIResponsesReader._read_response_start,
    "response.completed": OpenAIResponsesReader._read_response_end,
    "response.incomplete": OpenAIResponsesReader._read_response_end,
    "response.done": OpenAIResponsesReader._read_response_end,
    "response.failed": OpenAIResponsesReader._read_response_failure,
    "error": OpenAIResponsesReader._read_error,
}


def _call_id(item: dict[str, Any]) -> str:
    call, own = item.get("call_id") or "", item.get("id") or ""
    return f"{call}|{own}" if call and own else call or own


def _add_missing_arguments(call: GrowingToolCall, arguments: str) -> None:
    """Adds the arguments that the deltas left out; some servers send them only at the end."""
    if not arguments:
        return
    so_far = call.arguments_text
    if arguments != so_far and arguments.startswith(so_far):
        call.append_arguments(arguments[len(so_far) :])


def _join_part_texts(parts: Any, separator: str = "\n\n") -> str:
    texts = [part.get("text") or part.get("refusal") or "" for part in parts or () if isinstance(part, dict)]
    return separator.join(text for text in texts if text)
