"""Delivery is exact: by id, with the response headers of the first request that contains the message, or never."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.agent.abort_signal import AbortSignal
from app.engine.core.delivery import MessageDeliveries
from app.providers.credentials import Credentials
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, fail, say
from app.providers.senders.client import close_connections
from app.values.events import (
    AutoRetryStart,
    Event,
    JobChanged,
    MessageEnd,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from app.values.messages import CustomMessage, UserMessage, user_message
from tests.agent.scripted_loop import plain
from tests.engine.scripted_session import ScriptedSession
from tests.providers.loopback import Loopback, Received, Reply, loopback
from tests.providers.wire_formats import model_for, sse
from tests.support.sessions import parts_of
from tools.tool_registry import builtin_tools


def note(text: str = "built") -> CustomMessage:
    return CustomMessage(custom_type="background-result", content=text)


async def test_every_request_has_an_id_and_names_what_is_new_in_it_before_and_after(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    await harness.prompt("a")
    await harness.prompt("b")
    prepared, delivered = harness.all(ProviderRequestPrepared), harness.all(ProviderRequestDelivered)
    assert [event.request_id for event in prepared] == [event.request_id for event in delivered]
    assert len({event.request_id for event in prepared}) == 2
    assert {event.session_id for event in prepared} == {harness.session.log.session_id}
    said = [message.id for message in parts_of(harness.session).core.conversation.messages_without_system]
    assert prepared[0].message_ids == tuple(said[:1])
    assert prepared[1].message_ids == tuple(said[1:3])
    assert delivered[0].status == 200
    for event in delivered:
        assert harness.events.index(event) > harness.events.index(
            next(one for one in prepared if one.request_id == event.request_id)
        )


async def test_what_a_failed_request_named_is_named_again(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), fail("refused", status=400), say("two"))
    for text in ("a", "b", "c"):
        await harness.prompt(text)
    named = [event.message_ids for event in harness.all(ProviderRequestPrepared)]
    a, one, b, failed, c = [
        message.id for message in parts_of(harness.session).core.conversation.messages_without_system
    ][:5]
    assert named == [(a,), (one, b), (one, b, failed, c)]


async def test_a_message_has_its_id_from_birth(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("ok"))
    message = note()
    assert await harness.session.send(message, deliver_as="next_turn") == message.id
    waiting = asyncio.ensure_future(harness.session.wait_for_delivery(message.id))
    await harness.prompt("go")
    assert (await waiting).outcome == "delivered"
    assert message.id in harness.all(ProviderRequestPrepared)[0].message_ids
    assert any(line["id"] == message.id for line in harness.lines())


async def test_later_waiters_get_the_same_receipt(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("ok"), say("again"))
    await harness.prompt("go")
    prompt_id = next(m.id for m in harness.session.messages if isinstance(m, UserMessage))
    first = await harness.session.wait_for_delivery(prompt_id, timeout=10)
    await harness.prompt("more")
    assert await harness.session.wait_for_delivery(prompt_id, timeout=10) == first
    assert first.request_id == harness.all(ProviderRequestPrepared)[0].request_id


async def test_a_timeout_raises_and_leaves_no_waiter(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    with pytest.raises(TimeoutError):
        await harness.session.wait_for_delivery("nobody", timeout=0.001)


async def test_a_failed_request_does_not_count_and_a_retry_with_another_model_does(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("noted"))
    other = harness.script.model.__class__(**{**_fields(harness.script.model), "id": "other"})

    def switch(event: Event) -> None:
        if isinstance(event, AutoRetryStart):
            harness.choice.set_model(other)

    harness.session.subscribe(switch)
    message = note()
    await harness.session.send(message, trigger=True)
    receipt = await harness.session.wait_for_delivery(message.id, timeout=10)
    await harness.session.wait_until_idle()
    failed, delivered = harness.all(ProviderRequestFailed), harness.all(ProviderRequestDelivered)
    assert [event.error_message for event in failed] == ["overloaded"]
    assert [event.request_id for event in delivered] == [receipt.request_id]
    assert harness.session.last_answer is not None
    assert harness.session.last_answer.model == "other"


def _fields(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.__struct_fields__}


async def test_headers_count_even_when_the_answer_breaks_off(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("half of it", error="connection lost", breaks_after=1))
    message = note()
    await harness.session.send(message, trigger=True)
    assert (await harness.session.wait_for_delivery(message.id, timeout=10)).outcome == "delivered"
    assert harness.all(ProviderRequestFailed) == []


async def test_what_is_summarised_away_before_it_was_sent_is_dropped(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one " * 400), say("two " * 400), say("the summary"))
    await harness.prompt("a")
    message = note()
    await harness.session.send(message)  # stands in the context, unsent
    waiting = asyncio.ensure_future(harness.session.wait_for_delivery(message.id))
    harness.effective_settings.set("compaction.keepRecentTokens", 1)
    await harness.session.send(note("something newer " * 50))
    await harness.session.compaction.compact()
    assert message.id not in parts_of(harness.session).core.conversation.context_message_ids
    assert (await asyncio.wait_for(waiting, 10)).outcome == "dropped"


async def test_messages_removed_from_the_queue_are_dropped(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    await harness.session.queue("follow_up", "later")
    message = harness.session.queues.queued_messages("follow_up")[0]
    waiting = asyncio.ensure_future(harness.session.wait_for_delivery(message.id))
    await asyncio.sleep(0)
    harness.session.queues.remove_message(message.id)
    assert (await asyncio.wait_for(waiting, 10)).outcome == "dropped"


async def test_what_is_left_behind_in_another_branch_is_dropped(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"))
    await harness.prompt("a")
    leaf = harness.session.log.leaf_id
    message = note()
    await harness.session.send(message)
    waiting = asyncio.ensure_future(harness.session.wait_for_delivery(message.id))
    await asyncio.sleep(0)
    await harness.session.branches.go_to_entry(leaf)
    assert (await asyncio.wait_for(waiting, 10)).outcome == "dropped"


class Flight:
    """Requests whose headers come when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.headers = [asyncio.Event(), asyncio.Event()]
        self.harness = ScriptedSession(folder, *[self._response] * 2)
        self.made = parts_of(self.harness.session)
        self.deliveries = self.made.core.deliveries
        self.events = self.harness.events
        self.answers = [say("fine"), say("fine")]

    def _response(self, context: RequestContext, number: int) -> Any:
        async def made() -> ScriptedAnswer:
            await self.headers[number - 1].wait()
            return self.answers[number - 1]

        return made()

    async def send(self, message: CustomMessage) -> asyncio.Task[None]:
        """With all that was sent before."""
        self.made.core.conversation.record_message(message)
        stream = await self.made.models.requests.request_answer(AbortSignal())

        async def follow() -> None:
            await self.made.models.requests.handle_event(MessageEnd(message=await stream.final_message()))

        return asyncio.ensure_future(follow())

    def id_of(self, number: int) -> str:
        return [e.request_id for e in self.events if isinstance(e, ProviderRequestPrepared)][number]


