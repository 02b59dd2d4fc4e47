"""Response data of the commands, with the field names used on the wire. The RPC reference is made from these
types."""

from typing import Any, Literal, NotRequired, TypedDict

from app.agent.loop_ports import InterruptMode
from app.agent.queues import QueueMode
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
    """The output as the model reads it; pictures are in the message or entry that records the cell."""
    pictures: int
    isError: bool
    details: Any


class KernelName(TypedDict):
    name: str
    type: str
    value: str
    """The value, or its size where that says more; empty where it cannot be told without running code."""


class Kernel(TypedDict):
    state: Literal["none", "idle", "busy"]
    interpreter: NotRequired[str]
    found: NotRequired[str]
    """How the interpreter was found: `.venv`, `eval.python`, `python3`."""
    version: NotRequired[str]
    pid: NotRequired[int]
    memory: NotRequired[int]
    """Memory in bytes."""
    cells: int
    """Number of cells that the kernel has run."""
    names: list[KernelName]
    """The defined names; empty while a cell runs."""


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
    """False: the changes were to be applied, but a file had changed, and nothing was written."""
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
    """Commands run in a sandbox that reaches only the workspace."""
    rules: list[PermissionRule]
    problems: list[str]
    """Errors in rules that cannot be read."""
    verdicts: list[PermissionVerdict]
    """The last twenty decisions."""


class Sandbox(TypedDict):
    setting: Literal["auto", "off", "required"]
    step: Literal["namespaces", "namespaces without landlock", "landlock", "seatbelt", "none"]
    """The strongest sandbox that this system supports."""
    why: str
    """Why the system supports no stronger sandbox."""
    isInForce: bool
    """Whether the agent's next command runs in the sandbox."""
    network: str
    writable: list[str]
    guarded: list[str]
    """Read-only paths within writable places."""
    hidden: list[str]


class SecretMasked(TypedDict):
    mark: str
    """The placeholder that replaces the secret."""
    kind: str
    digest: str
    """The last part of the placeholder."""
    where: str
    """The most recent source: a tool with its path, or the prompt."""
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
    """The end of the output; only in the answer about a single job."""


class HelperInfo(TypedDict):
    id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "stopped"]
    model: str
    tool: str
    """The tool that it is using; empty between tools."""
    turns: int
    tokens: int
    cost: float
    seconds: float
    toolCallId: str
    isIsolated: bool
    sessionFile: NotRequired[str]
    lines: NotRequired[list[str]]
    """What it has done so far; only in the answer about a single helper."""
    answer: NotRequired[str]


class RestoreRow(TypedDict):
    """One file of a planned restore, and what happens to it."""

    path: str
    state: Literal["ready", "conflict", "same", "unheld", "refused"]
    """`conflict`: the file is not as the session left it, and stays unless chosen. `unheld`, `refused`: it
    always stays."""
    deed: str
    why: NotRequired[str]
    by: NotRequired[str]
    """What had changed the file: tools and commands."""
    added: int
    removed: int
    canMerge: bool
    choice: RestoreChoice
    """What happens to the file by default."""
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
    """`new`, `removed`, `changed`, `mode 644 → 755`, `unknown`."""
    added: int
    removed: int
    by: NotRequired[str]
    """The calls that changed the file."""
    why: NotRequired[str]
    """A caveat: another program changed the file in between, or its content is not stored."""


class ChangedHunk(TypedDict):
    """One hunk of a file's change, which is kept or taken back as a whole."""

    id: str
    """The same as long as the change is the same, wherever its lines are."""
    kind: Literal["lines", "file", "mode", "move"]
    """`file`: all of a new, removed or binary file. `move`: the file's new name."""
    state: Literal["open", "kept", "taken_back", "conflict"]
    why: NotRequired[str]
    """Why it cannot be taken or put back."""
    first: int
    """The first changed line; 0 if the hunk has no lines."""
    last: int
    added: int
    removed: int
    note: NotRequired[str]
    """What changed where no lines show it."""
    patch: NotRequired[str]


class ReviewedFileRow(TypedDict):
    path: str
    deed: str
    movedFrom: NotRequired[str]
    folded: NotRequired[str]
    """Why it needs no look: `lock file`, `generated`, `vendored`."""
    why: NotRequired[str]
    hunks: list[ChangedHunk]


class ReviewedChangesData(TypedDict):
    title: str
    files: list[ReviewedFileRow]


class FileDifferences(TypedDict):
    title: str
    note: NotRequired[str]
    """The position among the prompts that changed files."""
    added: int
    removed: int
    files: list[ChangedFile]
    older: NotRequired[str]
    """The previous prompt that changed files."""
    newer: NotRequired[str]
    """The next prompt that changed files."""
    patch: NotRequired[str]
    """A patch of all files that git can apply."""
    lacking: NotRequired[list[str]]
    """The files that are not completely in the patch, with the reason."""
