"""A connection may break after any byte: there is always exactly one end, and what had arrived is kept."""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.adapter_registry import AdapterRegistry
from app.providers.adapters import (
    anthropic_wire,
    bedrock_wire,
    completions_reader,
    google_wire,
    responses_reader,
)
from app.providers.adapters.bedrock_converse_stream import AwsEventStreamDecoder
from app.providers.adapters.completions_compat import completions_quirks_of_model
from app.providers.failure_kinds import classify_failure
from app.providers.model_stream import AssistantStream, StreamOptions
from app.providers.stream.sse import SseDecoder
from app.providers.transport import HttpRequest, ResponseEventReader, ServerResponse, stream_response_events
from app.values.content import ToolCall
from app.values.messages import AssistantMessage
from app.values.models import Model
from app.values.stream import StreamDone, StreamError
from app.values.wire import now_ms
from tests.providers.loopback import Loopback
from tests.providers.wire_formats import (
    ANSWERS,
    FIRST,
    SECOND,
    TEXT,
    THOUGHT,
    context,
    listen,
    model_for,
    options,
)

MakeReader = Callable[[Model, AssistantStream], ResponseEventReader]


def completions(model: Model, stream: AssistantStream) -> ResponseEventReader:
    return completions_reader.ChatCompletionsReader(model, completions_quirks_of_model(model), stream)


READERS: dict[str, MakeReader] = {
    "anthropic-messages": anthropic_wire.AnthropicResponseReader,
    "azure-openai-responses": responses_reader.OpenAIResponsesReader,
    "bedrock-converse-stream": bedrock_wire.BedrockResponseReader,
    "google-generative-ai": google_wire.GeminiResponseReader,
    "google-vertex": google_wire.GeminiResponseReader,
    "mistral-conversations": completions,
    "openai-codex-responses": responses_reader.OpenAIResponsesReader,
    "openai-completions": completions,
    "openai-responses": responses_reader.OpenAIResponsesReader,
}
APIS = sorted(ANSWERS)


class Bytes:
    """An answer that is already there."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def body_chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def read(api: str, *pieces: bytes) -> list[object]:
    model = model_for(api)

    @asynccontextmanager
    async def send(request: HttpRequest, options: StreamOptions) -> AsyncIterator[ServerResponse]:
        yield Bytes(*pieces)

    async def produce(stream: AssistantStream) -> None:
        request = HttpRequest(base_url="http://x", path="", body=b"")
        decoder = AwsEventStreamDecoder() if api == "bedrock-converse-stream" else None
        await stream_response_events(
            send, request, StreamOptions(), READERS[api](model, stream), stream, decoder
        )

    stream = AssistantStream(model, message_id="m", timestamp=now_ms()).start_producer(produce)
    return list(await listen(stream))


def check_ending(events: list[object]) -> AssistantMessage:
    ends = [event for event in events if isinstance(event, StreamDone | StreamError)]
    assert len(ends) == 1 and events[-1] is ends[0]
    message = ends[0].message
    assert THOUGHT.startswith(message.thinking) and TEXT.startswith(message.text)
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    if isinstance(ends[0], StreamDone):
        assert message.text == TEXT and [call.arguments for call in calls] == [FIRST, SECOND]
    else:
        assert message.error_message and classify_failure(message).is_retryable, message.error_message
        for call, whole in zip(calls, (FIRST, SECOND), strict=False):
            assert set(call.arguments) <= set(whole)
    return message


@pytest.mark.parametrize("api", APIS)
async def test_cut_after_every_byte(api: str):
    body = ANSWERS[api]()
    seen: set[str] = set()
    for length in range(len(body) + 1):
        message = check_ending(await read(api, body[:length]))
        seen.add(message.text)
    assert TEXT in seen and "" in seen and len(seen) > 2, "text that had arrived is kept"


@pytest.mark.parametrize("api", APIS)
async def test_any_way_of_cutting_a_whole_stream_gives_the_same_message(api: str):
    body = ANSWERS[api]()
    dice = random.Random(7)
    for _ in range(20):
        marks = sorted(dice.sample(range(len(body)), 12))
        pieces = [body[a:b] for a, b in zip([0, *marks], [*marks, len(body)], strict=True)]
        message = check_ending(await read(api, *pieces))
        assert (message.stop_reason, message.text) == ("toolUse", TEXT)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("is_open_ended", [True, False])
async def test_connections_that_really_break(api: str, is_open_ended: bool, server: Loopback):
    body = ANSWERS[api]()
    registry = AdapterRegistry()
    for cut in random.Random(3).sample(range(1, len(body)), 12):
        server.sse(body, cut_at=cut, is_open_ended=is_open_ended)
        check_ending(
            list(await listen(registry.stream_answer(model_for(api, server.url), context(), options())))
        )


@given(
    st.lists(st.binary(max_size=60) | st.sampled_from([b"data: x", b"event: y", b"\n", b"\r\n"]), max_size=8)
)
def test_behind_any_bytes_the_next_event_is_read(pieces: list[bytes]):
    decoder = SseDecoder()
    for piece in pieces:
        decoder.feed(piece)
    *_, last = decoder.feed(b"\n\nevent: end\ndata: of it\n\n")
    assert last == ("end", b"of it")
    assert decoder.feed(b"data: more\n\n") == [("", b"more")]
    assert decoder.finish() == []


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_where_the_bytes_are_cut_does_not_matter(body: bytes, marks: list[int]):
    whole = SseDecoder()
    expected = [*whole.feed(body), *whole.finish()]
    cut = SseDecoder()
    marks = sorted(mark for mark in marks if mark <= len(body))
    events = []
    for start, end in zip([0, *marks], [*marks, len(body)], strict=True):
        events += cut.feed(body[start:end])
    assert [*events, *cut.finish()] == expected
