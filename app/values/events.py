"""Events: what just happened in a session. One closed union for every face, for extensions and for tests.

A run goes: `agent_start`, then turns, then `agent_end`; when nothing will follow by itself (no retry, no
compaction to continue after, no queued message), `agent_settled`, exactly once. A turn goes: `turn_start`,
messages that are delivered now (system, user, custom), the assistant's message, its tool calls, their result
messages in call order, messages delivered beside them, `turn_end`. Whatever an event tells is recorded before
the event is published.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.values.approvals import Approval
from app.values.content import UserContent
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.entries import Entry
from app.values.messages import AssistantMessage, Message, ToolResultMessage
from app.values.models import Model
from app.values.pending import PendingChanged
from app.values.servers import McpServersChange
from app.values.stream import BlockEvent
from app.values.todos import TodoItem, TodoPhase
from app.values.usage import Usage
from app.values.wire import PRIVATE, Wire


class ToolOutcome(Wire, frozen=True, kw_only=True):
    """A tool's result on the wire."""

    content: tuple[UserContent, ...] = ()
    details: Any = None
    structured_content: Any = None
    usage: Usage | None = None
    terminate: bool | None = None


class AgentStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_start"):
    """A run begins. Then: `turn_start`."""


class AgentEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_end"):
    """A run is over, after its last `turn_end`. Then: a retry, an interruption, a compaction, another run, or
    `agent_settled`."""

    messages: tuple[Message, ...]
    will_retry: bool


class AgentSettled(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_settled"):
    """Nothing more happens by itself. Once per run that a person or program started."""

    aborted: bool


class TurnStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_start"):
    """One request to the model and what follows from it begins."""


class TurnEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_end"):
    """The turn's assistant message and all its results are recorded."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class MessageStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_start"):
    """A message enters the conversation; an assistant's is `pending` and empty. Then: its `message_end`."""

    message: Message


class MessageUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_update"):
    """More of the assistant message that was started last."""

    usage: Usage
    assistant_message_event: BlockEvent


class MessageEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_end"):
    """The message is complete and in the session file."""

    message: Message


class ToolExecutionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_start"):
    """In call order, after the assistant message's end."""

    tool_call_id: str
    tool_name: str
    args: Any
    parent_tool_call_id: str | None = None


class ToolExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_update"):
    """The result so far; each replaces the one before."""

    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: ToolOutcome
    parent_tool_call_id: str | None = None


class ToolExecutionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_end"):
    """In completion order; every started call ends. Its result message follows in call order."""

    tool_call_id: str
    tool_name: str
    result: ToolOutcome
    is_error: bool
    duration_ms: int | None = None
    """Absent when the tool never ran."""
    parent_tool_call_id: str | None = None
    message: ToolResultMessage | None = msgspec.field(name=PRIVATE + "message", default=None)
    """The result as the model will read it; recorded with this event."""


class QueueUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="queue_update"):
    """The waiting messages, all of them, after any change."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class EntryAppended(Wire, frozen=True, kw_only=True, tag_field="type", tag="entry_appended"):
    """An entry that no other event tells of was recorded."""

    entry: Entry


class SessionInfoChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_info_changed"):
    name: str | None = None


class SessionReplaced(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_replaced"):
    """The conversation is another one now: opened, new, forked, or moved to another point of the tree."""

    reason: Literal["new", "resume", "fork", "tree", "reload"]


class ModelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="model_changed"):
    model: Model
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_changed"):
    level: str


class AnswerInterrupted(Wire, frozen=True, kw_only=True, tag_field="type", tag="answer_interrupted"):
    """An answer was stopped because of what it said, by a rule for example, and leaves the context. After an
    `agent_end` with `will_retry`. Then: `agent_start`, whose turn delivers the message that says why.
    """

    message_id: str
    """Of the answer."""
    custom_type: str
    """Of the message that says why: `rule-violation`."""
    details: Any = None
    """That message's own."""


class CompactionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_start"):
    reason: Literal["manual", "threshold", "overflow"]


