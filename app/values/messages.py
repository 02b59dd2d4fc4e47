"""Messages: what the model reads, in pi's wire format.

Each message has an id from its creation (`id`, the same as its session entry's), which is not part of
the JSON."""

from typing import Any, Literal

import msgspec

from app.values.content import AssistantContent, Image, Text, Thinking, ToolCall, UserContent
from app.values.usage import Usage
from app.values.wire import PRIVATE_PREFIX, Wire, new_id, now_ms

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]
BLOCKED_PREFIX = "BLOCKED:"
"""The prefix of the last line of an answer by which an agent says that it cannot continue."""


class _Message(Wire, frozen=True, kw_only=True, tag_field="role", tag="*message"):
    id: str = msgspec.field(name=PRIVATE_PREFIX + "id", default_factory=new_id)
    timestamp: int | float = msgspec.field(default_factory=now_ms)
    """Unix time in milliseconds."""


class ToolDeclaration(Wire, frozen=True, kw_only=True):
    """A tool as declared to the model."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default={})
    constrained_sampling: Any = None


class ToolName(Wire, frozen=True, kw_only=True):
    """The name of a tool that is no longer declared to the model."""

    name: str


class SystemMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="system"):
    """The prompt's sections and the declared tools, or their changes since the last system message."""

    content: str | tuple[UserContent, ...] = ""
    sections: dict[str, str | None] | None = None
    tools_added: tuple[ToolDeclaration, ...] | None = None
    tools_removed: tuple[ToolName, ...] | None = None


class UserMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """A prompt of the user."""

    content: str | tuple[UserContent, ...]


class AssistantMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """An answer of the model."""

    content: tuple[AssistantContent, ...] = ()
    api: str = ""
    provider: str = ""
    model: str = ""
    response_model: str | None = None
    response_id: str | None = None
    provider_thinking_level: Any = None
    thinking_level: str | None = None
    diagnostics: Any = None
    usage: Usage = Usage()
    stop_reason: StopReason = "stop"
    deferred: dict[str, Any] | None = None
    error_message: str | None = None
    raw_stop_reason: str | None = None
    end_turn: bool | None = None
    duration_ms: int | float | None = None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def asks_something(self) -> bool:
        """Whether the last paragraph of the model's answer asks the user a question."""
        paragraph = self.text.rstrip().rpartition("\n\n")[2]
        return any(line.rstrip(' *_`)"”»').endswith(("?", "？", "؟")) for line in paragraph.splitlines())

    @property
    def blocked_on(self) -> str:
        """The text of the answer's last line if it begins with `BLOCKED:`, in which an agent says what it needs to
        continue; empty otherwise."""
        last = self.text.rstrip().rsplit("\n", 1)[-1].strip(" *`")
        if not last.startswith(BLOCKED_PREFIX):
            return ""
        return last.removeprefix(BLOCKED_PREFIX).strip(" *`") or "no reason given"

    @property
    def thinking(self) -> str:
        return "".join(block.thinking for block in self.content if isinstance(block, Thinking))


class ToolResultMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="toolResult"):
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    content: tuple[UserContent, ...] = ()
    details: Any = None
    usage: Usage | None = None
    nested_calls: dict[str, Any] | None = None
    is_error: bool = False
    duration_ms: int | float | None = None


class BashExecutionMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="bashExecution"):
    """A command that the user ran with `!`."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool | None = None


class CustomMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="custom"):
    """A message of an extension or of bayou (file map, background result); the model reads it as a user
    message."""

    custom_type: str
    content: str | tuple[UserContent, ...]
    display: bool = True
    details: Any = None


class BranchSummaryMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="branchSummary"):
    """The summary of a branch that the user left."""

    summary: str
    from_id: str


class CompactionSummaryMessage(
    _Message, frozen=True, kw_only=True, tag_field="role", tag="compactionSummary"
):
    """The summary that replaces compacted messages."""

    summary: str
    tokens_before: int


class UnknownMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="*unknown"):
    """A message with an unknown role; preserved in the file, never sent."""

    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")


Message = (
    SystemMessage
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
    | UnknownMessage
)


def user_message(text: str, images: tuple[Image, ...] = ()) -> UserMessage:
    return UserMessage(content=(Text(text=text), *images))
