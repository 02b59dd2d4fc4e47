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
        for part in parts_of(arguments, name):
            own: Json = part.get("path")
            if isinstance(own, str):
                found[own] = None
    return tuple(found)


def parts_of(arguments: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list; of one that still streams in, those that are there."""
    found: Json = arguments.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
