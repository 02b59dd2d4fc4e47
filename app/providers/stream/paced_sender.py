"""Sends complete blocks in pieces like a network, for models without one (offline and scripted)."""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from typing import assert_never

import msgspec

from app.providers.model_stream import AssistantStream
from app.values.codec import encode, encode_json
from app.values.content import AssistantContent, Text, Thinking, ToolCall, UnknownContent
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
from app.values.usage import Usage

CHARACTERS_PER_TOKEN = 4


class ScriptedStreamBreak(Exception):
    """Raised when a scripted response breaks off before all of it was sent."""


class PacedBlockSender(msgspec.Struct, eq=False):
    """Writes blocks into a stream piece by piece; it can be cancelled between pieces."""

    stream: AssistantStream
    next_piece_length: Callable[[], int]
    tokens_per_second: float = 0
    breaks_after_pieces: int | None = None

    async def send_block(self, block: AssistantContent) -> None:
        """Sends `block` as the next one. Raises `ScriptedStreamBreak` after `breaks_after_pieces` pieces."""
        content, emit = self.stream.draft.content, self.stream.emit
        index = len(content)
        match block:
            case Text():
                content.append(Text(text=""))
                emit(TextStart(content_index=index))
                async for piece, so_far in self._pieces(block.text):
                    content[index] = Text(text=so_far)
                    emit(TextDelta(content_index=index, delta=piece))
                emit(TextEnd(content_index=index, content=block.text))
            case Thinking():
                content.append(Thinking(thinking=""))
                emit(ThinkingStart(content_index=index))
                async for piece, so_far in self._pieces(block.thinking):
                    content[index] = Thinking(thinking=so_far)
                    emit(ThinkingDelta(content_index=index, delta=piece))
                emit(ThinkingEnd(content_index=index, content=block.thinking))
            case ToolCall():
                emit(ToolCallStart(content_index=index, id=block.id, tool_name=block.name))
                async for piece, _ in self._pieces(encode_json(block.arguments).decode()):
                    emit(ToolCallDelta(content_index=index, delta=piece))
                content.append(block)
                emit(ToolCallEnd(content_index=index, tool_call=block))
                return
            case UnknownContent():
                content.append(block)
                return
            case _:
                assert_never(block)
        content[index] = block  # signatures included

    async def _pieces(self, text: str) -> AsyncGenerator[tuple[str, str], None]:
        """Yields the pieces of a text one by one, each with the text up to its end."""
        position = 0
        while position < len(text):
            self._count_piece()
            piece = text[position : position + self.next_piece_length()]
            position += len(piece)
            yield piece, text[:position]
            await asyncio.sleep(self._pause_seconds(piece))
            await self.stream.wait_for_space()

    def _count_piece(self) -> None:
        if self.breaks_after_pieces == 0:
            raise ScriptedStreamBreak
        if self.breaks_after_pieces is not None:
            self.breaks_after_pieces -= 1

    def _pause_seconds(self, piece: str) -> float:
        if not self.tokens_per_second:
            return 0
        return len(piece) / CHARACTERS_PER_TOKEN / self.tokens_per_second


def random_piece_lengths(source: random.Random, low: int, high: int) -> Callable[[], int]:
    """Returns a source of random piece lengths, uneven like a network's."""
    return lambda: source.randint(low, high)


def add_output_tokens(usage: Usage, content: list[AssistantContent]) -> Usage:
    """Returns the prompt's `usage` with the tokens of the sent content."""
    output = sum(len(encode(block)) for block in content) // CHARACTERS_PER_TOKEN
    return msgspec.structs.replace(usage, output=output, total_tokens=usage.total_tokens + output)
