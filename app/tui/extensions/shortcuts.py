"""Binds the extensions' keyboard shortcuts in addition to the application's keys."""

from collections.abc import Sequence
from typing import Any

from textual.app import App
from textual.widget import Widget

from app.extensions.catalogue import Catalogue
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import spelled
from widgets.textual_internals import bindings_of

_ACTION = "extension_key("


def bind_shortcuts(
    app: App[Any], widgets: Sequence[Widget], catalogue: Catalogue, table: ActionTable
) -> None:
    """Binds the extensions' keys that bayou does not use, and removes those of extensions that are
    gone.

    `widgets`: widgets of the page, whose own keys are not replaced."""
    bound = bindings_of(app)
    for key, bindings in list(bound.items()):
        if any(binding.action.startswith(_ACTION) for binding in bindings):
            del bound[key]
    taken = [key for own in (app, *widgets) for key in bindings_of(own)]
    table.shortcuts = {}
    for key, shortcut in catalogue.shortcuts(taken, spelled).items():
        action, meaning = f"{_ACTION}{shortcut.key!r})", shortcut.description or shortcut.key
        app.bind(key, action, description=meaning)
        table.shortcuts[key] = (action, meaning)
