"""The keys of the page as tables: id, default keys, description and function. Bindings, palette and help are generated
from the features' tables.

Keys of the editor, the transcript and screens are defined there."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec
from textual.binding import Binding, BindingType

P = TypeVar("P")


class PageKey(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """A key of the page that a feature has, with the function of its page type `P` that it runs."""

    id: str
    """The action's id in `keybindings.json`."""
    keys: str
    run_key_action: Callable[[P], object]
    """The function of the key. An awaitable result runs as a background task, and a `UserError` is
    shown to the user."""
    help: str = ""
    session_command: str = ""
    """The name of the session command that the key runs, whose description is used."""
    slash_command: str = ""
    """The name of the slash command that does the same; the palette shows both in one row."""
    takes_precedence: bool = False
    """Whether the key takes precedence over the focused widget."""


CLEAR_OR_QUIT_ACTION = "app.clear"
"""The action that clears the editor; on every screen it also copies the selection."""


def textual_bindings(keys: Iterable[PageKey[Any]]) -> list[BindingType]:
    return [
        Binding(key.keys, f"act('{key.id}')", key.help, id=key.id, priority=key.takes_precedence)
        for key in keys
    ]
