"""The order of slash commands and page keys in lists. Unlisted ones come last."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")

COMMANDS = """
model scoped-models thinking tree resume fork new clone name session context usage compact uncompact
undo redo rules init review btw handoff plan todos pending diff map jobs mcp kernel kill pin copy
export import extensions settings permissions secrets unmask sandbox theme trust login logout reload
hotkeys keys help quit
"""
KEYS = """
app.interrupt app.clear app.exit app.suspend app.palette app.model.select app.model.cycleForward
app.model.cycleBackward app.session.tree app.session.resume app.session.fork app.session.new
app.context.show app.compaction.preview app.compaction.undo app.files.undo app.files.redo
app.diff.show app.thinking.cycle app.thinking.toggle app.tools.expand app.tools.background
app.message.dequeue app.queue.focus app.plan.toggle app.todos.fold app.side.toggle app.message.copy
app.transcript.focus tui.altScreen.search app.retry app.approval.once app.approval.deny
app.approval.always app.approval.whole app.approval.enter app.permissions.cycle
tui.altScreen.previousPrompt tui.altScreen.nextPrompt tui.altScreen.pageUp tui.altScreen.pageDown
tui.altScreen.top tui.altScreen.bottom
"""


def ordered(rows: Iterable[Row], name: Callable[[Row], str], order: str) -> tuple[Row, ...]:
    places = {word: place for place, word in enumerate(order.split())}
    return tuple(sorted(rows, key=lambda row: places.get(name(row), len(places))))
