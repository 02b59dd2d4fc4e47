"""Runs the bindings of a focused text field in the order in which the keys were pressed."""

from textual import events
from textual.widget import Widget

from widgets.textual_internals import active_widget_bindings


def stop_key_event(event: events.Event) -> None:
    """Stops a key event, so that neither another widget nor Textual's default handles it."""
    event.stop()
    event.prevent_default()


async def run_widget_binding(widget: Widget, event: events.Key) -> bool:
    """Runs the action bound to a key on this widget at once; returns False if the widget has no such binding.

    Textual would send the key to the application and back as an action, and letters typed meanwhile would overtake it:
    on a slow line, "abc", Backspace, "x" would leave "abc"."""
    for binding in active_widget_bindings(widget, event.key):
        if not binding.priority and await widget.app.run_action(binding.action, widget):
            stop_key_event(event)
            return True
    return False
