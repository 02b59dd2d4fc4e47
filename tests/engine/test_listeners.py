"""Listeners get all events in order; a failing one affects neither the others nor the run."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.core import event_bus as telling
from app.engine.core.event_bus import EventPublisher
from app.providers.scripted import call, say
from app.values.events import (
    AgentSettled,
    AgentStart,
    Event,
    MessageEnd,
    MessageUpdate,
    Notice,
    QueueUpdate,
    TurnStart,
)
from app.values.messages import AssistantMessage, UserMessage, user_message
from app.values.stream import TextDelta
from app.values.usage import Usage
from tests.agent.scripted_loop import BlockingTool, echo
from tests.engine.scripted_session import ScriptedSession


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


async def test_after_unsubscribing_a_listener_gets_no_events(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    heard: list[Event] = []

    async def slowly(event: Event) -> None:
        heard.append(event)

    leave_plain = harness.session.subscribe(heard.append)
    leave_async = harness.session.subscribe(slowly)
    await harness.prompt("a")
    await harness.session.events.wait_until_delivered()
    count = len(heard)
    assert count == 2 * len(harness.events)
    leave_plain()
    leave_async()
    leave_plain()  # twice does no harm
    leave_async()
    await harness.prompt("b")
    assert len(heard) == count


async def test_listeners_of_event_types_receive_them_with_current_values(
    tmp_path: Path,
) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    heard: list[Event] = []
    wanted = {"agent_start"}

    async def listen(event: Event) -> None:
        heard.append(event)

    harness.session.subscribe(listen, hears=wanted)
    await harness.prompt("a")
    wanted.add("agent_settled")
    await harness.prompt("b")
    await harness.session.events.wait_until_delivered()
    assert [type(event) for event in heard] == [AgentStart, AgentStart, AgentSettled]


async def test_events_published_by_a_listener_follow_the_current_event(
    tmp_path: Path,
) -> None:
    harness = ScriptedSession(tmp_path, say("ok"), say("later"))
    early: list[Event] = []
    late: list[Event] = []

    def meddle(event: Event) -> None:
        early.append(event)
        if isinstance(event, AgentStart):
            harness.session.queues.add_message("follow_up", play_message())

    harness.session.subscribe(meddle)
    harness.session.subscribe(late.append)
    await harness.prompt("go")
    assert early == late == harness.events
    kinds = [type(event) for event in late]
    assert kinds.index(QueueUpdate) > kinds.index(AgentStart)


def play_message() -> UserMessage:

    return user_message("more")


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_listener_that_fails_once_gets_the_next_event(tmp_path: Path, is_async: bool) -> None:
    harness = ScriptedSession(tmp_path, say("ok"))
    heard: list[Event] = []

    def fail_once(event: Event) -> None:
        heard.append(event)
        if isinstance(event, TurnStart):
            raise RuntimeError("fell over")

    async def fail_once_slowly(event: Event) -> None:
        fail_once(event)

    harness.session.subscribe(fail_once_slowly if is_async else fail_once)
    await harness.prompt("go")
    await harness.session.events.wait_until_delivered()
    assert heard == harness.events
    assert len(notices(harness.events)) == 1
    assert "fail_once" in notices(harness.events)[0]
    assert "RuntimeError: fell over" in notices(harness.events)[0]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_listener_that_always_fails_is_given_up_and_the_others_miss_nothing(
    tmp_path: Path, is_async: bool
) -> None:
    harness = ScriptedSession(tmp_path, say("word " * 50))
    calls: list[Event] = []

    def broken(event: Event) -> None:
        calls.append(event)
        raise RuntimeError("always")

    async def broken_slowly(event: Event) -> None:
        broken(event)

    harness.session.subscribe(broken_slowly if is_async else broken)
    others: list[Event] = []
    harness.session.subscribe(others.append)
    await harness.prompt("go")
    await harness.session.events.wait_until_delivered()
    assert len(calls) == 3
    assert len(notices(harness.events)) == 2
    assert "receives no more events" in notices(harness.events)[1]
    assert others == harness.events
    assert isinstance([e for e in others if not isinstance(e, Notice)][-1], AgentSettled)


@pytest.mark.parametrize("problem", [asyncio.CancelledError(), asyncio.InvalidStateError()])
async def test_a_cancelled_future_in_a_listener_does_not_cancel_the_run(
    tmp_path: Path, problem: BaseException
) -> None:
    harness = ScriptedSession(tmp_path, say("ok"))

    def look_at_a_future(event: Event) -> None:
        if isinstance(event, MessageUpdate):
            raise problem

    harness.session.subscribe(look_at_a_future)
    await harness.prompt("go")
    assert harness.session.messages[-1].stop_reason == "stop"  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_hanging_listener_is_removed_when_its_queue_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "MAX_QUEUED_EVENTS", 10)
    harness = ScriptedSession(tmp_path, call("echo", text="x"), say("done"), tools=[echo()])
    told: list[Event] = []

    async def stuck(event: Event) -> None:
        told.append(event)
        await asyncio.Event().wait()

    harness.session.subscribe(stuck)
    await harness.prompt("go")
    assert len(told) == 1
    assert len(notices(harness.events)) == 1
    assert "10 unprocessed events" in notices(harness.events)[0]
    await harness.session.events.wait_until_delivered()  # an abandoned listener is not waited for


async def test_a_listener_that_never_returns_does_not_keep_the_session_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine.session_parts.LISTENER_DRAIN_TIMEOUT", 0.01)
    harness = ScriptedSession(tmp_path, say("done"))

    async def stuck(event: Event) -> None:
        await asyncio.Event().wait()

    harness.session.subscribe(stuck)
    await harness.prompt("go")
    async with asyncio.timeout(10):
        await harness.session.close()


async def test_a_run_goes_on_while_a_listener_is_slow_and_the_listener_gets_it_all_later(
    tmp_path: Path,
) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, say("a" * 400) + call("gate"), say("b" * 400), tools=[gate.tool])
    heard: list[Event] = []
    go_on = asyncio.Event()

    async def slow(event: Event) -> None:
        await go_on.wait()
        heard.append(event)

    harness.session.subscribe(slow)
    gate.go_on.set()
    await harness.prompt("go")
    assert heard == []  # the whole run went by meanwhile
    go_on.set()
    await harness.session.events.wait_until_delivered()
    assert texts_of(heard) == texts_of(harness.events)
    assert [e for e in heard if not isinstance(e, MessageUpdate)] == [
        e for e in harness.events if not isinstance(e, MessageUpdate)
    ]


def texts_of(events: list[Event]) -> list[str]:
    """The text of each answer as its deltas tell it."""
    answers: list[str] = []
    text = ""
    for event in events:
        if isinstance(event, MessageUpdate) and isinstance(event.assistant_message_event, TextDelta):
            text += event.assistant_message_event.delta
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            answers.append(text)
            assert text == event.message.text
            text = ""
    return answers


def delta(text: str, index: int = 0) -> MessageUpdate:
    return MessageUpdate(usage=Usage(), assistant_message_event=TextDelta(content_index=index, delta=text))


async def test_subscribing_during_delivery_receives_the_pending_event() -> None:
    told: list[Event] = []
    hears = {"turn_start"}
    go_on = asyncio.Event()

    async def slow(event: Event) -> None:
        told.append(event)
        await go_on.wait()
        hears.add("agent_start")
        hears.discard("turn_start")

    listeners = EventPublisher(lambda text: None)
    listeners.subscribe(slow, hears=hears)
    for event in (AgentStart(), TurnStart(), AgentStart(), TurnStart()):
        listeners.publish_now(event)
    go_on.set()
    await listeners.wait_until_delivered()
    assert told == [TurnStart(), AgentStart()]
    listeners.close()


async def test_only_deltas_of_the_same_block_that_follow_each_other_are_joined() -> None:
    told: list[Event] = []
    go_on = asyncio.Event()

    async def slow(event: Event) -> None:
        await go_on.wait()
        told.append(event)

    listeners = EventPublisher(lambda text: None)
    listeners.subscribe(slow)
    for event in (
        TurnStart(),
        delta("a"),
        delta("b"),
        delta("c", 1),
        TurnStart(),
        TurnStart(),
        delta("d", 1),
    ):
        listeners.publish_now(event)
    go_on.set()
    await listeners.wait_until_delivered()
    assert told == [TurnStart(), delta("ab"), delta("c", 1), TurnStart(), TurnStart(), delta("d", 1)]
    listeners.close()


async def test_a_pace_slows_the_session_down_and_loses_nothing() -> None:
    room = asyncio.Event()
    told: list[Event] = []
    listeners = EventPublisher(lambda text: None)
    leave: Callable[[], None] = listeners.subscribe(told.append, pace=room.wait)  # pyright: ignore[reportArgumentType]  (its answer does not matter)
    waiting = asyncio.ensure_future(listeners.publish(TurnStart()))
    await asyncio.sleep(0)
    assert told == [TurnStart()]
    assert not waiting.done()
    room.set()
    await waiting
    leave()
    room.clear()
    await listeners.publish(TurnStart())
    assert len(told) == 1