async def test_two_requests_in_flight_are_told_apart(tmp_path: Path) -> None:
    flight = Flight(tmp_path)
    both, second = note("both"), note("second")
    first_done = await flight.send(both)
    second_done = await flight.send(second)
    waiting = [asyncio.ensure_future(flight.deliveries.wait_for_delivery(one.id)) for one in (both, second)]
    flight.headers[1].set()
    await second_done
    receipts = await asyncio.gather(*waiting)
    assert [receipt.request_id for receipt in receipts] == [flight.id_of(1), flight.id_of(1)]
    assert flight.deliveries.is_request_open(flight.id_of(0))
    flight.answers[0] = fail("overloaded")
    flight.headers[0].set()
    await first_done
    failed = [event.request_id for event in flight.events if isinstance(event, ProviderRequestFailed)]
    assert failed == [flight.id_of(0)]
    assert (await flight.deliveries.wait_for_delivery(both.id)) == receipts[0]


async def test_a_message_in_an_open_request_is_dropped_only_when_that_fails(
    tmp_path: Path,
) -> None:
    flight = Flight(tmp_path)
    kept, lost = note("kept"), note("lost")
    first_done, second_done = await flight.send(kept), await flight.send(lost)
    waiting = [asyncio.ensure_future(flight.deliveries.wait_for_delivery(one.id)) for one in (kept, lost)]
    await asyncio.sleep(0)
    flight.deliveries.drop_messages_not_in(frozenset(), {kept.id, lost.id}.__contains__)
    assert not any(one.done() for one in waiting)
    flight.headers[0].set()
    flight.answers[1] = fail("refused", status=400)
    flight.headers[1].set()
    await asyncio.gather(first_done, second_done)
    assert [(await one).outcome for one in waiting] == ["delivered", "dropped"]


async def test_a_request_begins_where_the_last_delivered_one_of_its_stretch_ended() -> None:
    deliveries, stretch = MessageDeliveries(), object()
    deliveries.note_request_sent("r1", ("a", "b"), stretch)
    deliveries.note_request_delivered("r1")
    deliveries.note_request_sent("r2", ("a", "b", "c"), stretch)
    deliveries.note_request_delivered("r2")
    deliveries.note_request_sent("r3", ("x", "c", "d"), object())  # read anew: nothing is taken for granted
    deliveries.note_request_delivered("r3")
    for message_id, request_id in {"a": "r1", "b": "r1", "c": "r2", "x": "r3", "d": "r3"}.items():
        assert (await deliveries.wait_for_delivery(message_id, 1)).request_id == request_id


# From end to end: a slow command, a threshold, a provider over real HTTP


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as running:
        yield running
        await close_connections()


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def speaks(text: str) -> Reply:
    return Reply(body=sse(chunk(role="assistant", content=text), chunk("stop"), done=True))


