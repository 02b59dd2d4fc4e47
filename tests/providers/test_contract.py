"""The stream contract: one terminal event, nothing raised, deltas merged, silence noticed, cancelling at any time."""

import asyncio

import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.errors import ProviderError
from app.providers.model_stream import (
    AssistantStream,
    HttpRequestHooks,
    RequestContext,
    StreamOptions,
    declare_adapter_apis,
)
from app.providers.stream.event_queue import MAX_WAITING_STREAM_EVENTS
from app.values.content import Text
from app.values.models import Model
from app.values.stream import (
    StreamDone,
    StreamError,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
)
from tests.providers.wire_formats import context, listen, model_for, options, shape


def registry_with(adapter, api: str = "mine") -> AdapterRegistry:
    registry = AdapterRegistry()
    registry.register_adapter(api, adapter, owner="test")
    return registry


async def test_a_response_is_start_blocks_and_one_end():
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        stream.draft.content.append(Text(text="Hi"))
        stream.emit(TextStart(content_index=0))
        stream.emit(TextDelta(content_index=0, delta="Hi"))
        stream.emit(TextEnd(content_index=0, content="Hi"))

    stream = registry_with(adapter).stream_answer(model_for("mine"), context(), options())
    events = await listen(stream)
    assert shape(events) == ["start", "text_start", "text_delta", "text_end", "done"]
    message = await stream.final_message()
    assert (message.text, message.stop_reason) == ("Hi", "stop")
    assert stream.partial_message is message


async def test_deltas_of_one_block_are_joined_and_nothing_overtakes_them():
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        for _ in range(1000):
            stream.emit(ThinkingDelta(content_index=0, delta="t"))
        for _ in range(1000):
            stream.emit(TextDelta(content_index=1, delta="x"))
        stream.emit(TextEnd(content_index=1, content="x" * 1000))

    events = await listen(registry_with(adapter).stream_answer(model_for("mine"), context(), options()))
    thinking = [event for event in events if isinstance(event, ThinkingDelta)]
    text = [event for event in events if isinstance(event, TextDelta)]
    assert "".join(event.delta for event in thinking) == "t" * 1000
    assert "".join(event.delta for event in text) == "x" * 1000
    assert len(thinking) <= 2 and len(text) <= 2
    assert shape(events) == ["start", "thinking_delta", "text_delta", "text_end", "done"]


async def test_deltas_come_one_by_one_where_that_is_wanted():
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        for letter in "abc":
            stream.emit_delta(TextDelta, 0, letter)

    events = await listen(
        registry_with(adapter).stream_answer(model_for("mine"), context(), options(delta_interval_seconds=0))
    )
    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["a", "b", "c"]


async def test_a_slow_listener_gets_longer_deltas_not_more():
    go_on = asyncio.Event()

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        for _ in range(50):
            stream.emit(TextDelta(content_index=0, delta="a"))
            await asyncio.sleep(0)
        go_on.set()

    stream = registry_with(adapter).stream_answer(model_for("mine"), context(), options())
    await go_on.wait()
    assert shape(await listen(stream)) == ["start", "text_delta", "done"]


async def test_any_error_of_an_adapter_becomes_one_error_event():
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        stream.draft.content.append(Text(text="half"))
        raise ProviderError("429 slow down", status=429, retry_after_ms=5000)

    events = await listen(registry_with(adapter).stream_answer(model_for("mine"), context(), options()))
    assert isinstance(events[-1], StreamError)
    message = events[-1].message
    assert (message.text, message.stop_reason, message.error_message) == ("half", "error", "429 slow down")
    assert message.diagnostics[0]["details"] == {"status": 429, "retryAfterMs": 5000}
    assert sum(isinstance(event, StreamDone | StreamError) for event in events) == 1


async def test_cancelling_keeps_what_arrived_and_tells_the_listener_at_once():
    is_stuck = asyncio.Event()
    was_cancelled = asyncio.Event()

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        stream.draft.content.append(Text(text="half"))
        is_stuck.set()
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()

    stream = registry_with(adapter).stream_answer(model_for("mine"), context(), options())
    await is_stuck.wait()
    stream.cancel_response()
    message = await stream.final_message()
    assert (message.text, message.stop_reason) == ("half", "aborted")
    await stream.wait_until_closed()
    assert was_cancelled.is_set()
    stream.cancel_response()
    assert (await stream.final_message()) is message


