"""What the commands answer: the shapes of the responses' data, spelled as on the wire.

The reference is made from them.
"""

from typing import Any, Literal, NotRequired, TypedDict

from app.agent.ports import InterruptMode
from app.agent.queues import QueueMode
from app.engine.jobs.background_jobs import JobState
from app.undo.images import Choice
from app.values.entries import BranchSummaryEntry, Entry
from app.values.messages import ToolDeclaration
from app.values.models import Model, ThinkingLevel
from app.values.todos import TodoPhase


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


class CellResult(TypedDict):
    id: str
    """Its `tool_execution` events carry it."""
    output: str
    """As the model reads it; pictures are in the message or entry that records the cell."""
    pictures: int
    isError: bool
    details: Any


class KernelName(TypedDict):
    name: str
    type: str
    value: str
    """Or its size, where that says more; empty where nobody can tell without running something."""


class Kernel(TypedDict):
    state: Literal["none", "idle", "busy"]
    interpreter: NotRequired[str]
    found: NotRequired[str]
    """How: `.venv`, `eval.python`, `python3`."""
    version: NotRequired[str]
    pid: NotRequired[int]
    memory: NotRequired[int]
    """Bytes."""
    cells: int
    """That it has run."""
    names: list[KernelName]
    """None while a cell runs."""


class State(TypedDict):
    model: NotRequired[Model]
    thinkingLevel: ThinkingLevel
    isStreaming: bool
    isCompacting: bool
    steeringMode: QueueMode
    followUpMode: QueueMode
    interruptMode: InterruptMode
    sessionFile: NotRequired[str]
    sessionId: str
    sessionName: NotRequired[str]
    autoCompactionEnabled: bool
    autoRetryEnabled: bool
    messageCount: int
    pendingMessageCount: int
    planMode: bool
    """Nothing changes until a plan is accepted."""
    todoPhases: list[TodoPhase]
    """The list of todos of the place where the session stands."""
    systemPrompt: str
    """As the next request has it."""
    tools: list[ToolDeclaration]
    """Those that the model has, with the schemas of their arguments."""


class PendingResolved(TypedDict):
    id: str
    done: bool
    """False: it was to be applied, and a file had changed; nothing was written."""
    text: str


class PermissionRule(TypedDict):
    deed: Literal["allow", "ask", "deny"]
    text: str
    origin: Literal["user", "folder", "project", "session"]


class PermissionVerdict(TypedDict):
    toolCallId: str
    toolName: str
    letter: str
    """`safe`, `contained` or `forbidden`."""
    why: str
    decision: str
    by: str


class Permissions(TypedDict):
    mode: Literal["read-only", "ask", "auto-edit", "full"]
    hasBox: bool
    """Commands run where they reach nothing but the workspace."""
    rules: list[PermissionRule]
    problems: list[str]
    """Rules that cannot be read."""
    verdicts: list[PermissionVerdict]
    """The last twenty."""


class Sandbox(TypedDict):
    setting: Literal["auto", "off", "required"]
    step: Literal["namespaces", "namespaces without landlock", "landlock", "seatbelt", "none"]
    """As far as this system can."""
    why: str
    """What stands in the way of more."""
    isInForce: bool
    """The next command of the agent runs in it."""
    network: str
    writable: list[str]
    guarded: list[str]
    """Within writable places, but not to be written."""
    hidden: list[str]


class SecretMasked(TypedDict):
    mark: str
    """What stands in its place."""
    kind: str
    digest: str
    """The last part of the mark."""
    where: str
    """What brought it last."""
    count: int


class CycledModel(TypedDict):
    model: Model
    thinkingLevel: ThinkingLevel
    isScoped: bool


class CycledLevel(TypedDict):
    level: ThinkingLevel


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


class JobInfo(TypedDict):
    id: str
    title: str
    state: JobState
    seconds: float
    toolCallId: str
    isPinned: bool
    output: NotRequired[str]
    """The end of it; only where one job was asked for."""


class RestoreRow(TypedDict):
    """One file, and what happens to it."""

    path: str
    state: Literal["ready", "conflict", "same", "unheld", "refused"]
    """Conflict: it is not as the session left it, and stays unless chosen. Unheld and refused: it stays in any case."""
    deed: str
    why: NotRequired[str]
    by: NotRequired[str]
    """Who had changed it."""
    added: int
    removed: int
    canMerge: bool
    choice: Choice
    """What happens when nothing else is chosen."""
    diff: NotRequired[str]


class RestorePreview(TypedDict):
    title: str
    """The prompt that it goes back to before, or the last one before the entry."""
    entryId: NotRequired[str]
    digest: str
    added: int
    removed: int
    files: list[RestoreRow]
    heads: list[str]
    """Where git's head was moved meanwhile; it stays."""


class KeptFile(TypedDict):
    path: str
    why: str


class RestoredFiles(TypedDict):
    restored: int
    kept: list[KeptFile]
    entryId: NotRequired[str]
    """The entry that records it; none when nothing was changed."""


class ChangedFile(TypedDict):
    path: str
    deed: str
    """`new`, `removed`, `changed`, `mode 644 → 755`, `not held`."""
    added: int
    removed: int
    by: NotRequired[str]
    """Whose calls changed it."""
    why: NotRequired[str]
    """What is to be known of it: somebody changed it in between, nothing of it is held."""


class FileDifferences(TypedDict):
    title: str
    note: NotRequired[str]
    """Which prompt it is of how many that changed files."""
    added: int
    removed: int
    files: list[ChangedFile]
    older: NotRequired[str]
    """The prompt before this one that changed files."""
    newer: NotRequired[str]
    patch: NotRequired[str]
    """Of all files in one, as git takes it."""
    lacking: NotRequired[list[str]]
    """The files of which not everything is in the patch, with the reason."""
