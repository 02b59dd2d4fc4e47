"""What of a value does not count although it has the right form: a pattern that cannot be read.

In a file such a part is passed over and named; nobody can set it from here.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from app.resources.settings.settings import SettingKey, SettingRefused, converted
from tools.running.interceptor import pattern_error


class SettingFlaw(msgspec.Struct, frozen=True, kw_only=True):
    at: int
    """Which one of a list."""
    text: str


def flaws(key: SettingKey, value: Any) -> Iterator[SettingFlaw]:
    """`value`: as the settings hold it."""
    if key.name != "bash.interceptor.rules":
        return
    for at, rule in enumerate(value):
        why = pattern_error(rule.pattern)
        if why is not None:
            yield SettingFlaw(at=at, text=f"the pattern of rule {at + 1} cannot be read: {why}")


def sound(key: SettingKey, value: Any) -> Any:
    """`value` as the settings hold it. Raises `SettingRefused` when it does not fit, or not all of it counts."""
    held = converted(key, value)
    for flaw in flaws(key, held):
        raise SettingRefused(f"{key.name}: {flaw.text}")
    return held


def check_value(key: SettingKey, value: Any) -> str | None:
    """What is wrong with `value` for `key`, in plain words; None when it fits."""
    try:
        sound(key, value)
    except SettingRefused as problem:
        return str(problem).removeprefix(f"{key.name}: ")
    return None
