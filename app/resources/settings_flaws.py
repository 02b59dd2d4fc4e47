"""What of a value does not count although it has the right form: a pattern that cannot be read.

In a file such a part is passed over and named; nobody can set it from here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from app.resources.settings import SettingKey, SettingRefused, converted
from app.resources.settings_tools import InterceptorRule
from tools.running.interceptor import broken


class SettingFlaw(msgspec.Struct, frozen=True, kw_only=True):
    at: int
    """Which one of a list."""
    text: str


def _of_rules(rules: tuple[InterceptorRule, ...]) -> Iterator[SettingFlaw]:
    for at, rule in enumerate(rules):
        why = broken(rule.pattern)
        if why is not None:
            yield SettingFlaw(at=at, text=f"the pattern of rule {at + 1} cannot be read: {why}")


_LOOKS: Final[Mapping[str, Callable[[Any], Iterator[SettingFlaw]]]] = {"bash.interceptor.rules": _of_rules}


def flaws(key: SettingKey, value: Any) -> tuple[SettingFlaw, ...]:
    """`value`: as the settings hold it."""
    look = _LOOKS.get(key.name)
    return tuple(look(value)) if look is not None else ()


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
