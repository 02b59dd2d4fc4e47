"""The session's contract with its interfaces."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.core.prompt_intake import SessionRequestRefused
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
from tests.agent.scripted_loop import BlockingTool, echo
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import waiting_texts


async def test_a_prompt_is_answered_and_lands_in_the_file(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("Hello"))
    kinds = await harness.prompt("hi")
    assert kinds[0] == "agent_start"
    assert kinds[-1] == "agent_settled"
    assert kinds.count("agent_settled") == 1
    roles = [line["message"]["role"] for line in harness.lines() if line["type"] == "message"]
    assert roles == ["system", "user", "assistant"]


async def test_warming_up_writes_no_session_and_sends_no_request(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("Hello"))
    await asyncio.to_thread(harness.session.warm_up)
    assert not harness.session.log.is_on_disk and not [*tmp_path.rglob("*.jsonl")]
    assert harness.script.received_contexts == [] and harness.events == []
    await harness.prompt("hi")
    assert harness.session.log.is_on_disk


async def test_a_message_is_on_disk_before_anyone_is_reported(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, call("echo", text="x"), say("done"), tools=[echo()])
    seen: list[bool] = []

    def look(event: Event) -> None:
        message = event.message if isinstance(event, MessageEnd | ToolExecutionEnd) else None
        told = message.id if message is not None else None
        if told is not None and harness.session.log.is_on_disk:
            seen.append(any(line.get("id") == told for line in harness.lines()))

    harness.session.subscribe(look)
    await harness.prompt("go")
    assert len(seen) >= 5
    assert all(seen)


async def test_results_of_parallel_tools_are_recorded_as_each_finishes(tmp_path: Path) -> None:
    slow = BlockingTool("slow")
    harness = ScriptedSession(
        tmp_path, call("slow") + call("echo", text="fast"), say("ok"), tools=[slow.tool, echo()]
    )
    await harness.session.prompt("go")
    await harness.until(lambda: any(event.tool_name == "echo" for event in harness.all(ToolExecutionEnd)))
    results = [
        line["message"]["toolName"] for line in harness.lines() if "toolName" in line.get("message", {})
    ]
    assert results == ["echo"]
    slow.go_on.set()
    await harness.session.wait_until_idle()
    in_context = [text_of(message.content) for message in harness.script.received_contexts[1].messages[-2:]]  # pyright: ignore[reportAttributeAccessIssue]  (both are results)
    assert in_context == ["slow went on", "echo: fast"]


async def test_a_resumed_session_sends_the_same_context(tmp_path: Path) -> None:
    first = ScriptedSession(
        tmp_path, call("echo", "c1", text="a") + call("echo", "c2", text="b"), say("x"), tools=[echo()]
    )
    await first.prompt("go")
    before = [message.id for message in first.session.messages]
    path = first.session.log.path
    await first.session.close()
    assert path is not None

    second = ScriptedSession(tmp_path, say("y"), tools=[echo()], log=SessionLog.open(path))
    assert [message.id for message in second.session.messages] == before
    await second.prompt("again")
    sent = [message.id for message in second.script.received_contexts[0].messages]
    assert sent == [message.id for message in second.session.messages[:-1] if message.id in sent]


async def test_the_prompts_prefix_does_not_change_from_turn_to_turn(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"), tools=[echo()])
    await harness.prompt("a")
    await harness.prompt("b")
    first, second = harness.script.received_contexts
    assert first.system_prompt == second.system_prompt
    assert first.tools == second.tools
    assert second.messages[: len(first.messages)] == first.messages


async def test_a_prompt_while_busy_needs_a_queue(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("ok"), say("later"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    with pytest.raises(SessionRequestRefused, match="already processing"):
        await harness.session.prompt("and this")
    assert await harness.session.prompt("and this", while_running="follow_up") == "queued"
    assert harness.all(QueueUpdate)[-1].follow_up == ("and this",)
    gate.go_on.set()
    await harness.session.wait_until_idle()
    assert harness.all(QueueUpdate)[-1].follow_up == ()
    prompts = [text_of(m.content) for m in harness.session.messages if isinstance(m, UserMessage)]
    assert prompts == ["go", "and this"]


async def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    with pytest.raises(SessionRequestRefused, match="nothing was sent"):
        await harness.session.prompt("  \n")


async def test_steering_while_idle_waits_for_the_next_run(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("ok"))
    await harness.session.queue("steering", "remember this")
    await harness.prompt("go")
    assert [text_of(m.content) for m in harness.session.messages if isinstance(m, UserMessage)] == [
        "go",
        "remember this",
    ]


async def test_abort_answers_after_it_settled_and_keeps_the_queue(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("never"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    await harness.session.queue("follow_up", "later")
    await harness.session.abort()
    assert harness.all(AgentSettled)[-1].aborted
    assert waiting_texts(harness.session, "follow_up") == ("later",)
    assert not harness.session.is_running


async def test_a_retryable_failure_is_tried_again_and_leaves_the_context(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), fail("overloaded"), say("finally"))
    kinds = await harness.prompt("go")
    assert [event.attempt for event in harness.all(AutoRetryStart)] == [1, 2]
    assert harness.all(AutoRetryEnd)[-1].success
    assert [event.will_retry for event in harness.all(AgentEnd)] == [True, True, False]
    assert kinds.count("agent_settled") == 1
    answers = [m for m in harness.session.messages if isinstance(m, AssistantMessage)]
    assert [m.text for m in answers] == ["finally"]
    in_file = [line for line in harness.lines() if line.get("message", {}).get("role") == "assistant"]
    assert len(in_file) == 3
    assert len([line for line in harness.lines() if line["type"] == "context_edit"]) == 2


async def test_retrying_gives_up_after_the_last_attempt(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path, *[fail("overloaded")] * 5, retry=RetryPolicy(base_delay_ms=1, max_attempts=2)
    )
    await harness.prompt("go")
    ended = harness.all(AutoRetryEnd)[-1]
    assert (ended.success, ended.final_error) == (False, "overloaded")
    assert harness.script.request_count == 3


async def test_a_retry_can_be_cancelled_and_hurried(tmp_path: Path) -> None:
    slow = RetryPolicy(base_delay_ms=3_600_000, max_delay_ms=3_600_000)
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("now"), retry=slow)
    await harness.session.prompt("go")
    await harness.until(lambda: harness.session.state.is_waiting_to_retry)
    harness.session.retry_countdown.retry_now()
    await harness.session.wait_until_idle()
    assert harness.session.last_answer is not None
    assert harness.session.last_answer.text == "now"

    other = ScriptedSession(tmp_path / "other", fail("overloaded"), retry=slow)
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
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("noted"))
    await harness.session.send(message, trigger=True)
    receipt = await harness.session.wait_for_delivery(message.id, timeout=10)
    await harness.session.wait_until_idle()
    failed = {event.request_id for event in harness.all(ProviderRequestFailed)}
    delivered = {event.request_id for event in harness.all(ProviderRequestDelivered)}
    assert receipt.outcome == "delivered"
    assert receipt.request_id in delivered
    assert receipt.request_id not in failed


async def test_a_failing_listener_does_not_affect_others(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("ok"))

    def broken(event: Event) -> None:
        raise RuntimeError("listener fell over")

    harness.session.subscribe(broken)
    heard: list[Event] = []
    harness.session.subscribe(heard.append)
    await harness.prompt("go")
    assert heard[-1] == AgentSettled(aborted=False)


async def test_a_slow_listener_gets_everything_but_joined_deltas(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("word " * 100))
    heard: list[Event] = []
    go_on = asyncio.Event()

    async def slow(event: Event) -> None:
        await go_on.wait()
        heard.append(event)

    harness.session.subscribe(slow)
    await harness.prompt("go")
    go_on.set()
    await harness.session.events.wait_until_delivered()
    plain = [event for event in harness.events if type(event).__name__ != "MessageUpdate"]
    assert [event for event in heard if type(event).__name__ != "MessageUpdate"] == plain


async def test_a_message_beside_the_results_needs_no_extra_turn(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, call("echo", "c1"), say("ok"), tools=[echo()])

    def add_map(event: Event) -> None:
        if isinstance(event, ToolExecutionEnd):
            message = CustomMessage(custom_type="file-map", content="the map")
            asyncio.get_running_loop().create_task(
                harness.session.send(message, deliver_as="aside", call_id=event.tool_call_id)
            )

    harness.session.subscribe(add_map)
    await harness.prompt("go")
    assert harness.script.request_count == 2
    assert any(isinstance(message, CustomMessage) for message in harness.session.messages)


async def test_switching_sessions_moves_everything(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    await harness.prompt("a")
    first = harness.session.log.path
    await harness.session.branches.open_session(harness.places.create_session(), "new")
    assert harness.session.messages == ()
    await harness.prompt("b")
    assert harness.session.log.path != first
    assert harness.session.stats.user_messages == 1


async def test_going_to_a_prompt_goes_before_it_and_gives_its_text_back(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"), say("other"))
    await harness.prompt("a")
    await harness.prompt("b")
    entry = next(
        line["id"]
        for line in harness.lines()
        if line.get("message", {}).get("content", "") == [{"type": "text", "text": "b"}]
    )
    assert (await harness.session.branches.go_to_entry(entry)).prompt_text == "b"
    await harness.prompt("c")
    texts = [text_of(m.content) for m in harness.session.messages if isinstance(m, UserMessage)]
    assert texts == ["a", "c"]


async def test_the_answer_that_arrives_is_kept_beside_the_log(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = ScriptedSession(tmp_path, say("as far as it came", gate=gate))
    await harness.session.prompt("go")
    assert harness.session.log.path is not None
    partial = harness.session.log.path.with_name(harness.session.log.path.name + ".partial")
    await harness.until(partial.exists)  # written beside the loop
    assert decode_json(partial.read_bytes())["message"]["content"]
    gate.set()
    await harness.session.wait_until_idle()
    assert not partial.exists()


def test_kinds_of_events_are_told_apart_by_their_tag() -> None:
    tags: list[Any] = [kind.__struct_config__.tag for kind in Event.__args__]
    assert len(tags) == len(set(tags))


async def test_the_last_answers_text_passes_over_answers_that_failed_and_keeps_silent_ones(
    tmp_path: Path,
) -> None:
    harness = ScriptedSession(tmp_path, say("first"), fail("no such model", status=400), say("  "))
    await harness.prompt("one")
    await harness.prompt("two")
    assert harness.session.last_answer_text == "first"
    await harness.prompt("three")
    assert harness.session.last_answer_text != "first"
