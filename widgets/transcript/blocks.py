"""The blocks of a transcript: frozen values that say what to show. `leaves` draws them."""

from enum import StrEnum

import msgspec

from tools.results import Card, ImageBlock, MapBlock


class CardState(StrEnum):
    """The state of a tool call's card."""

    PENDING = "pending"
    """The call's arguments are still being received, or it waits for its turn."""
    ASKED = "asked"
    """The call waits for the user's approval."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    ABORTED = "aborted"
    SKIPPED = "skipped"


class ReplyState(StrEnum):
    """The state of a reply."""

    STREAMING = "streaming"
    DONE = "done"
    ABORTED = "aborted"
    ERROR = "error"
    TRUNCATED = "truncated"


class NoteKind(StrEnum):
    """The kind of a message of bayou."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


class CustomKind(StrEnum):
    """The kind of a custom block."""

    FILE_MAP = "file map"
    READ_RECOVERY = "read recovery"
    JOB = "job"
    COMMAND = "command"
    CELL = "cell"
    DIAGNOSTICS = "diagnostics"
    GOAL = "goal"
    COMPACTION = "compaction"
    BRANCH_SUMMARY = "branch summary"
    EXTENSION = "extension"
    HUNK = "hunk"


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    pass


class ShownFailure(_Value, frozen=True, kw_only=True):
    """Why something failed, and the next step."""

    message: str
    next_step: str = ""
    retry_key: str = ""
    """The key that retries; empty if a retry is impossible."""


class Thought(_Value, frozen=True, kw_only=True):
    """A thought of the model."""

    text: str
    seconds: float | None = None


class Prose(_Value, frozen=True, kw_only=True):
    """Markdown text."""

    text: str


class UserBlock(_Value, frozen=True, kw_only=True):
    """A prompt of the user."""

    id: str
    text: str
    images: tuple[ImageBlock, ...] = ()


class ReplyBlock(_Value, frozen=True, kw_only=True):
    """A reply of the model."""

    id: str
    parts: tuple[Thought | Prose, ...] = ()
    state: ReplyState = ReplyState.DONE
    failure: ShownFailure | None = None


class CardBlock(_Value, frozen=True, kw_only=True):
    """A tool call and its result. The id is the call's id."""

    id: str
    card: Card
    state: CardState = CardState.DONE
    timing: str = ""
    """How long it took or has been running, in words."""


class CustomBlock(_Value, frozen=True, kw_only=True):
    id: str
    kind: CustomKind
    card: Card
    state: CardState | None = None
    timing: str = ""
    label: str = ""
    """Replaces the state's word, for example `delivered`."""
    peek: int = 0
    """The number of body lines shown while the block is closed."""
    tone: NoteKind | None = None
    """A colour for blocks that need attention."""
    open_hint: str = ""
    """The key that opens it and what it does, shown while it is closed: `ctrl+o open`."""


class NoteBlock(_Value, frozen=True, kw_only=True):
    """A message of bayou."""

    id: str
    text: str
    kind: NoteKind = NoteKind.INFO
    next_step: str = ""
    """What the user can do about the problem."""
    title: str = ""
    mark: str = ""
    """The mark before the title, in place of the mark of the kind."""
    tries: tuple[tuple[str, str], ...] = ()
    """Suggested requests, chosen by number, each with a description."""
    hints: tuple[tuple[str, str], ...] = ()
    """Further keys or commands, each with its action."""


Block = UserBlock | ReplyBlock | CardBlock | CustomBlock | NoteBlock


def map_in(block: Block) -> MapBlock | None:
    """The file map that the block shows, if it shows one."""
    if not isinstance(block, CardBlock | CustomBlock):
        return None
    return next((part for part in block.card.blocks if isinstance(part, MapBlock)), None)
