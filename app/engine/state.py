"""What there is to know of a session at one moment, as one frozen value that costs little to make.

It is what faces show and ask about. What a session holds much of (messages, entries, jobs, counts) is asked for by
verbs of their own.
"""

from pathlib import Path
from typing import Literal

import msgspec

from app.agent.ports import InterruptMode
from app.agent.queues import QueueMode
from app.values.models import Model, ThinkingLevel

CompactionMode = Literal["off", "remind", "auto"]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One session, now."""

    # Its record
    session_id: str
    file: Path | None
    """None: it is kept nowhere."""
    name: str | None
    leaf_id: str | None
    """Where the next entry will hang; None: at the root."""
    is_read_only: bool
    is_on_disk: bool
    """Something of it has been written."""

    # What answers
    model: Model | None
    thinking: ThinkingLevel
    levels: tuple[ThinkingLevel, ...]
    """What the model can do."""
    scope: tuple[Model, ...]
    """The models that cycling goes through; empty: all that have credentials."""

    # What is under way
    is_running: bool
    is_compacting: bool
    """A summary is being written, of whatever kind."""
    is_waiting_to_retry: bool
    is_shell_running: bool
    """A command of the person's."""
    waiting_count: int
    """Messages in the queues."""
    running_jobs: int

    # How full it is
    context_tokens: int
    is_full: bool
    """The room that is kept for the answer is touched."""

    # How it is set
    compaction_mode: CompactionMode
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    interrupt_mode: InterruptMode
    retries: bool

    @property
    def is_busy(self) -> bool:
        """Something is going on that a person can stop."""
        return self.is_running or self.is_compacting or self.is_shell_running
