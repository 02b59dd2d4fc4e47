"""The session: what it promises to whoever drives it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.core.prompt_intake import RequestRefused
from app.engine.core.retry_policy import RetryPolicy
from app.providers.scripted import call, fail, say
from app.sessions.session_log import SessionLog
from app.values.codec import decode_json
from app.values.content import text_of
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    Event,
    MessageEnd,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    QueueUpdate,
    ToolExecutionEnd,
)
from app.values.messages import AssistantMessage, CustomMessage, UserMessage
from tests.agent.stage import Gate, echo
from tests.engine.stage import Play
from tests.support.sessions import waiting_texts


async def test_a_prompt_is_answered_and_lands_in_the_file(tmp_path: Path) -> None:
    play = Play(tmp_path, say("Hello"))
    kinds = await play.prompt("hi")
    assert kinds[0] == "agent_start"
    assert kinds[-1] == "agent_settled"
    assert kinds.count("agent_settled") == 1
    roles = [line["message"]["role"] for line in play.lines() if line["type"] == "message"]
    assert roles == ["system", "user", "assistant"]


async def test_getting_ready_writes_no_session_and_asks_nobody(tmp_path: Path) -> None:
    play = Play(tmp_path, say("Hello"))
    await asyncio.to_thread(play.session.warm_up)
    assert not play.session.log.is_on_disk and not [*tmp_path.rglob("*.jsonl")]
    assert play.script.contexts == [] and play.events == []
    await play.prompt("hi")
    assert play.session.log.is_on_disk


async def test_a_message_is_on_disk_before_anyone_is_told(tmp_path: Path) -> None:
    play = Play(tmp_path, call("echo", text="x"), say("done"), tools=[echo()])
    seen: list[bool] = []

    def look(event: Event) -> None:
        message = event.message if isinstance(event, MessageEnd | ToolExecutionEnd) else None
        told = message.id if message is not None else None
        if told is not None and play.session.log.is_on_disk:
            seen.append(any(line.get("id") == told for line in play.lines()))

    play.session.subscribe(look)
    await play.prompt("go")
    assert len(seen) >= 5
    assert all(seen)


async def test_results_of_parallel_tools_are_recorded_as_each_finishes(tmp_path: Path) -> None:
    slow = Gate("slow")
    play = Play(tmp_path, call("slow") + call("echo", text="fast"), say("ok"), tools=[slow.tool, echo()])
    await play.session.prompt("go")
    await play.until(lambda: any(event.tool_name == "echo" for event in play.all(ToolExecutionEnd)))
    results = [line["message"]["toolName"] for line in play.lines() if "toolName" in line.get("message", {})]
    assert results == ["echo"]
    slow.go_on.set()
    await play.session.wait_until_idle()
    in_context = [text_of(message.content) for message in play.script.contexts[1].messages[-2:]]  # pyright: ignore[reportAttributeAccessIssue]  (both are results)
    assert in_context == ["slow went on", "echo: fast"]


async def test_a_resumed_session_sends_the_same_context(tmp_path: Path) -> None:
    first = Play(
        tmp_path, call("echo", "c1", text="a") + call("echo", "c2", text="b"), say("x"), tools=[echo()]
    )
    await first.prompt("go")
    before = [message.id for message in first.session.messages]
    path = first.session.log.path
    await first.session.close()
    assert path is not None

    second = Play(tmp_path, say("y"), tools=[echo()], log=SessionLog.open(path))
    assert [message.id for message in second.session.messages] == before
    await second.prompt("again")
    sent = [message.id for message in second.script.contexts[0].messages]
    assert sent == [message.id for message in second.session.messages[:-1] if message.id in sent]


async def test_the_prompts_prefix_does_not_change_from_turn_to_turn(tmp_path: Path) -> None:
    play = Play(tmp_path, say("one"), say("two"), tools=[echo()])
    await play.prompt("a")
    await play.prompt("b")
    first, second = play.script.contexts
    assert first.system_prompt == second.system_prompt
    assert first.tools == second.tools
    assert second.messages[: len(first.messages)] == first.messages


async def test_a_prompt_while_busy_needs_a_queue(tmp_path: Path) -> None:
    gate = Gate("gate")
    play = Play(tmp_path, call("gate"), say("ok"), say("later"), tools=[gate.tool])
    await play.session.prompt("go")
    await gate.started.wait()
    with pytest.raises(RequestRefused, match="already processing"):
        await play.session.prompt("and this")
    assert await play.session.prompt("and this", while_running="follow_up") == "queued"
    assert play.all(QueueUpdate)[-1].follow_up == ("and this",)
    gate.go_on.set()
    await play.session.wait_until_idle()
    assert play.all(QueueUpdate)[-1].follow_up == ()
    prompts = [text_of(m.content) for m in play.session.messages if isinstance(m, UserMessage)]
    assert prompts == ["go", "and this"]


async def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    play = Play(tmp_path)
    with pytest.raises(RequestRefused, match="nothing was sent"):
        await play.session.prompt("  \n")


async def test_steering_while_idle_waits_for_the_next_run(tmp_path: Path) -> None:
    play = Play(tmp_path, say("ok"))
    await play.session.queue("steering", "remember this")
    await play.prompt("go")
    assert [text_of(m.content) for m in play.session.messages if isinstance(m, UserMessage)] == [
        "go",
        "remember this",
    ]


async def test_abort_answers_after_it_settled_and_keeps_the_queue(tmp_path: Path) -> None:
    gate = Gate("gate")
    play = Play(tmp_path, call("gate"), say("never"), tools=[gate.tool])
    await play.session.prompt("go")
    await gate.started.wait()
    await play.session.queue("follow_up", "later")
    await play.session.abort()
    assert play.all(AgentSettled)[-1].aborted
    assert waiting_texts(play.session, "follow_up") == ("later",)
    assert not play.session.is_running


async def test_a_retryable_failure_is_tried_again_and_leaves_the_context(tmp_path: Path) -> None:
    play = Play(tmp_path, fail("overloaded"), fail("overloaded"), say("finally"))
    kinds = await play.prompt("go")
    assert [event.attempt for event in play.all(AutoRetryStart)] == [1, 2]
    assert play.all(AutoRetryEnd)[-1].success
    assert [event.will_retry for event in play.all(AgentEnd)] == [True, True, False]
    assert kinds.count("agent_settled") == 1
    answers = [m for m in play.session.messages if isinstance(m, AssistantMessage)]
    assert [m.text for m in answers] == ["finally"]
    in_file = [line for line in play.lines() if line.get("message", {}).get("role") == "assistant"]
    assert len(in_file) == 3
    assert len([line for line in play.lines() if line["type"] == "context_edit"]) == 2


async def test_retrying_gives_up_after_the_last_attempt(tmp_path: Path) -> None:
    play = Play(tmp_path, *[fail("overloaded")] * 5, retry=RetryPolicy(base_delay_ms=1, max_attempts=2))
    await play.prompt("go")
    ended = play.all(AutoRetryEnd)[-1]
    assert (ended.success, ended.final_error) == (False, "overloaded")
    assert play.script.call_count == 3


async def test_a_retry_can_be_cancelled_and_hurried(tmp_path: Path) -> None:
    slow = RetryPolicy(base_delay_ms=3_600_000, max_delay_ms=3_600_000)
    play = Play(tmp_path, fail("overloaded"), say("now"), retry=slow)
    await play.session.prompt("go")
    await play.until(lambda: play.session.state.is_waiting_to_retry)
    play.session.retry_countdown.retry_now()
    await play.session.wait_until_idle()
    assert play.session.last_answer is not None
    assert play.session.last_answer.text == "now"

    other = Play(tmp_path / "other", fail("overloaded"), retry=slow)
    await other.session.prompt("go")
    await other.until(lambda: other.session.state.is_waiting_to_retry)
    await other.session.abort()
    assert not other.all(AutoRetryEnd)[-1].success


async def test_the_servers_hint_counts_and_an_hour_is_too_long(tmp_path: Path) -> None:
    policy = RetryPolicy(base_delay_ms=1)
    assert policy.delay_ms(1, 5_000) == 5_000
    assert policy.delay_ms(1, 3_600_000) is None
    assert [policy.delay_ms(n) for n in (1, 2, 3)] == [1, 2, 4]


async def test_delivery_is_the_first_request_with_headers(tmp_path: Path) -> None:
    message = CustomMessage(custom_type="background-result", content="built")
    play = Play(tmp_path, fail("overloaded"), say("noted"))
    await play.session.send(message, trigger=True)
    receipt = await play.session.wait_for_delivery(message.id, timeout=10)
    await play.session.wait_until_idle()
    failed = {event.request_id for event in play.all(ProviderRequestFailed)}
    delivered = {event.request_id for event in play.all(ProviderRequestDelivered)}
    assert receipt.outcome == "delivered"
    assert receipt.request_id in delivered
    assert receipt.request_id not in failed


async def test_a_failing_listener_harms_nobody(tmp_path: Path) -> None:
    play = Play(tmp_path, say("ok"))

    def broken(event: Event) -> None:
        raise RuntimeError("listener fell over")

    play.session.subscribe(broken)
    heard: list[Event] = []
    play.session.subscribe(heard.append)
    await play.prompt("go")
    assert heard[-1] == AgentSettled(aborted=False)


async def test_a_slow_listener_gets_everything_but_joined_deltas(tmp_path: Path) -> None:
    play = Play(tmp_path, say("word " * 100))
    heard: list[Event] = []
    go_on = asyncio.Event()

    async def slow(event: Event) -> None:
        await go_on.wait()
        heard.append(event)

    play.session.subscribe(slow)
    await play.prompt("go")
    go_on.set()
    await play.session.events.drain()
    plain = [event for event in play.events if type(event).__name__ != "MessageUpdate"]
    assert [event for event in heard if type(event).__name__ != "MessageUpdate"] == plain


async def test_a_message_beside_the_results_needs_no_extra_turn(tmp_path: Path) -> None:
    play = Play(tmp_path, call("echo", "c1"), say("ok"), tools=[echo()])

    def add_map(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            message = CustomMessage(custom_type="file-map", content="the map")
            asyncio.get_running_loop().create_task(
                play.session.send(message, deliver_as="aside", call_id=event.tool_call_id)
            )

    play.session.subscribe(add_map)
    await play.prompt("go")
    assert play.script.call_count == 2
    assert any(isinstance(message, CustomMessage) for message in play.session.messages)


async def test_switching_sessions_moves_everything(tmp_path: Path) -> None:
    play = Play(tmp_path, say("one"), say("two"))
    await play.prompt("a")
    first = play.session.log.path
    await play.session.branches.open(play.places.new(), "new")
    assert play.session.messages == ()
    await play.prompt("b")
    assert play.session.log.path != first
    assert play.session.stats.user_messages == 1


async def test_going_to_a_prompt_goes_before_it_and_gives_its_text_back(tmp_path: Path) -> None:
    play = Play(tmp_path, say("one"), say("two"), say("other"))
    await play.prompt("a")
    await play.prompt("b")
    entry = next(
        line["id"]
        for line in play.lines()
        if line.get("message", {}).get("content", "") == [{"type": "text", "text": "b"}]
    )
    assert (await play.session.branches.go_to(entry)).text == "b"
    await play.prompt("c")
    texts = [text_of(m.content) for m in play.session.messages if isinstance(m, UserMessage)]
    assert texts == ["a", "c"]


async def test_the_answer_that_arrives_is_kept_beside_the_log(tmp_path: Path) -> None:
    gate = asyncio.Event()
    play = Play(tmp_path, say("as far as it came", gate=gate))
    await play.session.prompt("go")
    assert play.session.log.path is not None
    partial = play.session.log.path.with_name(play.session.log.path.name + ".partial")
    await play.until(partial.exists)  # written beside the loop
    assert decode_json(partial.read_bytes())["message"]["content"]
    gate.set()
    await play.session.wait_until_idle()
    assert not partial.exists()


def test_kinds_of_events_are_told_apart_by_their_tag() -> None:
    tags: list[Any] = [kind.__struct_config__.tag for kind in Event.__args__]
    assert len(tags) == len(set(tags))
