"""What bayou sends of a session as it goes on: updates, and the question about a call.

The SDK's models of the same shapes cost five times as much to make and to encode; a session of thousands of messages is
sent as a whole. Tests check every line against the protocol's schema."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tools.base import ToolKind

CallStatus = Literal["pending", "in_progress", "completed", "failed"]
PlanStatus = Literal["pending", "in_progress", "completed"]
PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class _Sent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a message; absent values are left out."""


class ShownText(_Sent, frozen=True, tag_field="type", tag="text"):
    text: str


class ShownImage(_Sent, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


Block = ShownText | ShownImage


class ContentPart(_Sent, frozen=True, tag_field="type", tag="content"):
    """Text or an image that belongs to a call."""

    content: Block


class DiffPart(_Sent, frozen=True, tag_field="type", tag="diff"):
    """A changed file, as whole texts."""

    path: str
    new_text: str
    old_text: str | None = None


class TerminalPart(_Sent, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


Content = ContentPart | DiffPart | TerminalPart


class Location(_Sent, frozen=True):
    path: str
    line: int | None = None


class _Update(_Sent, frozen=True, tag_field="sessionUpdate"):
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
    content: Sequence[Content] | None = None
    locations: Sequence[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class CallProgress(_Update, frozen=True, tag="tool_call_update"):
    tool_call_id: str
    title: str | None = None
    status: CallStatus | None = None
    content: Sequence[Content] | None = None
    locations: Sequence[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class PlannedItem(_Sent, frozen=True):
    content: str
    priority: Literal["high", "medium", "low"]
    status: PlanStatus


class PlanUpdate(_Update, frozen=True, tag="plan"):
    entries: Sequence[PlannedItem]


class CommandInput(_Sent, frozen=True):
    hint: str


class CommandOffer(_Sent, frozen=True):
    """A slash command that the client completes."""

    name: str
    description: str
    input: CommandInput | None = None


class CommandsUpdate(_Update, frozen=True, tag="available_commands_update"):
    available_commands: Sequence[CommandOffer]


class ModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str


class OptionsUpdate(_Update, frozen=True, tag="config_option_update"):
    config_options: Sequence[Any]
    """The options as the responses have them, as plain data."""


class InfoUpdate(_Update, frozen=True, tag="session_info_update"):
    title: str | None = None


class Spent(_Sent, frozen=True):
    amount: float
    currency: str


class UsageUpdate(_Update, frozen=True, tag="usage_update"):
    used: int
    size: int
    cost: Spent | None = None


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
    | InfoUpdate
    | UsageUpdate
)


class SessionNotice(_Sent, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update


class AskedCall(_Sent, frozen=True):
    """A call as a question shows it."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[Content]
    locations: Sequence[Location] | None = None
    raw_input: Any = None


class PermissionChoice(_Sent, frozen=True):
    option_id: str
    name: str
    kind: PermissionKind


class PermissionQuestion(_Sent, frozen=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: AskedCall
    options: Sequence[PermissionChoice]