async def test_cancelling_before_anything_ran():
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        raise AssertionError("never reached")

    stream = registry_with(adapter).stream_answer(model_for("mine"), context(), options())
    stream.cancel_response()
    events = await listen(stream)
    assert [type(event) for event in events] == [StreamStart, StreamError]
    assert (await stream.final_message()).stop_reason == "aborted"


@pytest.mark.parametrize("has_begun", [False, True])
async def test_silence_is_reported_and_then_ended_with_a_retryable_error(has_begun: bool):
    told: list[tuple[str, float]] = []

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        if has_begun:
            stream.emit(TextDelta(content_index=0, delta="x"))
        await asyncio.Event().wait()

    limits = options(
        first_event_seconds=0.4,
        idle_seconds=0.4,
        hooks=HttpRequestHooks(on_flow_state_changed=lambda state, seconds: told.append((state, seconds))),
    )
    message = await registry_with(adapter).stream_answer(model_for("mine"), context(), limits).final_message()
    assert message.stop_reason == "error"
    assert "timed out" in (message.error_message or "")
    assert message.diagnostics[0]["details"]["kind"] == "timeout"
    assert {state for state, _ in told} == {"stalled" if has_begun else "waiting"}
    assert all(0 <= seconds <= 0.4 for _, seconds in told)


async def test_what_ends_a_silence_is_reported_at_once():
    told: list[str] = []
    has_told, goes_on = asyncio.Event(), asyncio.Event()

    def on_state(state: str, seconds: float) -> None:
        told.append(state)
        has_told.set()

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        await goes_on.wait()
        stream.emit(TextDelta(content_index=0, delta="x"))
        assert told[-1] == "flowing"

    limits = options(
        first_event_seconds=1,
        idle_seconds=1,
        hooks=HttpRequestHooks(on_flow_state_changed=on_state),
    )
    stream = registry_with(adapter).stream_answer(model_for("mine"), context(), limits)
    await has_told.wait()
    goes_on.set()
    assert (await stream.final_message()).stop_reason == "stop" and told[0] == "waiting"


async def test_the_last_registration_wins_and_an_owner_takes_all_of_his_back():
    def saying(text: str):
        async def adapter(
            model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
        ) -> None:
            stream.draft.content.append(Text(text=text))

        return adapter

    registry = AdapterRegistry()
    registry.register_adapter("mine", saying("first"), owner="a")
    registry.register_adapter("mine", saying("second"), owner="b")
    registry.register_adapter("other", saying("third"), owner="b")

    async def answer() -> str:
        return (await registry.stream_answer(model_for("mine"), context(), options()).final_message()).text

    assert await answer() == "second"
    registry.remove_adapters_of("b")
    assert await answer() == "first"
    assert "other" not in registry.supported_apis()


async def test_an_unknown_api_and_a_failing_import_are_errors_of_the_stream():
    registry = AdapterRegistry()
    unknown = await registry.stream_answer(model_for("no-such-api"), context(), options()).final_message()
    assert "No adapter supports the API 'no-such-api'" in (unknown.error_message or "")

    def load():
        raise ImportError("no module named 'sdk'")

    async def adapter(model, context, options, stream) -> None:
        load()

    failed = (
        await registry_with(adapter).stream_answer(model_for("mine"), context(), options()).final_message()
    )
    assert failed.stop_reason == "error" and "no module named 'sdk'" in (failed.error_message or "")


async def test_an_adapter_refuses_a_model_of_another_api():
    @declare_adapter_apis("anthropic-messages")
    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        raise AssertionError("never reached")

    message = (
        await registry_with(adapter, "google")
        .stream_answer(model_for("google"), context(), options())
        .final_message()
    )
    assert "Mismatched api" in (message.error_message or "")


async def test_a_listener_that_is_far_behind_slows_the_adapter_and_loses_nothing():
    sent = 0

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        nonlocal sent
        for _ in range(5000):
            stream.emit_delta(TextDelta, 0, "a")
            stream.report_alive()
            sent += 1
            await asyncio.sleep(0)
            await stream.wait_for_space()

    stream = registry_with(adapter).stream_answer(
        model_for("mine"), context(), options(delta_interval_seconds=0, idle_seconds=0.5)
    )
    events = stream.__aiter__()
    assert isinstance(await anext(events), StreamStart)
    await asyncio.sleep(0.8)  # longer than a server may be silent: it is the listener that is
    assert sent <= MAX_WAITING_STREAM_EVENTS
    rest = [event async for event in events]
    assert sum(isinstance(event, TextDelta) for event in rest) == 5000
    assert isinstance(rest[-1], StreamDone)
