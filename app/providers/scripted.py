"""A model that sends scripted answers through the same registry and contract as all others, for tests,
benchmarks and recorded demonstrations.

Responses are queued as answers, as whole messages, or as functions of the full context and the call count."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import Adapter, AssistantStream, RequestContext, StreamOptions
from app.providers.stream.paced_sender import (
    CHARACTERS_PER_TOKEN,
    PacedBlockSender,
    ScriptedStreamBreak,
    add_output_tokens,
    random_piece_lengths,
)
from app.values.codec import encode
from app.values.content import AssistantContent, Text, Thinking, ToolCall
from app.values.messages import AssistantMessage, StopReason
from app.values.models import Model
from app.values.usage import Usage
from tools.edits.diffs import common_prefix_length

SCRIPTED_API_NAME = "scripted"


class ScriptedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One scripted response: its blocks, and how it ends."""

    blocks: tuple[AssistantContent, ...] = ()
    stop: StopReason | None = None
    """The reason why the answer stops; None means `toolUse` if it has calls, otherwise `stop`."""
    error: str | None = None
    """The text of an error with which the response ends after its blocks; None: it does not fail."""
    breaks_after: int | None = None
    """The number of pieces after which the response breaks off with `error`, or with a default text; None: it is
    complete."""
    status: int = 200
    headers: Mapping[str, str] = {}
    delay_headers: float = 0.0
    """The number of seconds until the response's headers arrive."""
    gate: asyncio.Event | None = None
    """An event that the response waits for after its blocks, before it ends."""

    def __add__(self, other: "ScriptedAnswer") -> "ScriptedAnswer":
        return msgspec.structs.replace(other, blocks=self.blocks + other.blocks)


ScriptedResponse = ScriptedAnswer | AssistantMessage
QueuedResponse = (
    ScriptedResponse | Callable[[RequestContext, int], ScriptedResponse | Awaitable[ScriptedResponse]]
)


def say(text: str, **ending: Any) -> ScriptedAnswer:
    """Returns a scripted answer of text; `ending` sets fields of `ScriptedAnswer`: `say("half a sen",
    stop="length")`."""
    return ScriptedAnswer(blocks=(Text(text=text),), **ending)


def think(text: str) -> ScriptedAnswer:
    return ScriptedAnswer(blocks=(Thinking(thinking=text),))


def call(name: str, /, call_id: str = "", **arguments: Any) -> ScriptedAnswer:
    """Returns a scripted answer with one tool call; `+` joins calls into one answer with several."""
    return ScriptedAnswer(blocks=(ToolCall(id=call_id, name=name, arguments=arguments),))


def fail(text: str, status: int = 500, **ending: Any) -> ScriptedAnswer:
    """Returns a scripted error response. For a stream that fails half-way use `say("…", error="…", breaks_after=3)`."""
    return ScriptedAnswer(error=text, status=status, **ending)


class ScriptedModel:
    """The queue of scripted responses and the adapter that sends them."""

    def __init__(
        self,
        responses: Iterable[QueuedResponse] = (),
        *,
        seed: int = 0,
        piece: tuple[int, int] = (1, 24),
        tokens_per_second: float = 0,
        context_window: int = 200_000,
        reads_images: bool = True,
        reasoning: bool = True,
    ) -> None:
        self.responses: list[QueuedResponse] = list(responses)
        self.received_contexts: list[RequestContext] = []
        """The contexts of the requests that the model received, in order."""
        self.model = Model(
            id="script",
            name="Scripted model",
            api=SCRIPTED_API_NAME,
            provider="scripted",
            reasoning=reasoning,
            input=("text", "image") if reads_images else ("text",),
            context_window=context_window,
        )
        self._next_piece_length = random_piece_lengths(random.Random(seed), *piece)
        """Returns the length of the next piece to send: a random number between the two of `piece`."""
        self._tokens_per_second = tokens_per_second
        self._request_count = 0
        self._last_prompt = b""

    def register(self, registry: AdapterRegistry) -> Model:
        """Registers the script's adapter in `registry` and returns its model."""
        registry.register_adapter(SCRIPTED_API_NAME, self.adapter, owner=SCRIPTED_API_NAME)
        return self.model

    @property
    def adapter(self) -> Adapter:
        return self._send_next_answer

    @property
    def request_count(self) -> int:
        return self._request_count

    async def _send_next_answer(
        self, model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        self._request_count += 1
        self.received_contexts.append(context)
        answer = await self._next_answer(context)
        if answer.delay_headers:
            await asyncio.sleep(answer.delay_headers)
        if options.hooks.on_response_headers is not None:
            await options.hooks.on_response_headers(answer.status, answer.headers)
        stream.draft.usage = self.usage(context)
        answer = await self._send_blocks(answer, stream)
        if answer.gate is not None:
            await answer.gate.wait()
        stream.draft.usage = add_output_tokens(stream.draft.usage, stream.draft.content)
        if answer.error is not None:
            stream.draft.stop_reason = "error"
            stream.draft.error_message = answer.error
        elif answer.stop is not None:
            stream.draft.stop_reason = answer.stop

    async def _next_answer(self, context: RequestContext) -> ScriptedAnswer:
        if not self.responses:
            return fail("The script has no more answers.", status=400)
        response = self.responses.pop(0)
        if callable(response):
            made = response(context, self._request_count)
            response = made if isinstance(made, ScriptedAnswer | AssistantMessage) else await made
        return response if isinstance(response, ScriptedAnswer) else _answer_from_message(response)

    async def _send_blocks(self, answer: ScriptedAnswer, stream: AssistantStream) -> ScriptedAnswer:
        """Sends the blocks of a scripted answer in pieces, and returns the answer with its actual end."""
        sender = PacedBlockSender(
            stream,
            next_piece_length=self._next_piece_length,
            tokens_per_second=self._tokens_per_second,
            breaks_after_pieces=answer.breaks_after,
        )
        try:
            for index, block in enumerate(answer.blocks):
                await sender.send_block(self._with_call_id(block, index))
        except ScriptedStreamBreak:
            return msgspec.structs.replace(answer, error=answer.error or "The connection was closed.")
        return answer

    def _with_call_id(self, block: AssistantContent, index: int) -> AssistantContent:
        if isinstance(block, ToolCall) and not block.id:
            return msgspec.structs.replace(block, id=f"call_{self._request_count}_{index}")
        return block

    def usage(self, context: RequestContext) -> Usage:
        """Returns the token usage of a request as with a provider that caches the last prompt: the common beginning
        counts as read from the cache."""
        prompt = context.system_prompt.encode("utf-8", "replace")
        prompt += b"".join(encode(value) for value in (*context.tools, *context.messages))
        common = common_prefix_length(self._last_prompt, prompt)
        self._last_prompt = prompt
        cached = common // CHARACTERS_PER_TOKEN
        fresh = (len(prompt) - common) // CHARACTERS_PER_TOKEN
        return Usage(input=fresh, cache_read=cached, total_tokens=fresh + cached)


def _answer_from_message(message: AssistantMessage) -> ScriptedAnswer:
    is_plain = message.stop_reason in ("stop", "pending")
    return ScriptedAnswer(
        blocks=message.content, stop=None if is_plain else message.stop_reason, error=message.error_message
    )
