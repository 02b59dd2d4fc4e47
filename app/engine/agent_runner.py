"""Runs the agent loop: one run at a time in a separate task, recording each event before publishing it.

Between runs it retries, compacts, delivers late queued messages, and settles."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Literal, assert_never

import msgspec

from app.agent.abort_signal import AbortSignal
from app.agent.loop_ports import AgentLoopDependencies
from app.agent.message_queues import AsideMessage
from app.agent.tool_results import describe_error_in_one_line
from app.engine.context.compactor import Compactor
from app.engine.core.retry_policy import RetryDelay
from app.engine.core.run_events import OpenRunEvents
from app.engine.core.session_core import SessionCore
from app.engine.files.file_parts import SessionFileParts
from app.engine.goals.session_goal import SessionGoal
from app.engine.jobs.background_jobs import JobTable
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.planning.todo_list import TodoList
from app.engine.settings_watch import SettingsWatch
from app.engine.tools.tool_parts import SessionToolParts
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

ContinueOrStop = Literal["continue", "stop"]


class AgentRunner:
    """Drives the agent loop of one session."""

    def __init__(
        self,
        core: SessionCore,
        *,
        requests: ModelRequests,
        compactor: Compactor,
        permits: PermissionGate,
        tools: SessionToolParts,
        files: SessionFileParts,
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
        self.goal = SessionGoal(
            core, requests=requests, permits=permits, tools=tools, files=files, todos=todos
        )
        self._task: asyncio.Task[None] | None = None
        self._abort = AbortSignal()
        self._open_events = OpenRunEvents()
        self._retry_attempt = 0
        self.interruption = AnswerInterruption(
            core,
            requests,
            is_answer_arriving=lambda: self._open_events.is_answering and not self._abort.is_set,
        )
        self._pending_messages: list[Message] = []
        """The messages that the next run of the loop delivers."""
        self._last_run_end: AgentEnd | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def abort_signal(self) -> AbortSignal:
        """The abort signal of the current run, or of the last one."""
        return self._abort

    def start_run(self, prompts: Sequence[Message]) -> None:
        """Starts an agent run with `prompts`; without prompts it continues the conversation."""
        if self.is_running:
            raise RuntimeError("A run is already in progress.")
        self._abort = AbortSignal()
        self._open_events = OpenRunEvents()
        self._retry_attempt = 0
        self._core.run_start.call_all()
        self._pending_messages = []
        self._last_run_end = None
        self._task = asyncio.get_running_loop().create_task(self._run_prompts(list(prompts)))
        # Without a limit nothing is timed, and without time left no request is sent.
        if self._requests.budget.seconds_left:
            watch = asyncio.get_running_loop().create_task(self._stop_at_time_limit(self._abort))
            self._task.add_done_callback(lambda _: watch.cancel())

    async def _stop_at_time_limit(self, abort: AbortSignal) -> None:
        """Stops the run when its time limit is reached."""
        while left := self._requests.budget.seconds_left:  # noqa: ASYNC110  (a clock has no event)
            await asyncio.sleep(left)
        self._requests.budget.note_time_limit_reached()
        abort.set()
        self.countdown.cancel()

    async def abort_cells(self) -> None:
        """Stops the run or the wait before a retry, and waits until it has settled."""
        self._abort.set()
        self.countdown.cancel()
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        """Waits until the agent is idle."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    async def _run_prompts(self, prompts: list[Message]) -> None:
        from app.agent import agent_loop  # noqa: PLC0415  (`Session.warm_up` has loaded it)

        try:
            await self._run_until_idle(prompts)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
            self._abort.set()
            await self._close_open_events(str(problem))
        except agent_loop.NothingToContinue as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
        except Exception as problem:  # noqa: BLE001  (after any error the session accepts prompts again)
            text = (
                f"The run ended early: {describe_error_in_one_line(problem)}. Finished work is kept; send a prompt to "
                "continue."
            )
            await self._event_bus.publish(Notice(level="error", text=text))
            await self._close_open_events(text)
        finally:
            await self._finish_run()

    async def _close_open_events(self, why: str) -> None:
        """Publishes an end event for every event of the run that has started and not ended."""
        for event in self._open_events.make_end_events(self._requests.partial_answer(), why):
            if isinstance(event, MessageEnd) and not self._conversation.log.is_read_only:
                event = self._record_message(event)
            await self._event_bus.publish(event)

    async def _run_until_idle(self, prompts: list[Message]) -> None:
        from app.agent import agent_loop  # noqa: PLC0415  (as above)

        pending: list[Message] = prompts
        is_queued = False
        while True:
            self._settings_watch.reload_if_changed()  # every run begins with the present settings
            ports = self._loop_ports()
            if pending:
                await self._consume_events(agent_loop.run_agent_loop(pending, ports, is_from_queue=is_queued))
            else:
                await self._consume_events(agent_loop.resume_agent_loop(self._conversation.messages, ports))
            if await self._continue_or_stop() == "continue":
                pending, self._pending_messages = self._pending_messages, []
                continue
            if self._abort.is_set:
                return
            pending, is_queued = self._take_late_messages(), True
            if pending or await self._should_run_again():
                continue
            # Messages that arrived while the settings were read.
            pending = [] if self._abort.is_set else self._take_late_messages()
            if not pending:
                return

    def _loop_ports(self) -> AgentLoopDependencies:
        """Returns the loop's ports for one run."""
        return AgentLoopDependencies(
            request_answer=self._requests.request_answer,
            tools=self._core.toolbox.callable_tools,
            reason_unavailable=self._core.toolbox.withheld_reason,
            tool_context=self._tools.nested.tool_context,
            queues=self._queues,
            abort=self._abort,
            hooks=self._core.hooks,
            gate=self._permissions.check_call,
            secret_masks=self._tools.masks,
            call_watch=self._tools.live_edits,
            interrupt_mode=self._core.options.interrupt_mode,
            system_update=self._requests.prompt_update,
            before_request=self._compactor.compact_if_full,
            will_retry=self.will_retry,
            is_interrupted=lambda: self.interruption.is_requested,
            report_problem=self._event_bus.warn,
        )

    async def _consume_events(self, events: AsyncGenerator[RunEvent]) -> None:
        async with aclosing(events) as stream:
            async for event in stream:
                await self._record_and_publish(event)

    async def _record_and_publish(self, event: RunEvent) -> None:
        """Records an event, then publishes it."""
        files: EntryAppended | None = None
        match event:
            case MessageUpdate():
                self._conversation.save_partial_answer(self._requests.partial_answer)
            case MessageEnd(message=ToolResultMessage()):
                pass  # recorded when its tool ended
            case MessageEnd():
                event = self._record_message(event)
                if isinstance(event.message, AssistantMessage):
                    self._conversation.discard_partial_answer()
            case ToolExecutionEnd(message=ToolResultMessage() as result):
                self._conversation.record_message(result)
                files = self._files.session_files.record_call_changes(result.tool_call_id, result.tool_name)
            case ToolExecutionStart():
                self._files.session_files.note_call_start(event.tool_call_id, event.tool_name)
            case AgentEnd():
                self._last_run_end = event
                await self._sync_session_file()
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
                await self._requests.handle_event(event)
        finally:
            self._open_events.track_event(event)
            await self._event_bus.publish(event)
            if files is not None:
                await self._event_bus.publish(files)
        if isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            await self._reset_retries(event.message)
        elif isinstance(event, TurnEnd):
            await self._shell.record_held_messages()
            if event.tool_results:
                await self._queue_diagnostics_report()

    def _record_message(self, event: MessageEnd) -> MessageEnd:
        """Records the event's message; returns the event with the message as stored."""
        stored = self._conversation.record_message(event.message)
        return msgspec.structs.replace(event, message=stored, message_id=stored.id)

    def _stop_when_disk_full(self) -> None:
        """Stops the run after the current answer when the disk is full."""
        if self._conversation.log.unwritten_error is not None:
            self._abort.set()

    async def _sync_session_file(self) -> None:
        try:
            self._conversation.log.end_turn()
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))

    async def _reset_retries(self, message: AssistantMessage) -> None:
        if self._retry_attempt and message.stop_reason not in ("error", "aborted"):
            attempt, self._retry_attempt = self._retry_attempt, 0
            await self._event_bus.publish(AutoRetryEnd(success=True, attempt=attempt))

    def will_retry(self, message: AssistantMessage) -> bool:
        """Whether the run continues after this failed answer."""
        if self.interruption.is_requested and not self._abort.is_set:
            return True
        if message.stop_reason != "error" or self._abort.is_set or self._requests.budget.has_refused_request:
            return False
        failure = self._core.classify_failure(message)
        policy = self._core.options.retry_policy
        return (
            failure.is_retryable
            and policy.is_enabled
            and self._retry_attempt < policy.max_attempts
            and policy.delay_ms(self._retry_attempt + 1, failure.retry_after_ms) is not None
        )

    async def _continue_or_stop(self) -> ContinueOrStop:
        message = self._conversation.last_answer
        if message is None or self._last_run_end is None:
            return "stop"
        if self._last_run_end.will_retry and self.interruption.is_requested:
            self._pending_messages = [await self.interruption.drop_answer(message)]
            return "stop" if self._abort.is_set else "continue"
        if self._last_run_end.will_retry:
            return await self._retry_failed_request(message)
        if message.stop_reason in ("error", "aborted") and self._retry_attempt:
            attempt, self._retry_attempt = self._retry_attempt, 0
            await self._event_bus.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=message.error_message)
            )
        if not self._abort.is_set and await self._compactor.compact_after_run(message):
            return "continue"
        return "stop"

    async def _retry_failed_request(self, message: AssistantMessage) -> ContinueOrStop:
        policy = self._core.options.retry_policy
        failure = self._core.classify_failure(message)
        self._retry_attempt += 1
        delay = policy.delay_ms(self._retry_attempt, failure.retry_after_ms)
        assert delay is not None, "checked by will_retry"
        error = message.error_message or "unknown error"
        with self.countdown.accept_early_end():
            await self._event_bus.publish(
                AutoRetryStart(
                    attempt=self._retry_attempt,
                    max_attempts=policy.max_attempts,
                    delay_ms=delay,
                    error_message=error,
                )
            )
            how = "cancelled" if self._abort.is_set else await self.countdown.wait(delay)
        if how == "cancelled":
            attempt, self._retry_attempt = self._retry_attempt, 0
            await self._event_bus.publish(
                AutoRetryEnd(success=False, attempt=attempt, final_error=f"Retry cancelled. {error}")
            )
            return "stop"  # the failure ends the run, and the user can retry it
        await self.drop_failed_answer(message)
        return "continue"

    async def drop_failed_answer(self, message: AssistantMessage) -> None:
        """Removes a failed answer from the context; the answer stays in the session file."""
        await self._event_bus.publish(
            EntryAppended(entry=self._conversation.remove_entry_from_context(message.id))
        )

    async def _should_run_again(self) -> bool:
        if self._requests.budget.has_refused_request:
            return False
        last = self._conversation.last_answer
        wanted = await self._core.hooks.before_settle(last)
        if wanted and not isinstance(self._conversation.messages[-1], AssistantMessage):
            return True
        reminder = self._files.pending.reminder_message(last) or self._todos.reminder_message(last)
        reminder = reminder or await self._files.diagnostics.check_at_run_end(last, self._abort)
        if reminder is not None:
            await self.record_custom_message(reminder)
            return True
        step = await self.goal.check_at_run_end(last, self._abort) if self.goal.is_set else None
        if step is not None:
            await self.record_custom_message(step.message)
        return step is not None and step.should_continue

    async def _queue_diagnostics_report(self) -> None:
        told = await self._files.diagnostics.check_after_calls(self._abort)
        if told is not None:
            self._queues.add_aside(AsideMessage(message=told))

    def _take_late_messages(self) -> list[Message]:
        """Returns messages queued while the last run was ending."""
        return [*(self._queues.take_next("steering") or self._queues.take_next("follow_up"))]

    async def _finish_run(self) -> None:
        for note in (
            *await self._jobs.take_warnings(),
            *await self._permissions.boxes.autorun_file_notes_between_calls(),
        ):
            await self._event_bus.publish(Notice(level="warning", text=note))
        try:
            for aside in self._queues.take_asides():
                await self.record_custom_message(aside)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))
        await self._sync_session_file()
        if self.goal.is_set:
            await self._note_run_end_for_goal()
        await self._event_bus.publish(AgentSettled(aborted=self._abort.is_set))

    async def _note_run_end_for_goal(self) -> None:
        try:
            await self.goal.note_run_end(is_aborted=self._abort.is_set)
        except SessionWriteError as problem:
            await self._event_bus.publish(Notice(level="error", text=str(problem)))

    async def record_custom_message(self, message: CustomMessage) -> None:
        """Records and publishes a message of bayou or an extension without asking the model."""
        stored = self._conversation.record_message(message)
        await self._event_bus.publish(MessageStart(message=stored, message_id=stored.id))
        await self._event_bus.publish(MessageEnd(message=stored, message_id=stored.id))


