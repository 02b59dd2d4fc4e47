"""How a person's own cells of Python stand in a session: by which type, by which ids."""

from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from app.values.content import UserContent
from app.values.wire import from_wire, to_wire
from tools.results import Json

CELL_ENTRY_TYPE: Final = "bayou.cell"
_ID_PREFIX: Final = "cell-"


def user_cell_id(name: str) -> str:
    """Of the calls that its events speak of; no model makes such."""
    return f"{_ID_PREFIX}{name}"


def is_user_cell(call_id: str) -> bool:
    return call_id.startswith(_ID_PREFIX)


def content_to_data(content: Iterable[UserContent]) -> list[Any]:
    """What a cell showed, for an entry's data."""
    return [to_wire(block) for block in content]


def content_from_data(data: Any) -> tuple[UserContent, ...]:
    """The same from there; nothing where that is something else."""
    known = cast("dict[str, Json]", data) if isinstance(data, dict) else {}
    try:
        return from_wire(known.get("content") or [], tuple[UserContent, ...])
    except (msgspec.ValidationError, TypeError, ValueError):
        return ()
