"""Finds parts of a value that are unusable although they have the right type, such as an invalid pattern.

In a file such a part is skipped and reported; setting such a value from bayou is refused."""

from collections.abc import Iterator
from typing import Any

import msgspec

from app.resources.settings.settings import SettingKey, SettingRefused, convert_setting_value
from tools.running.command_interceptor import find_intercept_pattern_error


class InvalidSettingPart(msgspec.Struct, frozen=True, kw_only=True):
    """An unusable part of a setting's value: its index and the reason."""

    at: int
    """The index of the unusable part in the list."""
    text: str


def invalid_setting_parts(key: SettingKey, value: Any) -> Iterator[InvalidSettingPart]:
    """Yields the unusable parts of `value`, which must be converted already."""
    if key.name != "bash.interceptor.rules":
        return
    for at, rule in enumerate(value):
        why = find_intercept_pattern_error(rule.pattern)
        if why is not None:
            yield InvalidSettingPart(
                at=at, text=f"the pattern of rule {at + 1} is not a valid regular expression: {why}"
            )


def convert_and_check_setting(key: SettingKey, value: Any) -> Any:
    """Converts `value`. Raises `SettingRefused` if its type is wrong or a part of it is unusable."""
    held = convert_setting_value(key, value)
    for flaw in invalid_setting_parts(key, held):
        raise SettingRefused(f"{key.name}: {flaw.text}")
    return held


def setting_value_problem(key: SettingKey, value: Any) -> str | None:
    """Returns why `value` is invalid for `key`, in plain words; None if it is valid."""
    try:
        convert_and_check_setting(key, value)
    except SettingRefused as problem:
        return str(problem).removeprefix(f"{key.name}: ")
    return None
