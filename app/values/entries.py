"""Entries: the lines of a session file, in the format of pi's session version 3."""

from typing import Any

import msgspec

from app.values.content import UserContent
from app.values.messages import AssistantMessage, Message, SystemMessage, ToolResultMessage
from app.values.usage import Usage
from app.values.wire import PRIVATE_PREFIX, Wire, new_id, now_iso

SESSION_FORMAT_VERSION = 3


class SessionHeader(Wire, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a session file."""

    version: int = SESSION_FORMAT_VERSION
    id: str
    timestamp: str = msgspec.field(default_factory=now_iso)
    cwd: str
    parent_session: str | None = None
    """The session file that this session was forked from, or the session that started this helper."""
    is_helper: bool | None = None
    """Whether the session is that of a helper agent of the parent session."""


class _Entry(Wire, frozen=True, kw_only=True, tag_field="type", tag="*entry"):
    id: str = msgspec.field(default_factory=new_id)
    parent_id: str | None
    timestamp: str = msgspec.field(default_factory=now_iso)


class MessageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message of the conversation."""

    message: Message


class ModelChangeEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="model_change"):
    """The model was changed."""

    provider: str
    model_id: str


class ThinkingLevelChangeEntry(
    _Entry, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_change"
):
    """The thinking level was changed."""

    thinking_level: str


class UsageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """Usage of a request that has no message in the session."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | None = None


class CompactionEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """A compaction: its summary replaces the entries before the first kept one."""

    summary: str
    first_kept_entry_id: str
    """The entry's own id when no earlier entry is kept."""
    tokens_before: int = 0
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None
    system_message: SystemMessage | None = None


class BranchSummaryEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="branch_summary"):
    """A summary of a branch that the user left."""

    from_id: str
    """The id of the leaf of the branch that the user left, or `root`."""
    summary: str
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None


class CustomEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="custom"):
    """State of bayou (`bayou.*`) or of an extension; never part of the model's context."""

    custom_type: str
    data: Any = None


class CustomMessageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="custom_message"):
    """A message of bayou or an extension that the model reads."""

    custom_type: str
    content: str | tuple[UserContent, ...]
    display: bool = True
    details: Any = None


class ContextEditEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="context_edit"):
    """Leaves an earlier entry out of the context (`replacement` null) or replaces its content."""

    target_id: str
    replacement: dict[str, Any] | None


class LabelEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="label"):
    """The label of another entry was set or removed."""

    target_id: str
    label: str | None = None
    """Absent or empty: the label is removed."""


class SessionInfoEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="session_info"):
    """The session's name was set or removed."""

    name: str | None = None


class UnknownEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="*unknown"):
    """An entry of an unknown type, or a known one that cannot be decoded; preserved as it is."""

    id: str = msgspec.field(name=PRIVATE_PREFIX + "id", default="")
    parent_id: str | None = msgspec.field(name=PRIVATE_PREFIX + "parentId", default=None)
    timestamp: str = msgspec.field(name=PRIVATE_PREFIX + "timestamp", default="")
    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")

    def __post_init__(self) -> None:
        for attribute, key in (("id", "id"), ("parent_id", "parentId"), ("timestamp", "timestamp")):
            value = self.raw.get(key)
            if isinstance(value, str):
                msgspec.structs.force_setattr(self, attribute, value)


Entry = (
    MessageEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | UsageEntry
    | CompactionEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | ContextEditEntry
    | LabelEntry
    | SessionInfoEntry
    | UnknownEntry
)


def usage_of_entry(entry: Entry) -> Usage | None:
    """Returns the usage that an entry reports, if any."""
    said = entry.message if isinstance(entry, MessageEntry) else entry
    if isinstance(
        said, AssistantMessage | ToolResultMessage | UsageEntry | CompactionEntry | BranchSummaryEntry
    ):
        return said.usage
    return None
