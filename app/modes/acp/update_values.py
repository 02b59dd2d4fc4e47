"""The ACP messages about a running session: updates, and permission requests for tool calls. Tests check every
line against the protocol's schema."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tools.results import ToolKind

CallStatus = Literal["pending", "in_progress", "completed", "failed"]
PlanStatus = Literal["pending", "in_progress", "completed"]
PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class WireObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a message; absent values are left out."""


class TextContent(WireObject, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(WireObject, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


Block = TextContent | ImageContent


class ContentPart(WireObject, frozen=True, tag_field="type", tag="content"):
    """Text or an image that belongs to a call."""

    content: Block


class DiffPart(WireObject, frozen=True, tag_field="type", tag="diff"):
    """A file that a tool call changed, with its whole old and new text."""

    path: str
    new_text: str
    old_text: str | None = None


class TerminalPart(WireObject, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


CallContent = ContentPart | DiffPart | TerminalPart


class Location(WireObject, frozen=True):
    path: str
    line: int | None = None


class _Update(WireObject, frozen=True, tag_field="sessionUpdate"):
    pass


class UserChunk(_Update, frozen=True, tag="user_message_chunk"):
    content: Block
    message_id: str | None = None


class MessageChunk(_Update, frozen=True, tag="agent_message_chunk"):
    content: Block
    message_id: str | None = None


class ThoughtChunk(_Update, frozen=True, tag="agent_thought_chunk"):
    content: Block
    message_id: str | None = None


class CallStart(_Update, frozen=True, tag="tool_call"):
    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[CallContent] | None = None
    locations: Sequence[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class CallProgress(_Update, frozen=True, tag="tool_call_update"):
    tool_call_id: str
    title: str | None = None
    status: CallStatus | None = None
    content: Sequence[CallContent] | None = None
    locations: Sequence[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class PlanEntry(WireObject, frozen=True):
    content: str
    priority: Literal["high", "medium", "low"]
    status: PlanStatus


class PlanUpdate(_Update, frozen=True, tag="plan"):
    entries: Sequence[PlanEntry]


class CommandInput(WireObject, frozen=True):
    hint: str


class CommandOffer(WireObject, frozen=True):
    """A slash command that the client completes."""

    name: str
    description: str
    input: CommandInput | None = None


class CommandsUpdate(_Update, frozen=True, tag="available_commands_update"):
    available_commands: Sequence[CommandOffer]


class ModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str


class OptionChoice(WireObject, frozen=True):
    """A value that the user can choose for a session option."""

    value: str
    name: str
    description: str | None = None


class ChoiceGroup(WireObject, frozen=True):
    group: str
    name: str
    options: Sequence[OptionChoice]


class ConfigOption(WireObject, frozen=True, tag_field="type", tag="select"):
    """A setting of a session that the client shows."""

    id: str
    name: str
    category: Literal["mode", "model", "thought_level"]
    current_value: str
    options: Sequence[OptionChoice] | Sequence[ChoiceGroup]
    description: str | None = None


class OptionsUpdate(_Update, frozen=True, tag="config_option_update"):
    config_options: Sequence[ConfigOption]


class SessionInfoUpdate(_Update, frozen=True, tag="session_info_update"):
    title: str | None = None


class SessionCost(WireObject, frozen=True):
    amount: float
    currency: str


class UsageUpdate(_Update, frozen=True, tag="usage_update"):
    used: int
    size: int
    cost: SessionCost | None = None


Update = (
    UserChunk
    | MessageChunk
    | ThoughtChunk
    | CallStart
    | CallProgress
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | OptionsUpdate
    | SessionInfoUpdate
    | UsageUpdate
)


class SessionUpdateParams(WireObject, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update


class PermissionToolCall(WireObject, frozen=True):
    """A tool call as a permission request shows it."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[CallContent]
    locations: Sequence[Location] | None = None
    raw_input: Any = None


class PermissionOption(WireObject, frozen=True):
    option_id: str
    name: str
    kind: PermissionKind


class PermissionRequestParams(WireObject, frozen=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: PermissionToolCall
    options: Sequence[PermissionOption]
