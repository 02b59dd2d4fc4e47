"""What the commands answer: the shapes of the responses' data, spelled as on the wire.

The reference is made from them.
"""

from typing import Any, Literal, NotRequired, TypedDict

from app.values.entries import BranchSummaryEntry, Entry
from app.values.messages import Message
from app.values.models import Model

Level = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
Mode = Literal["all", "one-at-a-time"]


class Disposed(TypedDict):
    disposition: Literal["started", "queued", "handled"]


class Removed(TypedDict):
    """The texts that were taken out of the queues."""

    steering: list[str]
    followUp: list[str]


class BashResult(TypedDict):
    output: str
    exitCode: NotRequired[int]
    cancelled: bool
    truncated: bool
    fullOutputPath: NotRequired[str]


class State(TypedDict):
    model: NotRequired[Model]
    thinkingLevel: str
    isStreaming: bool
    isCompacting: bool
    steeringMode: Mode
    followUpMode: Mode
    interruptMode: str
    sessionFile: NotRequired[str]
    sessionId: str
    sessionName: NotRequired[str]
    autoCompactionEnabled: bool
    autoRetryEnabled: bool
    messageCount: int
    pendingMessageCount: int


class CycledModel(TypedDict):
    model: Model
    thinkingLevel: str
    isScoped: bool


class Models(TypedDict):
    models: list[Model]


class CycledLevel(TypedDict):
    level: str


class Levels(TypedDict):
    levels: list[str]


class Tokens(TypedDict):
    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    total: int


class Usage(TypedDict):
    tokens: int | None
    contextWindow: int
    percent: float | None


class SessionStats(TypedDict):
    sessionFile: NotRequired[str]
    sessionId: str
    userMessages: int
    assistantMessages: int
    toolCalls: int
    toolResults: int
    totalMessages: int
    tokens: Tokens
    cost: float
    contextUsage: NotRequired[Usage]


class Messages(TypedDict):
    messages: list[Message]


class LastText(TypedDict):
    text: NotRequired[str]


class CommandSource(TypedDict):
    path: str
    source: str
    scope: Literal["user", "project", "temporary"]
    origin: Literal["package", "top-level"]


class CommandInfo(TypedDict):
    name: str
    description: NotRequired[str]
    source: Literal["extension", "prompt", "skill"]
    sourceInfo: CommandSource


class Commands(TypedDict):
    commands: list[CommandInfo]


class Written(TypedDict):
    path: str


class Moved(TypedDict):
    cancelled: bool


class Forked(TypedDict):
    text: NotRequired[str]
    cancelled: bool


class Navigated(TypedDict):
    cancelled: bool
    editorText: NotRequired[str]
    summaryEntry: NotRequired[BranchSummaryEntry]


class ForkMessage(TypedDict):
    entryId: str
    text: str


class ForkMessages(TypedDict):
    messages: list[ForkMessage]


class Entries(TypedDict):
    entries: list[Entry]
    leafId: str | None


class TreeNode(TypedDict):
    entry: Entry
    children: list[Any]
    """Nodes like this one, sorted by time."""
    label: NotRequired[str]
    labelTimestamp: NotRequired[str]


class Tree(TypedDict):
    tree: list[TreeNode]
    leafId: str | None


class ToolNames(TypedDict):
    toolNames: list[str]
