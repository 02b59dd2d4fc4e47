"""The form of the user's Python cells in a session: entry type, call ids, content."""

from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from app.values.content import UserContent
from app.values.wire import from_wire, to_wire
from tools.tool_result_values import Json

CELL_ENTRY_TYPE: Final = "bayou.cell"
_CELL_CALL_ID_PREFIX: Final = "cell-"


def user_cell_call_id(name: str) -> str:
    """Returns the call id for the events of a cell; models never use such ids."""
    return f"{_CELL_CALL_ID_PREFIX}{name}"


def is_user_cell_call_id(call_id: str) -> bool:
    return call_id.startswith(_CELL_CALL_ID_PREFIX)


def cell_output_to_data(content: Iterable[UserContent]) -> list[Any]:
    """Converts a cell's output to the data of an entry."""
    return [to_wire(block) for block in content]


def cell_output_from_data(data: Any) -> tuple[UserContent, ...]:
    """Converts the data of an entry to a cell's output; empty when the data is invalid."""
    known = cast("dict[str, Json]", data) if isinstance(data, dict) else {}
    try:
        return from_wire(known.get("content") or [], tuple[UserContent, ...])
    except (msgspec.ValidationError, TypeError, ValueError):
        return ()
