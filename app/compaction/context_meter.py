"""Estimates the tokens of the context and decides when the context is full. Pure."""

import math
from collections.abc import Container, Sequence
from typing import assert_never

import msgspec

from app.values.codec import encode_json
from app.values.content import (
    ESTIMATED_IMAGE_CHARACTERS,
    Content,
    Image,
    Text,
    Thinking,
    ToolCall,
    UnknownContent,
)
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolDeclaration,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)


class ContextLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the context in tokens: what is reserved for the answer, and how many tokens of recent messages
    a compaction keeps verbatim."""

    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000

    def is_full(self, tokens: int, context_window: int) -> bool:
        return context_window > 0 and tokens > context_window - self.reserve_tokens


def estimate_message_tokens(message: Message) -> int:
    """Estimates the tokens of a message as a quarter of its characters, which is exact enough to decide when to
    compact."""
    return math.ceil(_count_characters(message) / 4)


def _count_characters(message: Message) -> int:
    match message:
        case AssistantMessage() | UserMessage() | CustomMessage() | ToolResultMessage():
            return _content_characters(message.content)
        case SystemMessage():
            sections = sum(len(text or "") for text in (message.sections or {}).values())
            return (
                _content_characters(message.content) + sections + _tool_characters(message.tools_added or ())
            )
        case BashExecutionMessage():
            return 0 if message.exclude_from_context else len(message.command) + len(message.output)
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return len(message.summary)
        case UnknownMessage():
            return 0
        case _:
            assert_never(message)


def _content_characters(content: str | Sequence[Content]) -> int:
    return len(content) if isinstance(content, str) else sum(_block_characters(block) for block in content)


def _tool_characters(tools: Sequence[ToolDeclaration]) -> int:
    frame = len('{"name":"","description":"","parameters":}')
    told = sum(frame + len(tool.name) + len(tool.description) for tool in tools)
    return told + len(encode_json([tool.parameters for tool in tools])) if tools else 0


def _block_characters(block: Content) -> int:
    match block:
        case Text():
            return len(block.text)
        case Thinking():
            return len(block.thinking)
        case Image():
            return ESTIMATED_IMAGE_CHARACTERS
        case ToolCall():
            return len(block.name) + len(encode_json(block.arguments))
        case UnknownContent():
            return 0
        case _:
            assert_never(block)


class ContextTokenMeter:
    """Measures the context in tokens: the provider's count at the last answer plus an estimate for the messages
    behind it."""

    def __init__(self) -> None:
        self._counted: int | None = None
        self._estimated = 0

    def reset(self, messages: Sequence[Message], *, trusted: Container[str] | None = None) -> None:
        """Measures the given messages anew; counts of answers whose ids are not in `trusted` (None: all are) are
        ignored."""
        self._counted = None
        self._estimated = 0
        for message in reversed(messages):  # what stands above the last count is in it
            if (tokens := _reported_context_size(message)) and (trusted is None or message.id in trusted):
                self._counted = tokens
                return
            self._estimated += estimate_message_tokens(message)

    def count_message(self, message: Message) -> None:
        if tokens := _reported_context_size(message):
            self._counted = tokens
            self._estimated = 0
        else:
            self._estimated += estimate_message_tokens(message)

    @property
    def tokens(self) -> int:
        return (self._counted or 0) + self._estimated

    @property
    def is_exact(self) -> bool:
        return self._counted is not None


def _reported_context_size(message: Message) -> int:
    """Returns the size of the context in tokens that the provider reported with an answer; 0 if it reported none."""
    if isinstance(message, AssistantMessage) and message.stop_reason not in ("error", "aborted"):
        usage = message.usage
        return usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write
    return 0
