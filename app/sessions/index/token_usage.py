"""Counts the token usage of sessions line by line and sums it by day, model, project or session."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

import msgspec

from app.sessions.index.session_digest import text_valid_for_database
from app.sessions.index.session_line import SessionLine, SessionLineUsage

UNKNOWN_USAGE_GROUP_TITLE = "unknown"
"""The title for usage without a known model, and for usage without a known day."""
_QUARTER_HOUR_SECONDS = 15 * 60
"""The number of seconds in a quarter of an hour. In every time zone days begin at such a boundary, so sums by
quarter fit all zones."""

Grouping = Literal["day", "model", "project", "session"]
USAGE_GROUPINGS: tuple[Grouping, ...] = ("day", "model", "project", "session")
GroupFilter = tuple[Grouping, str]
"""A filter for one group of usage: how usage is grouped, and the id of the group."""


class TokenUsageSum(msgspec.Struct):
    """A running sum of token usage."""

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
    def cached_percentage(self) -> float | None:
        """The percentage of input tokens that were read from the provider's cache; None without input."""
        sent = self.input + self.cache_read + self.cache_write
        return 100 * self.cache_read / sent if sent else None

    def add(self, other: "TokenUsageSum") -> None:
        self.answers += other.answers
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost += other.cost


class SessionOfUsage(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    id: str
    cwd: str
    title: str


class SessionDayModelUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The token usage of one session on one day with one model."""

    session: SessionOfUsage
    day: str
    model: str
    usage: TokenUsageSum


class SkippedUsageLine(msgspec.Struct, frozen=True, kw_only=True):
    """A session line whose usage does not count because it cannot be read."""

    path: str
    line: int = 0
    """The number of the line; 0 means the whole file, or further lines that are not listed one by one."""
    why: str


class TokenUsageReport(msgspec.Struct, frozen=True, kw_only=True):
    parts: tuple[SessionDayModelUsage, ...] = ()
    skipped: tuple[SkippedUsageLine, ...] = ()


class TokenUsageGroup(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """The id of the group: a day, a model, a project folder, or the path of a session file."""
    title: str
    session: SessionOfUsage | None = None
    """The summary of the session, if the group is one session; None otherwise."""
    usage: TokenUsageSum


def filter_usage_parts(
    parts: Iterable[SessionDayModelUsage], within: Sequence[GroupFilter]
) -> list[SessionDayModelUsage]:
    return [part for part in parts if all(_group_id(part, by) == id_ for by, id_ in within)]


def sum_usage_parts(parts: Iterable[SessionDayModelUsage]) -> TokenUsageSum:
    whole = TokenUsageSum()
    for part in parts:
        whole.add(part.usage)
    return whole


def group_token_usage(parts: Iterable[SessionDayModelUsage], by: Grouping) -> list[TokenUsageGroup]:
    """Groups token usage by day, model, project or session: days newest first, all other groups by cost."""
    groups: dict[str, TokenUsageGroup] = {}
    for part in parts:
        id_ = _group_id(part, by)
        if id_ not in groups:
            groups[id_] = _empty_group(part, by, id_)
        groups[id_].usage.add(part.usage)
    if by == "day":
        return sorted(
            groups.values(), key=lambda found: (found.id != UNKNOWN_USAGE_GROUP_TITLE, found.id), reverse=True
        )
    return sorted(groups.values(), key=lambda found: (-found.usage.cost, -found.usage.tokens, found.id))


def recent_usage_parts(
    parts: Iterable[SessionDayModelUsage], days: int, today: date
) -> list[SessionDayModelUsage]:
    """Returns the token usage of the last `days` days, including today."""
    first = (today - timedelta(days=days - 1)).isoformat()
    return [part for part in parts if part.day != UNKNOWN_USAGE_GROUP_TITLE and part.day >= first]


def _group_id(part: SessionDayModelUsage, by: Grouping) -> str:
    match by:
        case "day":
            return part.day
        case "model":
            return part.model
        case "project":
            return part.session.cwd
        case "session":
            return part.session.path


def _empty_group(part: SessionDayModelUsage, by: Grouping, id_: str) -> TokenUsageGroup:
    if by == "session":
        title = part.session.title or part.session.id
        return TokenUsageGroup(id=id_, title=title, session=part.session, usage=TokenUsageSum())
    return TokenUsageGroup(id=id_, title=id_ or UNKNOWN_USAGE_GROUP_TITLE, usage=TokenUsageSum())


class SessionEntryUsage(msgspec.Struct, frozen=True):
    """The token usage of one session entry."""

    entry_hash: int | None
    """A hash that identifies copies of the entry; None: the entry has no id."""
    quarter_hour: int | None
    """The quarter of an hour of the entry's time, counted since 1970; None: the entry has no time."""
    model: str
    usage: TokenUsageSum


class SessionUsageTally:
    """Collects the token usage of one session file, from its beginning or from where reading stopped."""

    def __init__(self, model: str, began: int) -> None:
        """Creates the tally. `model` is the last model that was named before. `began` is the time in Unix
        milliseconds that counts for lines without one."""
        self.model = model
        self.uses: list[SessionEntryUsage] = []
        self._began = began

    def add(self, line: SessionLine) -> None:
        named = line.message if line.type == "message" else line
        if named is None or line.role not in ("", "assistant", "toolResult"):
            return
        model = _model(named.provider, line.model_id if line.type == "model_change" else named.model)
        if model and line.type != "usage":
            self.model = model
        usage = line.counted_usage
        if usage is None or not (used := _usage_sum(usage)).tokens + used.cost:
            return
        time = line.time_ms or line.message_time_ms or self._began
        quarter = time // 1000 // _QUARTER_HOUR_SECONDS if time else None
        self.uses.append(
            SessionEntryUsage(_entry_hash(line) if line.id else None, quarter, model or self.model, used)
        )


def day_of_quarter_hour(quarter: int | None) -> str:
    """Returns the day of a quarter of an hour in the user's time zone."""
    try:
        return (
            UNKNOWN_USAGE_GROUP_TITLE
            if quarter is None
            else date.fromtimestamp(quarter * _QUARTER_HOUR_SECONDS).isoformat()
        )
    except (ValueError, OverflowError, OSError):  # the time is impossible
        return UNKNOWN_USAGE_GROUP_TITLE


def _usage_sum(usage: SessionLineUsage) -> TokenUsageSum:
    return TokenUsageSum(
        answers=1,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost=usage.cost.total,
    )


@lru_cache(maxsize=1000)
def _model(provider: str | None, model: str | None) -> str:
    return text_valid_for_database("/".join(filter(None, (provider, model))))


def _entry_hash(line: SessionLine) -> int:
    said = f"{line.id} {line.timestamp}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), signed=True)
