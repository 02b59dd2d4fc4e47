"""Which files a call of an editing tool names in its arguments, as far as those alone tell."""

from collections.abc import Mapping
from typing import Any

from tools.results import Json

EDITING = frozenset({"edit"})
"""The tools that go by this."""


def named_paths(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """As they were sent, each once."""
    found: dict[str, None] = {}
    path: Json = arguments.get("path")
    if isinstance(path, str):
        found[path] = None
    for name in ("edits", "changes"):
        parts: Json = arguments.get(name)
        for part in parts if isinstance(parts, list) else []:
            own: Json = part.get("path") if isinstance(part, dict) else None
            if isinstance(own, str):
                found[own] = None
    return tuple(found)
