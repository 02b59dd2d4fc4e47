"""Assembles a response block by block: updates the draft's content and emits the matching events.

Adapters identify a block by the key of their wire format. Growing text is buffered; the draft receives it
when a block ends or when a snapshot is taken."""

from collections.abc import Hashable
from typing import Any

import msgspec

from app.providers.model_stream import AssistantStream, server_value_to_text
from app.providers.stream.partial_json import PartialToolArguments
from app.values.content import AssistantContent, Text, Thinking, ToolCall
from app.values.stream import (
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tools.memory_reduction import trim_heap

MAX_RESPONSE_BLOCK_CHARS = 10_000_000


def _require_text(said: Any) -> None:
    if not isinstance(said, str):
        raise TypeError(f"text was expected, not {type(said).__name__}")


class GrowingTextBlock:
    """A text or thinking block that is still growing."""

    __slots__ = ("_emit", "_kind", "_pieces", "index", "is_redacted", "is_thinking", "signature")

    def __init__(self, stream: AssistantStream, index: int, *, is_thinking: bool) -> None:
        self.index = index
        self.is_thinking = is_thinking
        self.is_redacted = False
        self.signature: str | None = None
        self._pieces: list[str] = []
        self._kind = ThinkingDelta if is_thinking else TextDelta
        self._emit = stream.emit_delta

    def append_text(self, text: str) -> None:
        """Appends text to the open block. Raises `TypeError` if the server sent another type."""
        if not text:
            return
        _require_text(text)
        self._pieces.append(text)
        self._emit(self._kind, self.index, text)

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
            if len(self._pieces[0]) > MAX_RESPONSE_BLOCK_CHARS:
                trim_heap()  # the pieces', which the allocator would keep
        return self._pieces[0] if self._pieces else ""

    def to_block(self) -> AssistantContent:
        if self.is_thinking:
            return Thinking(
                thinking=self.text,
                thinking_signature=server_value_to_text(self.signature),
                redacted=True if self.is_redacted else None,
            )
        return Text(text=self.text, text_signature=server_value_to_text(self.signature))


class GrowingToolCall:
    """A tool call whose arguments are still growing."""

    __slots__ = ("_arguments", "_emit", "id", "index", "name", "namespace", "signature")

    def __init__(self, stream: AssistantStream, index: int, call_id: str, name: str) -> None:
        self.index = index
        self.id = call_id
        self.name = name
        self.namespace: str | None = None
        self.signature: str | None = None
        self._arguments = PartialToolArguments()
        self._emit = stream.emit_delta

    def append_arguments(self, text: str) -> None:
        """Appends text to the tool call's arguments. Raises `TypeError` if the server sent another type."""
        if not text:
            return
        _require_text(text)
        self._arguments.add_delta(text)
        self._emit(ToolCallDelta, self.index, text)

    @property
    def arguments_text(self) -> str:
        return self._arguments.text

    def to_block(self, *, is_last: bool) -> ToolCall:
        return self._make_call(self._arguments.parse_now() if is_last else self._arguments.latest_value, None)

    def finished_call(self) -> ToolCall:
        return self._make_call(*self._arguments.parse_complete())

    def _make_call(self, arguments: dict[str, Any], problem: str | None) -> ToolCall:
        return ToolCall(
            id=server_value_to_text(self.id) or "",
            name=server_value_to_text(self.name) or "",
            arguments=arguments,
            arguments_error=problem,
            namespace=server_value_to_text(self.namespace),
            thought_signature=server_value_to_text(self.signature),
        )


class ResponseBlockBuilder:
    """The blocks of one response. Ending a block twice is harmless; a delta for an unknown block begins it."""

    def __init__(self, stream: AssistantStream) -> None:
        self._stream = stream
        self._content = stream.draft.content
        self._open_blocks: dict[Hashable, GrowingTextBlock | GrowingToolCall] = {}
        stream.before_snapshot = self._update_draft

    def __len__(self) -> int:
        return len(self._content)

    def get_or_begin_text(self, key: Hashable) -> GrowingTextBlock:
        """Returns the open text block with that key and begins it if needed."""
        found = self._open_blocks.get(key)
        if isinstance(found, GrowingTextBlock) and not found.is_thinking:
            return found
        return self._begin_text(key, is_thinking=False)

    def get_or_begin_thinking(self, key: Hashable) -> GrowingTextBlock:
        found = self._open_blocks.get(key)
        if isinstance(found, GrowingTextBlock) and found.is_thinking:
            return found
        return self._begin_text(key, is_thinking=True)

    def get_or_begin_tool_call(self, key: Hashable, *, call_id: str = "", name: str = "") -> GrowingToolCall:
        found = self._open_blocks.get(key)
        if isinstance(found, GrowingToolCall):
            return found
        call_id, name = server_value_to_text(call_id) or "", server_value_to_text(name) or ""
        self.end_block(key)
        opened = self._open_blocks[key] = GrowingToolCall(self._stream, len(self._content), call_id, name)
        self._content.append(ToolCall(id=call_id, name=name, arguments={}))
        self._stream.emit(ToolCallStart(content_index=opened.index, id=call_id, tool_name=name))
        return opened

    def find_open_block(self, key: Hashable) -> GrowingTextBlock | GrowingToolCall | None:
        return self._open_blocks.get(key)

    def end_block(self, key: Hashable) -> None:
        opened = self._open_blocks.pop(key, None)
        if opened is None:
            return
        if isinstance(opened, GrowingToolCall):
            call = opened.finished_call()
            self._content[opened.index] = call
            self._stream.emit(ToolCallEnd(content_index=opened.index, tool_call=call))
            return
        block = opened.to_block()
        self._content[opened.index] = block
        if isinstance(block, Thinking):
            self._stream.emit(ThinkingEnd(content_index=opened.index, content=block.thinking))
        elif isinstance(block, Text):
            self._stream.emit(TextEnd(content_index=opened.index, content=block.text))

    def end_all_blocks(self) -> None:
        for key in tuple(self._open_blocks):
            self.end_block(key)

    def add_thinking_block(self, block: Thinking) -> None:
        """Adds a complete thinking block (redacted thinking)."""
        index = len(self._content)
        self._content.append(block)
        self._stream.emit(ThinkingStart(content_index=index))
        self._stream.emit(ThinkingEnd(content_index=index, content=block.thinking))

    def add_signature(self, index: int, signature: str) -> None:
        """Adds a signature to a block that has already ended."""
        block = self._content[index]
        if isinstance(block, Thinking):
            self._content[index] = msgspec.structs.replace(block, thinking_signature=signature)
        elif isinstance(block, Text):
            self._content[index] = msgspec.structs.replace(block, text_signature=signature)

    def _begin_text(self, key: Hashable, *, is_thinking: bool) -> GrowingTextBlock:
        self.end_block(key)
        opened = self._open_blocks[key] = GrowingTextBlock(
            self._stream, len(self._content), is_thinking=is_thinking
        )
        if is_thinking:
            self._content.append(Thinking(thinking=""))
            self._stream.emit(ThinkingStart(content_index=opened.index))
        else:
            self._content.append(Text(text=""))
            self._stream.emit(TextStart(content_index=opened.index))
        return opened

    def _update_draft(self, is_last: bool) -> None:
        for opened in self._open_blocks.values():
            if isinstance(opened, GrowingToolCall):
                self._content[opened.index] = opened.to_block(is_last=is_last)
            else:
                self._content[opened.index] = opened.to_block()
