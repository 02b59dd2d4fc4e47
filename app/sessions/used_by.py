"""What was used, summed by day, model, project or session; pure."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Literal

import msgspec

from app.sessions.used import UNKNOWN, Used
from app.sessions.used_index import UsedPart

UsedBy = Literal["day", "model", "project", "session"]
WAYS: tuple[UsedBy, ...] = ("day", "model", "project", "session")


class UsedSum(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """A day, a model, a folder, a session's file."""
    title: str
    project: str = ""
    """Of a session."""
    session_id: str = ""
    used: Used


Within = tuple[UsedBy, str]
"""Only what one sum, by its id, is made of."""


def only(parts: Iterable[UsedPart], within: Sequence[Within]) -> list[UsedPart]:
    return [part for part in parts if all(_id(part, by) == id_ for by, id_ in within)]


def total(parts: Iterable[UsedPart]) -> Used:
    whole = Used()
    for part in parts:
        whole.add(part.used)
    return whole


def summed(parts: Iterable[UsedPart], by: UsedBy) -> list[UsedSum]:
    """Days newest first, all else by what it cost."""
    sums: dict[str, UsedSum] = {}
    for part in parts:
        id_ = _id(part, by)
        if id_ not in sums:
            sums[id_] = _empty(part, by, id_)
        sums[id_].used.add(part.used)
    if by == "day":
        return sorted(sums.values(), key=lambda found: (found.id != UNKNOWN, found.id), reverse=True)
    return sorted(sums.values(), key=lambda found: (-found.used.cost, -found.used.tokens, found.id))


def since(parts: Iterable[UsedPart], days: int, today: date) -> list[UsedPart]:
    """Of so many days, today's included."""
    first = (today - timedelta(days=days - 1)).isoformat()
    return [part for part in parts if part.day != UNKNOWN and part.day >= first]


def _id(part: UsedPart, by: UsedBy) -> str:
    match by:
        case "day":
            return part.day
        case "model":
            return part.model
        case "project":
            return part.session.cwd
        case "session":
            return part.session.path


def _empty(part: UsedPart, by: UsedBy, id_: str) -> UsedSum:
    session = part.session
    if by == "session":
        title = session.title or session.id
        return UsedSum(id=id_, title=title, project=session.cwd, session_id=session.id, used=Used())
    return UsedSum(id=id_, title=id_ or UNKNOWN, used=Used())
