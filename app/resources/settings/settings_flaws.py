"""Finds parts of a value that are unusable although they have the right type, such as an invalid pattern.

In a file such a part is skipped and reported; setting such a value from bayou is refused."""

from collections.abc import Iterator
from typing import Any

import msgspec

from app.resources.settings.settings import SettingKey, SettingRefused, converted
from tools.running.interceptor import pattern_error


class SettingFlaw(msgspec.Struct, frozen=True, kw_only=True):
    """An unusable part of a value."""

    at: int
    """Its index in the list."""
    text: str


def flaws(key: SettingKey, value: Any) -> Iterator[SettingFlaw]:
    """Yields the unusable parts of `value`, which must be converted already."""
    if key.name != "bash.interceptor.rules":
        return
    for at, rule in enumerate(value):
        why = pattern_error(rule.pattern)
        if why is not None:
            yield SettingFlaw(
                at=at, text=f"the pattern of rule {at + 1} is not a valid regular expression: {why}"
            )


def sound(key: SettingKey, value: Any) -> Any:
    """Converts `value`. Raises `SettingRefused` if its type is wrong or a part of it is unusable."""
    held = converted(key, value)
    for flaw in flaws(key, held):
        raise SettingRefused(f"{key.name}: {flaw.text}")
    return held


def check_value(key: SettingKey, value: Any) -> str | None:
    """Returns why `value` is invalid for `key`, in plain words; None if it is valid."""
    try:
        sound(key, value)
    except SettingRefused as problem:
        return str(problem).removeprefix(f"{key.name}: ")
    return None
