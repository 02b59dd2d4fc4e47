"""The scripted model keeps the provider contract, so that what passes with it passes with a real one."""

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import HttpRequestHooks, RequestContext, StreamOptions
from app.providers.scripted import QueuedResponse, ScriptedAnswer, ScriptedModel, call, fail, say, think
from app.values.content import Text
from app.values.messages import AssistantMessage, ToolDeclaration, user_message
from app.values.stream import StreamDone, StreamError, TextDelta


def ask(script: ScriptedModel, *words: str, system: str = "", hooks: HttpRequestHooks | None = None):
    registry = AdapterRegistry()
    model = script.register(registry)
    context = RequestContext(system_prompt=system, messages=tuple(user_message(word) for word in words))
    return registry.stream_answer(model, context, StreamOptions(hooks=hooks or HttpRequestHooks()))


async def test_answers_come_in_the_order_they_were_queued():
    script = ScriptedModel([say("one"), say("two")])
    assert (await ask(script).final_message()).text == "one"
    assert (await ask(script).final_message()).text == "two"


async def test_thinking_text_and_calls_can_be_added_up():
    script = ScriptedModel([think("hm") + say("both:") + call("read", path="a") + call("read", path="b")])
    message = await ask(script).final_message()
    assert message.thinking == "hm"
    assert [call.arguments["path"] for call in message.tool_calls] == ["a", "b"]
    assert len({call.id for call in message.tool_calls}) == 2
    assert message.stop_reason == "toolUse"


async def test_a_function_sees_the_whole_context_and_how_often_the_model_was_asked():
    def answer(context: RequestContext, count: int) -> ScriptedAnswer:
        return say(f"{count}: {len(context.messages)} messages, {context.system_prompt}")

    script = ScriptedModel([say("first"), answer])
    await ask(script).final_message()
    assert (await ask(script, "a", "b", system="be brief").final_message()).text == "2: 2 messages, be brief"
    assert script.request_count == 2


async def test_a_function_may_have_to_wait():
    async def answer(context: RequestContext, count: int) -> AssistantMessage:
        await asyncio.sleep(0)
        return AssistantMessage(content=(Text(text="late"),))

    assert (await ask(ScriptedModel([answer])).final_message()).text == "late"


async def test_a_whole_message_can_be_queued():
    queued = AssistantMessage(content=(Text(text="cut of"),), stop_reason="length")
    message = await ask(ScriptedModel([queued])).final_message()
    assert (message.text, message.stop_reason) == ("cut of", "length")


async def test_an_empty_script_fails_in_words():
    message = await ask(ScriptedModel()).final_message()
    assert message.stop_reason == "error"
    assert message.error_message == "The script has no more answers."


async def test_truncation_and_errors_are_endings_of_a_response():
    script = ScriptedModel(
        [say("half a sen", stop="length"), say("then", error="overloaded"), fail("no", 429)]
    )
    assert (await ask(script).final_message()).stop_reason == "length"
    failed = await ask(script).final_message()
    assert (failed.text, failed.stop_reason, failed.error_message) == ("then", "error", "overloaded")
    assert (await ask(script).final_message()).error_message == "no"


async def test_a_response_can_break_off_after_some_pieces():
    script = ScriptedModel([say("x" * 1000, breaks_after=3)])
    message = await ask(script).final_message()
    assert 3 <= len(message.text) <= 3 * 24
    assert (message.stop_reason, message.error_message) == ("error", "The connection was closed.")


async def test_status_and_headers_arrive_before_the_first_piece():
    seen: list[tuple[int, Mapping[str, str]]] = []

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        seen.append((status, headers))

    script = ScriptedModel([fail("slow down", 429, headers={"retry-after": "2"})])
    await ask(script, hooks=HttpRequestHooks(on_response_headers=on_response)).final_message()
    assert seen == [(429, {"retry-after": "2"})]


@pytest.mark.parametrize("enough", [1, 500])
async def test_cancelling_keeps_what_has_arrived(enough: int):
    stream = ask(ScriptedModel([say("word " * 500)], tokens_per_second=2000))
    async for event in stream:
        if isinstance(event, TextDelta) and len(stream.partial_message.text) >= enough:
            stream.cancel_response()
    message = await stream.final_message()
    assert message.stop_reason == "aborted"
    assert enough <= len(message.text) < 2500


async def test_a_gate_holds_the_end_of_a_response():
    gate = asyncio.Event()
    stream = ask(ScriptedModel([say("done?", gate=gate)]))
    async for event in stream:
        if isinstance(event, TextDelta) and stream.partial_message.text == "done?":
            assert stream.partial_message.stop_reason == "pending"
            gate.set()
    assert (await stream.final_message()).stop_reason == "stop"


async def test_the_part_of_the_prompt_seen_before_is_counted_as_cached():
    def long_prompt(*words: str):
        return ask(script, *words, system="S" * 4000).final_message()

    script = ScriptedModel([say("1"), say("2"), say("3")])
    first = await long_prompt("a")
    assert (first.usage.cache_read, first.usage.input > 1000) == (0, True)
    second = await long_prompt("a")
    assert second.usage.cache_read >= 1000
    other = await ask(script, system="T").final_message()
    assert other.usage.cache_read == 0


async def test_declared_tools_are_part_of_the_cached_prompt():
    script = ScriptedModel([say("1"), say("2")])
    registry = AdapterRegistry()
    model = script.register(registry)
    for name in ("read", "write"):
        context = RequestContext(system_prompt="S" * 400, tools=(ToolDeclaration(name=name),))
        message = await registry.stream_answer(model, context, StreamOptions()).final_message()
    assert 100 <= message.usage.cache_read < message.usage.cache_read + message.usage.input


@given(text=st.text(max_size=300), seed=st.integers(0, 1000))
def test_however_it_is_cut_the_text_is_whole(text: str, seed: int):
    async def pieces() -> tuple[list[str], str]:
        stream = ask(ScriptedModel([say(text)], seed=seed))
        deltas = [event.delta async for event in stream if isinstance(event, TextDelta)]
        return deltas, (await stream.final_message()).text

    deltas, whole = asyncio.run(pieces())
    assert "".join(deltas) == whole == text


async def test_the_same_seed_cuts_the_same_way():
    async def sizes(seed: int) -> list[int]:
        stream = ask(ScriptedModel([say("word " * 100)], seed=seed))
        return [len(event.delta) async for event in stream if isinstance(event, TextDelta)]

    assert await sizes(1) == await sizes(1) != await sizes(2)


async def test_every_response_ends_exactly_once():
    for response in (say("a"), fail("b"), say("c" * 90, breaks_after=1)):
        script = ScriptedModel([response])
        ends = [event async for event in ask(script) if isinstance(event, StreamDone | StreamError)]
        assert len(ends) == 1


def test_responses_may_be_of_any_kind_in_one_script():
    responses: list[QueuedResponse] = [say("x"), AssistantMessage(), lambda context, count: say(str(count))]
    assert len(ScriptedModel(responses).responses) == 3
