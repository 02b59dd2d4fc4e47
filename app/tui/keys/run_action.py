"""Runs an action by its name."""

from collections.abc import Iterable
from typing import Any

from textual.app import App
from textual.dom import DOMNode
from textual.widget import Widget

from widgets.textual_internals import bindings_of


async def do_action(app: App[Any], nodes: Iterable[DOMNode], action: str) -> None:
    """Runs the action on the first node that has it, independent of the focus."""
    if action.startswith("extension_key("):
        await app.run_action(action)
        return
    for node in nodes:
        bound = (one for bindings in bindings_of(node).values() for one in bindings)
        found = next((one for one in bound if one.id == action), None)
        if found is not None:
            if isinstance(node, Widget):
                node.focus()
            await app.run_action(found.action, node)
            return
