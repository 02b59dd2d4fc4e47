"""Events that are JSON and not what was agreed on: each ends in words, and what is kept can be read again."""

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.providers.adapters.completions_compat import completions_quirks_of_model
from app.providers.adapters.completions_reader import ChatCompletionsReader
from app.providers.errors import ProviderError
from app.providers.model_stream import AssistantStream
from app.providers.stream.sse import SseDecoder
from app.providers.transport import decode_event_json
from app.values.codec import decode, encode
from app.values.content import Text, Thinking, ToolCall
from app.values.messages import AssistantMessage
from app.values.stream import StreamDone, StreamError
from app.values.wire import now_ms
from tests.providers.test_cuts import APIS, read
from tests.providers.wire_formats import ANSWERS, listen, model_for

ODD = (None, True, 7, "x", [], {"a": None}, [None])
Way = tuple[str | int, ...]


def places(value: Any, way: Way = ()) -> Iterator[Way]:
    """The way to each part of some JSON, itself first."""
    yield way
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*way, name))


def changed(value: Any, way: Way, put: Any) -> Any:
    if not way:
        return put
    whole = copy.deepcopy(value)
    part = whole
    for name in way[:-1]:
        part = part[name]
    part[way[-1]] = put
    return whole


def odd_answers(api: str) -> Iterator[tuple[str, bytes]]:
    """The usual answer, each time with one value of one event changed, and what that was."""
    events = ANSWERS[api]().decode().split("\n\n")
    for number, event in enumerate(events):
        head, _, data = event.rpartition("data: ")
        if not data.startswith("{"):
            continue
        known = json.loads(data)
        for way in places(known):
            for put in ODD:
                odd = f"{head}data: {json.dumps(changed(known, way, put))}"
                told = f"event {number}: {way} is {put!r}"
                yield told, "\n\n".join([*events[:number], odd, *events[number + 1 :]]).encode()


@pytest.mark.parametrize("api", [api for api in APIS if not api.startswith("bedrock")])
async def test_any_value_may_be_another(api: str):
    """Every answer ends once, with bayou's text; the message survives a session file unchanged."""
    for told, body in odd_answers(api):
        async with asyncio.timeout(10):
            events = await read(api, body)
        ends = [event for event in events if isinstance(event, StreamDone | StreamError)]
        assert len(ends) == 1 and events[-1] is ends[0], told
        message = ends[0].message
        if isinstance(ends[0], StreamError):
            words = message.error_message or ""
            assert words and "object" not in words.partition(": ")[0], (told, words)
        again = decode(encode(message), AssistantMessage)
        assert again.response_id == message.response_id and again.usage == message.usage, told
        for block, kept in zip(again.content, message.content, strict=True):
            assert isinstance(kept, Text | Thinking | ToolCall) and type(block) is type(kept), told


async def test_numbers_where_others_have_names():
    body = ANSWERS["openai-completions"]().replace(b'"cmpl-1"', b"7").replace(b'"call_1"', b"1234")
    message = (await read("openai-completions", body))[-1].message  # type: ignore[attr-defined]
    assert message.stop_reason == "toolUse" and message.response_id == "7"
    assert message.tool_calls[0].id == "1234"


def test_halves_of_letters_and_depth():
    assert decode_event_json(rb'{"a":["b\ud83d\ude00","\ud83d c"]}') == {"a": ["b\U0001f600", "\ufffd c"]}
    with pytest.raises(ProviderError, match="not JSON"):
        decode_event_json(b"[" * 200_000)


async def test_an_adapter_that_leaves_nonsense_behind_has_an_end_all_the_same():
    model = model_for("openai-completions")

    def breaks(is_last: bool) -> None:
        raise ZeroDivisionError

    async def produce(stream: AssistantStream) -> None:
        reader = ChatCompletionsReader(model, completions_quirks_of_model(model), stream)
        reader.read_event("", b'{"choices":[{"delta":{"content":"so far"}}]}')
        stream.before_snapshot = breaks
        raise OSError("the wire is gone")

    stream = AssistantStream(model, message_id="m", timestamp=now_ms()).start_producer(produce)
    async with asyncio.timeout(10):
        end = list(await listen(stream))[-1]
    assert isinstance(end, StreamError) and end.message.error_message == "the wire is gone"


def test_a_long_line_comes_in_many_pieces():
    decoder = SseDecoder()
    pieces = [b"data: ", *(b"x" * 4_000 for _ in range(5_000)), b"\n\n"]
    found = [event for piece in pieces for event in decoder.feed(piece)]
    assert found == [("", b"x" * 20_000_000)]
    assert decoder.feed(b"data: a\r") == [] and decoder.feed(b"\n") == [] and decoder.finish() == [("", b"a")]


@pytest.mark.parametrize(
    "piece", [b"x" * 1_000_000, b"data: xxxxxxxxxxxxxxxxx\n" * 40_000], ids=["a line", "many lines"]
)
def test_an_event_without_an_end_is_given_up(piece: bytes):
    decoder = SseDecoder()
    decoder.feed(b"data: ")
    with pytest.raises(ValueError, match="more than 64 MB"):
        for _ in range(80):
            decoder.feed(piece)


def test_events_that_end_may_be_as_many_as_they_like():
    decoder = SseDecoder()
    event = b"data: " + b"x" * 1_000_000 + b"\n\n"
    assert sum(len(decoder.feed(event)) for _ in range(80)) == 80
    assert len(decoder.feed(event * 70)) == 70
