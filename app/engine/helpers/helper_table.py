"""The helper agents of a session: each a separate session with hard limits, whose cost counts in its parent."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, cast

import msgspec

from app.agent.message_queues import AsideMessage
from app.copies.isolated_repository_copies import IsolatedRepositoryCopy
from app.engine.core.event_bus import EventBus
from app.engine.core.hook_results import HelperAnswer
from app.engine.core.request_budget import SessionUsageLimits
from app.engine.core.session_core import SessionCore
from app.engine.helpers.copy_delivery import HelperChangeDelivery
from app.engine.helpers.helper_budget import HelperUsageBudget
from app.engine.helpers.helper_results import helper_result
from app.engine.helpers.helper_run import (
    HelperAgentRefused,
    HelperAgentRun,
    HelperAgentSession,
    HelperAgentSource,
)
from app.engine.jobs.background_jobs import JobTable
from app.resources.helper_kinds import HelperAgentKind, HelperAgentKinds
from app.resources.settings.settings_tools import HelperAgentSettings
from app.sessions.errors import SessionWriteError
from app.values.entries import UsageEntry
from app.values.events import (
    EntryAppended,
    Event,
    HelperChanged,
    MessageEnd,
    QuestionAsked,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from app.values.messages import AssistantMessage, CustomMessage, Message
from app.values.models import Model
from tools.number_formatting import count_with_noun
from tools.text_sanitizing import one_line
from tools.tool_result_values import ToolResult

_MAX_NAMED_HELPER_COPIES = 3
_MAX_KNOWN_HELPERS = 200
"""The maximum number of ended helpers that are listed."""
HELPER_LIMITS_MESSAGE_TYPE = "helper-limits"
HELPER_CHANGES_MESSAGE_TYPE = "helper-changes"


class HelperAgentTable:
    """The helper agents of one session."""

    def __init__(self, core: SessionCore, jobs: JobTable, source: HelperAgentSource | None) -> None:
        self._core = core
        self._jobs = jobs
        self._source = source
        self._helpers: list[HelperAgentRun] = []
        """The helpers that wait, run or have ended, oldest first."""
        self._running_helpers: list[HelperAgentRun] = []
        self._change_condition = asyncio.Condition()
        self._prompt = "", 0
        """The session and the number of the user's prompt for which helpers were last started."""
        self._started_since_prompt = 0
        """The number of helpers started since the user's last prompt."""
        self._count = 0
        self._is_closed = False
        self._deliveries: set[asyncio.Future[None]] = set()
        self.copies = HelperChangeDelivery(core.workspace)
        """The repository copies of helpers whose changes wait to be applied."""

    @property
    def can_start_helpers(self) -> bool:
        """Whether this session can start helper agents; a helper's own session cannot."""
        return self._source is not None

    def kinds(self) -> HelperAgentKinds:
        return self._source.kinds() if self._source is not None else HelperAgentKinds(kinds={})

    def active_helpers(self) -> tuple[HelperAgentRun, ...]:
        """The helper agents that wait for a slot or run."""
        return tuple(self._running_helpers)

    def known_helpers(self) -> tuple[HelperAgentRun, ...]:
        """All helper agents of this session since it was opened, also those that have ended."""
        return tuple(self._helpers)

    def find_helper(self, helper_id: str) -> HelperAgentRun:
        """Returns the helper agent with this id. Raises `HelperAgentRefused` when there is none."""
        for helper in self._helpers:
            if helper.id == helper_id:
                return helper
        ids = ", ".join(helper.id for helper in self._helpers)
        raise HelperAgentRefused(
            f"There is no helper {helper_id}: {ids or 'none was started'}. /tasks lists them."
        )

    def add_helper(
        self, kind: HelperAgentKind, title: str, call_id: str, *, is_isolated: bool = False
    ) -> HelperAgentRun:
        """Adds a helper agent that has not begun. Raises `HelperAgentRefused`."""
        settings = self._task_settings
        prompt = self._core.conversation.log.session_id, self._core.usage_totals.session_counts.user_messages
        if prompt != self._prompt:
            self._prompt, self._started_since_prompt = prompt, 0
        if self._started_since_prompt >= settings.max_per_prompt:
            raise HelperAgentRefused(
                f"{self._started_since_prompt} helpers were started for this prompt already, which is the limit "
                "(setting task.maxPerPrompt). Do the rest yourself, or tell the user."
            )
        self._started_since_prompt += 1
        self._count += 1
        helper = HelperAgentRun(
            id=f"h{self._count}",
            kind=kind,
            title=title,
            call_id=call_id,
            budget=self._budget_for_kind(kind),
            is_isolated=is_isolated,
        )
        self._helpers.append(helper)
        del self._helpers[: len(self._helpers) - _MAX_KNOWN_HELPERS]
        self._running_helpers.append(helper)
        self._publish_helper_change(helper)
        return helper

    def start_helper(
        self, helper: HelperAgentRun, result: Coroutine[Any, Any, ToolResult]
    ) -> "asyncio.Future[ToolResult]":
        """Starts a helper agent in a task that calls `run`; cancelling the task stops the helper."""
        helper.work = work = asyncio.ensure_future(result)
        work.add_done_callback(lambda _: self._finish_helper(helper))
        return work

    def _finish_helper(self, helper: HelperAgentRun) -> None:
        if helper in self._running_helpers:  # cancelled before it could begin
            self._running_helpers.remove(helper)
            helper.state, helper.ended_at = "stopped", time.monotonic()
            self._publish_helper_change(helper)

    async def run_helper(self, helper: HelperAgentRun, prompt: str) -> HelperAgentRun:
        """Runs a helper agent to its end. Cancelling stops the helper and everything that it has started."""
        try:
            await self._wait_for_slot(helper)
            await self._run_session(helper, prompt)
        except BaseException:
            helper.state = "stopped"
            raise
        finally:
            helper.ended_at = time.monotonic()
            helper.session = None
            self._running_helpers.remove(helper)
            self._publish_helper_change(helper)
            async with self._change_condition:
                self._change_condition.notify_all()
        return helper

    def stop_all_helpers(self) -> None:
        """Stops all helper agents, those in the background too."""
        for helper in self.active_helpers():
            if helper.job_id is not None:
                self._jobs.kill(helper.job_id, tell=True)
            elif helper.work is not None:
                helper.work.cancel()

    async def stop_helper(self, helper_id: str) -> HelperAgentRun:
        """Stops one helper agent; a caller that waits for it gets its unfinished result. Raises
        `HelperAgentRefused`."""
        helper = self.find_helper(helper_id)
        helper.is_stopped_by_person = not helper.has_ended
        if helper.session is not None:
            for job in helper.session.jobs.running_jobs():
                helper.session.jobs.kill(job.id)
            await helper.session.abort()
        async with self._change_condition:
            self._change_condition.notify_all()
        return helper

    async def send_message(self, helper_id: str, text: str) -> HelperAgentRun:
        """Sends a message to a helper agent: into its run while it works, and otherwise to continue it in the
        background. Raises `UserError`."""
        helper = self.find_helper(helper_id)
        if helper.session is not None:
            await helper.session.queue("steering", text)
        elif not helper.has_ended:
            raise HelperAgentRefused(f"{helper.id} has not started yet. Send the message when it is running.")
        else:
            self._resume_in_background(helper, text)
        return helper

    def _resume_in_background(self, helper: HelperAgentRun, text: str) -> None:
        if self._source is None or (helper.session_file is None and helper.log is None):
            raise HelperAgentRefused(f"{helper.id} never started, so it cannot continue. Start a new helper.")
        helper.state, helper.is_stopped_by_person, helper.ended_at = "waiting", False, None
        helper.problem = helper.delivery_text = ""
        self._running_helpers.append(helper)
        work = self.start_helper(helper, self._resume_helper(helper, text))

        def kill() -> None:
            work.cancel()

        helper.job_id = self._jobs.adopt(
            call_id=helper.call_id,
            title=helper.label,
            work=work,
            tail=lambda: "\n".join(helper.progress_lines),
            kill=kill,
        )
        self._publish_helper_change(helper)

    async def _resume_helper(self, helper: HelperAgentRun, text: str) -> ToolResult:
        return helper_result(await self.run_helper(helper, text))

    async def _wait_for_slot(self, helper: HelperAgentRun) -> None:
        async with self._change_condition:
            await self._change_condition.wait_for(
                lambda: (
                    helper.is_stopped_by_person
                    or self._running_helpers.index(helper) < self._task_settings.width
                )
            )
        if helper.is_stopped_by_person:
            raise HelperAgentRefused("The user stopped the helper before it started.")

    async def _run_session(self, helper: HelperAgentRun, prompt: str) -> None:
        assert self._source is not None
        helper.budget = self._budget_for_kind(helper.kind)  # its time begins now
        helper.reset_usage()
        if helper.is_isolated and helper.copy is not None:
            self.copies.withdraw_changes(helper.copy)
        elif helper.is_isolated:
            helper.copy = await self._source.copy_repository(helper)
        try:
            started = self._source.start(helper)
        except BaseException:
            self._start_delivery(helper, is_told=False)
            raise
        session, helper.start_remark = started.session, started.note
        helper.state, helper.started_at, helper.session = "running", time.monotonic(), session
        helper.model = session.model.key if session.model is not None else ""
        session.tools.add_withhold_rule(
            lambda tools: tuple(tools) if helper.budget.is_last_request else (),
            still_answers=True,  # the calls of the answer before
        )
        leave = session.subscribe(lambda event: self._on_helper_event(helper, event))
        self._publish_helper_change(helper)
        is_whole = False
        try:
            await self._prompt_until_hooks_accept(helper, session, prompt)
            is_whole = True
        except TimeoutError:
            helper.budget.note_time_limit_reached()
            is_whole = True
        finally:
            helper.session_file = session.log.path
            helper.log = session.log if session.log.path is None else None
            helper.answer_text = _last_helper_text(session.messages)
            ending = asyncio.ensure_future(self._end_helper_session(session))
            try:
                await asyncio.shield(ending)
            finally:
                self._record_helper_usage(helper, session.model)
                leave()
                delivering = self._start_delivery(helper, is_told=not is_whole)
        await asyncio.shield(delivering)
        helper.problem = _helper_failure_reason(helper, session.last_answer)
        helper.state = "stopped" if helper.problem else "done"
        helper.on_change(helper)

    async def _prompt_until_hooks_accept(
        self, helper: HelperAgentRun, session: HelperAgentSession, prompt: str
    ) -> None:
        """Prompts a helper agent, and again as long as hooks ask for more work."""
        times_continued = 0
        next_prompt: str | None = prompt
        while next_prompt is not None:
            await session.prompt(next_prompt, expand=False)
            await session.wait_until_idle()
            async with asyncio.timeout(helper.budget.seconds_left):
                while await session.jobs.wait_until_all_reported():
                    await session.wait_until_idle()
            last = session.last_answer
            if helper.is_stopped_by_person or last is None or last.stop_reason in ("aborted", "error"):
                return
            answer = HelperAnswer(
                kind=helper.kind.name,
                call_id=helper.call_id,
                session_file=session.log.path,
                times_continued=times_continued,
                message=last,
            )
            next_prompt = await self._core.hooks.before_helper_settles(answer)
            times_continued += 1

    async def _end_helper_session(self, session: HelperAgentSession) -> None:
        await session.abort()
        await session.close()

    def _start_delivery(self, helper: HelperAgentRun, *, is_told: bool) -> "asyncio.Future[None]":
        """Stages the changes that a helper agent made in its copy, in a task that continues when the caller stops
        waiting. With `is_told`, the agent reads of it with the next prompt."""
        copy = helper.copy
        delivering = asyncio.ensure_future(self._deliver_changes(helper, copy, is_told=is_told))
        self._deliveries.add(delivering)

        def end(delivering: "asyncio.Future[None]") -> None:
            self._deliveries.discard(delivering)
            if copy is not None and (self._is_closed or delivering.cancelled()):
                copy.release()  # it is offered at the next start

        delivering.add_done_callback(end)
        return delivering

    async def _deliver_changes(
        self, helper: HelperAgentRun, copy: IsolatedRepositoryCopy | None, *, is_told: bool
    ) -> None:
        if copy is None or self._is_closed:
            return
        helper.delivery_text = await self.copies.stage_changes(copy)
        if copy not in self.copies.waiting_copies:
            helper.copy = None
        elif is_told:
            self._queue_notice(f"The helper {helper.label} was stopped. {helper.delivery_text}")

    async def offer_leftover_helper_changes(self) -> str:
        """Stages again what helper agents of this session had changed when bayou ended. Returns a notice about
        those of other sessions in this repository, which can be continued."""
        if self._source is None or not self._core.workspace.has_local_files:
            return ""
        self.copies.release_copies()
        own, others = self._core.conversation.log.path, list[IsolatedRepositoryCopy]()
        for copy in await asyncio.to_thread(self._source.leftover_helper_copies):
            if copy.session not in (None, own):
                others.append(copy)
                continue
            told = await self.copies.stage_changes(copy)
            if copy in self.copies.waiting_copies:
                self._queue_notice(
                    f"The helper “{copy.record.title}” ended together with an earlier run of bayou. {told}"
                )
        for copy in others:
            copy.release()
        if not others:
            return ""
        sessions = dict.fromkeys(
            copy.session.stem.partition("_")[2] for copy in others if copy.session is not None
        )
        return (
            f"Changes of {count_with_noun(len(others), 'helper')} wait in other sessions: "
            f"{', '.join(f'“{one_line(copy.record.title)}”' for copy in others[:_MAX_NAMED_HELPER_COPIES])}. "
            f"Continue {', '.join(list(sessions)[:_MAX_NAMED_HELPER_COPIES])} (/resume) to apply or discard them."
        )

    def _queue_notice(self, text: str) -> None:
        self._core.queues.hold_for_next_prompt(
            CustomMessage(custom_type=HELPER_CHANGES_MESSAGE_TYPE, content=text)
        )

    def close(self) -> None:
        """Stops the helper agents with the session; copies whose changes were not delivered are offered at the
        next start."""
        self._is_closed = True
        for delivering in tuple(self._deliveries):
            delivering.cancel()
        self.copies.release_copies()

    def _on_helper_event(self, helper: HelperAgentRun, event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.answer is not None:
            self._event_bus.publish_now(_question_with_helper_name(helper, event))
            self._count_question(helper, event.answer)
            return
        if isinstance(event, ToolExecutionStart):
            helper.current_tool = event.tool_name
            helper.add_progress_line(f"{event.tool_name} {_first_argument_text(event.args)}")
        elif isinstance(event, ToolExecutionEnd):
            helper.current_tool = ""
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            self._record_helper_usage(helper, None, event.message)
            self._send_limit_notice(helper, event.message)
            if event.message.text.strip() and event.message.tool_calls:
                helper.add_progress_line(event.message.text.strip())
        else:
            return
        helper.on_change(helper)

    def _count_question(self, helper: HelperAgentRun, answer: "asyncio.Future[Any]") -> None:
        """Counts a question as open until it is answered."""
        helper.open_questions += 1

        def answered(_: object) -> None:
            helper.open_questions -= 1
            helper.on_change(helper)

        answer.add_done_callback(answered)
        helper.on_change(helper)

    def _record_helper_usage(
        self, helper: HelperAgentRun, model: Model | None, message: AssistantMessage | None = None
    ) -> None:
        """Records in the parent's session what a helper agent has used since the last time."""
        used = helper.take_new_usage()
        log = self._core.conversation.log
        if (not used.total_tokens and not used.cost.total) or log.is_read_only:
            return
        provider, _, name = (model.key if model is not None else helper.model).partition("/")
        if message is not None:
            provider, name = message.provider, message.model
        entry = UsageEntry(
            parent_id=None, kind=TASK_USAGE_KIND, provider=provider, model=name, usage=used, note=helper.title
        )
        try:
            stored = self._core.conversation.record_entry(entry)
        except SessionWriteError:
            return  # the run reports it, with advice
        self._event_bus.publish_now(EntryAppended(entry=stored))

    def _send_limit_notice(self, helper: HelperAgentRun, answer: AssistantMessage) -> None:
        """Tells a helper agent that continues how much of its limits is left."""
        session = helper.session
        if session is None or not answer.tool_calls or not (words := helper.budget.limit_notice()):
            return
        session.queues.add_aside(
            AsideMessage(message=CustomMessage(custom_type=HELPER_LIMITS_MESSAGE_TYPE, content=words))
        )
        if helper.budget.is_last_request:
            session.tools.recompute_active_tools()

    def _publish_helper_change(self, helper: HelperAgentRun) -> None:
        self._event_bus.publish_now(
            HelperChanged(
                helper_id=helper.id,
                kind=helper.kind.name,
                title=helper.title,
                state=helper.state,
                model=helper.model,
                tool_call_id=helper.call_id,
                session_file=str(helper.session_file) if helper.session_file else None,
            )
        )

    @property
    def _event_bus(self) -> EventBus:
        return self._core.event_bus

    @property
    def _task_settings(self) -> HelperAgentSettings:
        return self._core.options.effective_settings.settings.task

    def limits_of_kind(self, kind: HelperAgentKind) -> SessionUsageLimits:
        """Returns the usage limits of a kind of helper agent: the settings', where the kind has no lower ones."""
        settings = self._task_settings
        return SessionUsageLimits(
            max_turns=min(kind.max_turns or settings.max_turns, settings.max_turns),
            max_tokens=min(kind.max_tokens or settings.max_tokens, settings.max_tokens),
            max_cost=min((one for one in (kind.max_cost, settings.max_cost or None) if one), default=None),
            max_seconds=60 * min(kind.max_minutes or settings.max_minutes, settings.max_minutes),
        )

    def _budget_for_kind(self, kind: HelperAgentKind) -> HelperUsageBudget:
        return HelperUsageBudget(self.limits_of_kind(kind), self._core.budget)


TASK_USAGE_KIND = "task"
"""The kind of usage entries that count a helper's requests, which its own session counts too."""


def _last_helper_text(messages: tuple[Message, ...]) -> str:
    """Returns the last text that a helper agent has written."""
    texts = (one.text.strip() for one in reversed(messages) if isinstance(one, AssistantMessage))
    return next(filter(None, texts), "")


def _helper_failure_reason(helper: HelperAgentRun, last: AssistantMessage | None) -> str:
    if helper.budget.has_run_out:
        return "The helper's time limit was reached (setting task.maxMinutes)."
    if last is None or last.stop_reason == "aborted":
        return "The helper was stopped before it had an answer."
    return (last.error_message or "The helper's last request failed.") if last.stop_reason == "error" else ""


def _question_with_helper_name(helper: HelperAgentRun, event: QuestionAsked) -> QuestionAsked:
    """Returns a helper agent's question with the helper's name, as the parent's user sees it."""
    approval = event.approval
    if approval is not None:
        call_id = f"{helper.call_id}/{approval.tool_call_id}"
        approval = msgspec.structs.replace(approval, helper=helper.kind.name, tool_call_id=call_id)
    return msgspec.structs.replace(event, title=f"{helper.kind.name}: {event.title or ''}", approval=approval)


def _first_argument_text(arguments: Any) -> str:
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    texts = [str(value) for value in given.values() if isinstance(value, str | int) and str(value)]
    return texts[0] if texts else ""
