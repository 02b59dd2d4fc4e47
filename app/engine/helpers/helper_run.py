"""Represents one helper agent: its task, its session, its usage and its progress."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from app.agent.message_queues import MessageQueues
from app.copies.isolated_repository_copies import IsolatedRepositoryCopy
from app.engine.core.event_bus import EventBus, EventListener
from app.engine.core.toolbox import Toolbox
from app.engine.helpers.helper_budget import HelperUsageBudget
from app.engine.jobs.background_jobs import JobTable
from app.resources.helper_kinds import HelperAgentKind, HelperAgentKinds
from app.sessions.session_log import SessionLog
from app.values.messages import AssistantMessage, Message
from app.values.models import Model
from app.values.usage import Cost, Usage
from app.values.user_errors import UserError
from tools.text_sanitizing import one_line

_MAX_HELPER_PROGRESS_LINES = 500

HelperState = Literal["waiting", "running", "done", "stopped"]


class HelperAgentRefused(UserError):
    """Raised if a helper agent was not started or not found; the text says why."""


class HelperAgentSession(Protocol):
    """The part of a session's interface that running a helper agent needs; implemented by
    `engine.session.Session`."""

    events: EventBus
    queues: MessageQueues
    tools: Toolbox

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
    @property
    def is_running(self) -> bool: ...
    def subscribe(self, listener: EventListener) -> Callable[[], None]: ...
    async def prompt(self, text: str, *, expand: bool) -> Any: ...
    async def queue(self, queue: Literal["steering", "follow_up"], text: str) -> Any: ...
    async def wait_until_idle(self) -> None: ...
    async def abort(self) -> None: ...
    async def close(self) -> None: ...


class StartedHelperAgent(msgspec.Struct, frozen=True):
    """The session of a started helper agent, and a remark about its start for the agent that waits for it."""

    session: HelperAgentSession
    note: str = ""


class HelperAgentRun(msgspec.Struct, kw_only=True):
    """One helper agent with its state, session, usage and result."""

    id: str
    kind: HelperAgentKind
    title: str
    call_id: str
    budget: HelperUsageBudget
    is_isolated: bool = False
    """Whether the helper works in a separate copy of the repository."""
    on_change: Callable[["HelperAgentRun"], None] = lambda helper: None
    state: HelperState = "waiting"
    """The state of the helper; `waiting` means that it waits until a helper before it has ended."""
    model: str = ""
    current_tool: str = ""
    """The name of the tool that the helper is using; empty between tools."""
    progress_lines: list[str] = []
    """Lines on what the helper has done so far."""
    started_at: float = msgspec.field(default_factory=time.monotonic)
    ended_at: float | None = None
    session: HelperAgentSession | None = None
    """The session of the helper while it works; None before and after."""
    copy: IsolatedRepositoryCopy | None = None
    log: SessionLog | None = None
    """The log of the helper's session, if it is in no file."""
    session_file: Path | None = None
    start_remark: str = ""
    """A remark about the helper's start for the agent that waits for it."""
    delivery_text: str = ""
    """A text on what happened to the changes in the helper's copy."""
    answer_text: str = ""
    """The last text of the helper, which is its result."""
    problem: str = ""
    """The reason why the helper was stopped or failed; empty if it ended by itself."""
    open_questions: int = 0
    """The number of the helper's questions that the user has not answered."""
    is_stopped_by_person: bool = False
    """Whether the user stopped the helper."""
    job_id: str | None = None
    work: "asyncio.Future[Any] | None" = None
    _reported_usage: Usage = Usage()

    @property
    def seconds(self) -> float:
        return (self.ended_at or time.monotonic()) - self.started_at

    @property
    def has_ended(self) -> bool:
        return self.state in ("done", "stopped")

    @property
    def is_asking(self) -> bool:
        """Whether the helper waits for the user's answer to a question."""
        return self.open_questions > 0 and not self.has_ended

    @property
    def label(self) -> str:
        return f"{self.kind.name}: {self.title}"

    def add_progress_line(self, line: str) -> None:
        self.progress_lines.append(one_line(line)[:300])
        del self.progress_lines[: len(self.progress_lines) - _MAX_HELPER_PROGRESS_LINES]

    def reset_usage(self) -> None:
        """Resets the usage that was already reported to the parent, for a new budget."""
        self._reported_usage = Usage()

    def take_new_usage(self) -> Usage:
        """Returns what the helper agent used since the last call of this method."""
        used, before = self.budget.usage_so_far, self._reported_usage
        self._reported_usage = used
        return _usage_difference(used, before)


class HelperAgentSource(Protocol):
    """Finds the kinds of helper agents, and makes helpers' sessions and repository copies."""

    def kinds(self) -> HelperAgentKinds: ...

    def start(self, helper: HelperAgentRun) -> StartedHelperAgent: ...

    async def copy_repository(self, helper: HelperAgentRun) -> IsolatedRepositoryCopy:
        """Makes a separate copy of the session's repository for a helper agent. Raises `UserError`."""
        ...

    def leftover_helper_copies(self) -> list[IsolatedRepositoryCopy]:
        """Returns the copies of the session's repository that no process holds. Blocks."""
        ...


def _usage_difference(now: Usage, before: Usage) -> Usage:
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