class AnswerInterruption(msgspec.Struct, eq=False):
    """Stops an arriving answer because of its content: the answer leaves the context, and the run continues
    after a message that says why."""

    core: SessionCore
    model_requests: ModelRequests
    is_answer_arriving: Callable[[], bool]
    _reason_message: CustomMessage | None = None

    @property
    def is_requested(self) -> bool:
        return self._reason_message is not None

    def interrupt_answer(self, why: CustomMessage) -> bool:
        """Interrupts the arriving answer. Returns False if no answer is arriving, or it is stopped already."""
        if self.is_requested or not self.is_answer_arriving():
            return False
        self._reason_message = why
        self.core.run_start.register(self._forget)
        if self.model_requests.stream is not None:
            self.model_requests.stream.cancel_response()
        return True

    def _forget(self) -> None:
        self._reason_message = None

    async def drop_answer(self, answer: AssistantMessage) -> CustomMessage:
        """Removes the interrupted answer from the context; returns the message to deliver instead."""
        assert self._reason_message is not None
        why, self._reason_message = self._reason_message, None
        await self.core.event_bus.publish(
            AnswerInterrupted(message_id=answer.id, custom_type=why.custom_type, details=why.details)
        )
        await self.core.event_bus.publish(
            EntryAppended(entry=self.core.conversation.remove_entry_from_context(answer.id))
        )
        return why
