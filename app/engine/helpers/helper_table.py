"""The helper agents of a session: each a session of its own, with hard limits, whose cost counts in its parent."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, cast

import msgspec

from app.agent.queues import Aside
from app.copies.isolated_copy import IsolatedCopy
from app.engine.core.event_bus import EventBus
from app.engine.core.hook_results import HelperAnswer
from app.engine.core.request_budget import RequestLimits
from app.engine.core.session_core import SessionCore
from app.engine.helpers.copy_delivery import CopyDelivery
from app.engine.helpers.helper_budget import HelperBudget
from app.engine.helpers.helper_results import helper_result
from app.engine.helpers.helper_run import HelperRefused, HelperRun, HelperSession, HelperSource
from app.engine.jobs.background_jobs import JobTable
from app.resources.helper_kinds import HelperKind, HelperKinds
from app.resources.settings.settings_tools import TaskSettings
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
from tools.amounts import pluralized
from tools.results import ToolResult
from tools.text import one_line

_MAX_NAMED = 3
_MAX_KEPT = 200
"""Ended helpers that are listed."""
TELLING = "helper-limits"
DELIVERY_MESSAGE = "helper-changes"


class HelperTable:
    """The helpers of one session."""

    def __init__(self, core: SessionCore, jobs: JobTable, source: HelperSource | None) -> None:
        self._core = core
        self._jobs = jobs
        self._source = source
        self._known: list[HelperRun] = []
        """Those that wait, run or have ended, the oldest first."""
        self._running: list[HelperRun] = []
        self._changed = asyncio.Condition()
        self._prompts = -1
        self._begun = 0
        """Helpers begun since the user's last prompt."""
        self._count = 0
        self._is_closed = False
        self._deliveries: set[asyncio.Future[None]] = set()
        self.copies = CopyDelivery(core.workspace)
        """The copies whose changes wait to be applied."""

    @property
    def are_possible(self) -> bool:
        """Whether this session can start helpers, which a helper itself cannot."""
        return self._source is not None

    def kinds(self) -> HelperKinds:
        return self._source.kinds() if self._source is not None else HelperKinds(kinds={})

    def all(self) -> tuple[HelperRun, ...]:
        """The helpers that wait or run."""
        return tuple(self._running)

    def known(self) -> tuple[HelperRun, ...]:
        """All helpers of this session since it was opened, also those that have ended."""
        return tuple(self._known)

    def get(self, helper_id: str) -> HelperRun:
        """Raises `HelperRefused` when there is none."""
        for helper in self._known:
            if helper.id == helper_id:
                return helper
        ids = ", ".join(helper.id for helper in self._known)
        raise HelperRefused(
            f"There is no helper {helper_id}: {ids or 'none was started'}. /tasks lists them."
        )

    def admit(self, kind: HelperKind, title: str, call_id: str, *, is_isolated: bool = False) -> HelperRun:
        """Returns a new helper, which has not begun. Raises `HelperRefused`."""
        settings = self._settings
        prompts = self._core.usage_totals.stats.user_messages
        if prompts != self._prompts:
            self._prompts, self._begun = prompts, 0
        if self._begun >= settings.max_per_prompt:
            raise HelperRefused(
                f"{self._begun} helpers were started for this prompt already, which is the limit (setting "
                "task.maxPerPrompt). Do the rest yourself, or tell the person."
            )
        self._begun += 1
        self._count += 1
        helper = HelperRun(
            id=f"h{self._count}",
            kind=kind,
            title=title,
            call_id=call_id,
            budget=self._budget(kind),
            is_isolated=is_isolated,
        )
        self._known.append(helper)
        del self._known[: len(self._known) - _MAX_KEPT]
        self._running.append(helper)
        self._publish(helper)
        return helper

    def begin(
        self, helper: HelperRun, result: Coroutine[Any, Any, ToolResult]
    ) -> "asyncio.Future[ToolResult]":
        """Starts the work of a helper, which calls `run`; cancelling it stops the helper."""
        helper.work = work = asyncio.ensure_future(result)
        work.add_done_callback(lambda _: self._over(helper))
        return work

    def _over(self, helper: HelperRun) -> None:
        if helper in self._running:  # cancelled before it could begin
            self._running.remove(helper)
            helper.state, helper.ended = "stopped", time.monotonic()
            self._publish(helper)

    async def run(self, helper: HelperRun, prompt: str) -> HelperRun:
        """Runs a helper to its end. Cancelling stops it and everything that it has started."""
        try:
            await self._until_its_turn(helper)
            await self._run(helper, prompt)
        except BaseException:
            helper.state = "stopped"
            raise
        finally:
            helper.ended = time.monotonic()
            helper.session = None
            self._running.remove(helper)
            self._publish(helper)
            async with self._changed:
                self._changed.notify_all()
        return helper

    def stop(self) -> None:
        """Stops all helpers, those in the background too."""
        for helper in self.all():
            if helper.job_id is not None:
                self._jobs.kill(helper.job_id, tell=True)
            elif helper.work is not None:
                helper.work.cancel()

    async def end(self, helper_id: str) -> HelperRun:
        """Stops one helper; who waits for it gets what it has. Raises `HelperRefused`."""
        helper = self.get(helper_id)
        helper.is_unwanted = not helper.is_over
        if helper.session is not None:
            for job in helper.session.jobs.running():
                helper.session.jobs.kill(job.id)
            await helper.session.abort()
        async with self._changed:
            self._changed.notify_all()
        return helper

    async def tell(self, helper_id: str, text: str) -> HelperRun:
        """Sends a message to a helper: at once while it works, and otherwise to go on in the background. Raises
        `UserError`."""
        helper = self.get(helper_id)
        if helper.session is not None:
            await helper.session.queue("steering", text)
        elif not helper.is_over:
            raise HelperRefused(f"{helper.id} waits for its turn. Tell it when it works.")
        else:
            self._resume(helper, text)
        return helper

    def _resume(self, helper: HelperRun, text: str) -> None:
        if self._source is None or (helper.session_file is None and helper.log is None):
            raise HelperRefused(f"{helper.id} never began, so it cannot go on. Ask for a new helper.")
        helper.state, helper.is_unwanted, helper.ended = "waiting", False, None
        helper.problem = helper.delivery = ""
        self._running.append(helper)
        work = self.begin(helper, self._resumed(helper, text))

        def kill() -> None:
            work.cancel()

        helper.job_id = self._jobs.adopt(
            call_id=helper.call_id,
            title=helper.name,
            work=work,
            tail=lambda: "\n".join(helper.lines),
            kill=kill,
        )
        self._publish(helper)

    async def _resumed(self, helper: HelperRun, text: str) -> ToolResult:
        return helper_result(await self.run(helper, text))

    async def _until_its_turn(self, helper: HelperRun) -> None:
        async with self._changed:
            await self._changed.wait_for(
                lambda: helper.is_unwanted or self._running.index(helper) < self._settings.width
            )
        if helper.is_unwanted:
            raise HelperRefused("The person stopped it before it began.")

    async def _run(self, helper: HelperRun, prompt: str) -> None:
        assert self._source is not None
        helper.budget = self._budget(helper.kind)  # its time begins now
        helper.start_count()
        if helper.is_isolated and helper.copy is not None:
            self.copies.take_back(helper.copy)
        elif helper.is_isolated:
            helper.copy = await self._source.copy(helper)
        try:
            started = self._source.start(helper)
        except BaseException:
            self._deliver_soon(helper, is_told=False)
            raise
        session, helper.remark = started.session, started.remark
        helper.state, helper.began, helper.session = "running", time.monotonic(), session
        helper.model = session.model.key if session.model is not None else ""
        session.tools.withhold(
            lambda tools: tuple(tools) if helper.budget.is_ending else (),
            still_answers=True,  # the calls of the answer before
        )
        leave = session.subscribe(lambda event: self._on_helper_event(helper, event))
        self._publish(helper)
        is_whole = False
        try:
            await self._prompts_until_content(helper, session, prompt)
            is_whole = True
        except TimeoutError:
            helper.budget.run_out()
            is_whole = True
        finally:
            helper.session_file = session.log.path
            helper.log = session.log if session.log.path is None else None
            helper.result = _last_words(session.messages)
            ending = asyncio.ensure_future(self._end(session))
            try:
                await asyncio.shield(ending)
            finally:
                self._count_usage(helper, session.model)
                leave()
                delivering = self._deliver_soon(helper, is_told=not is_whole)
        await asyncio.shield(delivering)
        helper.problem = _problem(helper, session.last_answer)
        helper.state = "stopped" if helper.problem else "done"
        helper.on_change(helper)

    async def _prompts_until_content(self, helper: HelperRun, session: HelperSession, prompt: str) -> None:
        """Prompts the helper, and again as long as hooks send it on."""
        times_continued = 0
        next_prompt: str | None = prompt
        while next_prompt is not None:
            await session.prompt(next_prompt, expand=False)
            await session.wait_until_idle()
            async with asyncio.timeout(helper.budget.seconds_left):
                while await session.jobs.wait_for_all():
                    await session.wait_until_idle()
            last = session.last_answer
            if helper.is_unwanted or last is None or last.stop_reason in ("aborted", "error"):
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

    async def _end(self, session: HelperSession) -> None:
        await session.abort()
        await session.close()

    def _deliver_soon(self, helper: HelperRun, *, is_told: bool) -> "asyncio.Future[None]":
        """Stages what the helper has changed in its copy, also when the agent no longer waits for it. `is_told`: the
        agent reads of it with the next prompt."""
        delivering = asyncio.ensure_future(self._deliver(helper, is_told=is_told))
        self._deliveries.add(delivering)
        delivering.add_done_callback(self._deliveries.discard)
        return delivering

    async def _deliver(self, helper: HelperRun, *, is_told: bool) -> None:
        copy = helper.copy
        if copy is None:
            return
        if self._is_closed:
            copy.release()
            return
        try:
            helper.delivery = await self.copies.deliver(copy)
        except asyncio.CancelledError:
            copy.release()  # it is offered at the next start
            raise
        if copy not in self.copies.waiting:
            helper.copy = None
        elif is_told:
            self._tell_later(f"The helper {helper.name} was stopped. {helper.delivery}")

    async def offer_left(self) -> str:
        """Stages again what helpers of this session had changed when bayou ended. Returns a notice about those of other
        sessions in this repository, which can be continued."""
        if self._source is None or not self._core.workspace.has_local_files:
            return ""
        self.copies.let_go()
        own, others = self._core.conversation.log.path, list[IsolatedCopy]()
        for copy in await asyncio.to_thread(self._source.left):
            if copy.session not in (None, own):
                others.append(copy)
                continue
            told = await self.copies.deliver(copy)
            if copy in self.copies.waiting:
                self._tell_later(f"The helper “{copy.record.title}” had ended with an earlier bayou. {told}")
        for copy in others:
            copy.release()
        if not others:
            return ""
        sessions = dict.fromkeys(
            copy.session.stem.partition("_")[2] for copy in others if copy.session is not None
        )
        return (
            f"Changes of {pluralized(len(others), 'helper')} wait in other sessions: "
            f"{', '.join(f'“{one_line(copy.record.title)}”' for copy in others[:_MAX_NAMED])}. "
            f"Continue {', '.join(list(sessions)[:_MAX_NAMED])} (/resume) to apply or discard them."
        )

    def _tell_later(self, text: str) -> None:
        self._core.queues.hold_for_next_turn(CustomMessage(custom_type=DELIVERY_MESSAGE, content=text))

    def close(self) -> None:
        """Ends with the session: copies that were not delivered are offered at the next start."""
        self._is_closed = True
        for delivering in tuple(self._deliveries):
            delivering.cancel()
        self.copies.let_go()

    def _on_helper_event(self, helper: HelperRun, event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.answer is not None:
            self._event_bus.publish_now(_named_question(helper, event))
            return
        if isinstance(event, ToolExecutionStart):
            helper.current = event.tool_name
            helper.note(f"{event.tool_name} {_subject(event.args)}")
        elif isinstance(event, ToolExecutionEnd):
            helper.current = ""
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            self._count_usage(helper, None, event.message)
            self._tell_limits(helper, event.message)
            if event.message.text.strip() and event.message.tool_calls:
                helper.note(event.message.text.strip())
        else:
            return
        helper.on_change(helper)

    def _count_usage(
        self, helper: HelperRun, model: Model | None, message: AssistantMessage | None = None
    ) -> None:
        """Records in the parent's session what the helper has used since the last time."""
        used = helper.uncounted()
        log = self._core.conversation.log
        if (not used.total_tokens and not used.cost.total) or log.is_read_only:
            return
        provider, _, name = (model.key if model is not None else helper.model).partition("/")
        if message is not None:
            provider, name = message.provider, message.model
        entry = UsageEntry(
            parent_id=None, kind=TASK_USAGE, provider=provider, model=name, usage=used, note=helper.title
        )
        try:
            stored = self._core.conversation.record_state(entry)
        except SessionWriteError:
            return  # the run reports it, with advice
        self._event_bus.publish_now(EntryAppended(entry=stored))

    def _tell_limits(self, helper: HelperRun, answer: AssistantMessage) -> None:
        """Tells a helper that goes on how much of its limits is left."""
        session = helper.session
        if session is None or not answer.tool_calls or not (words := helper.budget.word_for_helper()):
            return
        session.queues.add_aside(Aside(message=CustomMessage(custom_type=TELLING, content=words)))
        if helper.budget.is_ending:
            session.tools.changed()

    def _publish(self, helper: HelperRun) -> None:
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
    def _settings(self) -> TaskSettings:
        return self._core.options.effective_settings.settings.task

    def limits_of(self, kind: HelperKind) -> RequestLimits:
        """Returns the limits of a helper of this kind: the settings', where the kind has none that are lower."""
        settings = self._settings
        return RequestLimits(
            turns=min(kind.max_turns or settings.max_turns, settings.max_turns),
            tokens=min(kind.max_tokens or settings.max_tokens, settings.max_tokens),
            cost=min((one for one in (kind.max_cost, settings.max_cost or None) if one), default=None),
            seconds=60 * min(kind.max_minutes or settings.max_minutes, settings.max_minutes),
        )

    def _budget(self, kind: HelperKind) -> HelperBudget:
        return HelperBudget(self.limits_of(kind), self._core.budget)


TASK_USAGE = "task"
"""The kind of entries that count a helper's requests, which its own session counts too."""


def _last_words(messages: tuple[Message, ...]) -> str:
    """Returns the last text that the helper has written."""
    texts = (one.text.strip() for one in reversed(messages) if isinstance(one, AssistantMessage))
    return next(filter(None, texts), "")


def _problem(helper: HelperRun, last: AssistantMessage | None) -> str:
    if helper.budget.has_run_out:
        return "Its time is over (setting task.maxMinutes)."
    if last is None or last.stop_reason == "aborted":
        return "It was stopped before it had an answer."
    return (last.error_message or "Its last request failed.") if last.stop_reason == "error" else ""


def _named_question(helper: HelperRun, event: QuestionAsked) -> QuestionAsked:
    """Returns the question with the helper's name, as the parent's user sees it."""
    approval = event.approval
    if approval is not None:
        call_id = f"{helper.call_id}/{approval.tool_call_id}"
        approval = msgspec.structs.replace(approval, helper=helper.kind.name, tool_call_id=call_id)
    return msgspec.structs.replace(event, title=f"{helper.kind.name}: {event.title or ''}", approval=approval)


def _subject(arguments: Any) -> str:
    given = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    texts = [str(value) for value in given.values() if isinstance(value, str | int) and str(value)]
    return texts[0] if texts else ""
