"""Defines the payload that each hook passes and the answer it accepts. `answers` combines the answers of
several handlers.

Payloads that a handler may change in place say so; all others are values. An answer may be given as one of
these structs or as a dict with the same keys.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from app.compaction.touched_files import FileLists
from app.values.content import Image, UserContent
from app.values.entries import BranchSummaryEntry, CompactionEntry
from app.values.messages import AssistantMessage, CustomMessage, Message, ToolResultMessage
from app.values.models import Model
from app.values.usage import Usage


class Payload(msgspec.Struct, kw_only=True):
    """What a handler gets as its first argument."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a handler may return. A field left out leaves the decision to other handlers and to bayou."""


# Starting, trusting, finding


class ProjectTrust(Payload, kw_only=True):
    """Asks whether a project's own files are trusted. Only extensions from outside the project receive this
    hook."""

    cwd: Path
    items: tuple[str, ...] = ()
    """What the project would run, one line each."""


class TrustAnswer(Answer, frozen=True, kw_only=True):
    """Decides whether the project is trusted; `remember` saves the decision."""

    trusted: Literal["yes", "no", "undecided"] = "undecided"
    remember: bool = False


class ResourcesDiscover(Payload, kw_only=True):
    """Asks for further paths of skills, prompts and themes."""

    cwd: Path
    reason: Literal["startup", "reload"]


class ResourcePaths(Answer, frozen=True, kw_only=True):
    """Further paths of skills, prompts and themes."""

    skill_paths: tuple[str, ...] = ()
    prompt_paths: tuple[str, ...] = ()
    theme_paths: tuple[str, ...] = ()


class SessionStart(Payload, kw_only=True):
    """A session has started, with the reason."""

    reason: Literal["startup", "reload", "new", "resume", "fork"]
    previous_session_file: Path | None = None


class SessionShutdown(Payload, kw_only=True):
    """A session is about to end, with the reason."""

    reason: Literal["quit", "reload", "new", "resume", "fork"]
    target_session_file: Path | None = None


# Changing the conversation as a whole


class SessionBeforeSwitch(Payload, kw_only=True):
    """Asks whether the session may be left for another one."""

    reason: Literal["new", "resume"]
    target_session_file: Path | None = None


class SessionBeforeFork(Payload, kw_only=True):
    """Asks whether the session may be forked at an entry."""

    entry_id: str
    position: Literal["before", "at"] = "before"


class CancelAnswer(Answer, frozen=True, kw_only=True):
    """Cancels the action when `cancel` is true."""

    cancel: bool = False


class SessionBeforeCompact(Payload, kw_only=True):
    """Asks before a compaction, which an answer may cancel or replace."""

    reason: Literal["manual", "threshold", "overflow"]
    messages: tuple[Message, ...]
    """The messages that would be summarised."""
    kept: tuple[Message, ...] = ()
    first_kept_entry_id: str = ""
    tokens_before: int = 0
    previous_summary: str | None = None
    custom_instructions: str | None = None
    will_retry: bool = False
    file_ops: FileLists = FileLists()
    """Files read and changed in the messages to be summarised, including those of earlier summaries."""


class CompactionText(Answer, frozen=True, kw_only=True):
    """A summary that replaces bayou's own."""

    summary: str
    first_kept_entry_id: str | None = None
    tokens_before: int | None = None
    """The token count of the context, when the extension counts it better than bayou."""
    details: Any = None
    usage: Usage | None = None
    """The usage of writing the summary, added to the session's."""


class CompactAnswer(Answer, frozen=True, kw_only=True):
    """Cancels a compaction, replaces it, or changes its instructions."""

    cancel: bool = False
    compaction: CompactionText | None = None
    custom_instructions: str | None = None


class SessionCompact(Payload, kw_only=True):
    """A compaction was recorded."""

    entry: CompactionEntry
    from_extension: bool
    reason: Literal["manual", "threshold", "overflow"]


class SessionCompactFailed(Payload, kw_only=True):
    """A compaction failed or was aborted."""

    reason: Literal["manual", "threshold", "overflow"]
    error_message: str | None = None
    aborted: bool = False


class SessionBeforeTree(Payload, kw_only=True):
    """Asks before the session moves to another entry of its tree."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None = None
    messages: tuple[Message, ...] = ()
    """The messages of the branch that is left."""
    wants_summary: bool = False
    custom_instructions: str | None = None
    replace_instructions: bool = False
    label: str | None = None


class TreeSummary(Answer, frozen=True, kw_only=True):
    """A branch summary that replaces bayou's own."""

    summary: str
    details: Any = None
    usage: Usage | None = None
    """The usage of writing the summary, added to the session's."""


