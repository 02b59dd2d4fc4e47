"""The ACP messages about a running session: updates, and permission requests for tool calls. Tests check every
line against the protocol's schema."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tools.tool_result_values import ToolKind

CallStatus = Literal["pending", "in_progress", "completed", "failed"]
PlanStatus = Literal["pending", "in_progress", "completed"]
PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class AcpMessagePart(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a message; absent values are left out."""


class TextContent(AcpMessagePart, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(AcpMessagePart, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


Block = TextContent | ImageContent


class ToolCallContent(AcpMessagePart, frozen=True, tag_field="type", tag="content"):
    """Text or an image that belongs to a call."""

    content: Block


class FileDiffContent(AcpMessagePart, frozen=True, tag_field="type", tag="diff"):
    """A file that a tool call changed, with its whole old and new text."""

    path: str
    new_text: str
    old_text: str | None = None


class TerminalContent(AcpMessagePart, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


CallContent = ToolCallContent | FileDiffContent | TerminalContent


class CallLocation(AcpMessagePart, frozen=True):
    path: str
    line: int | None = None


class _Update(AcpMessagePart, frozen=True, tag_field="sessionUpdate"):
    pass


class UserMessageChunk(_Update, frozen=True, tag="user_message_chunk"):
    content: Block
    message_id: str | None = None


class AgentMessageChunk(_Update, frozen=True, tag="agent_message_chunk"):
    content: Block
    message_id: str | None = None


class AgentThoughtChunk(_Update, frozen=True, tag="agent_thought_chunk"):
    content: Block
    message_id: str | None = None


class ToolCallStartUpdate(_Update, frozen=True, tag="tool_call"):
    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[CallContent] | None = None
    locations: Sequence[CallLocation] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class ToolCallProgressUpdate(_Update, frozen=True, tag="tool_call_update"):
    tool_call_id: str
    title: str | None = None
    status: CallStatus | None = None
    content: Sequence[CallContent] | None = None
    locations: Sequence[CallLocation] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class PlanUpdateEntry(AcpMessagePart, frozen=True):
    content: str
    priority: Literal["high", "medium", "low"]
    status: PlanStatus


class PlanUpdate(_Update, frozen=True, tag="plan"):
    entries: Sequence[PlanUpdateEntry]


class CommandInputHint(AcpMessagePart, frozen=True):
    hint: str


class OfferedSlashCommand(AcpMessagePart, frozen=True):
    """A slash command that the client completes."""

    name: str
    description: str
    input: CommandInputHint | None = None


class SlashCommandsUpdate(_Update, frozen=True, tag="available_commands_update"):
    available_commands: Sequence[OfferedSlashCommand]


class SessionModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str


class SessionOptionValue(AcpMessagePart, frozen=True):
    """A value that the user can choose for a session option."""

    value: str
    name: str
    description: str | None = None


class SessionOptionValueGroup(AcpMessagePart, frozen=True):
    group: str
    name: str
    options: Sequence[SessionOptionValue]


class SessionConfigOption(AcpMessagePart, frozen=True, tag_field="type", tag="select"):
    """A setting of a session that the client shows."""

    id: str
    name: str
    category: Literal["mode", "model", "thought_level"]
    current_value: str
    options: Sequence[SessionOptionValue] | Sequence[SessionOptionValueGroup]
    description: str | None = None


class SessionOptionsUpdate(_Update, frozen=True, tag="config_option_update"):
    config_options: Sequence[SessionConfigOption]


class SessionInfoUpdate(_Update, frozen=True, tag="session_info_update"):
    title: str | None = None


class SessionCost(AcpMessagePart, frozen=True):
    amount: float
    currency: str


class SessionUsageUpdate(_Update, frozen=True, tag="usage_update"):
    used: int
    size: int
    cost: SessionCost | None = None


Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStartUpdate
    | ToolCallProgressUpdate
    | PlanUpdate
    | SlashCommandsUpdate
    | SessionModeUpdate
    | SessionOptionsUpdate
    | SessionInfoUpdate
    | SessionUsageUpdate
)


class SessionUpdateParams(AcpMessagePart, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update


class PermissionToolCall(AcpMessagePart, frozen=True):
    """A tool call as a permission request shows it."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[CallContent]
    locations: Sequence[CallLocation] | None = None
    raw_input: Any = None


class PermissionOption(AcpMessagePart, frozen=True):
    option_id: str
    name: str
    kind: PermissionKind


class PermissionRequestParams(AcpMessagePart, frozen=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: PermissionToolCall
    options: Sequence[PermissionOption]
