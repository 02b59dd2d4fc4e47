"""Settings of pi that mean the same here: for `bayou import-pi`, which says what it did not take."""

from collections.abc import Iterator
from typing import Any

import msgspec

from app.resources.settings import check_value, keys

_OTHER_NAMES = {
    "queueMode": "steeringMode",
    "terminal.showTerminalProgress": "terminal.progress",
}
_OTHER_VALUES: dict[tuple[str, Any], tuple[str, Any]] = {
    ("compaction.enabled", True): ("compaction.mode", "auto"),
    ("compaction.enabled", False): ("compaction.mode", "off"),
}
_OWN = frozenset(("packages", "extensions", "theme", "themes", "defaultTools", "sessionDir"))
"""These name pi's own code, colours, tools and folders."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    values: dict[str, Any]
    """By bayou's key: `{"retry.maxRetries": 5}`."""
    left_out: tuple[str, ...]
    """Keys of pi that mean nothing here, or whose value does not fit."""


def from_pi(document: dict[str, Any]) -> Imported:
    """Sorts a settings document of pi."""
    known = {key.name: key for key in keys()}
    values: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in _leaves(document, ""):
        special = _OTHER_VALUES.get((name, value)) if isinstance(value, bool | str) else None
        mine, meant = special or (_OTHER_NAMES.get(name, name), value)
        key = known.get(mine)
        if name in _OWN or key is None or check_value(key, meant) is not None:
            left_out.append(name)
        else:
            values[mine] = meant
    return Imported(values=values, left_out=tuple(left_out))


def _leaves(document: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Objects that are a setting by themselves (`modelThinkingLevels`) are leaves."""
    whole = {key.name for key in keys()}
    for name, value in document.items():
        path = prefix + name
        if isinstance(value, dict) and path not in whole:
            yield from _leaves(value, path + ".")
        else:
            yield path, value
