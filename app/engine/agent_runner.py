"""Runs the agent loop: one run at a time in a separate task, recording each event before publishing it.

Between runs it retries, compacts, delivers late queued messages, and settles."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Literal, assert_never

import msgspec

from app.agent.abort import Abort
from app.agent.loop_ports import LoopPorts
from app.agent.queues import Aside
from app.agent.tool_results import describe_error
from app.engine.context.compactor import Compactor
from app.engine.core.retry_policy import RetryDelay
from app.engine.core.run_events import OpenRunEvents
from app.engine.core.session_core import SessionCore
from app.engine.files.file_parts import FileParts
from app.engine.goals.session_goal import SessionGoal
from app.engine.jobs.background_jobs import JobTable
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.planning.todo_list import TodoList
from app.engine.settings_watch import SettingsWatch
from app.engine.tools.tool_parts import ToolParts
from app.engine.user_runs.user_shell import UserShell
from app.sessions.errors import SessionWriteError
from app.values.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    AnswerInterrupted,
    AutoRetryEnd,
    AutoRetryStart,
    EntryAppended,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Notice,
    RunEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
)
from app.values.messages import AssistantMessage, CustomMessage, Message, ToolResultMessage

RunContinuation = Literal["continue", "stop"]


class AgentRunner:
    """Drives the agent loop of one session."""

    def __init__(
        self,
        core: SessionCore,
        *,
        requests: ModelRequests,
        compactor: Compactor,
        permits: PermissionGate,
        tools: ToolParts,
        files: FileParts,
        jobs: JobTable,
        shell: UserShell,
        todos: TodoList,
        settings_watch: SettingsWatch,
    ) -> None:
        self.countdown = RetryDelay()
        self._core = core
        self._conversation, self._event_bus, self._queues = core.conversation, core.event_bus, core.queues
        self._requests = requests
        self._compactor = compactor
        self._permissions = permits
        self._tools = tools
        self._files = files
        self._jobs = jobs
        self._shell = shell
        self._todos = todos
        self._settings_watch = settings_watch
        self.goal = SessionGoal(core, requests=requests, permits=permits, tools=tools, files=files)
        self._task: asyncio.Task[None] | None = None
        self._abort = Abort()
        self._begun = OpenRunEvents()
        self._attempt = 0
        self.interruption = AnswerInterruption(
            core,
            requests,
            is_answering=lambda: self._begun.is_answering and not self._abort.is_set,
        )
        self._pending: list[Message] = []
        """The messages that the next run of the loop delivers."""
        self._last_end: AgentEnd | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def abort_signal(self) -> Abort:
        """The abort signal of the current run, or of the last one."""
        return self._abort

    def start(self, prompts: Sequence[Message]) -> None:
        """Starts a run with `prompts`; without prompts it continues the conversation."""
        if self.is_running:
            raise RuntimeError("A run is already in progress.")
        self._abort = Abort()
        self._begun = OpenRunEvents()
        self._attempt = 0
        self._core.next_run.begin()
        self._pending = []
        self._last_end = None
        self._task = asyncio.get_running_loop().create_task(self._run_prompts(list(prompts)))
        # Without a limit nothing is timed, and without time left no request is sent.
        if self._requests.budget.seconds_left:
            watch = asyncio.get_running_loop().create_task(self._stop_in_time(self._abort))
            self._task.add_done_callback(lambda _: watch.cancel())

    async def _stop_in_time(self, abort: Abort) -> None:
        """Stops the run when the time of its limit is over."""
        while left := self._requests.budget.seconds_left:  # noqa: ASYNC110  (a clock has no event)
            await asyncio.sleep(left)
        self._requests.budget.run_out()
        abort.set()
        self.countdown.cancel()

    async def abort(self) -> None:
        """Stops the run or the wait before a retry, and waits until it has settled."""
        self._abort.set()
        self.countdown.cancel()
        await self.wait()

    async def wait(self) -> None:
        """Waits until the agent is idle."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    async def _run_prompts(self, prompts: list[Message]) -> None:
        from app.agent import loop  # noqa: PLC0415  (`Session.warm_up` has loaded it)

        try:
            await self._run_until_idle(prompts)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
            self._abort.set()
            await self._close_open_events(str(problem))
        except loop.NothingToContinue as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
        except Exception as problem:  # noqa: BLE001  (after any error the session accepts prompts again)
            text = (
                f"The run ended early: {describe_error(problem)}. Finished work is kept; send a prompt to "
                "continue."
            )
            await self._event_bus.publish(Notice(level="error", text=text))
            await self._close_open_events(text)
        finally:
            await self._finish_run()

    async def _close_open_events(self, why: str) -> None:
        """Publishes the end of every event that has started and not ended."""
        for event in self._begun.endings(self._requests.partial(), why):
            if isinstance(event, MessageEnd) and not self._conversation.log.is_read_only:
                event = self._recorded(event)
            await self._event_bus.publish(event)

    async def _run_until_idle(self, prompts: list[Message]) -> None:
        from app.agent import loop  # noqa: PLC0415  (as above)

        pending: list[Message] = prompts
        is_queued = False
        while True:
            self._settings_watch.look()  # every run begins with the present settings
            ports = self._ports()
            if pending:
                await self._consume(loop.run_loop(pending, ports, is_from_queue=is_queued))
            else:
                await self._consume(loop.resume_loop(self._conversation.messages, ports))
            if await self._next_step() == "continue":
                pending, self._pending = self._pending, []
                continue
            if self._abort.is_set:
                return
            pending, is_queued = self._late_messages(), True
            if pending or await self._should_continue():
                continue
            # Messages that arrived while the settings were read.
            pending = [] if self._abort.is_set else self._late_messages()
            if not pending:
                return

    def _ports(self) -> LoopPorts:
        """Returns the loop's ports for one run."""
        return LoopPorts(
            ask=self._requests.ask,
            tools=self._core.toolbox.callable,
            why_missing=self._core.toolbox.why_withheld,
            tool_context=self._tools.nested.tool_context,
            queues=self._queues,
            abort=self._abort,
            hooks=self._core.hooks,
            gate=self._permissions.check,
            masks=self._tools.masks,
            watch=self._tools.live_edits,
            interrupt_mode=self._core.options.interrupt_mode,
            system_update=self._requests.system_update,
            before_request=self._compactor.check,
            will_retry=self.will_retry,
            is_interrupted=lambda: self.interruption.is_wished,
            report=self._event_bus.warn,
        )

    async def _consume(self, events: AsyncGenerator[RunEvent]) -> None:
        async with aclosing(events) as stream:
            async for event in stream:
                await self._record_and_publish(event)

    async def _record_and_publish(self, event: RunEvent) -> None:
        """Records an event, then publishes it."""
        files: EntryAppended | None = None
        match event:
            case MessageUpdate():
                self._conversation.keep_partial(self._requests.partial)
            case MessageEnd(message=ToolResultMessage()):
                pass  # recorded when its tool ended
            case MessageEnd():
                event = self._recorded(event)
                if isinstance(event.message, AssistantMessage):
                    self._conversation.discard_partial()
            case ToolExecutionEnd(message=ToolResultMessage() as result):
                self._conversation.record(result)
                files = self._files.kept.call_ended(result.tool_call_id, result.tool_name)
            case ToolExecutionStart():
                self._files.kept.call_began(event.tool_call_id, event.tool_name)
            case AgentEnd():
                self._last_end = event
                await self._end_turn()
            case (
                ToolExecutionUpdate()
                | ToolExecutionEnd()
                | MessageStart()
                | TurnStart()
                | TurnEnd()
                | AgentStart()
            ):
                pass
            case _:
                assert_never(event)
        is_of_answer = isinstance(event, MessageUpdate) or (
            isinstance(event, MessageStart | MessageEnd) and isinstance(event.message, AssistantMessage)
        )
        if isinstance(event, ToolExecutionEnd) or (is_of_answer and isinstance(event, MessageEnd)):
            self._stop_when_disk_full()
        try:
            if is_of_answer:
                await self._requests.note(event)
        finally:
            self._begun.note(event)
            await self._event_bus.publish(event)
            if files is not None:
                await self._event_bus.publish(files)
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            await self._note_success(event.message)
        elif isinstance(event, TurnEnd):
            await self._shell.record_held_back()
            if event.tool_results:
                await self._check_after_calls()

    def _recorded(self, event: MessageEnd) -> MessageEnd:
        """Records the event's message; returns the event with the message as stored."""
        stored = self._conversation.record(event.message)
        return msgspec.structs.replace(event, message=stored, message_id=stored.id)

    def _stop_when_disk_full(self) -> None:
        """Stops the run after the current answer when the disk is full."""
        if self._conversation.log.unwritten is not None:
            self._abort.set()

    async def _end_turn(self) -> None:
        try:
            self._conversation.log.end_turn()
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))

    async def _note_success(self, message: AssistantMessage) -> None:
        if self._attempt and message.stop_reason not in ("error", "aborted"):
            attempt, self._attempt = self._attempt, 0
            await self._event_bus.publish(AutoRetryEnd(success=True, attempt=attempt))

    def will_retry(self, message: AssistantMessage) -> bool:
        """Whether the run continues after this failure."""
        if self.interruption.is_wished and not self._abort.is_set:
            return True
        if message.stop_reason != "error" or self._abort.is_set or self._requests.budget.has_refused:
            return False
        failure = self._core.failure_of(message)
        policy = self._core.options.retry
        return (
            failure.is_retryable
            and policy.is_enabled
            and self._attempt < policy.max_attempts
            and policy.delay_ms(self._attempt + 1, failure.retry_after_ms) is not None
        )

    async def _next_step(self) -> RunContinuation:
        message = self._conversation.last_assistant
        if message is None or self._last_end is None:
            return "stop"
        if self._last_end.will_retry and self.interruption.is_wished:
            self._pending = [await self.interruption.leave_out(message)]
            return "stop" if self._abort.is_set else "continue"
        if self._last_end.will_retry:
            return await self._retry(message)
        if message.stop_reason in ("error", "aborted") and self._attempt:
            attempt, self._attempt = self._attempt, 0
            await self._event_bus.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=message.error_message)
            )
        if not self._abort.is_set and await self._compactor.after_run(message):
            return "continue"
        return "stop"

    async def _retry(self, message: AssistantMessage) -> RunContinuation:
        policy = self._core.options.retry
        failure = self._core.failure_of(message)
        self._attempt += 1
        delay = policy.delay_ms(self._attempt, failure.retry_after_ms)
        assert delay is not None, "checked by will_retry"
        error = message.error_message or "unknown error"
        with self.countdown.announced():
            await self._event_bus.publish(
                AutoRetryStart(
                    attempt=self._attempt,
                    max_attempts=policy.max_attempts,
                    delay_ms=delay,
                    error_message=error,
                )
            )
            how = "cancelled" if self._abort.is_set else await self.countdown.wait(delay)
        if how == "cancelled":
            attempt, self._attempt = self._attempt, 0
            await self._event_bus.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=f"Retry cancelled. {error}")
            )
            return "stop"  # the failure ends the run, and the user can retry it
        await self.leave_out(message)
        return "continue"

    async def leave_out(self, message: AssistantMessage) -> None:
        """Removes a failed answer from the context; it stays in the file."""
        await self._event_bus.publish(EntryAppended(entry=self._conversation.omit(message.id)))

    async def _should_continue(self) -> bool:
        if self._requests.budget.has_refused:
            return False
        last = self._conversation.last_assistant
        wanted = await self._core.hooks.before_settle(last)
        if wanted and not isinstance(self._conversation.messages[-1], AssistantMessage):
            return True
        reminder = self._files.pending.reminder(last) or self._todos.reminder(last)
        reminder = reminder or await self._files.diagnostics.at_the_end(last, self._abort)
        if reminder is not None:
            await self.append(reminder)
            return True
        step = await self.goal.at_the_end(last, self._abort) if self.goal.is_set else None
        if step is not None:
            await self.append(step.message)
        return step is not None and step.goes_on

    async def _check_after_calls(self) -> None:
        told = await self._files.diagnostics.check_after_calls(self._abort)
        if told is not None:
            self._queues.add_aside(Aside(message=told))

    def _late_messages(self) -> list[Message]:
        """Returns messages queued while the last run was ending."""
        return [*(self._queues.take("steering") or self._queues.take("follow_up"))]

    async def _finish_run(self) -> None:
        for note in (*await self._jobs.looked_at(), *await self._permissions.boxes.notes_between_calls()):
            await self._event_bus.publish(Notice(level="warning", text=note))
        try:
            for aside in self._queues.take_asides():
                await self.append(aside)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
        await self._end_turn()
        if self.goal.is_set:
            await self._end_goal()
        await self._event_bus.publish(AgentSettled(aborted=self._abort.is_set))

    async def _end_goal(self) -> None:
        try:
            await self.goal.run_ended(is_aborted=self._abort.is_set)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))

    async def append(self, message: CustomMessage) -> None:
        """Adds a message without asking the model."""
        stored = self._conversation.record(message)
        await self._event_bus.publish(MessageStart(message=stored, message_id=stored.id))
        await self._event_bus.publish(MessageEnd(message=stored, message_id=stored.id))


class AnswerInterruption(msgspec.Struct, eq=False):
    """Stops an answer because of its content: it leaves the context, and the run continues after a message
    that says why."""

    core: SessionCore
    requests: ModelRequests
    is_answering: Callable[[], bool]
    _message: CustomMessage | None = None

    @property
    def is_wished(self) -> bool:
        return self._message is not None

    def wish(self, why: CustomMessage) -> bool:
        """Interrupts the arriving answer. Returns False if none is arriving, or it is stopped already."""
        if self.is_wished or not self.is_answering():
            return False
        self._message = why
        self.core.next_run.calls(self._forget)
        if self.requests.stream is not None:
            self.requests.stream.cancel()
        return True

    def _forget(self) -> None:
        self._message = None

    async def leave_out(self, answer: AssistantMessage) -> CustomMessage:
        """Removes the answer from the context; returns the message to deliver instead."""
        assert self._message is not None
        why, self._message = self._message, None
        await self.core.event_bus.publish(
            AnswerInterrupted(message_id=answer.id, custom_type=why.custom_type, details=why.details)
        )
        await self.core.event_bus.publish(EntryAppended(entry=self.core.conversation.omit(answer.id)))
        return why
