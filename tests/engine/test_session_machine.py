"""A session under random scripts: answers, tools that take their time, failures, steering, edits of the queue, aborts,
retries. After every step the promises of the loop hold, and the file says what memory says.
"""

import asyncio
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.engine.core.retry_policy import RetryPolicy
from app.providers.scripted import ScriptedAnswer, call, fail, say
from app.sessions.session_log import SessionLog
from app.sessions.session_stats import SessionCounts
from app.values.codec import encode
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AutoRetryEnd,
    AutoRetryStart,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ProviderRequestDelivered,
    ProviderRequestFailed,
    ProviderRequestPrepared,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from app.values.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    user_message,
)
from tests.agent.scripted_loop import plain, tool
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of, waiting_texts
from tools.tool_definition import ToolContext, ToolError
from tools.tool_result_values import ToolResult, text_result

CALLS = ("quick", "waits", "raises", "unknown", "in_turn", "ends", "chatty", "stubborn")
NEVER = 3_600_000

answers = st.one_of(
    st.lists(st.sampled_from(CALLS), max_size=4).map(lambda names: ("calls", names)),
    st.sampled_from(
        [
            ("says", []),
            ("overloaded", []),
            ("breaks", []),
            ("refused", []),
            ("cut", ["quick", "quick"]),
            ("held", []),
        ]
    ),
)


class AtOnce(ThreadPoolExecutor):
    """Does at once what is handed to a thread: how far a session has come never depends on a thread's turn."""

    def submit(self, fn: Any, /, *args: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **named))
        except Exception as error:
            done.set_exception(error)
        return done


