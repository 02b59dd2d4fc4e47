"""Decodes the events of OpenAI's responses format into blocks. Pure, without network.

Blocks are keyed by the output index of their item. Content that arrives only with the end of an item is
added then."""

from collections.abc import Callable, Hashable
from typing import Any

import msgspec

from app.providers.adapters.common import count, incomplete_error
from app.providers.errors import ProviderError, error_from_json, error_in_stream, with_kind
from app.providers.model_stream import AssistantStream
from app.providers.models.pricing import with_cost
from app.providers.stream.blocks import Blocks, OpenCall, OpenText
from app.providers.transport import decode_event
from app.values.models import Model
from app.values.usage import Usage


class ResponsesReader:
    """Reads the events of one response into blocks."""

    def __init__(self, model: Model, stream: AssistantStream) -> None:
        self.is_over = False
        self._model = model
        self._stream = stream
        self._blocks = Blocks(stream)
        self._done: set[Hashable] = set()

    def take(self, event: str, data: bytes) -> None:
        if data == b"[DONE]":
            return
        message = decode_event(data)
        if not isinstance(message, dict):
            return
        kind = message.get("type") or event
        if kind in ("keepalive", "ping"):
            return
        handle = _HANDLERS.get(kind)
        if handle is not None:
            handle(self, message)
        self._stream.touch()

    def _text_delta(self, message: dict[str, Any]) -> None:
        self._blocks.text(self._key(message)).append(message.get("delta") or "")

    def _thinking_delta(self, message: dict[str, Any]) -> None:
        self._thinking(message).append(message.get("delta") or "")

    def _thinking_part(self, message: dict[str, Any]) -> None:
        opened = self._thinking(message)
        if opened.text:
            opened.append("\n\n")

    def _arguments_delta(self, message: dict[str, Any]) -> None:
        opened = self._blocks.opened(self._key(message))
        if isinstance(opened, OpenCall):
            opened.append(message.get("delta") or "")

    def _arguments_done(self, message: dict[str, Any]) -> None:
        opened = self._blocks.opened(self._key(message))
        if isinstance(opened, OpenCall):
            _complete(opened, message.get("arguments") or "")

    def _error(self, message: dict[str, Any]) -> None:
        raise error_in_stream(message)

    def finish(self) -> None:
        self._blocks.end_all()
        if not self.is_over:
            raise incomplete_error("no terminal response event")

    def _key(self, message: dict[str, Any]) -> Hashable:
        index = message.get("output_index")
        return index if index is not None else message.get("item_id") or "only"

    def _thinking(self, message: dict[str, Any]) -> OpenText:
        return self._blocks.thinking(self._key(message))

    def _begin(self, message: dict[str, Any]) -> None:
        response = message.get("response") or {}
        draft = self._stream.draft
        draft.response_id = response.get("id") or draft.response_id
        draft.response_model = response.get("model") or draft.response_model

    def _item_added(self, message: dict[str, Any]) -> None:
        item = message.get("item") or {}
        key = self._key(message)
        match item.get("type"):
            case "reasoning":
                self._blocks.thinking(key)
            case "message":
                self._blocks.text(key)
            case "function_call":
                call = self._blocks.call(key, call_id=_call_id(item), name=item.get("name") or "")
                call.append(item.get("arguments") or "")

    def _item_done(self, message: dict[str, Any]) -> None:
        key = self._key(message)
        if key in self._done:
            return
        self._done.add(key)
        self._finish_item(key, message.get("item") or {})

    def _finish_item(self, key: Hashable, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "reasoning":
                thought = self._blocks.thinking(key)
                if not thought.text:
                    thought.append(_joined(item.get("summary")) or _joined(item.get("content")))
                thought.signature = msgspec.json.encode(item).decode()
            case "message":
                text = self._blocks.text(key)
                if not text.text:
                    text.append(_joined(item.get("content"), separator=""))
                text.signature = item.get("id")
            case "function_call":
                call = self._blocks.call(key, call_id=_call_id(item), name=item.get("name") or "")
                call.id = _call_id(item) or call.id
                call.name = item.get("name") or call.name
                _complete(call, item.get("arguments") or "")
            case _:
                return
        self._blocks.end(key)

    def _end(self, message: dict[str, Any]) -> None:
        self._begin(message)
        response = message.get("response") or {}
        if not len(self._blocks):
            for index, item in enumerate(response.get("output") or ()):
                self._finish_item(index, item)
        self._blocks.end_all()
        self._count(response.get("usage") or {})
        self.is_over = True
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
            self._failed(message)

    def _failed(self, message: dict[str, Any]) -> None:
        self._begin(message)
        response = message.get("response") or {}
        self._count(response.get("usage") or {})
        text, word = error_from_json({"error": response.get("error") or {}})
        if not text and response.get("incomplete_details"):
            text = f"incomplete: {response['incomplete_details'].get('reason')}"
        raise ProviderError(with_kind(text or "The provider reported a failed response.", word), kind=word)

    def _count(self, usage: dict[str, Any]) -> None:
        if not usage:
            return
        cached = count(usage, "input_tokens_details", "cached_tokens")
        written = count(usage, "input_tokens_details", "cache_write_tokens")
        self._stream.draft.usage = with_cost(
            Usage(
                input=max(count(usage, "input_tokens") - cached - written, 0),
                output=count(usage, "output_tokens"),
                cache_read=cached,
                cache_write=written,
                reasoning=count(usage, "output_tokens_details", "reasoning_tokens") or None,
                total_tokens=count(usage, "total_tokens"),
            ),
            self._model,
        )


_HANDLERS: dict[str, Callable[[ResponsesReader, dict[str, Any]], None]] = {
    "response.output_text.delta": ResponsesReader._text_delta,
    "response.refusal.delta": ResponsesReader._text_delta,
    "response.reasoning_summary_text.delta": ResponsesReader._thinking_delta,
    "response.reasoning_text.delta": ResponsesReader._thinking_delta,
    "response.reasoning_summary_part.added": ResponsesReader._thinking_part,
    "response.function_call_arguments.delta": ResponsesReader._arguments_delta,
    "response.function_call_arguments.done": ResponsesReader._arguments_done,
    "response.output_item.added": ResponsesReader._item_added,
    "response.output_item.done": ResponsesReader._item_done,
    "response.created": ResponsesReader._begin,
    "response.in_progress": ResponsesReader._begin,
    "response.completed": ResponsesReader._end,
    "response.incomplete": ResponsesReader._end,
    "response.done": ResponsesReader._end,
    "response.failed": ResponsesReader._failed,
    "error": ResponsesReader._error,
}


def _call_id(item: dict[str, Any]) -> str:
    call, own = item.get("call_id") or "", item.get("id") or ""
    return f"{call}|{own}" if call and own else call or own


def _complete(call: OpenCall, arguments: str) -> None:
    """Adds the arguments that the deltas left out; some servers send them only at the end."""
    if not arguments:
        return
    so_far = call.text
    if arguments != so_far and arguments.startswith(so_far):
        call.append(arguments[len(so_far) :])


def _joined(parts: Any, separator: str = "\n\n") -> str:
    texts = [part.get("text") or part.get("refusal") or "" for part in parts or () if isinstance(part, dict)]
    return separator.join(text for text in texts if text)
