"""A frozen snapshot of a session's state, cheap to make.

Interfaces show it. Messages, entries, jobs and counts have separate methods."""

from pathlib import Path
from typing import Literal

import msgspec

from app.agent.loop_ports import InterruptMode
from app.agent.message_queues import QueueMode
from app.compaction.compaction_plan import NothingToCompact
from app.engine.dependencies import SessionDependencies
from app.engine.session_parts import SessionParts
from app.permits.permission_decisions import PermissionMode
from app.values.models import Model, ThinkingLevel

CompactionMode = Literal["off", "remind", "auto"]


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session at one moment."""

    # The record
    session_id: str
    file: Path | None
    """The session file; None: the session is in memory."""
    name: str | None
    leaf_id: str | None
    """The id of the entry that will be the parent of the next one; None: the root."""
    is_read_only: bool
    is_on_disk: bool
    """Whether the session file exists."""

    # The model
    model: Model | None
    thinking: ThinkingLevel
    thinking_levels: tuple[ThinkingLevel, ...]
    """The thinking levels that the model supports."""
    cycle_models: tuple[Model, ...]
    """The models that the user cycles through; empty: all that have credentials."""

    # Activity
    is_running: bool
    is_compacting: bool
    """Whether a summary is being written, of any kind."""
    is_waiting_to_retry: bool
    is_shell_running: bool
    """Whether a command of the user is running."""
    is_cell_running: bool
    """Whether a Python cell of the user is running."""
    is_checking_goal: bool
    queued_count: int
    """The number of messages in the queues."""
    running_jobs: int

    # Context
    context_tokens: int
    is_context_full: bool
    """Whether the context uses tokens reserved for the answer."""

    # Settings
    permission_mode: PermissionMode
    """The mode that decides what runs without a question."""
    sandbox_warning: str
    """The warning that commands have no sandbox, or a weak one; empty if they run in a full sandbox, and before the
    system was probed."""
    is_planning: bool
    """Whether plan mode is on: nothing changes until a plan is accepted."""
    can_ask_person: bool
    """Whether a user can answer questions."""
    compaction_mode: CompactionMode
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    interrupt_mode: InterruptMode
    is_auto_retry_on: bool

    @property
    def is_busy(self) -> bool:
        """Whether something is running that the user can stop."""
        return (
            self.is_running
            or self.is_compacting
            or self.is_shell_running
            or self.is_cell_running
            or self.is_checking_goal
        )


class ContextRoom(msgspec.Struct, frozen=True, kw_only=True):
    """The context usage in tokens, and what a compaction would free."""

    tokens: int
    is_exact: bool
    """Whether the provider has counted the whole context."""
    window: int
    reserved_tokens: int
    """The number of tokens reserved for the answer."""
    tokens_freed: int
    """The estimated number of tokens that a compaction would free; 0: there is nothing to compact."""


def context_room(given: SessionDependencies, made: SessionParts) -> ContextRoom:
    model = given.model_choice.model
    try:
        freed = made.context.compactor.plan_compaction().freed_tokens
    except NothingToCompact:
        freed = 0
    return ContextRoom(
        tokens=made.core.usage_totals.context_tokens,
        is_exact=made.core.usage_totals.is_context_size_exact,
        window=model.context_window if model else 0,
        reserved_tokens=made.context.compactor.context_limits.reserve_tokens,
        tokens_freed=freed,
    )


def session_state(given: SessionDependencies, made: SessionParts) -> SessionState:
    log, choice, queues = made.core.conversation.log, given.model_choice, made.core.queues
    return SessionState(
        session_id=log.session_id,
        file=log.path,
        name=log.name,
        leaf_id=log.leaf_id,
        is_read_only=log.is_read_only,
        is_on_disk=log.is_on_disk,
        model=choice.model,
        thinking=choice.thinking,
        thinking_levels=choice.thinking_levels,
        cycle_models=choice.scope,
        is_running=made.runner.is_running,
        is_compacting=made.context.is_summarising,
        is_waiting_to_retry=made.runner.countdown.is_running,
        is_shell_running=made.user_runs.shell.running_task.is_running,
        is_cell_running=made.user_runs.cells.running_task.is_running,
        is_checking_goal=made.runner.goal.is_checking,
        queued_count=len(queues),
        running_jobs=len(made.jobs.running_jobs()),
        context_tokens=made.core.usage_totals.context_tokens,
        is_context_full=made.context.compactor.is_context_full,
        permission_mode=made.permission_gate.rules.mode,
        sandbox_warning=made.permission_gate.boxes.missing_sandbox_warning
        if made.permission_gate.can_ask_person
        else "",
        is_planning=made.planning.plan.is_on,
        can_ask_person=made.permission_gate.can_ask_person,
        compaction_mode=given.options.effective_settings.settings.compaction.mode,
        steering_mode=given.options.queue_mode("steering"),
        follow_up_mode=given.options.queue_mode("follow_up"),
        interrupt_mode=given.options.interrupt_mode(),
        is_auto_retry_on=given.options.effective_settings.settings.retry.enabled,
    )
