"""The blocks of a transcript (prompts, replies, tool calls, notes, ends of turns): frozen values that say what to show.
`leaves` draws them."""

from enum import StrEnum
from typing import Literal

import msgspec

from tools.tool_result_values import Card, ImageBlock, MapBlock


class CardState(StrEnum):
    """The state of a tool call, as its card shows it."""

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
    """The state of a model's reply: in progress, complete, or how it ended early."""

    STREAMING = "streaming"
    DONE = "done"
    ABORTED = "aborted"
    ERROR = "error"
    TRUNCATED = "truncated"
    REPLACED = "replaced"
    """It was cut off, and another answer follows."""


class AppNoteKind(StrEnum):
    """The kind of a message that bayou itself shows, such as a warning."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


class CustomBlockKind(StrEnum):
    """The kind of a block that shows neither a prompt, a reply nor a tool call, such as a command of the user or a
    compaction."""

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


class _FrozenValue(msgspec.Struct, frozen=True, kw_only=True):
    pass


class FailureToShow(_FrozenValue, frozen=True, kw_only=True):
    """A failure as the transcript shows it: the reason, the next step, and the key that retries."""

    message: str
    detail: str = ""
    """What the server or the system said about it."""
    next_step: str = ""
    retry_key: str = ""
    """The key that retries; empty if a retry is impossible."""


class ReplyThinking(_FrozenValue, frozen=True, kw_only=True):
    """A part of a model's reply: its thinking, and how many seconds that took."""

    text: str
    seconds: float | None = None


class ReplyProse(_FrozenValue, frozen=True, kw_only=True):
    """A part of a model's reply: Markdown text."""

    text: str


class UserPromptBlock(_FrozenValue, frozen=True, kw_only=True):
    """A transcript block with a prompt of the user and its images."""

    id: str
    text: str
    images: tuple[ImageBlock, ...] = ()


class ReplyBlock(_FrozenValue, frozen=True, kw_only=True):
    """A transcript block with a reply of the model: its parts, its state, and why it failed."""

    id: str
    parts: tuple[ReplyThinking | ReplyProse, ...] = ()
    state: ReplyState = ReplyState.DONE
    failure: FailureToShow | None = None


class ToolCallBlock(_FrozenValue, frozen=True, kw_only=True):
    """A transcript block with a tool call and its result. Its id is the call's id."""

    id: str
    card: Card
    state: CardState = CardState.DONE
    timing: str = ""
    """How long it took or has been running, in words."""
    word: str = ""
    """How it ended, if its state does not say it: `denied`."""
    note: str = ""
    """What is said below its row, such as why a person denied the call."""


class CustomBlock(_FrozenValue, frozen=True, kw_only=True):
    id: str
    kind: CustomBlockKind
    card: Card
    state: CardState | None = None
    timing: str = ""
    label: str = ""
    """Replaces the state's word, for example `delivered`."""
    preview_lines: int = 0
    """The number of body lines shown while the block is closed."""
    tone: AppNoteKind | None = None
    """A colour for blocks that need attention."""
    open_hint: str = ""
    """The key that opens it and what it does, shown while it is closed: `ctrl+o open`."""


class FirstPageRow(_FrozenValue, frozen=True, kw_only=True):
    """A row of the first page of a new session: a fact, a choice or a tip. A click sends a text or runs an action."""

    text: str
    label: str = ""
    detail: str = ""
    kind: Literal["fact", "choice", "tip"] = "fact"
    """A fact has its key at the right; a choice is chosen by the number in its label; a tip has its key in it."""
    sends: str = ""
    """What a click sends, as if it was typed."""
    action: str = ""
    """The id of the action that a click runs."""


class AppNoteBlock(_FrozenValue, frozen=True, kw_only=True):
    """A transcript block with a message of bayou itself, or with the first page of a new session."""

    id: str
    text: str
    kind: AppNoteKind = AppNoteKind.INFO
    next_step: str = ""
    """What the user can do about the problem."""
    title: str = ""
    art: tuple[str, ...] = ()
    """A drawing above the tagline; its waves are in the colour of water."""
    tagline: str = ""
    is_centred: bool = False
    """Whether it stands in the middle of the page."""
    rows: tuple[FirstPageRow, ...] = ()
    label_cells: int = 0
    """The width of the labels of all rows; 0 for the widest one of facts and tips."""


class TurnAction(_FrozenValue, frozen=True, kw_only=True):
    """Something that the user can do with a finished turn, such as undo it, by its key or a click."""

    key: str
    words: str
    id: str
    """The action's id."""


class TurnEndBlock(_FrozenValue, frozen=True, kw_only=True):
    """A transcript block for the end of a turn: how it ended, how long it took, and what it changed."""

    id: str
    words: str
    """How it ended and how long it took: `Done in 14 s`; empty if there is nothing to say."""
    state: CardState = CardState.DONE
    figures: str = ""
    """What it cost: `↓1.2k · $0.046`."""
    files: str = ""
    """The changed files: `2 files +4 −1`."""
    change_id: str = ""
    """The id of the first change, by which an undo names the turn; empty if it changed no files."""
    doubt: str = ""
    """Why it may not be complete, although the model ended it: `the last call failed`."""
    waiting: str = ""
    """What still runs or waits: `1 job is still running`."""
    warning: str = ""
    actions: tuple[TurnAction, ...] = ()
    replaces: str = ""
    """The id of the earlier end of the same turn, which may have the same id; empty if it has none."""

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to show of it."""
        return not (self.words or self.files or self.waiting or self.warning)


Block = UserPromptBlock | ReplyBlock | ToolCallBlock | CustomBlock | AppNoteBlock | TurnEndBlock


def file_map_of_block(block: Block) -> MapBlock | None:
    """Returns the file map that a tool call's block shows; None if it shows none."""
    if not isinstance(block, ToolCallBlock | CustomBlock):
        return None
    return next((part for part in block.card.blocks if isinstance(part, MapBlock)), None)