class TreeAnswer(Answer, frozen=True, kw_only=True):
    """Cancels a move in the tree, or changes its summary, instructions or label."""

    cancel: bool = False
    summary: TreeSummary | None = None
    custom_instructions: str | None = None
    replace_instructions: bool | None = None
    """True: the instructions replace bayou's own instead of adding to them."""
    label: str | None = None
    """The label of the summary or, without a summary, of the entry that the session moves to."""


class SessionTree(Payload, kw_only=True):
    """The session has moved to another entry of its tree."""

    new_leaf_id: str | None
    old_leaf_id: str | None
    summary: str | None = None
    entry: BranchSummaryEntry | None = None
    """The summary as it was recorded."""
    from_extension: bool = False
    """Whether an extension wrote the summary."""


# A prompt and what the model reads


class Input(Payload, kw_only=True):
    """A prompt as the user sent it, before bayou handles it."""

    text: str
    images: tuple[Image, ...] = ()
    source: Literal["interactive", "rpc", "print", "extension"] = "interactive"
    while_running: Literal["steer", "follow_up"] | None = None


class InputAnswer(Answer, frozen=True, kw_only=True):
    """Lets a prompt pass, changes it, or takes it over."""

    action: Literal["continue", "transform", "handled", "refuse"] = "continue"
    """`handled`: it goes no further. `refuse`: nothing was done; the user keeps it and sees the reason."""
    text: str | None = None
    images: tuple[Image, ...] | None = None
    reason: str = ""


class BeforeAgentStart(Payload, kw_only=True):
    """A run is about to start with this prompt."""

    prompt: str
    images: tuple[Image, ...] = ()
    system_prompt: str = ""
    sections: dict[str, str] = {}
    """Sections of this session's prompt that extensions own. May be changed in place."""
    message: CustomMessage | None = None
    """Set when the run begins with an extension's message instead of a prompt."""


class BeforeAgentStartAnswer(Answer, frozen=True, kw_only=True):
    """Adds a message to a run, or replaces its system prompt."""

    message: CustomMessage | None = None
    """A message that is added to the conversation before the prompt."""
    system_prompt: str | None = None


class ContextPayload(Payload, kw_only=True):
    """The messages of the next request."""

    messages: tuple[Message, ...]


class ContextAnswer(Answer, frozen=True, kw_only=True):
    """Replaces the messages of the next request."""

    messages: tuple[Message, ...] | None = None


class BeforeProviderRequest(Payload, kw_only=True):
    """The body of a request to the provider."""

    model: Model | None = None
    payload: dict[str, Any]
    request_id: str = ""
    """The same id as in `provider_request_prepared` and `…_delivered`."""
    message_ids: tuple[str, ...] = ()
    """The ids of all messages in the request, including messages that earlier requests delivered."""


class PayloadAnswer(Answer, frozen=True, kw_only=True):
    """Replaces the body of a request."""

    payload: dict[str, Any] | None = None


class BeforeProviderHeaders(Payload, kw_only=True):
    """The headers of a request to the provider."""

    headers: dict[str, str | None]
    """May be changed in place; None suppresses a header."""


class AfterProviderResponse(Payload, kw_only=True):
    """Status and headers of a provider's response."""

    status: int
    headers: dict[str, str]
    request_id: str = ""
    message_ids: tuple[str, ...] = ()


class ProviderStreamEvent(Payload, kw_only=True):
    """One event of a provider's response stream."""

    provider: str
    api: str
    model: str
    event: str
    """The event's name, where the format has names."""
    data: Any
    """The event's JSON as plain data, or its text."""


# Turns, messages, tools


class Draft(Answer, frozen=True, kw_only=True):
    """An entry that is added at a turn's boundary."""

    type: Literal["custom", "custom_message", "context_edit", "compaction"]
    custom_type: str = ""
    data: Any = None
    content: str | tuple[UserContent, ...] = ""
    display: bool = True
    details: Any = None
    target_id: str = ""
    replacement: dict[str, Any] | None = None
    summary: str = ""
    """A compaction's summary, which replaces everything before the first kept entry."""
    first_kept_entry_id: str | None = None
    """None: bayou chooses the entry."""


class TurnEnded(Payload, kw_only=True):
    """A turn has ended, with its answer and tool results."""

    turn_index: int
    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class BeforeSettle(Payload, kw_only=True):
    """A run is about to settle, with its outcome."""

    outcome: Literal["completed", "error"]
    message: AssistantMessage | None = None


class BoundaryAnswer(Answer, frozen=True, kw_only=True):
    """Adds entries at a turn's boundary, or decides whether the run goes on."""

    entries: tuple[Draft, ...] = ()
    continue_: bool | None = msgspec.field(name="continue", default=None)
    """False ends the run here, True asks for one more turn."""


