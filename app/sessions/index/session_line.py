"""Decodes the parts of a session line that lists and usage sums need, leniently and without texts.

Broken lines and implausible usage are left out and reported."""

from typing import Annotated, Any

import msgspec

from app.sessions.context_projection import unix_milliseconds
from app.sessions.file.session_reader import decode_session_entry, is_blank_line, is_session_header_line
from app.values.entries import Entry, MessageEntry, UnknownEntry
from app.values.wire import convert, to_wire

_UNREADABLE_LINE_REASON = "the line cannot be read"
_UNREADABLE_USAGE_REASON = "its usage cannot be read"

_TokenCount = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
_Dollars = Annotated[float, msgspec.Meta(ge=0, le=10**9)]
_MAX_PLAUSIBLE_TIME_MS = 10**14
"""The latest plausible time in Unix milliseconds; a later time counts as missing."""


class SessionLineCost(msgspec.Struct):
    total: _Dollars = 0.0


class SessionLineUsage(msgspec.Struct, rename="camel"):
    input: _TokenCount = 0
    output: _TokenCount = 0
    cache_read: _TokenCount = 0
    cache_write: _TokenCount = 0
    cost: SessionLineCost = msgspec.field(default_factory=SessionLineCost)


class SessionLineMessage(msgspec.Struct):
    role: str = ""
    provider: str | None = None
    model: str | None = None
    timestamp: int | float | None = None
    usage: SessionLineUsage | None = None


class SessionLine(msgspec.Struct, rename="camel"):
    type: str = ""
    id: str = ""
    timestamp: str = ""
    name: str | None = None
    kind: Any = None
    provider: str | None = None
    model: str | None = None
    model_id: str | None = None
    message: SessionLineMessage | None = None
    usage: SessionLineUsage | None = None

    @property
    def role(self) -> str:
        """The role of the message in a session line; empty when the line is not a message."""
        return self.message.role if self.type == "message" and self.message is not None else ""

    @property
    def counted_usage(self) -> SessionLineUsage | None:
        """The usage that a session line reports; only answers, tools and summaries have one."""
        message = self.message
        if self.type == "message":
            return message.usage if message and message.role in ("assistant", "toolResult") else None
        if self.type == "usage" and self.kind == "task":
            return None  # the helper's own session counts it
        return self.usage if self.type in _ENTRY_TYPES_WITH_USAGE else None

    @property
    def message_time_ms(self) -> int:
        """The time of the message in a session line in Unix milliseconds; 0 when it has none."""
        return _valid_time((self.message.timestamp if self.message is not None else None) or 0)

    @property
    def time_ms(self) -> int:
        """The time of the session line itself in Unix milliseconds; 0 when it has none."""
        return _valid_time(unix_milliseconds(self.timestamp))


def _valid_time(time: float) -> int:
    return int(time) if 0 < time < _MAX_PLAUSIBLE_TIME_MS else 0


_ENTRY_TYPES_WITH_USAGE = ("message", "usage", "compaction", "branch_summary")
_decoder = msgspec.json.Decoder(SessionLine)


def decode_session_line(line: bytes) -> tuple[SessionLine | None, str]:
    """Decodes a session line. Returns the line, or None if it contains nothing that counts, and the reason if it
    cannot be read."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_leniently(line)
    return (found, "") if found.type else _read_leniently(line)


def _read_leniently(line: bytes) -> tuple[SessionLine | None, str]:
    """Decodes a session line as the session reader does, which accepts invalid bytes and absent or unknown fields."""
    entry = decode_session_entry(line)
    if entry is None:
        return None, "" if is_blank_line(line) or is_session_header_line(line) else _UNREADABLE_LINE_REASON
    data = to_wire(entry)
    why = _UNREADABLE_USAGE_REASON if data.get("type") in _ENTRY_TYPES_WITH_USAGE else ""
    if isinstance(entry, UnknownEntry):
        return None, why
    try:
        return convert(data, SessionLine), ""
    except msgspec.ValidationError:
        return _without_usage(entry, data), why


def _without_usage(entry: Entry, data: dict[str, Any]) -> SessionLine | None:
    """Returns the message of the session line without its usage, which is implausible; the message still counts.
    None if the line has no message."""
    if not isinstance(entry, MessageEntry):
        return None
    message = SessionLineMessage(role=data["message"]["role"], timestamp=entry.message.timestamp)
    return SessionLine(type="message", timestamp=entry.timestamp, message=message)
