"""How runs begin and end: prompts that meet, queues that outlive an abort, retries, hooks that fail, new models."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from app.engine.core.hooks import Hooks
from app.engine.core.prompt_intake import PromptInput, SessionRequestRefused
from app.engine.core.retry_policy import RetryDelay, RetryPolicy
from app.providers.model_stream import Credential
from app.providers.scripted import call, fail, say
from app.sessions.session_log import SessionLog
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    Event,
    MessageEnd,
    Notice,
    ProviderRequestPrepared,
    QueueUpdate,
    ThinkingLevelChanged,
)
from app.values.messages import AssistantMessage, CustomMessage, Message, UserMessage, user_message
from tests.agent.scripted_loop import BlockingTool, echo, plain
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of, waiting_texts

HOUR = RetryPolicy(base_delay_ms=3_600_000, max_delay_ms=3_600_000)


def prompts(harness: ScriptedSession) -> list[str]:
    return [plain(message) for message in harness.session.messages if isinstance(message, UserMessage)]


# Prompts that meet


async def test_a_prompt_that_comes_while_another_is_being_prepared_is_queued_and_not_lost(
    tmp_path: Path,
) -> None:
    go_on, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(Hooks):
        async def messages_before_prompt(self, words: PromptInput) -> Sequence[CustomMessage]:
            await go_on.wait()
            return ()

    harness = ScriptedSession(tmp_path, say("one", gate=may_answer), say("two"), hooks=Slow())
    both = [asyncio.ensure_future(harness.session.prompt(text)) for text in ("a", "b")]
    await asyncio.sleep(0)
    go_on.set()
    assert sorted(await asyncio.gather(*both)) == ["queued", "started"]
    may_answer.set()
    await harness.session.wait_until_idle()
    assert prompts(harness) == ["a", "b"]


async def test_steering_that_comes_right_after_the_end_goes_with_the_next_prompt(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    await harness.prompt("a")
    assert await harness.session.queue("steering", "b") == "queued"
    assert not harness.session.is_running
    await harness.prompt("c")
    assert prompts(harness) == ["a", "c", "b"]
    assert harness.script.request_count == 2


async def test_what_is_queued_while_the_run_ends_is_delivered_one_by_one_before_it_settles(
    tmp_path: Path,
) -> None:
    harness = ScriptedSession(tmp_path, *[say("ok")] * 3)

    def too_late(event: Event) -> None:
        if isinstance(event, AgentEnd) and len(harness.all(AgentEnd)) == 1:
            for text in ("b", "c"):
                harness.session.queues.add_message("steering", user_message(text))

    harness.session.subscribe(too_late)
    await harness.prompt("a")
    assert prompts(harness) == ["a", "b", "c"]
    assert [len(event.message_ids) for event in harness.all(ProviderRequestPrepared)] == [1, 2, 2]
    assert len(harness.all(AgentSettled)) == 1


async def test_continuing_needs_something_to_answer_and_an_idle_agent(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("ok"), say("more"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    with pytest.raises(SessionRequestRefused, match="until the agent is idle"):
        harness.session.resume()
    await harness.session.abort()
    harness.session.resume()  # the last message is a result: the model may answer
    await harness.session.wait_until_idle()
    assert plain(harness.session.messages[-1]) == "ok"
    harness.session.resume()
    await harness.session.wait_until_idle()
    assert harness.all(Notice)[-1].text == "Cannot continue from message role: assistant"
    assert len(harness.all(AgentSettled)) == 3


async def test_going_on_adds_no_message(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("no such model", status=400), say("now"))
    await harness.prompt("go")
    assert await harness.session.retry_failed_answer()
    await harness.session.wait_until_idle()
    assert prompts(harness) == ["go"]
    assert plain(harness.session.messages[-1]) == "now"


# Queues


async def test_a_queued_message_can_be_seen_changed_moved_and_taken_back(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("a"), say("b"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    for text in ("one", "two", "three"):
        await harness.session.queue("follow_up", text)
    session = harness.session
    one, two, three = session.queues.queued_messages("follow_up")
    session.queues.replace_messages(
        "follow_up", (one, msgspec.structs.replace(three, content="three, changed"))
    )
    assert session.queues.remove_message(one.id) == one
    assert session.queues.remove_message(one.id) is None
    session.queues.move_to_other_queue(three.id)
    assert [(event.steering, event.follow_up) for event in harness.all(QueueUpdate)][3:] == [
        ((), ("one", "three, changed")),
        ((), ("three, changed",)),
        (("three, changed",), ()),
    ]
    gate.go_on.set()
    await harness.session.wait_until_idle()
    assert prompts(harness) == ["go", "three, changed"]
    assert two.id not in parts_of(harness.session).core.conversation.context_message_ids


async def test_queues_survive_an_abort_and_go_with_the_next_prompt(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("a"), say("b"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    await harness.session.queue("steering", "steer")
    await harness.session.queue("follow_up", "follow")
    await harness.session.abort()
    assert harness.all(AgentSettled)[-1].aborted
    assert waiting_texts(harness.session, "steering") == ("steer",)
    assert harness.script.request_count == 1, "and nothing of it runs by itself"
    await harness.prompt("on")
    assert prompts(harness) == ["go", "on", "steer", "follow"]


async def test_a_next_turn_message_starts_no_run(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("a"), say("b"))
    await harness.session.send(
        CustomMessage(custom_type="note", content="remember"), deliver_as="next_turn", trigger=True
    )
    assert not harness.session.is_running
    await harness.prompt("go")
    assert [plain(message) for message in harness.script.received_contexts[0].messages] == ["remember", "go"]


async def test_conversation_state_does_not_follow_to_another_session(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("a"), say("b"))
    note = CustomMessage(custom_type="note", content="of the first")
    await harness.session.send(note, deliver_as="next_turn")
    await harness.session.queue("follow_up", "my own words")
    waiting = asyncio.ensure_future(harness.session.wait_for_delivery(note.id))
    await asyncio.sleep(0)
    await harness.session.branches.open_session(harness.places.create_session(), "new")
    assert (await asyncio.wait_for(waiting, 10)).outcome == "dropped"
    await harness.prompt("go")
    assert prompts(harness) == ["go", "my own words"]
    assert not any(isinstance(message, CustomMessage) for message in harness.session.messages)


# Retries


def test_delays_double_up_to_a_cap_and_a_server_may_ask_for_less_than_that() -> None:
    policy = RetryPolicy()
    assert [policy.delay_ms(attempt) for attempt in (1, 2, 3, 6, 9)] == [2_000, 4_000, 8_000, 60_000, 60_000]
    assert policy.delay_ms(1, 30_000) == 30_000
    assert policy.delay_ms(1, 61_000) is None


async def test_an_hour_is_too_long_to_wait_so_the_error_stands(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path, fail("overloaded, retry after"), say("now"), retry=RetryPolicy(max_delay_ms=2)
    )
    await harness.prompt("go")
    assert harness.all(AutoRetryStart) == []
    assert [event.will_retry for event in harness.all(AgentEnd)] == [False]


async def test_the_servers_hint_is_the_delay_that_is_reported(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded, retry after"), say("now"))
    await harness.prompt("go")
    assert [event.delay_ms for event in harness.all(AutoRetryStart)] == [3]


@pytest.mark.parametrize("gives_up", [True, False])
async def test_the_countdown_can_be_answered_in_the_very_moment_it_is_announced(
    tmp_path: Path, gives_up: bool
) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("now"), retry=HOUR)

    def answer(event: Event) -> None:
        if isinstance(event, AutoRetryStart):
            harness.session.retry_countdown.cancel() if gives_up else harness.session.retry_countdown.retry_now()

    harness.session.subscribe(answer)
    async with asyncio.timeout(10):
        await harness.prompt("go")
    assert harness.all(AutoRetryEnd)[-1].success is not gives_up
    assert harness.script.request_count == (1 if gives_up else 2)
    assert not harness.session.state.is_waiting_to_retry


async def test_a_countdown_that_is_not_running_takes_no_answer() -> None:
    countdown = RetryDelay()
    countdown.cancel()
    countdown.retry_now()
    assert not countdown.is_running


async def test_permanent_errors_are_not_retried(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("invalid key", status=401), say("never"))
    kinds = await harness.prompt("go")
    assert "auto_retry_start" not in kinds
    assert harness.script.request_count == 1
    assert harness.session.last_answer is not None


async def test_the_order_of_a_retry_is_as_documented(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("now"))
    kinds = [kind for kind in await harness.prompt("go") if kind in ORDER]
    assert kinds == [
        *("agent_start", "turn_start", "turn_end", "agent_end"),
        *("auto_retry_start", "entry_appended"),
        *("agent_start", "turn_start", "auto_retry_end", "turn_end", "agent_end"),
        "agent_settled",
    ]


ORDER = {
    *("agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"),
    *("auto_retry_start", "auto_retry_end", "entry_appended"),
}


async def test_an_attempt_that_is_aborted_ends_the_retry(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("takes its time", gate=gate))
    await harness.session.prompt("go")
    await harness.until(lambda: harness.script.request_count == 2)
    await harness.session.abort()
    assert [(event.success, event.attempt) for event in harness.all(AutoRetryEnd)] == [(False, 1)]
    assert harness.events[-1] == AgentSettled(aborted=True)


async def test_steering_that_came_during_the_countdown_goes_with_the_next_attempt(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), say("now"), retry=HOUR)
    await harness.session.prompt("go")
    await harness.until(lambda: harness.session.state.is_waiting_to_retry)
    await harness.session.queue("steering", "by the way")
    harness.session.retry_countdown.retry_now()
    await harness.session.wait_until_idle()
    assert [plain(message) for message in harness.script.received_contexts[1].messages] == [
        "go",
        "by the way",
    ]


# Model and thinking


async def test_model_and_thinking_hold_from_the_next_request_and_are_remembered(tmp_path: Path) -> None:
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("ok"), tools=[gate.tool])
    other = msgspec.structs.replace(harness.script.model, id="other")
    await harness.session.prompt("go")
    await gate.started.wait()
    await harness.session.models.use_model(other)
    await harness.session.models.use_thinking_level("high")
    before = list(harness.session.messages)
    gate.go_on.set()
    await harness.session.wait_until_idle()
    answers = [m for m in harness.session.messages if isinstance(m, AssistantMessage)]
    assert [(m.model, m.thinking_level) for m in answers] == [("script", "medium"), ("other", "high")]
    assert list(harness.session.messages)[: len(before)] == before, "no history is lost"
    assert [event.level for event in harness.all(ThinkingLevelChanged)] == ["high"]
    path = harness.session.log.path
    await harness.session.close()
    assert path is not None
    projection = SessionLog.open(path, read_only=True).project_context()
    assert (projection.model, projection.thinking_level) == (("scripted", "other"), "high")


# What goes wrong around a request


async def test_a_credential_that_never_comes_does_not_keep_a_run_from_being_stopped(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("never"))
    asked = asyncio.Event()

    async def never(provider: str) -> Credential:
        asked.set()
        await asyncio.Event().wait()
        return Credential()

    harness.choice.credentials.resolve_credential = never  # type: ignore[method-assign]
    await harness.session.prompt("go")
    await asked.wait()
    async with asyncio.timeout(10):
        await harness.session.abort()
    last = harness.session.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.stop_reason == "aborted"
    assert harness.all(AgentSettled) == [AgentSettled(aborted=True)]


async def test_a_request_that_cannot_be_made_is_an_answer_that_says_so(tmp_path: Path) -> None:
    class Broken(Hooks):
        is_whole = False

        async def change_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
            if self.is_whole:
                return messages
            raise RuntimeError("hook broke")

    harness = ScriptedSession(tmp_path, say("never"), say("fine"), hooks=(hooks := Broken()))
    await harness.prompt("go")
    last = harness.session.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.error_message == "The request could not be made: RuntimeError: hook broke"
    hooks.is_whole = True
    await harness.prompt("again")
    assert harness.all(MessageEnd)[-1].message.stop_reason == "stop"


async def test_a_run_that_ends_by_accident_is_reported_and_the_session_goes_on(tmp_path: Path) -> None:
    whole = False

    def sections() -> dict[str, str]:
        if not whole:
            raise RuntimeError("no sections")
        return {"preamble": "You are a test."}

    harness = ScriptedSession(tmp_path, say("one"), say("two"), tools=[echo()], sections=sections)
    await harness.prompt("go")
    assert harness.all(Notice)[-1].text == (
        "The run ended early: RuntimeError: no sections. Finished work is kept; send a prompt to continue."
    )
    assert len(harness.all(AgentSettled)) == 1
    whole = True
    await harness.prompt("again")
    assert plain(harness.session.messages[-1]) == "one"