class HelperBeforeSettle(Payload, kw_only=True):
    """A helper agent has answered and is about to end."""

    kind: str
    """The name of its kind."""
    tool_call_id: str
    """The call of `task` that started it."""
    session_file: Path | None = None
    times_continued: int
    """How often it was sent on before."""
    message: AssistantMessage


class HelperBoundaryAnswer(Answer, frozen=True, kw_only=True):
    """Sends a helper on."""

    prompt: str | None = None
    """The message for the helper; None lets it end."""


class FileToDiagnose(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the agent changed."""

    path: str
    """The absolute path."""
    before: str | None = None
    """The text before the change; None: the file did not exist."""
    is_there: bool = True
    """False: the agent removed the file."""


class Diagnose(Payload, kw_only=True):
    """Asks for problems in files that the agent changed."""

    files: tuple[FileToDiagnose, ...]


class FoundProblem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A problem at one place of a file."""

    path: str
    """An absolute path, or one relative to the session's folder."""
    line: int
    column: int = 0
    text: str
    code: str = ""
    source: str = ""
    severity: Literal["error", "warning", "note"] = "error"
    is_new: bool | None = None
    """True: the problem is new; None: it counts as new when its line was changed."""


class DiagnoseAnswer(Answer, frozen=True, kw_only=True):
    """The problems found in changed files."""

    problems: tuple[FoundProblem, ...] = ()


class MessageEnded(Payload, kw_only=True):
    """A message is complete."""

    message: Message


class MessageAnswer(Answer, frozen=True, kw_only=True):
    """Replaces a complete message."""

    message: Message | None = None
    """The replacement must keep the message's role."""


class ToolCallPayload(Payload, kw_only=True):
    """A tool call before it runs."""

    tool_call_id: str
    tool_name: str
    input: dict[str, Any]
    """The arguments may be changed in place; the result must match the tool's schema."""
    parent_tool_call_id: str | None = None
    """Set when a tool calls another within its own call."""


class ToolCallAnswer(Answer, frozen=True, kw_only=True):
    """Blocks a tool call with a reason, and may end the run."""

    block: bool = False
    reason: str = ""
    terminate: bool = False


class ToolResultPayload(Payload, kw_only=True):
    """A tool call's result before the model gets it."""

    tool_call_id: str
    tool_name: str
    input: dict[str, Any]
    content: tuple[UserContent, ...]
    details: dict[str, Any] | None = None
    structured_content: Any = None
    is_error: bool = False
    parent_tool_call_id: str | None = None


class ToolResultAnswer(Answer, frozen=True, kw_only=True):
    """Replaces parts of a tool call's result."""

    content: tuple[UserContent, ...] | None = None
    details: dict[str, Any] | None = None
    structured_content: Any = None
    is_error: bool | None = None


class UserBash(Payload, kw_only=True):
    """A shell command that the user entered, before it runs."""

    command: str
    exclude_from_context: bool = False
    cwd: Path = Path()


class BashResult(Answer, frozen=True, kw_only=True):
    """The output and exit code of a shell command."""

    output: str
    exit_code: int | None = 0


class UserBashAnswer(Answer, frozen=True, kw_only=True):
    """Changes, answers or blocks a shell command of the user."""

    command: str | None = None
    """The command that runs instead."""
    result: BashResult | None = None
    """The result to use without running anything."""
    block: bool = False
    reason: str = ""


class Spawn(Payload, kw_only=True):
    """A command for the shell, from the agent or `!`, before its process starts."""

    command: str
    cwd: Path
    environment: dict[str, str]
    """All variables that the command will see."""


class SpawnAnswer(Answer, frozen=True, kw_only=True):
    """Changes or blocks a command for the shell."""

    command: str | None = None
    """The command that runs instead."""
    cwd: Path | None = None
    environment: dict[str, str] | None = None
    """Variables added to those that the command sees anyway."""
    block: bool = False
    reason: str = ""
    """The reason given to the model."""


# The model and questions


class ModelSelect(Payload, kw_only=True):
    """The session's model has changed."""

    model: Model
    previous_model: Model | None = None
    source: Literal["set", "cycle", "restore"] = "set"


class ThinkingLevelSelect(Payload, kw_only=True):
    """The session's thinking level has changed."""

    level: str
    previous_level: str | None = None


class QuestionWaits(Payload, kw_only=True):
    """bayou waits for an answer of the user."""

    title: str
    is_approval: bool = False
    """Whether the question is if a tool call may run."""


class UiPromptStart(Payload, kw_only=True):
    """An extension is about to ask the user a question."""

    kind: Literal["select", "confirm", "input", "editor", "custom"]
    title: str = ""


class UiPromptEnd(UiPromptStart, kw_only=True):
    """The question of an extension has ended."""

    pass
