"""The keys of a field that is typed into, done in the order in which they were pressed."""

from textual import events
from textual.widget import Widget

from widgets.textual_internals import own_bindings


def consume(event: events.Event) -> None:
    """It goes nowhere else."""
    event.stop()
    event.prevent_default()


async def run_widget_binding(widget: Widget, event: events.Key) -> bool:
    """Does what a key is bound to on this very widget, at once; False: it is not the widget's key.

    Left alone, the key would rise to the application and come back as an action, and letters that were typed behind
    it would have overtaken it: on a slow line, "abc", Backspace, "x" would leave "abc".
    """
    for binding in own_bindings(widget, event.key):
        if not binding.priority and await widget.app.run_action(binding.action, widget):
            consume(event)
            return True
    return False
