"""Events: what happened in a session. One closed union for all user interfaces, extensions and tests.

A run emits `agent_start`, then turns, then `agent_end`; when no retry, compaction or queued message
follows, it emits `agent_settled` exactly once. A turn emits `turn_start`, the messages delivered now
(system, user, custom), the assistant's message, its tool calls, their result messages in call order,
messages delivered beside them, and `turn_end`. What an event reports is recorded before the event is
published."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from app.values.approvals import Approval
from app.values.content import UserContent
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.entries import Entry
from app.values.mcp_servers import McpServersChange
from app.values.messages import AssistantMessage, Message, StopReason, ToolResultMessage
from app.values.models import Model
from app.values.pending import PendingChanged
from app.values.stream import BlockEvent
from app.values.todos import GoalView, TodoItem, TodoPhase
from app.values.usage import Usage
from app.values.wire import PRIVATE_PREFIX, Wire


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
    """A run has ended, after its last `turn_end`. Then: a retry, an interruption, a compaction, another
    run, or `agent_settled`."""

    messages: tuple[Message, ...]
    will_retry: bool


class AgentSettled(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_settled"):
    """The agent is idle and continues only with new input. Once per run that a user or program started."""

    aborted: bool


class TurnStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_start"):
    """A turn begins: one request to the model, and its tool calls."""


class TurnEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_end"):
    """A turn has ended; its assistant message and all results are recorded."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class MessageStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_start"):
    """A message enters the conversation; an assistant's message is `pending` and empty. Then: its
    `message_end`."""

    message: Message
    message_id: str | None = None
    """The id of the message's entry in the session file."""


class MessageUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_update"):
    """The assistant message that started last has received more content."""

    usage: Usage
    assistant_message_event: BlockEvent
    message_id: str | None = None


class MessageEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_end"):
    """A message is complete and in the session file."""

    message: Message
    message_id: str | None = None


class ToolExecutionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_start"):
    """A tool call begins; in call order, after the assistant message's end."""

    tool_call_id: str
    tool_name: str
    args: Any
    parent_tool_call_id: str | None = None


class ToolExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_update"):
    """A tool call has a partial result, which replaces the previous one."""

    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: ToolOutcome
    parent_tool_call_id: str | None = None


class ToolExecutionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_end"):
    """A tool call has ended; in completion order, exactly once per started call. Result messages follow in
    call order."""

    tool_call_id: str
    tool_name: str
    result: ToolOutcome
    is_error: bool
    duration_ms: int | None = None
    """The duration of the tool's run in milliseconds; absent when the tool never ran."""
    parent_tool_call_id: str | None = None
    message: ToolResultMessage | None = msgspec.field(name=PRIVATE_PREFIX + "message", default=None)
    """The result message for the model, recorded with this event."""


class PromptFailure(Wire, frozen=True, kw_only=True):
    """Why a prompt has no answer."""

    message: str
    provider: str | None = None
    kind: str | None = None
    """`auth`, `rate_limit`, `server`, …; absent when no provider failed."""
    retryable: bool = False


class PromptResult(Wire, frozen=True, kw_only=True, tag_field="type", tag="prompt_result"):
    """The outcome of a prompt that was sent with an id: exactly one for each accepted prompt."""

    id: Any
    """The id of the request that sent the prompt."""
    agent_invoked: bool
    """Whether the prompt went to the agent; False for a command, or for words that an extension handled."""
    status: Literal["completed", "aborted", "error"]
    message_id: str | None = None
    """The id of the prompt's own message."""
    stop_reason: StopReason | None = None
    """The reason why the last answer to the prompt ended."""
    error: PromptFailure | None = None
    session_settled: bool = True
    """Whether the agent is idle now; False: the run goes on with prompts that were queued behind this one."""


class QueueUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="queue_update"):
    """The queues have changed; carries all queued messages."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class EntryAppended(Wire, frozen=True, kw_only=True, tag_field="type", tag="entry_appended"):
    """An entry was recorded that no other event reports."""

    entry: Entry


class SessionInfoChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_info_changed"):
    """The session has another name."""

    name: str | None = None


class SessionReplaced(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_replaced"):
    """The conversation was replaced: a session was opened, created or forked, or the user moved to another
    point of the tree."""

    reason: Literal["new", "resume", "fork", "tree", "reload"]


class ModelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="model_changed"):
    """The session has another model."""

    model: Model
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_changed"):
    """The session has another thinking level."""

    level: str


class AnswerInterrupted(Wire, frozen=True, kw_only=True, tag_field="type", tag="answer_interrupted"):
    """An answer was stopped because of its content, for example by a rule, and leaves the context. After
    an `agent_end` with `will_retry`. Then: `agent_start`, whose turn delivers the message that says
    why."""

    message_id: str
    """The id of the stopped answer."""
    custom_type: str
    """The type of the message that says why: `rule-violation`."""
    details: Any = None
    """The details of the message that says why the answer was stopped."""


class CompactionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_start"):
    """A compaction begins. Then: `compaction_end`."""

    reason: Literal["manual", "threshold", "overflow"]


class CompactionProgress(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_progress"):
    """More text of the summary that is being written."""

    delta: str
    source: Literal["compaction", "preview", "branchSummary"] = "compaction"
    """Why the summary is written; `preview` is a compaction that takes effect only if the user accepts it."""


class CompactionResult(Wire, frozen=True, kw_only=True):
    """The summary of a compaction, and the tokens before and after it."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int | None = None
    usage: Usage | None = None
    details: Any = None


class CompactionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_end"):
    """A compaction has ended, was stopped, or failed."""

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
    """A request for a summary failed and will be repeated after the delay."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_attempt_start"
):
    """A request for a summary is repeated."""

    source: Literal["compaction", "branchSummary"]
    reason: str | None = None


class SummarizationRetryFinished(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_finished"
):
    pass


class BashExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="bash_execution_update"):
    """A command that the user runs has more output."""

    id: str | None = None
    delta: str


class ProviderRequestPrepared(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_prepared"
):
    """A request will be sent; lists its messages that no earlier request has delivered. Then: `delivered`
    or `failed`."""

    request_id: str
    session_id: str
    message_ids: Sequence[str]


class ProviderRequestDelivered(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_delivered"
):
    """Response headers arrived, so the provider has received the request."""

    request_id: str
    status: int
    headers: dict[str, str]


class ProviderRequestFailed(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_failed"):
    """A request failed before response headers arrived."""

    request_id: str
    error_message: str


class ProviderWaiting(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_waiting"):
    """No data has arrived for a while: not yet (`waiting`) or no more (`stalled`), with the seconds until
    the request times out (0: never). `flowing` when data arrives again."""

    state: str
    seconds: float


class JobChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="job_changed"):
    """A background job began, ended, or was reported to the model."""

    job_id: str
    title: str
    state: Literal["running", "done", "failed", "killed", "delivered"]
    tool_call_id: str | None = None


class HelperChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="helper_changed"):
    """A helper agent was called, began, or ended."""

    helper_id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "stopped"]
    model: str = ""
    tool_call_id: str | None = None
    session_file: str | None = None
    """The session file of the helper; set once the helper has ended."""


class TodosChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="todos_changed"):
    """The agent, a user or a program changed the todo list."""

    phases: tuple[TodoPhase, ...]


class GoalChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="goal_changed"):
    """The goal was set, checked, stopped or removed, or its proof became stale."""

    view: GoalView | None = None
    """The state of the goal; None: there is no goal."""


class TodoReminder(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_reminder"):
    """The agent stopped with open items and is reminded of them; the reminder's message follows."""

    todos: tuple[TodoItem, ...]
    attempt: int
    max_attempts: int


class TodoAutoClear(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_auto_clear"):
    """A todo list with all items closed was cleared; follows `todos_changed`."""


class FileChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="file_changed"):
    """A tool changed a file. The hashes are of its content before and after (null: the file did not
    exist)."""

    path: str
    tool_call_id: str
    before_hash: str | None
    after_hash: str | None
    mode_before: int | None = None
    mode_after: int | None = None
    added: int = 0
    removed: int = 0


class Notice(Wire, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """A message for the user."""

    level: Literal["info", "warning", "error"]
    text: str
    about: Literal["contextFull"] | None = None
    """The subject of the notice, for user interfaces that offer an action for it."""


class ExtensionError(Wire, frozen=True, kw_only=True, tag_field="type", tag="extension_error"):
    """An extension raised an error in a handler."""

    extension_path: str
    event: str
    error: str


class PlanModeChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="plan_mode_changed"):
    """Plan mode was turned on, in which the agent only reads and plans, or off."""

    is_on: bool


class PlanProposed(Wire, frozen=True, kw_only=True, gc=True):
    """The plan that a question asks to accept."""

    title: str
    plan: str
    """The text of the plan in Markdown."""


class QuestionAsked(Wire, frozen=True, kw_only=True, gc=True, tag_field="type", tag="extension_ui_request"):
    """A question to the user. The user interface that shows it sets `answer`; cancelling the run cancels
    it."""

    id: str
    method: str
    title: str | None = None
    message: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    timeout: int | None = None
    approval: Approval | None = None
    """The call to decide on, if the question is whether a call may run; None otherwise."""
    plan: PlanProposed | None = None
    """The proposed plan, if the question is whether a plan is accepted; None otherwise."""
    form: Any = msgspec.field(name=PRIVATE_PREFIX + "form", default=None)
    """The form that the question belongs to (a `UserForm`), for user interfaces that show all its fields at once;
    others ask field by field."""
    answer: Any = msgspec.field(name=PRIVATE_PREFIX + "answer", default=None)
    """The future on which the user interface sets the answer (an `asyncio.Future`); None when no answer is awaited."""


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
"""The events that the agent loop yields."""

Event = (
    AgentStart
    | AgentEnd
    | AgentSettled  # behind them in the reference, too
    | RunEvent
    | PromptResult
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
    | HelperChanged
    | TodosChanged
    | GoalChanged
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
