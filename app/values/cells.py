"""How a person's own cells of Python stand in a session: by which type, by which ids."""

from typing import Final

CELL: Final = "bayou.cell"
_OWN: Final = "cell-"


def own_cell_id(name: str) -> str:
    """Of the calls that its events speak of; no model makes such."""
    return f"{_OWN}{name}"


def is_own_cell(call_id: str) -> bool:
    return call_id.startswith(_OWN)
