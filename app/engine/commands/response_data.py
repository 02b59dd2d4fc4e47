"""Response data of the commands, with the field names used on the wire. The RPC reference is made from these
types."""

from typing import Any, Literal, NotRequired, TypedDict

from app.agent.loop_ports import InterruptMode
from app.agent.message_queues import QueueMode
from app.engine.jobs.background_jobs import JobState
from app.undo.change_records import RestoreChoice
from app.values.entries import BranchSummaryEntry, Entry
from app.values.messages import ToolDeclaration
from app.values.models import Model, ThinkingLevel
from app.values.todos import TodoPhase


class Removed(TypedDict):
    """The texts of messages that were removed from the queues."""

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
    """The id that the cell's `tool_execution` events carry."""
    output: str
    """The cell's output as the model reads it; pictures are in the message or entry that records the cell."""
    pictures: int
    isError: bool
    details: Any


class KernelName(TypedDict):
    name: str
    type: str
    value: str
    """The value of the name as text, or its size if that says more; empty if the value cannot be shown without
    running code."""


class Kernel(TypedDict):
    state: Literal["none", "idle", "busy"]
    interpreter: NotRequired[str]
    found: NotRequired[str]
    """The source that names the kernel's interpreter: `.venv`, `eval.python`, `python3`."""
    version: NotRequired[str]
    pid: NotRequired[int]
    memory: NotRequired[int]
    """The memory that the kernel uses, in bytes."""
    cells: int
    """The number of cells that the kernel has run."""
    names: list[KernelName]
    """The names defined in the kernel; empty while a cell runs."""


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
    """Whether plan mode is on, in which nothing changes until the user accepts a plan."""
    addedFolders: list[str]
    """The folders that the session works in besides its own."""
    todoPhases: list[TodoPhase]
    """The todo list at the session's current entry."""
    systemPrompt: str
    """The system prompt of the next request."""
    tools: list[ToolDeclaration]
    """The tools that the model has, with the schemas of their arguments."""


class PendingResolved(TypedDict):
    id: str
    done: bool
    """Whether the staged changes were applied or discarded; False if a file had changed, so that nothing was
    written."""
    text: str


class PermissionRule(TypedDict):
    deed: Literal["allow", "ask", "deny"]
    text: str
    origin: Literal["user", "folder", "project", "session"]


class PermissionVerdict(TypedDict):
    toolCallId: str
    toolName: str
    letter: str
    """The risk class of the call: `safe`, `contained` or `forbidden`."""
    why: str
    decision: str
    by: str


class Permissions(TypedDict):
    mode: Literal["read-only", "ask", "auto-edit", "full"]
    hasBox: bool
    """Whether commands run in a sandbox that lets them write only the workspace."""
    rules: list[PermissionRule]
    problems: list[str]
    """The errors of permission rules that cannot be read."""
    verdicts: list[PermissionVerdict]
    """The last twenty permission decisions."""


class Sandbox(TypedDict):
    setting: Literal["auto", "off", "required"]
    step: Literal["namespaces", "namespaces without landlock", "landlock", "seatbelt", "none"]
    """The strongest sandbox that this system supports."""
    why: str
    """The reason why the system supports no stronger sandbox."""
    isInForce: bool
    """Whether the agent's next command runs in the sandbox."""
    network: str
    writable: list[str]
    guarded: list[str]
    """The read-only paths inside the places that commands may write."""
    hidden: list[str]


class SecretMasked(TypedDict):
    mark: str
    """The placeholder that replaces the secret."""
    kind: str
    digest: str
    """The digest of the secret, which is the last part of its placeholder."""
    where: str
    """The most recent source of the secret: a tool with its path, or the prompt."""
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


class ContextUsage(TypedDict):
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
    contextUsage: NotRequired[ContextUsage]


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
    """The child nodes of the entry, of this same type, sorted by time."""
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
    """The end of the job's output; only in the answer about a single job."""


class HelperInfo(TypedDict):
    id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "stopped"]
    model: str
    tool: str
    """The tool that the helper is using; empty between tools."""
    turns: int
    tokens: int
    cost: float
    seconds: float
    toolCallId: str
    isIsolated: bool
    sessionFile: NotRequired[str]
    lines: NotRequired[list[str]]
    """Lines on what the helper has done so far; only in the answer about a single helper."""
    answer: NotRequired[str]


class RestoreRow(TypedDict):
    """One file of a planned restore, and what happens to it."""

    path: str
    state: Literal["ready", "conflict", "same", "unheld", "refused"]
    """The state of the file for the restore. `conflict`: it is not as the session left it, and stays unless the
    user chooses otherwise. `unheld`, `refused`: it always stays."""
    deed: str
    why: NotRequired[str]
    by: NotRequired[str]
    """The tools and commands that had changed the file."""
    added: int
    removed: int
    canMerge: bool
    choice: RestoreChoice
    """The choice that applies to the file by default."""
    diff: NotRequired[str]


class RestorePreview(TypedDict):
    title: str
    """The prompt before which the files are restored, or the last prompt before the entry."""
    entryId: NotRequired[str]
    digest: str
    added: int
    removed: int
    files: list[RestoreRow]
    heads: list[str]
    """Moves of git's HEAD since then, which the restore does not revert."""


class KeptFile(TypedDict):
    path: str
    why: str


class RestoredFiles(TypedDict):
    restored: int
    kept: list[KeptFile]
    entryId: NotRequired[str]
    """The entry that records the restore; absent when nothing was changed."""


class ChangedFile(TypedDict):
    path: str
    deed: str
    """The kind of the change: `new`, `removed`, `changed`, `mode 644 → 755`, `unknown`."""
    added: int
    removed: int
    by: NotRequired[str]
    """The calls that changed the file."""
    why: NotRequired[str]
    """A remark on the file: another program changed it in between, or its content is not stored."""


class ChangedHunk(TypedDict):
    """One hunk of a file's change, which is kept or taken back as a whole."""

    id: str
    """The id of the hunk, which stays the same as long as the change is the same, wherever its lines are."""
    kind: Literal["lines", "file", "mode", "move"]
    """The kind of the hunk: `lines`; `file` for all of a new, removed or binary file; `mode`; `move` for the file's
    new name."""
    state: Literal["open", "kept", "taken_back", "conflict"]
    why: NotRequired[str]
    """The reason why the hunk cannot be taken back or put back."""
    first: int
    """The number of the hunk's first changed line; 0 if the hunk has no lines."""
    last: int
    added: int
    removed: int
    note: NotRequired[str]
    """A description of a change that no lines show."""
    patch: NotRequired[str]


class ReviewedFileRow(TypedDict):
    path: str
    deed: str
    movedFrom: NotRequired[str]
    folded: NotRequired[str]
    """The reason why the file's hunks need no review: `lock file`, `generated`, `vendored`."""
    why: NotRequired[str]
    hunks: list[ChangedHunk]


class ReviewedChangesData(TypedDict):
    title: str
    files: list[ReviewedFileRow]


class FileDifferences(TypedDict):
    title: str
    note: NotRequired[str]
    """The position of this list among those of the prompts that changed files."""
    added: int
    removed: int
    files: list[ChangedFile]
    older: NotRequired[str]
    """The id of the previous prompt that changed files."""
    newer: NotRequired[str]
    """The id of the next prompt that changed files."""
    patch: NotRequired[str]
    """The patch of all files, in a form that git can apply."""
    lacking: NotRequired[list[str]]
    """The files that are not completely in the patch, with the reason."""