def runs(command: str) -> Reply:
    function = {"name": "bash", "arguments": f'{{"command": "{command}"}}'}
    asked = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return Reply(body=sse(chunk(tool_calls=[asked]), chunk("tool_calls"), done=True))


def with_provider(folder: Path, server: Loopback) -> ScriptedSession:
    harness = ScriptedSession(folder, tools=builtin_tools())
    harness.choice.credentials = Credentials(folder / "agent", {"OPENAI_API_KEY": "k"})
    harness.choice.set_model(model_for("openai-completions", server.url, provider="openai"))
    harness.effective_settings.set("bash.autoBackground.thresholdMs", 50)
    return harness


@pytest.mark.parametrize("has_outage", [False, True])
async def test_a_background_result_is_pending_until_headers_answer_a_request_with_it(
    tmp_path: Path, server: Loopback, has_outage: bool
) -> None:
    harness = with_provider(tmp_path, server)
    os.mkfifo(tmp_path / "gate")
    headers, asked_again = asyncio.Event(), asyncio.Event()

    async def holds_its_headers(received: Received) -> Reply:
        asked_again.set()
        await headers.wait()
        return speaks("The build is done.")

    outage = [Reply(status=503, body=b'{"error": {"message": "overloaded"}}')] if has_outage else []
    server.reply(runs("echo x > began; cat gate"), speaks("I wait."), *outage, holds_its_headers)

    await harness.prompt("build it")
    assert (tmp_path / "began").exists(), "the work started at once"
    promoted = harness.all(JobChanged)
    assert [event.state for event in promoted] == ["running"], "the mark came with the promotion"
    assert harness.events.index(promoted[0]) > harness.events.index(harness.all(ToolExecutionStart)[0])
    assert harness.events.index(promoted[0]) < harness.events.index(harness.all(ToolExecutionEnd)[0])
    assert "Background job job1 started" in plain(harness.all(ToolExecutionEnd)[0].message)

    (tmp_path / "gate").write_text("built 42 files\n")  # the end of the job wakes the agent
    async with asyncio.timeout(20):
        await asked_again.wait()
    message = next(m for m in harness.session.messages if isinstance(m, CustomMessage))
    assert "built 42 files" in plain(message)
    assert message.details["jobId"] == "job1"
    assert "built 42 files" in server.requests[-1].body.decode(), "the result is on the wire"
    assert harness.session.jobs.get("job1").state == "done", "but no headers have come: still pending"
    if has_outage:
        assert len(harness.all(ProviderRequestFailed)) == 1, "nor did the failed request count"

    headers.set()
    await harness.session.wait_until_idle()
    await harness.until(lambda: harness.session.jobs.get("job1").state == "delivered")
    receipt = await harness.session.wait_for_delivery(message.id, timeout=10)
    delivered = next(e for e in harness.all(ProviderRequestDelivered) if e.request_id == receipt.request_id)
    cleared = next(e for e in harness.all(JobChanged) if e.state == "delivered")
    assert harness.events.index(cleared) > harness.events.index(delivered)
    prepared = next(e for e in harness.all(ProviderRequestPrepared) if e.request_id == receipt.request_id)
    assert message.id in prepared.message_ids
    assert plain(harness.session.messages[-1]) == "The build is done."
    await harness.session.close()


async def test_a_quick_command_has_no_mark_at_all(tmp_path: Path, server: Loopback) -> None:
    harness = with_provider(tmp_path, server)
    harness.effective_settings.set("bash.autoBackground.thresholdMs", 60000)
    server.reply(runs("echo quick"), speaks("ok"))
    await harness.prompt("go")
    assert harness.all(JobChanged) == []
    assert plain(harness.all(ToolExecutionEnd)[0].message) == "quick"
    await harness.session.close()


async def test_nothing_goes_to_the_background_by_itself_that_a_later_call_waits_for(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path,
        call("bash", command="cat gate > a.txt")
        + call("bash", command="cat other")
        + call("write", path="a.txt", content="mine\n"),
        say("I wait."),
        say("both"),
        tools=builtin_tools(),
    )
    harness.effective_settings.set("bash.autoBackground.thresholdMs", 50)
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "other")
    running = asyncio.create_task(harness.prompt("go"))
    await harness.until(lambda: bool(harness.all(JobChanged)))  # what nothing waits for has gone there
    await asyncio.to_thread((tmp_path / "gate").write_text, "the command's\n")
    await running
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert {one.title for one in harness.all(JobChanged)} == {"cat other"}
    await harness.session.close()


async def test_nothing_goes_to_the_background_by_itself_that_code_has_called(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, tools=builtin_tools())
    harness.effective_settings.set("bash.autoBackground.thresholdMs", 50)
    result = await parts_of(harness.session).tools.nested.run(
        "bash", {"command": "sleep 0.3; echo yes"}, "cell"
    )
    assert result.text == "yes"
    assert harness.all(JobChanged) == []
    await harness.session.close()


def test_messages_of_a_person_have_ids_too() -> None:
    assert user_message("a").id != user_message("a").id
