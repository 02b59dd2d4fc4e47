"""A model that says what it was told to say, through the same registry and contract as all others: for tests,
for benchmarks and for recorded demonstrations.

Responses are queued as answers, or as functions of the full context and the call count.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.providers.contract import Adapter, AssistantStream, Context, StreamOptions
from app.values.codec import encode, encode_json
from app.values.content import AssistantContent, Text, Thinking, ToolCall
from app.values.messages import StopReason
from app.values.models import Model
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

API = "scripted"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One response: its blocks, and how it ends."""

    blocks: tuple[AssistantContent, ...] = ()
    stop: StopReason | None = None
    """None: `toolUse` if there are calls, else `stop`."""
    error: str | None = None
    """Fails with this text, after the blocks."""
    status: int = 200
    headers: Mapping[str, str] = {}
    delay_headers: float = 0.0
    """Seconds until the response's headers arrive."""

    def __add__(self, other: "Answer") -> "Answer":
        return msgspec.structs.replace(other, blocks=self.blocks + other.blocks)


Response = Answer | Callable[[Context, int], "Answer | Awaitable[Answer]"]


def say(text: str, **ending: Any) -> Answer:
    return Answer(blocks=(Text(text=text),), **ending)


def think(text: str) -> Answer:
    return Answer(blocks=(Thinking(thinking=text),))


def call(name: str, /, call_id: str = "", **arguments: Any) -> Answer:
    """One tool call; calls are added up with `+` to be made side by side."""
    return Answer(blocks=(ToolCall(id=call_id, name=name, arguments=arguments),))


def fail(text: str, status: int = 500, **ending: Any) -> Answer:
    return Answer(error=text, status=status, **ending)


class Scripted:
    """The script and its adapter."""

    def __init__(
        self,
        responses: Iterable[Response] = (),
        *,
        seed: int = 0,
        tokens_per_second: float = 0,
        context_window: int = 200_000,
        reads_images: bool = True,
        reasoning: bool = True,
    ) -> None:
        self.responses: list[Response] = list(responses)
        self.contexts: list[Context] = []
        """What was asked, request by request."""
        self.model = Model(
            id="script",
            name="Scripted model",
            api=API,
            provider="scripted",
            reasoning=reasoning,
            input=("text", "image") if reads_images else ("text",),
            context_window=context_window,
        )
        self._random = random.Random(seed)
        self._tokens_per_second = tokens_per_second
        self._calls = 0
        self._cached = b""

    @property
    def adapter(self) -> Adapter:
        return self._answer

    @property
    def call_count(self) -> int:
        return self._calls

    async def _answer(
        self, model: Model, context: Context, options: StreamOptions, stream: AssistantStream
    ) -> None:
        self._calls += 1
        self.contexts.append(context)
        answer = await self._next(context)
        if answer.delay_headers:
            await asyncio.sleep(answer.delay_headers)
        if options.hooks.on_response is not None:
            await options.hooks.on_response(answer.status, answer.headers)
        for index, block in enumerate(answer.blocks):
            await self._stream_block(index, block, stream)
        stream.draft.usage = self._usage(context, answer)
        if answer.error is not None:
            stream.draft.stop_reason = "error"
            stream.draft.error_message = answer.error
        elif answer.stop is not None:
            stream.draft.stop_reason = answer.stop

    async def _next(self, context: Context) -> Answer:
        if not self.responses:
            return fail("The script has no more answers.", status=400)
        response = self.responses.pop(0)
        if isinstance(response, Answer):
            return response
        made = response(context, self._calls)
        return made if isinstance(made, Answer) else await made

    async def _stream_block(self, index: int, block: AssistantContent, stream: AssistantStream) -> None:
        match block:
            case Text():
                stream.draft.content.append(Text(text=""))
                stream.emit(TextStart(content_index=index))
                async for piece, so_far in self._pieces(block.text):
                    stream.draft.content[index] = Text(text=so_far)
                    stream.emit(TextDelta(content_index=index, delta=piece))
                stream.draft.content[index] = block
                stream.emit(TextEnd(content_index=index, content=block.text))
            case Thinking():
                stream.draft.content.append(Thinking(thinking=""))
                stream.emit(ThinkingStart(content_index=index))
                async for piece, so_far in self._pieces(block.thinking):
                    stream.draft.content[index] = Thinking(thinking=so_far)
                    stream.emit(ThinkingDelta(content_index=index, delta=piece))
                stream.draft.content[index] = block
                stream.emit(ThinkingEnd(content_index=index, content=block.thinking))
            case ToolCall():
                made = msgspec.structs.replace(block, id=block.id or f"call_{self._calls}_{index}")
                stream.emit(ToolCallStart(content_index=index, id=made.id, tool_name=made.name))
                async for piece, _ in self._pieces(encode_json(made.arguments).decode()):
                    stream.emit(ToolCallDelta(content_index=index, delta=piece))
                stream.draft.content.append(made)
                stream.emit(ToolCallEnd(content_index=index, tool_call=made))

    async def _pieces(self, text: str) -> AsyncGenerator[tuple[str, str], None]:
        """Each piece, and all so far."""
        position = 0
        while position < len(text):
            size = self._random.randint(1, 24)
            piece = text[position : position + size]
            position += len(piece)
            yield piece, text[:position]
            pause = size / 4 / self._tokens_per_second if self._tokens_per_second else 0
            await asyncio.sleep(pause)  # a place to be cancelled at every piece

    def _usage(self, context: Context, answer: Answer) -> Usage:
        """A cache that remembers the last prompt: what both begin with is read from it."""
        prompt = context.system_prompt.encode("utf-8", "replace")
        prompt += b"".join(encode(message) for message in context.messages)
        common = _common_prefix(self._cached, prompt)
        self._cached = prompt
        output = sum(len(encode(block)) for block in answer.blocks) // 4
        cached, fresh = common // 4, (len(prompt) - common) // 4
        return Usage(input=fresh, output=output, cache_read=cached, total_tokens=fresh + cached + output)


def _common_prefix(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