class SessionMachine(RuleBasedStateMachine):
    """One session, driven by a person and a model who agree on nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.runner.get_loop().set_default_executor(AtOnce())
        self.folder = tempfile.TemporaryDirectory()
        self.answers: list[tuple[str, list[str]]] = []
        self.gates: list[asyncio.Event] = []
        self.count = 0
        self.added: dict[str, list[int]] = {"steer": [], "follow": [], "aside": [], "next": []}
        self.removed: set[str] = set()
        self.starts = 0
        self.harness = self.do(self._begun())

    def do(self, work: Any) -> Any:
        """Runs `work` and its consequences until everything waits for another step."""

        async def settled() -> Any:
            result = await work
            for _ in range(250):
                await asyncio.sleep(0)
            return result

        return self.runner.run(settled())

    async def _begun(self) -> ScriptedSession:
        folder = Path(self.folder.name)
        harness = ScriptedSession(
            folder,
            *[self._answer] * 2_000,
            tools=[*self._tools()],
            log=SessionLog.create(folder / "sessions", folder, fsync=lambda: "off"),
            retry=RetryPolicy(base_delay_ms=NEVER, max_delay_ms=NEVER, max_attempts=2),
            merges_deltas=False,  # nothing here depends on time
        )
        return harness

    def _answer(self, context: Any, number: int) -> ScriptedAnswer:
        kind, names = self.answers.pop(0) if self.answers else ("says", [])
        match kind:
            case "overloaded":
                return fail("overloaded")
            case "refused":
                return fail("no such model", status=400)
            case "breaks":
                return say("half of it " * 4, error="overloaded: broken", breaks_after=2)
            case "cut":
                made = say("cut")
                for name in names:
                    made += call(name)
                return ScriptedAnswer(blocks=made.blocks, stop="length")
            case "held":
                gate = asyncio.Event()
                self.gates.append(gate)
                return say(f"answer {number} takes its time", gate=gate)
        made = say(f"answer {number}")
        for name in names:
            made += call(name)
        return made

    def _tools(self) -> Any:
        async def behave(name: str, context: ToolContext) -> ToolResult:
            match name:
                case "waits" | "in_turn":
                    gate = asyncio.Event()
                    self.gates.append(gate)
                    await gate.wait()
                case "raises":
                    raise ToolError("it did not work")
                case "chatty":
                    context.progress(text_result("so far"))
                    await asyncio.sleep(0)
                    context.progress(text_result("further"))
                case "stubborn":
                    gate = asyncio.Event()
                    self.gates.append(gate)
                    try:
                        await gate.wait()
                    except asyncio.CancelledError:
                        await asyncio.sleep(0)
            result = text_result(f"{name} of {context.call_id}")
            return ToolResult(content=result.content, terminate=name == "ends")

        for name in CALLS:
            if name != "unknown":
                mode = "sequential" if name == "in_turn" else "parallel"
                yield tool(name, lambda arguments, context, name=name: behave(name, context), mode=mode)  # pyright: ignore[reportArgumentType]

    def _number(self, kind: str) -> str:
        self.count += 1
        self.added[kind].append(self.count)
        return f"{kind} {self.count}"

    # What may happen

    @rule(answer=answers)
    def the_model_will(self, answer: tuple[str, list[str]]) -> None:
        self.answers.append(answer)

    @precondition(lambda self: not self.harness.session.is_running)
    @rule()
    def prompt(self) -> None:
        self.starts += 1
        self.do(self.harness.session.prompt(f"prompt {self.starts}"))

    @rule(queue=st.sampled_from(("steering", "follow_up")))
    def queue(self, queue: Any) -> None:
        text = self._number("steer" if queue == "steering" else "follow")
        self.do(self.harness.session.queue(queue, text))

    @rule(how=st.sampled_from(("aside", "next_turn")))
    def send(self, how: Any) -> None:
        message = CustomMessage(
            custom_type="note", content=self._number("aside" if how == "aside" else "next")
        )
        self.do(self.harness.session.send(message, deliver_as=how))

    @rule(mode=st.sampled_from(("all", "one-at-a-time")), interrupt=st.sampled_from(("wait", "immediate")))
    def change_modes(self, mode: Any, interrupt: Any) -> None:
        effective_settings = self.harness.effective_settings
        effective_settings.set("steeringMode", mode)
        effective_settings.set("followUpMode", mode)
        effective_settings.set("interruptMode", interrupt)

    @precondition(lambda self: self.harness.session.state.queued_count > 0)
    @rule(how=st.sampled_from(("remove", "edit", "switch")), which=st.integers(0, 10))
    def change_queue(self, how: str, which: int) -> None:
        async def change() -> None:
            session = self.harness.session
            name = "steering" if session.queues.queued_messages("steering") else "follow_up"
            waiting = session.queues.queued_messages(name)
            one = waiting[which % len(waiting)]
            if how == "remove":
                self.removed.add(plain(one))
                session.queues.remove_message(one.id)
            elif how == "edit":
                self.removed.add(plain(one))
                changed = user_message(f"edited {plain(one)}")
                session.queues.replace_messages(
                    name, tuple(changed if other is one else other for other in waiting)
                )
            else:
                self.removed.add(plain(one))  # it loses its place
                session.queues.move_to_other_queue(one.id)

        self.do(change())

    @precondition(lambda self: any(not gate.is_set() for gate in self.gates))
    @rule(which=st.integers(0, 10))
    def something_goes_on(self, which: int) -> None:
        async def release() -> None:
            closed = [gate for gate in self.gates if not gate.is_set()]
            closed[which % len(closed)].set()

        self.do(release())

    @rule()
    def abort(self) -> None:
        self.do(self.harness.session.abort())
        assert not self.harness.session.is_running

    @precondition(lambda self: self.harness.session.state.is_waiting_to_retry)
    @rule(gives_up=st.booleans())
    def answer_the_countdown(self, gives_up: bool) -> None:
        async def press() -> None:
            session = self.harness.session
            session.retry_countdown.cancel() if gives_up else session.retry_countdown.retry_now()

        self.do(press())

    # What always holds

    @invariant()
    def events_nest(self) -> None:
        check_grammar(self.harness.events)

    @invariant()
    def a_run_settles_once(self) -> None:
        settled = len(self.harness.all(AgentSettled))
        assert settled == self.starts - self.harness.session.is_running

    @invariant()
    def queues_keep_their_order_and_lose_nothing(self) -> None:
        session = self.harness.session
        told = [plain(event.message) for event in self.harness.all(MessageEnd)]
        for kind, queue in (("steer", "steering"), ("follow", "follow_up")):
            waiting = [*waiting_texts(session, "steering"), *waiting_texts(session, "follow_up")]
            seen = [text for text in [*told, *waiting] if text.startswith(f"{kind} ")]
            kept = [text for text in seen if text not in self.removed]
            wanted = [f"{kind} {number}" for number in self.added[kind]]
            assert kept == [text for text in wanted if text not in self.removed], queue
        updates = self.harness.all(QueueUpdate)
        if updates:
            assert updates[-1].steering == waiting_texts(session, "steering")
            assert updates[-1].follow_up == waiting_texts(session, "follow_up")

    @invariant()
    def requests_are_answered_for(self) -> None:
        prepared = [event.request_id for event in self.harness.all(ProviderRequestPrepared)]
        ended = [event.request_id for event in self.harness.events if isinstance(event, ENDS_OF_REQUESTS)]
        assert len(set(ended)) == len(ended)
        assert set(ended) <= set(prepared)
        if not self.harness.session.is_running:
            assert set(ended) == set(prepared)

    @invariant()
    def every_call_has_one_result_in_call_order(self) -> None:
        if not self.harness.session.is_running:
            check_calls(self.harness.session.messages)

    @invariant()
    def what_was_used_is_what_all_entries_add_up_to(self) -> None:
        one_by_one = SessionCounts()
        for entry in self.harness.session.log.entries:
            one_by_one.add_all((entry,))
        assert self.harness.session.stats == one_by_one

    @invariant()
    def file_and_memory_agree(self) -> None:
        conversation = parts_of(self.harness.session).core.conversation
        said = [message for message in conversation.messages if not isinstance(message, SystemMessage)]
        assert conversation.messages_without_system == said
        assert conversation.ids_without_system == [message.id for message in said]
        log = conversation.log
        if log.is_on_disk and log.path is not None:
            read = SessionLog.open(log.path, read_only=True).project_context().messages
            assert [encode(message) for message in read] == [
                encode(message) for message in conversation.messages
            ]

    def teardown(self) -> None:
        self.do(self.harness.session.close())
        self.runner.close()
        self.folder.cleanup()


ENDS_OF_REQUESTS = (ProviderRequestDelivered, ProviderRequestFailed)


def check_calls(messages: tuple[Message, ...]) -> None:
    for index, message in enumerate(messages):
        if not isinstance(message, AssistantMessage) or message.stop_reason in ("error", "aborted"):
            continue
        wanted = [one.id for one in message.tool_calls]
        behind = messages[index + 1 : index + 1 + len(wanted)]
        assert [one.tool_call_id for one in behind if isinstance(one, ToolResultMessage)] == wanted


def check_grammar(events: list[Event]) -> None:
    """Runs, turns, messages and calls nest; what was begun and not ended is what goes on now."""
    run = turn = retrying = False
    open_message: str | None = None
    open_calls: set[str] = set()
    for event in events:
        match event:
            case AgentStart():
                assert not run
                run = True
            case AgentEnd():
                assert run and not turn
                run = False
            case TurnStart():
                assert run and not turn
                turn = True
            case TurnEnd():
                assert turn and open_message is None and not open_calls
                turn = False
            case MessageStart(message=message):
                assert open_message is None
                assert turn or isinstance(message, CustomMessage)  # what was left over at the end
                open_message = message.id
            case MessageUpdate():
                assert open_message is not None
            case MessageEnd(message=message):
                assert message.id == open_message
                open_message = None
            case ToolExecutionStart(tool_call_id=call_id):
                assert turn and call_id not in open_calls
                open_calls.add(call_id)
            case ToolExecutionUpdate(tool_call_id=call_id):
                assert call_id in open_calls
            case ToolExecutionEnd(tool_call_id=call_id):
                open_calls.remove(call_id)
            case AutoRetryStart():
                assert not run
                retrying = True
            case AutoRetryEnd():
                assert retrying
                retrying = False
            case AgentSettled():
                assert not run and not retrying


_ANY_PACE = [HealthCheck.too_slow, HealthCheck.filter_too_much]


class TestSession(SessionMachine.TestCase):
    settings = settings(
        max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=_ANY_PACE
    )


@pytest.mark.long
class TestSessionAtLength(SessionMachine.TestCase):
    settings = settings(
        max_examples=500, stateful_step_count=60, deadline=None, suppress_health_check=_ANY_PACE
    )
