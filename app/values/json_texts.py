"""Finds and replaces texts anywhere within JSON data."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, cast

import msgspec

_JSON_TYPES_WITHOUT_TEXT: Final = frozenset((int, float, bool, type(None)))
"""JSON types that contain no texts; they are skipped early because long lists consist mostly of numbers."""


def texts_in_json(value: Any, *, names: bool = False) -> Iterator[str]:
    """Yields all texts within a JSON value; with `names`, the names of fields too."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            fields = cast("dict[Any, Any]", one)
            waiting += reversed(fields.values())
            if names:
                waiting += fields
        elif isinstance(one, list | tuple):
            for each in reversed(cast("list[Any]", one)):
                if type(each) not in _JSON_TYPES_WITHOUT_TEXT:
                    waiting.append(each)
        elif isinstance(one, msgspec.Struct):
            waiting.append(msgspec.to_builtins(one))


def replace_texts_in_json(value: Any, change: Callable[[str], str], *, but: Collection[str] = ()) -> Any:
    """Returns a copy of JSON data with `change` applied to every text and field name, except the values of
    fields named in `but`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            replace_texts_in_json(name, change): one
            if name in but
            else replace_texts_in_json(one, change, but=but)
            for name, one in cast("dict[Any, Any]", value).items()
        }
    if isinstance(value, list | tuple):
        return [replace_texts_in_json(one, change, but=but) for one in cast("list[Any]", value)]
    if isinstance(value, msgspec.Struct):
        return replace_texts_in_json(msgspec.to_builtins(value), change, but=but)
    return value
