"""What bayou sends of a session as it goes on: updates, and the question about a call. Tests check every line against
the protocol's schema."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tools.base import ToolKind

CallStatus = Literal["pending", "in_progress", "completed", "failed"]
PlanStatus = Literal["pending", "in_progress", "completed"]
PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class Sent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a message; absent values are left out."""


class ShownText(Sent, frozen=True, tag_field="type", tag="text"):
    text: str


class ShownImage(Sent, frozen=True, tag_field="type", tag="image"):
    data: str
    mime_type: str


Block = ShownText | ShownImage


class ContentPart(Sent, frozen=True, tag_field="type", tag="content"):
    """Text or an image that belongs to a call."""

    content: Block


class DiffPart(Sent, frozen=True, tag_field="type", tag="diff"):
    """A changed file, as whole texts."""

    path: str
    new_text: str
    old_text: str | None = None


class TerminalPart(Sent, frozen=True, tag_field="type", tag="terminal"):
    terminal_id: str


Content = ContentPart | DiffPart | TerminalPart


class Location(Sent, frozen=True):
    path: str
    line: int | None = None


class _Update(Sent, frozen=True, tag_field="sessionUpdate"):
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


class PlannedItem(Sent, frozen=True):
    content: str
    priority: Literal["high", "medium", "low"]
    status: PlanStatus


class PlanUpdate(_Update, frozen=True, tag="plan"):
    entries: Sequence[PlannedItem]


class CommandInput(Sent, frozen=True):
    hint: str


class CommandOffer(Sent, frozen=True):
    """A slash command that the client completes."""

    name: str
    description: str
    input: CommandInput | None = None


class CommandsUpdate(_Update, frozen=True, tag="available_commands_update"):
    available_commands: Sequence[CommandOffer]


class ModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    current_mode_id: str


class Choice(Sent, frozen=True):
    """A value of an option."""

    value: str
    name: str
    description: str | None = None


class ChoiceGroup(Sent, frozen=True):
    group: str
    name: str
    options: Sequence[Choice]


class Option(Sent, frozen=True, tag_field="type", tag="select"):
    """A setting of a session that the client shows."""

    id: str
    name: str
    category: Literal["mode", "model", "thought_level"]
    current_value: str
    options: Sequence[Choice] | Sequence[ChoiceGroup]
    description: str | None = None


class OptionsUpdate(_Update, frozen=True, tag="config_option_update"):
    config_options: Sequence[Option]


class InfoUpdate(_Update, frozen=True, tag="session_info_update"):
    title: str | None = None


class Spent(Sent, frozen=True):
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


class SessionNotice(Sent, frozen=True):
    """The parameters of `session/update`."""

    session_id: str
    update: Update


class AskedCall(Sent, frozen=True):
    """A call as a question shows it."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus
    content: Sequence[Content]
    locations: Sequence[Location] | None = None
    raw_input: Any = None


class PermissionChoice(Sent, frozen=True):
    option_id: str
    name: str
    kind: PermissionKind


class PermissionQuestion(Sent, frozen=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: AskedCall
    options: Sequence[PermissionChoice]
