"""The agent loop: prompt, model, tools, repeated until nothing is left. Keeps no state between runs.

`run_agent_loop` and `resume_agent_loop` are async generators of events. The consumer records each event before taking
the next, so that requests (`AgentLoopDependencies.request_answer`) always build on recorded entries.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from app.agent.call_batch import ToolCallBatch
from app.agent.hooks import FinishedTurn
from app.agent.loop_ports import AgentLoopDependencies
from app.agent.response_events import response_events
from app.agent.tool_results import describe_error_in_one_line
from app.values.events import (
    AgentEnd,
    AgentStart,
    MessageEnd,
    MessageStart,
    RunEvent,
    ToolExecutionEnd,
    TurnEnd,
    TurnStart,
)
from app.values.messages import AssistantMessage, Message, ToolResultMessage


class NothingToContinue(Exception):
    """Raised if the conversation has nothing that the model could answer."""


async def run_agent_loop(
    prompts: Sequence[Message], ports: AgentLoopDependencies, *, is_from_queue: bool = False
) -> AsyncGenerator[RunEvent]:
    """Delivers `prompts` to the model and runs turns until the agent is done. `is_from_queue`: the prompts were
    just taken from a queue, so no queued message is added to the first turn."""
    if not prompts:
        raise NothingToContinue("Nothing to say: a run needs at least one message.")
    async with aclosing(_run(list(prompts), ports, takes_steering=not is_from_queue)) as events:
        async for event in events:
            yield event


async def resume_agent_loop(
    history: Sequence[Message], ports: AgentLoopDependencies
) -> AsyncGenerator[RunEvent]:
    """Continues the conversation without a new prompt; its last message must not be an answer of the model."""
    if not history:
        raise NothingToContinue("Cannot continue: no messages in context")
    if isinstance(history[-1], AssistantMessage):
        raise NothingToContinue("Cannot continue from message role: assistant")
    async with aclosing(_run([], ports, takes_steering=True)) as events:
        async for event in events:
            yield event


async def _run(
    pending: list[Message], ports: AgentLoopDependencies, *, takes_steering: bool
) -> AsyncGenerator[RunEvent]:
    produced: list[Message] = []
    last: AssistantMessage | None = None
    yield AgentStart()
    if takes_steering:
        pending += ports.queues.take_next("steering")
    while True:
        turn = _Turn(pending, ports)
        async with aclosing(turn.run_and_yield_events()) as events:
            async for event in events:
                if isinstance(event, MessageEnd):
                    produced.append(event.message)
                yield event
        last = turn.message
        if last is None or await _should_end_run(turn, ports):
            break
        pending = [*ports.queues.take_next("steering")]
        if not pending and turn.is_answered:
            pending = [*ports.queues.take_next("follow_up")]
            if not pending:
                break
    yield AgentEnd(messages=tuple(produced), will_retry=last is not None and ports.will_retry(last))


async def _should_end_run(turn: "_Turn", ports: AgentLoopDependencies) -> bool:
    assert turn.message is not None
    is_failed = turn.message.stop_reason in ("error", "aborted")
    wants_end = await _does_hook_end_run(FinishedTurn(message=turn.message, results=turn.results), ports)
    return is_failed or wants_end or ports.abort.is_set


async def _does_hook_end_run(outcome: FinishedTurn, ports: AgentLoopDependencies) -> bool:
    try:
        return await ports.hooks.after_turn(outcome)
    except Exception as problem:  # noqa: BLE001  (a failing hook must not end the run)
        ports.report_problem(
            f"The run goes on, though a hook behind the turn failed: {describe_error_in_one_line(problem)}"
        )
        return False


class _Turn:
    """One turn of the agent loop: a request to the model, and the tool calls of its answer."""

    def __init__(self, pending: Sequence[Message], ports: AgentLoopDependencies) -> None:
        self._pending = pending
        self._ports = ports
        self._by_call: dict[str, ToolResultMessage] = {}
        self._should_end: dict[str, bool] = {}
        self.message: AssistantMessage | None = None

    @property
    def results(self) -> tuple[ToolResultMessage, ...]:
        """The tool results of the turn, in call order."""
        calls = self.message.tool_calls if self.message else ()
        return tuple(self._by_call[call.id] for call in calls if call.id in self._by_call)

    @property
    def is_answered(self) -> bool:
        """Whether no further request is needed: the model called no tools, or every tool result of the turn ends
        the run."""
        return not self._should_end or all(self._should_end.values())

    async def run_and_yield_events(self) -> AsyncGenerator[RunEvent]:
        yield TurnStart()
        system = self._ports.system_update()
        arrived = [*self._pending, *self._ports.queues.take_asides()]
        for message in [system, *arrived] if system else arrived:
            yield MessageStart(message=message, message_id=message.id)
            yield MessageEnd(message=message, message_id=message.id)
        await self._ports.before_request(self._ports.abort)
        stream = await self._ports.request_answer(self._ports.abort)
        async with aclosing(response_events(stream, self._ports)) as response:
            async for event in response:
                if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
                    self.message = event.message
                yield event
        assert self.message is not None, "a stream always ends with a message"
        if self.message.stop_reason not in ("error", "aborted") and self.message.tool_calls:
            async for event in self._answer_calls(self.message):
                yield event
        yield TurnEnd(message=self.message, tool_results=self.results)

    async def _answer_calls(self, message: AssistantMessage) -> AsyncGenerator[RunEvent]:
        async with aclosing(ToolCallBatch(message, self._ports).run_and_yield_events()) as events:
            async for event in events:
                if isinstance(event, ToolExecutionEnd) and event.message is not None:
                    self._by_call[event.tool_call_id] = event.message
                    self._should_end[event.tool_call_id] = bool(event.result.terminate)
                yield event
        call_ids = tuple(call.id for call in message.tool_calls)
        for result in [*self.results, *self._ports.queues.take_asides(call_ids)]:
            yield MessageStart(message=result, message_id=result.id)
            yield MessageEnd(message=result, message_id=result.id)
