"""Changes that are staged and wait for an answer, as faces are told of them."""

from typing import Literal

from app.values.wire import Wire


class PendingFile(Wire, frozen=True, kw_only=True):
    path: str
    added: int = 0
    removed: int = 0


class PendingAction(Wire, frozen=True, kw_only=True):
    """Changes that are staged and not written."""

    id: str
    label: str
    source_tool: str
    files: tuple[PendingFile, ...] = ()


class PendingOutcome(Wire, frozen=True, kw_only=True):
    """What came of one of them."""

    id: str
    action: Literal["apply", "discard"]
    is_done: bool
    """False: it could not be applied, and nothing was written."""
    text: str
    by: Literal["model", "person", "program", "extension"]


class PendingChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="pending_changed"):
    """What waits to be applied or discarded is another list; with what came of the one that is gone."""

    waiting: tuple[PendingAction, ...]
    resolved: PendingOutcome | None = None
