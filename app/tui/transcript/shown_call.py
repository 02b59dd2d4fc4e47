"""A tool call as it stands on the screen, while its arguments still arrive too."""

from typing import Any

import msgspec

from app.values.content import ToolCall
from app.values.events import ToolOutcome


class ShownCall(msgspec.Struct, kw_only=True):
    """A tool call on the screen."""

    block_id: str
    call: ToolCall
    arguments: list[str] = msgspec.field(default_factory=list)
    drawn: float = 0.0
    started: float | None = None
    outcome: ToolOutcome | None = None


def arguments_so_far(text: str) -> dict[str, Any]:
    """The arguments as far as they have arrived."""
    try:
        import jiter  # noqa: PLC0415  (only arguments that arrive need it)

        value = jiter.from_json(text.encode("utf-8", "replace"), partial_mode="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