class CompactionProgress(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_progress"):
    """More of the summary that is being written."""

    delta: str
    source: Literal["compaction", "preview", "branchSummary"] = "compaction"
    """`preview`: of a compaction that counts only once the person says so."""


class CompactionResult(Wire, frozen=True, kw_only=True):
    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int | None = None
    usage: Usage | None = None
    details: Any = None


class CompactionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_end"):
    reason: Literal["manual", "threshold", "overflow"]
    result: CompactionResult | None = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None


class AutoRetryStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="auto_retry_start"):
    """After an `agent_end` with `will_retry`. Then, after the delay: `agent_start`, or `auto_retry_end`."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="auto_retry_end"):
    """A retried request succeeded, or no further one will be tried."""

    success: bool
    attempt: int
    final_error: str | None = None


class SummarizationRetryScheduled(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_scheduled"
):
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_attempt_start"
):
    source: Literal["compaction", "branchSummary"]
    reason: str | None = None


class SummarizationRetryFinished(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_finished"
):
    pass


class BashExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="bash_execution_update"):
    """More output of a command that the person runs."""

    id: str | None = None
    delta: str


class ProviderRequestPrepared(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_prepared"
):
    """A request is about to be sent; of its messages, those that none has delivered. Then: `delivered` or `failed`."""

    request_id: str
    session_id: str
    message_ids: Sequence[str]


class ProviderRequestDelivered(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_delivered"
):
    """Response headers arrived: the provider has read what was sent."""

    request_id: str
    status: int
    headers: dict[str, str]


class ProviderRequestFailed(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_failed"):
    request_id: str
    error_message: str


class ProviderWaiting(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_waiting"):
    """Nothing has come for a while: not yet (`waiting`) or no more (`stalled`), with the seconds until the request
    is given up (0: never). `flowing` when it goes on.
    """

    state: str
    seconds: float


class JobChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="job_changed"):
    """A background job began, ended, or was told of to the model."""

    job_id: str
    title: str
    state: Literal["running", "done", "failed", "killed", "delivered"]
    tool_call_id: str | None = None


class TodosChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="todos_changed"):
    """The list of todos is another one, by the agent, a person or a program."""

    phases: tuple[TodoPhase, ...]


class TodoReminder(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_reminder"):
    """The agent would have stopped with open items, and is reminded of them; its message follows."""

    todos: tuple[TodoItem, ...]
    attempt: int
    max_attempts: int


class TodoAutoClear(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_auto_clear"):
    """A list whose items were all closed was cleared away; behind `todos_changed`."""


class FileChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="file_changed"):
    """A tool changed a file: hashes of its bytes before and after (null: it did not exist)."""

    path: str
    tool_call_id: str
    before_hash: str | None
    after_hash: str | None
    mode_before: int | None = None
    mode_after: int | None = None
    added: int = 0
    removed: int = 0


class Notice(Wire, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """Something the person should read."""

    level: Literal["info", "warning", "error"]
    text: str
    about: Literal["contextFull"] | None = None
    """What it is about, where a face has something to offer for it."""


class ExtensionError(Wire, frozen=True, kw_only=True, tag_field="type", tag="extension_error"):
    extension_path: str
    event: str
    error: str


class PlanModeChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="plan_mode_changed"):
    """The agent may only look and plan from now on, or may act again."""

    is_on: bool


class PlanProposed(Wire, frozen=True, kw_only=True, gc=True):
    """What a question about a plan is about."""

    title: str
    plan: str
    """Markdown."""


class QuestionAsked(Wire, frozen=True, kw_only=True, gc=True, tag_field="type", tag="extension_ui_request"):
    """Somebody has to decide. Whoever shows it sets `answer`; cancelling the run cancels it."""

    id: str
    method: str
    title: str | None = None
    message: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    timeout: int | None = None
    approval: Approval | None = None
    """The question is whether a call may run."""
    plan: PlanProposed | None = None
    """The question is whether a plan is accepted."""
    form: Any = msgspec.field(name=PRIVATE + "form", default=None)
    """An `AskedForm`, for a face that shows all of its fields at once; others are asked one by one."""
    answer: Any = msgspec.field(name=PRIVATE + "answer", default=None)
    """An `asyncio.Future`, or None where nobody waits."""


RunEvent = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
)
"""What the loop tells."""

Event = (
    AgentStart
    | AgentEnd
    | AgentSettled  # behind them in the reference, too
    | RunEvent
    | QueueUpdate
    | EntryAppended
    | SessionInfoChanged
    | SessionReplaced
    | ModelChanged
    | ThinkingLevelChanged
    | CompactionStart
    | CompactionProgress
    | CompactionEnd
    | AutoRetryStart
    | AutoRetryEnd
    | AnswerInterrupted
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | BashExecutionUpdate
    | ProviderRequestPrepared
    | ProviderRequestDelivered
    | ProviderRequestFailed
    | ProviderWaiting
    | JobChanged
    | TodosChanged
    | TodoReminder
    | TodoAutoClear
    | PendingChanged
    | DiagnosticsStart
    | DiagnosticsEnd
    | PlanModeChanged
    | McpServersChange
    | FileChanged
    | Notice
    | ExtensionError
    | QuestionAsked
)
