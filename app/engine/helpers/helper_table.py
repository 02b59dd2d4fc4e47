"""The helper agents of a session: each a session of its own, with hard limits, whose cost counts in its parent."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec

from app.engine.core.event_bus import EventBus, Listener
from app.engine.core.hook_results import HelperAnswer
from app.engine.core.request_budget import RequestBudget, RequestLimits
from app.engine.core.session_core import SessionCore
from app.engine.jobs.background_jobs import JobTable
from app.providers.model_stream import AssistantStream
from app.resources.helper_kinds import HelperKind, HelperKinds
from app.resources.settings.settings_tools import TaskSettings
from app.sessions.errors import SessionWriteError
from app.sessions.session_log import SessionLog
from app.values.entries import UsageEntry
from app.values.events import (
    EntryAppended,
    Event,
    MessageEnd,
    QuestionAsked,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from app.values.messages import AssistantMessage, Message
from app.values.models import Model
from app.values.usage import Cost, Usage
from app.values.user_errors import UserError
from tools.text import one_line

_MAX_SHOWN_LINES = 500


class HelperRefused(UserError):
    """A helper was not started; the text says why."""


class HelperBudget(RequestBudget):
    """Counts each request of a helper in its own limits and in its parent's."""

    def __init__(
        self, limits: RequestLimits, parent: RequestBudget, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(limits, clock=clock)
        self._parent = parent

    @property
    def seconds_left(self) -> float | None:
        """The time of whichever limit ends first."""
        left = [one for one in (super().seconds_left, self._parent.seconds_left) if one is not None]
        return min(left, default=None)

    def admit(self, *, is_turn: bool = False) -> None:
        self._parent.admit()
        super().admit(is_turn=is_turn)

    def watch(self, stream: AssistantStream) -> AssistantStream:
        return super().watch(self._parent.watch(stream))


class HelperSession(Protocol):
    """What a helper's session is used for; `engine.session.Session`."""

    @property
    def messages(self) -> tuple[Message, ...]: ...
    @property
    def last_answer(self) -> AssistantMessage | None: ...
    @property
    def model(self) -> Model | None: ...
    @property
    def jobs(self) -> JobTable: ...
    @property
    def log(self) -> SessionLog: ...
    def subscribe(self, listener: Listener) -> Callable[[], None]: ...
    async def prompt(self, text: str, *, expand: bool) -> Any: ...
    async def wait_until_idle(self) -> None: ...
    async def abort(self) -> None: ...
    async def close(self) -> None: ...


class HelperStart(msgspec.Struct, frozen=True):
    """A helper's session, and a remark about its start for the agent that waits for it."""

    session: HelperSession
    remark: str = ""


class HelperSource(Protocol):
    """Finds kinds of helpers and makes their sessions."""

    def kinds(self) -> HelperKinds: ...

    def start(self, kind: HelperKind, title: str, budget: RequestBudget) -> HelperStart: ...


class HelperRun(msgspec.Struct, kw_only=True):
    """One helper, as far as it has got."""

    kind: HelperKind
    title: str
    call_id: str
    budget: HelperBudget
    on_change: Callable[["HelperRun"], None] = lambda helper: None
    state: str = "waiting"
    """`waiting` for one of the helpers before it, `running`, `done` or `stopped`."""
    model: str = ""
    current: str = ""
    """The tool that it is using."""
    lines: list[str] = []
    """What it has done so far."""
    began: float = msgspec.field(default_factory=time.monotonic)
    ended: float | None = None
    session_file: Path | None = None
    remark: str = ""
    """What the agent that waits for it should know of its start."""
    result: str = ""
    """Its last words."""
    problem: str = ""
    """Why it did not come to its end by itself."""
    job_id: str | None = None
    work: "asyncio.Future[Any] | None" = None
    _counted: Usage = Usage()

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.began

    def note(self, line: str) -> None:
        self.lines.append(one_line(line)[:300])
        del self.lines[: len(self.lines) - _MAX_SHOWN_LINES]

    def uncounted(self) -> Usage:
        """Returns what was used since the last call."""
        used, before = self.budget.used, self._counted
        self._counted = used
        return _difference(used, before)


class HelperTable:
    """The helpers of one session."""

    def __init__(self, core: SessionCore, jobs: JobTable, source: HelperSource | None) -> None:
        self._core = core
        self._jobs = jobs
        self._source = source
        self._running: list[HelperRun] = []
        self._changed = asyncio.Condition()
        self._prompts = -1
        self._begun = 0
        """Helpers begun since the user's last prompt."""

    @property
    def are_possible(self) -> bool:
        """Whether this session can start helpers, which a helper itself cannot."""
        return self._source is not None

    def kinds(self) -> HelperKinds:
        return self._source.kinds() if self._source is not None else HelperKinds(kinds={})

    def all(self) -> tuple[HelperRun, ...]:
        """The helpers that wait or run."""
        return tuple(self._running)

    def admit(self, kind: HelperKind, title: str, call_id: str) -> HelperRun:
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
        helper = HelperRun(kind=kind, title=title, call_id=call_id, budget=self._budget(kind))
        self._running.append(helper)
        return helper

    async def run(self, helper: HelperRun, prompt: str) -> HelperRun:
        """Runs a helper to its end. Cancelling stops it and everything that it has started."""
        try:
            await self._until_its_turn(helper)
            await self._run(helper, prompt)
        except asyncio.CancelledError:
            helper.state = "stopped"
            raise
        finally:
            helper.ended = time.monotonic()
            self._running.remove(helper)
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

    async def _until_its_turn(self, helper: HelperRun) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._running.index(helper) < self._settings.width)

    async def _run(self, helper: HelperRun, prompt: str) -> None:
        assert self._source is not None
        helper.budget = self._budget(helper.kind)  # its time begins now
        started = self._source.start(helper.kind, helper.title, helper.budget)
        session, helper.remark = started.session, started.remark
        helper.state, helper.began = "running", time.monotonic()
        helper.model = session.model.key if session.model is not None else ""
        leave = session.subscribe(lambda event: self._heard(helper, event))
        try:
            await self._prompts_until_content(helper, session, prompt)
        except TimeoutError:
            helper.budget.run_out()
        finally:
            helper.session_file = session.log.path
            helper.result = _last_words(session.messages)
            ending = asyncio.ensure_future(self._end(session))
            try:
                await asyncio.shield(ending)
            finally:
                self._count(helper, session.model)
                leave()
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
            if last is None or last.stop_reason in ("aborted", "error"):
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

    def _heard(self, helper: HelperRun, event: Event) -> None:
        if isinstance(event, QuestionAsked) and event.answer is not None:
            self._event_bus.publish_now(_named_question(helper, event))
            return
        if isinstance(event, ToolExecutionStart):
            helper.current = event.tool_name
            helper.note(f"{event.tool_name} {_subject(event.args)}")
        elif isinstance(event, ToolExecutionEnd):
            helper.current = ""
        elif isinstance(event, MessageEnd) and isinstance(event.message, AssistantMessage):
            self._count(helper, None, event.message)
            if event.message.text.strip() and event.message.tool_calls:
                helper.note(event.message.text.strip())
        else:
            return
        helper.on_change(helper)

    def _count(self, helper: HelperRun, model: Model | None, message: AssistantMessage | None = None) -> None:
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


def _difference(now: Usage, before: Usage) -> Usage:
    a, b = now.cost, before.cost
    return Usage(
        input=now.input - before.input,
        output=now.output - before.output,
        cache_read=now.cache_read - before.cache_read,
        cache_write=now.cache_write - before.cache_write,
        total_tokens=now.total_tokens - before.total_tokens,
        cost=Cost(
            input=a.input - b.input,
            output=a.output - b.output,
            cache_read=a.cache_read - b.cache_read,
            cache_write=a.cache_write - b.cache_write,
            total=a.total - b.total,
        ),
    )
