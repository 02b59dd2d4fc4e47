"""The page's keys: id, default keys, description and function. Features have tables of them, from which bindings,
palette
and help are generated.

Keys inside the editor, the transcript and screens are defined there."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec
from textual.binding import Binding, BindingType

P = TypeVar("P")


class PageKey(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """Of a feature whose page is a `P`."""

    id: str
    """What `keybindings.json` calls it."""
    keys: str
    do: Callable[[P], object]
    """What is to be awaited is done beside everything else; when it cannot be had, the person is told why."""
    help: str = ""
    verb: str = ""
    """The session's command that it is, where that is told in its words."""
    is_first: bool = False
    """Before the focused widget sees the key."""


CLEAR = "app.clear"
"""Also copies what is selected, on whatever screen."""


def bindings(keys: Iterable[PageKey[Any]]) -> list[BindingType]:
    return [Binding(key.keys, f"act('{key.id}')", key.help, id=key.id, priority=key.is_first) for key in keys]
