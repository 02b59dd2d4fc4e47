"""Staged changes that wait to be applied or discarded, as events carry them."""

from typing import Literal

from app.values.wire import Wire


class PendingFile(Wire, frozen=True, kw_only=True):
    """One file of staged changes with its counts of added and removed lines."""

    path: str
    added: int = 0
    removed: int = 0


class PendingAction(Wire, frozen=True, kw_only=True):
    """One staged action: its changes wait to be applied or discarded, and are not in the files yet."""

    id: str
    label: str
    source_tool: str
    files: tuple[PendingFile, ...] = ()


class PendingOutcome(Wire, frozen=True, kw_only=True):
    """The result of applying or discarding staged changes."""

    id: str
    action: Literal["apply", "discard"]
    is_done: bool
    """Whether all changes were applied or discarded; False: nothing was applied, or, of a helper's changes, which
    are merged file by file, not all."""
    text: str
    by: Literal["model", "person", "program", "extension"]


class PendingChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="pending_changed"):
    """The list of staged changes has changed; carries the outcome of the change that was resolved."""

    waiting: tuple[PendingAction, ...]
    resolved: PendingOutcome | None = None
