"""What a case of `test_every_setting` is: a setting, two values of it, and something that is not the same with both."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

Look = Callable[[Any], Awaitable[Any]]


class Case(NamedTuple):
    name: str
    one: Any
    other: Any
    look: Look
    base: dict[str, Any]
    """Other settings that are in force meanwhile."""


class Cases(list[Case]):
    """A table that is written as decorators of what looks."""

    def add(
        self, name: str, one: Any, other: Any, base: dict[str, Any] | None = None
    ) -> Callable[[Look], Look]:
        def adding(look: Look) -> Look:
            self.append(Case(name, one, other, look, base or {}))
            return look

        return adding


def in_file(values: dict[str, Any]) -> dict[str, Any]:
    """`{"retry.enabled": True}` as a settings file has it."""
    document: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        here = document
        for group in groups:
            here = here.setdefault(group, {})
        here[last] = value
    return document
