"""What is kept of a conversation's wire form between requests is what would be made anew, byte for byte."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers.adapter_registry import AdapterRegistry
from app.providers.model_stream import HttpRequestHooks
from app.providers.request_cache import EncodedPrefixCache
from app.values.content import Image, Text, Thinking, ToolCall
from app.values.messages import (
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    user_message,
)
from app.values.models import Model
from tests.providers.loopback import Loopback
from tests.providers.wire_formats import ANSWERS, context, model_for, options

APIS = sorted(ANSWERS)
every_api = pytest.mark.parametrize("api", APIS)
_PIXEL = Image(data="iVBORw0KGgo=", mime_type="image/png")


def conversation(api: str, seed: int, length: int) -> list[Message]:
    """Everything that can stand behind one another, sensible or not."""
    dice = random.Random(seed)
    made: list[Message] = []
    calls: list[str] = []
    for number in range(length):
        ident = f"m{number}"
        match dice.choice(
            [
                "user",
                "user",
                "blank",
                "answer",
                "calls",
                "calls",
                "result",
                "result",
                "thought",
                "broken",
                "custom",
                "command",
                "other",
            ]
        ):
            case "user":
                content = (Text(text=f"Question {number} ü"), *([_PIXEL] if dice.random() < 0.3 else []))
                made.append(msgspec.structs.replace(user_message("x"), id=ident, content=content))
            case "blank":
                made.append(msgspec.structs.replace(user_message(" \n"), id=ident))
            case "result":
                call = dice.choice([*calls[-3:], "unasked"])
                shown = (Text(text=f"out {number}"), *([_PIXEL] if dice.random() < 0.3 else []))
                made.append(
                    ToolResultMessage(
                        id=ident, timestamp=number, tool_call_id=call, tool_name="read", content=shown
                    )
                )
            case "custom":
                made.append(
                    CustomMessage(id=ident, timestamp=number, custom_type="note", content=f"Note {number}")
                )
            case "command":
                made.append(
                    BashExecutionMessage(
                        id=ident,
                        timestamp=number,
                        command="ls",
                        output="a\nb",
                        exit_code=0,
                        cancelled=False,
                        truncated=False,
                    )
                )
            case kind:
                blocks: list[Any] = []
                if kind in ("answer", "calls", "thought") and dice.random() < 0.6:
                    blocks.append(
                        Thinking(thinking=f"Hm {number}", thinking_signature=dice.choice(["s", None]))
                    )
                if kind in ("answer", "broken", "other"):
                    blocks.append(Text(text=f"Answer {number} “ok”"))
                if kind == "calls":
                    for at in range(dice.randint(1, 2)):
                        calls.append(dice.choice([f"call_{number}_{at}", "call_0"]))
                        blocks.append(ToolCall(id=calls[-1], name="read", arguments={"path": f"f{number}"}))
                made.append(
                    AssistantMessage(
                        id=ident,
                        timestamp=number,
                        content=tuple(blocks),
                        api="x" if kind == "other" else api,
                        provider="local",
                        model="model-x",
                        stop_reason="error" if kind == "broken" else "toolUse" if kind == "calls" else "stop",
                    )
                )
    return made


async def body(
    model: Model, messages: list[Message], server: Loopback, kept: EncodedPrefixCache | None, **changes: Any
) -> bytes:
    how = options(request_cache=kept, session_id="s", **changes)
    await AdapterRegistry().stream_answer(model, context(*messages), how).final_message()
    return server.requests[-1].body


@every_api
@pytest.mark.parametrize("seed", range(4))
async def test_a_growing_conversation_is_sent_as_if_it_were_made_anew(api: str, seed: int, server: Loopback):
    server.sse(ANSWERS[api]())
    model, kept = (
        model_for(api, server.url, input=("text", "image") if seed % 2 else ("text",)),
        EncodedPrefixCache(),
    )
    messages = [user_message("Begin"), *conversation(api, seed, 40)]
    for end in range(1, len(messages) + 1, random.Random(seed).choice([1, 2, 3])):
        assert await body(model, messages[:end], server, kept) == await body(
            model, messages[:end], server, None
        )


@every_api
async def test_every_change_of_a_message_is_sent(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    model, kept = model_for(api, server.url), EncodedPrefixCache()
    messages = [user_message("Begin"), *conversation(api, 11, 30), user_message("End")]
    await body(model, messages, server, kept)
    for changed in (
        [user_message("Other"), *messages[1:]],
        messages[:12],
        [*messages[:5], *messages[9:]],
        list(reversed(messages)),
    ):
        assert await body(model, changed, server, kept) == await body(model, changed, server, None)
    other = msgspec.structs.replace(model, id="model-y", reasoning=False)
    assert await body(other, messages, server, kept) == await body(other, messages, server, None)


async def test_what_was_sent_is_sent_again_in_the_same_bytes(server: Loopback):
    """All but the mark that tells the cache how far it may keep."""
    api = "openai-completions"
    server.sse(ANSWERS[api]())
    model, kept = model_for(api, server.url), EncodedPrefixCache()
    messages: list[Message] = [user_message("Begin")]
    before = b""
    for turn in range(12):
        sent = await body(model, messages, server, kept)
        assert sent.startswith(before)
        before = sent.removesuffix(b"]}")
        call = ToolCall(id=f"c{turn}", name="read", arguments={"path": "a"})
        messages += [
            AssistantMessage(
                id=f"a{turn}", content=(call,), stop_reason="toolUse", api=api, provider="local", model="x"
            ),
            ToolResultMessage(
                id=f"r{turn}", tool_call_id=call.id, tool_name="read", content=(Text(text="out"),)
            ),
        ]


async def test_who_changes_the_payload_is_given_all_of_it(server: Loopback):
    api = "openai-completions"
    server.sse(ANSWERS[api]())
    model, kept, seen = model_for(api, server.url), EncodedPrefixCache(), []
    messages = [user_message("Begin"), *conversation(api, 3, 30)]

    async def on_payload(payload: dict[str, Any]) -> dict[str, Any]:
        seen.append(payload)
        return {**payload, "messages": [*payload["messages"], {"role": "user", "content": "More"}]}

    await body(model, messages[:20], server, kept)
    sent = json.loads(
        await body(model, messages, server, kept, hooks=HttpRequestHooks(on_request_payload=on_payload))
    )
    assert sent["messages"][:-1] == json.loads(await body(model, messages, server, None))["messages"]
    assert sent["messages"][-1]["content"] == "More" and isinstance(seen[0]["messages"], list)


async def test_images_beyond_the_limits_become_words_all_the_same(server: Loopback):
    api = "anthropic-messages"
    server.sse(ANSWERS[api]())
    model = model_for(api, server.url, input_limits={"images": {"maxPerRequest": 4}})
    kept = EncodedPrefixCache()
    messages: list[Message] = [user_message("Begin")]
    for number in range(9):
        messages.append(msgspec.structs.replace(user_message("x"), content=(Text(text=f"{number}"), _PIXEL)))
        messages.append(
            AssistantMessage(
                content=(Text(text="ok"),), stop_reason="stop", api=api, provider="local", model="model-x"
            )
        )
        sent = await body(model, messages, server, kept)
        assert sent == await body(model, messages, server, None)
        assert sent.count(b'"type":"image"') <= 4


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_any_conversation_in_any_steps(seed: int, steps: list[int]):
    from app.providers.adapters import anthropic_wire, google_wire
    from app.providers.request_preparation import prepare_request
    from app.providers.transport import encode_request_payload

    for api, payload, last in (
        ("anthropic-messages", anthropic_wire.build_request_payload, "messages"),
        ("google-generative-ai", google_wire.build_request_payload, "contents"),
    ):
        model, kept, how = model_for(api), EncodedPrefixCache(), options()
        messages, end = conversation(api, seed, sum(steps)), 0
        for step in steps:
            end += step
            asked = context(*messages[:end])
            made = [
                encode_request_payload(payload(prepare_request(asked, model, kept=k), model, how), last)
                for k in (kept, None)
            ]
            assert bytes(made[0]) == bytes(made[1])


async def test_a_long_conversation_is_handed_on_in_the_pieces_that_were_kept():
    from app.providers.adapters import anthropic_wire
    from app.providers.request_preparation import prepare_request
    from app.providers.transport import RequestBody, encode_request_payload

    api, how, kept = "anthropic-messages", options(), EncodedPrefixCache()
    model, messages, before = model_for(api), [user_message("Begin")], ()
    for turn in range(12):
        answer = AssistantMessage(
            content=(Text(text=f"{turn % 10}" * 150_000),),
            api=api,
            provider="local",
            model="m",
            stop_reason="stop",
        )
        messages += [answer, user_message(f"More {turn}")]
        made = [
            encode_request_payload(
                anthropic_wire.build_request_payload(
                    prepare_request(context(*messages), model, kept=k), model, how
                )
            )
            for k in (kept, None)
        ]
        assert bytes(made[0]) == bytes(made[1]) and len(made[0]) == len(made[1])
        pieces = [piece async for piece in made[0]] if isinstance(made[0], RequestBody) else []
        whole = [piece for piece in pieces if len(piece) > 512 * 1024]
        assert len(pieces) <= len(whole) + 4
        assert all(one is other for one, other in zip(before, whole, strict=False)), "they are copied"
        before = whole
    assert len(before) == 2


async def test_within_a_stretch_nothing_is_compared_and_outside_of_it_everything():
    api = "anthropic-messages"
    model, kept, stretch = model_for(api), EncodedPrefixCache(), object()
    messages = [user_message("a"), *conversation(api, 5, 20)]
    settled = kept.for_conversation_token(stretch).take_matching_prefix(messages, model)
    settled.source_messages += messages[:10]
    kept.put_back_prefix(settled)
    other = [user_message("b"), *messages[1:]]
    assert kept.for_conversation_token(stretch).take_matching_prefix(other, model) is settled
    kept.put_back_prefix(settled)
    assert kept.for_conversation_token(None).take_matching_prefix(other, model) is not settled
    kept.put_back_prefix(settled)
    assert kept.for_conversation_token(object()).take_matching_prefix(other, model) is not settled
    kept.put_back_prefix(settled)
    assert kept.for_conversation_token(object()).take_matching_prefix(messages, model) is settled
