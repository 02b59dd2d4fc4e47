"""The texts within data of that kind, wherever they stand in it."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import msgspec


def texts_of(value: Any) -> Iterator[str]:
    """Without the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[Any, Any]", value).values():
            yield from texts_of(one)
    elif isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            yield from texts_of(one)


def with_texts(value: Any, change: Callable[[str], str], *, but: Collection[str] = ()) -> Any:
    """The same data with every text changed, names of fields included; not in the fields named `but`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            with_texts(name, change): one if name in but else with_texts(one, change, but=but)
            for name, one in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, list | tuple):
        return [with_texts(one, change, but=but) for one in cast("list[Any]", value)]
    if isinstance(value, msgspec.Struct):
        return with_texts(msgspec.to_builtins(value), change, but=but)
    return value
