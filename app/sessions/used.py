"""What a session file says was used: tokens and money by day and model, gathered line by line.

Of each line only the usage is decoded. Lines that are broken, and usage that cannot be true, are left out and told.
"""

import hashlib
from collections.abc import Callable
from datetime import date
from typing import Annotated

import msgspec

from app.sessions.projection import milliseconds
from app.sessions.reading import is_blank, is_header, read_entry
from app.sessions.summary import Digest, storable
from app.values.entries import UnknownEntry
from app.values.wire import to_wire

UNKNOWN = "unknown"
"""The model of what was used before any was named."""
MOST_NAMED = 5
"""Broken lines of one file that are told by their place; the others are counted."""
_BROKEN = "the line cannot be read"
_NO_USAGE = "its usage cannot be read"

_Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
_Dollars = Annotated[float, msgspec.Meta(ge=0, le=10**9)]


class _Cost(msgspec.Struct):
    total: _Dollars = 0.0


class _Usage(msgspec.Struct, rename="camel"):
    input: _Count = 0
    output: _Count = 0
    cache_read: _Count = 0
    cache_write: _Count = 0
    cost: _Cost = msgspec.field(default_factory=_Cost)


class _Message(msgspec.Struct):
    role: str = ""
    provider: str | None = None
    model: str | None = None
    timestamp: int | float | None = None
    usage: _Usage | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    id: str = ""
    timestamp: str = ""
    provider: str | None = None
    model: str | None = None
    model_id: str | None = None
    message: _Message | None = None
    usage: _Usage | None = None


_WITH_USAGE = ("message", "usage", "compaction", "branch_summary")
_decoder = msgspec.json.Decoder(_Line)


class Used(msgspec.Struct, kw_only=True):
    """A sum that grows."""

    answers: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cached(self) -> float | None:
        """Percent of what was sent that the provider had already; None: nothing was sent."""
        sent = self.input + self.cache_read + self.cache_write
        return 100 * self.cache_read / sent if sent else None

    def add(self, other: "Used") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class UsageTally:
    """Of one file, from its beginning or from where it was left."""

    def __init__(self, started: int, is_first: Callable[[int], bool]) -> None:
        """`started`: Unix milliseconds, for lines that do not say when. `is_first`: whether an entry, known by a
        number, has been counted nowhere else; a fork holds copies of what its parent used."""
        self.model = UNKNOWN
        self.digest = Digest(texts=[])
        self.sums: dict[tuple[str, str], Used] = {}
        """By day and model."""
        self.copies = 0
        self.broken: list[tuple[int, str]] = []
        """Where in the file, and why."""
        self._started = started
        self._is_first = is_first

    def take(self, line: bytes, *, at: int | None = None) -> None:
        found = _read(line)
        if isinstance(found, str):
            self.broken.append((at or 0, found))
        elif found is not None:
            self._hear(found, line)
            self._add(found)

    def _hear(self, line: _Line, data: bytes) -> None:
        """What the session is about."""
        is_prompt = line.message is not None and line.message.role == "user"
        if line.type == "session_info" or (is_prompt and self.digest.first_prompt is None):
            self.digest.take(data)

    def _add(self, line: _Line) -> None:
        message = line.message if line.type == "message" else None
        if message is not None and message.role not in ("assistant", "toolResult"):
            return
        said = message if message is not None else line
        model = _model(said.provider, line.model_id if line.type == "model_change" else said.model)
        if model and line.type != "usage":
            self.model = model
        usage = said.usage if line.type in _WITH_USAGE else None
        if usage is None or not (sum_ := _sum(usage)).tokens + sum_.cost:
            return
        if line.id and not self._is_first(_key(line)):
            self.copies += 1
            return
        sums = self.sums.setdefault((self._day(line), model or self.model), Used())
        sums.add(sum_)

    def _day(self, line: _Line) -> str:
        """In the person's own time zone."""
        told = line.message.timestamp if line.message is not None else None
        for stamp in (milliseconds(line.timestamp), told, self._started):
            try:
                if stamp:
                    return date.fromtimestamp(stamp / 1000).isoformat()
            except (ValueError, OverflowError, OSError):  # no time that there can be
                continue
        return UNKNOWN


def _sum(usage: _Usage) -> Used:
    return Used(
        answers=1,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost=usage.cost.total,
    )


def _model(provider: str | None, model: str | None) -> str:
    return storable("/".join(filter(None, (provider, model))))


def _key(line: _Line) -> int:
    said = f"{line.id} {line.timestamp}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), signed=True)


def _read(line: bytes) -> _Line | str | None:
    """None: nothing is said here; a text: why it cannot be read."""
    try:
        found = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _slowly(line)
    return found if found.type else _slowly(line)


def _slowly(line: bytes) -> _Line | str | None:
    """As a session is read: bytes that are no text, absent and unknown fields are borne with."""
    entry = read_entry(line)
    if entry is None:
        return None if is_blank(line) or is_header(line) else _BROKEN
    data = to_wire(entry)
    if data.get("type") not in _WITH_USAGE:
        return None
    if isinstance(entry, UnknownEntry):
        return _NO_USAGE
    try:
        return msgspec.convert(data, _Line)
    except msgspec.ValidationError:
        return _NO_USAGE
