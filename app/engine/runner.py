"""Running the loop: one run at a time in a task of its own, each event recorded and then published.

Between runs it retries, compacts where it is told to, delivers what was queued late, and settles.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Literal

import msgspec

from app.agent import loop
from app.agent.abort import Abort
from app.agent.outcomes import in_words
from app.agent.ports import Ports
from app.agent.queues import Queues
from app.engine.begun import Begun
from app.engine.conversation import Conversation
from app.engine.requests import Requests
from app.engine.retry import Countdown, RetryPolicy
from app.providers.classify import Failure
from app.sessions.errors import SessionWriteError
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AutoRetryEnd,
    AutoRetryStart,
    EntryAppended,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    ToolExecutionEnd,
    TurnEnd,
)
from app.values.messages import AssistantMessage, CustomMessage, Message, ToolResultMessage

Next = Literal["continue", "stop"]


async def _nothing() -> None:
    return None


async def _no_more() -> bool:
    return False


async def _no_recovery(message: AssistantMessage) -> bool:
    return False


class Steps(msgspec.Struct, kw_only=True):
    """What the runner consults between and within runs."""

    make_ports: Callable[[Abort], Ports]
    classify: Callable[[AssistantMessage], Failure]
    publish: Callable[[Event], Awaitable[None]]
    make_room: Callable[[AssistantMessage], Awaitable[bool]] = _no_recovery
    """Compacts what has become too large; True: the answer failed for that, and the run may go on."""
    partial: Callable[[], AssistantMessage | None] = lambda: None
    """The answer that is arriving, as far as it has."""
    turn_ended: Callable[[], Awaitable[None]] = _nothing
    """Records what waited for the turn to end."""
    before_settle: Callable[[], Awaitable[bool]] = _no_more
    """Asked when nothing is left to do and nothing was aborted; True: one more turn."""
    observe: Callable[[Event], Awaitable[Event]] | None = None
    """Sees each event before it is recorded and may replace a message in it (extensions)."""


class Runner:
    """The one place that drives the loop."""

    def __init__(
        self,
        conversation: Conversation,
        queues: Queues,
        requests: Requests,
        steps: Steps,
        policy: Callable[[], RetryPolicy],
    ) -> None:
        self.conversation = conversation
        self.countdown = Countdown()
        self._queues = queues
        self._requests = requests
        self._steps = steps
        self._policy = policy
        self._task: asyncio.Task[None] | None = None
        self._abort = Abort()
        self._begun = Begun()
        self._attempt = 0
        self._last_end: AgentEnd | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def abort_signal(self) -> Abort:
        """The wish to stop of the run that is under way, or was last."""
        return self._abort

    def start(self, prompts: Sequence[Message]) -> None:
        """Begins a run with `prompts`; with none, from the conversation as it stands."""
        if self.is_running:
            raise RuntimeError("A run is already under way.")
        self._abort = Abort()
        self._begun = Begun()
        self._attempt = 0
        self._task = asyncio.get_running_loop().create_task(self._work(list(prompts)))

    async def abort(self) -> None:
        """Stops the run, the retry wait included, and waits until it has settled."""
        self._abort.set()
        self.countdown.cancel()
        await self.wait()

    async def wait(self) -> None:
        """Until nothing more happens by itself."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    async def _work(self, prompts: list[Message]) -> None:
        try:
            await self._run_until_settled(prompts)
        except SessionWriteError as problem:
            await self._steps.publish(Notice(level="error", text=str(problem)))
            self._abort.set()
            await self._end_what_began(str(problem))
        except loop.CannotContinue as problem:
            await self._steps.publish(Notice(level="error", text=str(problem)))
        except Exception as problem:  # noqa: BLE001  (whatever went wrong, the session can be talked to again)
            text = f"The run ended early: {in_words(problem)}. What it did is kept; send a prompt to go on."
            await self._steps.publish(Notice(level="error", text=text))
            await self._end_what_began(text)
        finally:
            await self._settle()

    async def _end_what_began(self, why: str) -> None:
        """Whoever was told of a beginning is told of its end."""
        for event in self._begun.endings(self._steps.partial(), why):
            if isinstance(event, MessageEnd) and not self.conversation.log.is_read_only:
                event = msgspec.structs.replace(event, message=self.conversation.record(event.message))
            await self._steps.publish(event)

    async def _run_until_settled(self, prompts: list[Message]) -> None:
        pending: list[Message] = prompts
        is_queued = False
        while True:
            ports = self._steps.make_ports(self._abort)
            if pending:
                await self._consume(loop.run(pending, ports, is_from_queue=is_queued))
            else:
                await self._consume(loop.resume(self.conversation.messages, ports))
            if await self._what_next() == "continue":
                pending = []
                continue
            if self._abort.is_set:
                return
            pending, is_queued = self._late_messages(), True
            if not pending and not await self._wants_more():
                return

    async def _consume(self, events: AsyncGenerator[Event, None]) -> None:
        async with aclosing(events) as stream:
            async for event in stream:
                await self._take(event)

    async def _take(self, event: Event) -> None:
        """Record, then tell."""
        if self._steps.observe is not None:
            event = await self._steps.observe(event)
        match event:
            case MessageUpdate():
                self.conversation.keep_partial(self._steps.partial)
            case MessageEnd(message=ToolResultMessage()):
                pass  # recorded when its tool ended
            case MessageEnd():
                event = msgspec.structs.replace(event, message=self.conversation.record(event.message))
                if isinstance(event.message, AssistantMessage):
                    self.conversation.discard_partial()
            case ToolExecutionEnd(message=ToolResultMessage() as result):
                self.conversation.record(result)
            case AgentEnd():
                self._last_end = event
                await self._end_turn()
        self._stop_without_room(event)
        try:
            await self._requests.note(event)
        finally:
            self._begun.note(event)
            await self._steps.publish(event)
        match event:
            case MessageEnd(message=AssistantMessage() as message):
                await self._note_success(message)
            case TurnEnd():
                await self._steps.turn_ended()

    def _stop_without_room(self, event: Event) -> None:
        """What was asked for arrives whole, on a full disk too; nothing further is begun."""
        is_recorded = isinstance(event, ToolExecutionEnd) or (
            isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage)
        )
        if is_recorded and self.conversation.log.unwritten is not None:
            self._abort.set()

    async def _end_turn(self) -> None:
        try:
            self.conversation.log.end_turn()
        except SessionWriteError as problem:
            await self._steps.publish(Notice(level="error", text=str(problem)))

    async def _note_success(self, message: AssistantMessage) -> None:
        if self._attempt and message.stop_reason not in ("error", "aborted"):
            attempt, self._attempt = self._attempt, 0
            await self._steps.publish(AutoRetryEnd(success=True, attempt=attempt))

    def will_retry(self, message: AssistantMessage) -> bool:
        """Whether the run goes on after this failure."""
        if message.stop_reason != "error" or self._abort.is_set:
            return False
        failure = self._steps.classify(message)
        policy = self._policy()
        return (
            failure.is_retryable
            and policy.is_enabled
            and self._attempt < policy.max_attempts
            and policy.delay_ms(self._attempt + 1, failure.retry_after_ms) is not None
        )

    async def _what_next(self) -> Next:
        message = self.conversation.last_assistant
        if message is None or self._last_end is None:
            return "stop"
        if self._last_end.will_retry:
            return await self._retry(message)
        if message.stop_reason == "error" and self._attempt:
            attempt, self._attempt = self._attempt, 0
            await self._steps.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=message.error_message)
            )
        if not self._abort.is_set and await self._steps.make_room(message):
            return "continue"
        return "stop"

    async def _retry(self, message: AssistantMessage) -> Next:
        policy = self._policy()
        failure = self._steps.classify(message)
        self._attempt += 1
        delay = policy.delay_ms(self._attempt, failure.retry_after_ms)
        assert delay is not None, "will_retry looked at it"
        error = message.error_message or "unknown error"
        with self.countdown.announced():
            await self._steps.publish(
                AutoRetryStart(
                    attempt=self._attempt,
                    max_attempts=policy.max_attempts,
                    delay_ms=delay,
                    error_message=error,
                )
            )
            await self.leave_out(message)
            how = "cancelled" if self._abort.is_set else await self.countdown.wait(delay)
        if how == "cancelled":
            attempt, self._attempt = self._attempt, 0
            await self._steps.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=f"Retry cancelled. {error}")
            )
            return "stop"
        return "continue"

    async def leave_out(self, message: AssistantMessage) -> None:
        """A failed attempt stays in the file but leaves the context."""
        await self._steps.publish(EntryAppended(entry=self.conversation.omit(message.id)))

    async def _wants_more(self) -> bool:
        wanted = await self._steps.before_settle()
        return wanted and not isinstance(self.conversation.messages[-1], AssistantMessage)

    def _late_messages(self) -> list[Message]:
        """Queued while the last run was ending."""
        return [*(self._queues.take("steering") or self._queues.take("follow_up"))]

    async def _settle(self) -> None:
        try:
            for aside in self._queues.take_asides():
                await self.append(aside)
        except SessionWriteError as problem:
            await self._steps.publish(Notice(level="error", text=str(problem)))
        await self._end_turn()
        await self._steps.publish(AgentSettled(aborted=self._abort.is_set))

    async def append(self, message: CustomMessage) -> None:
        """Adds a message without asking the model."""
        stored = self.conversation.record(message)
        await self._steps.publish(MessageStart(message=stored))
        await self._steps.publish(MessageEnd(message=stored))
