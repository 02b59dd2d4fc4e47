"""The list of all features of the full screen, and what is built from it: slash commands and page keys in their order,
pages, and event subscriptions.

A feature is a folder of `app.tui.features` with a module `feature`, and its name in this list."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from textual.widget import Widget

from app.engine.session import Session
from app.tui.feature import FeatureServices, Topic, TuiFeature, event_topics
from app.tui.keys.keymap import KeyBindingGroup
from app.tui.keys.page_keys import textual_bindings
from app.tui.page_protocols import KeyLabel
from app.tui.slash_commands import split_slash_command

TUI_FEATURE_NAMES = (
    "blocks",
    "context",
    "extensions",
    "goal",
    "helpers",
    "jobs",
    "kernel",
    "keys",
    "map",
    "mcp",
    "models",
    "pending",
    "permissions",
    "review",
    "rules",
    "screen",
    "sessions",
    "settings",
    "side",
    "side_questions",
    "todos",
    "tree",
    "undo",
    "usage",
)
TUI_FEATURES: tuple[TuiFeature[Any], ...] = tuple(
    feature
    for name in TUI_FEATURE_NAMES
    for feature in import_module(f"app.tui.features.{name}.feature").TUI_FEATURES
)
Row = TypeVar("Row")

SLASH_COMMANDS_BY_GROUP = {
    "Model": "model scoped-models thinking login logout",
    "Sessions": "tree resume fork new clone name session copy export import",
    "Context": "context usage compact uncompact rules memory init",
    "Files and changes": "undo redo review review-changes diff pending map",
    "Work": "plan goal todos btw handoff tasks jobs kill pin",
    "Tools and servers": "mcp kernel extensions",
    "Permissions": "permissions add-dir secrets unmask sandbox trust",
    "Screen": "settings theme reload hotkeys keys help quit",
}
"""The slash commands in their order, by the headings of `/help`."""
GROUP_BY_SLASH_COMMAND = {
    name: group for group, names in SLASH_COMMANDS_BY_GROUP.items() for name in names.split()
}
PAGE_KEY_ORDER = """
app.interrupt app.clear app.exit app.suspend app.palette app.model.select app.model.cycleForward
app.model.cycleBackward app.session.tree app.session.resume app.session.fork app.session.new
app.context.show app.compaction.preview app.compaction.undo app.files.undo app.files.redo
app.review.show app.thinking.cycle app.thinking.toggle app.tools.expand app.tools.background
app.message.dequeue app.queue.focus app.plan.toggle app.todos.fold app.side.toggle app.message.copy
app.transcript.focus tui.altScreen.search app.retry app.approval.once app.approval.deny
app.approval.always app.approval.whole app.approval.enter app.permissions.cycle
tui.altScreen.previousPrompt tui.altScreen.nextPrompt tui.altScreen.pageUp tui.altScreen.pageDown
tui.altScreen.top tui.altScreen.bottom
"""


def sort_by_order(rows: Iterable[Row], name: Callable[[Row], str], order: str) -> tuple[Row, ...]:
    places = {word: place for place, word in enumerate(order.split())}
    return tuple(sorted(rows, key=lambda row: places.get(name(row), len(places))))


PAGE_KEYS = sort_by_order(
    (key for feature in TUI_FEATURES for key in feature.keys), lambda key: key.id, PAGE_KEY_ORDER
)
ALL_SLASH_COMMANDS = sort_by_order(
    (command for feature in TUI_FEATURES for command in feature.slash_commands),
    lambda one: one.name,
    " ".join(GROUP_BY_SLASH_COMMAND),
)
BINDINGS = textual_bindings(PAGE_KEYS)
ARGUMENT_HINT_BY_SLASH_COMMAND = {command.name: command.hint for command in ALL_SLASH_COMMANDS}
"""Argument names of commands, by command name."""
_FEATURE_BY_KEY = {key.id: (feature, key) for feature in TUI_FEATURES for key in feature.keys}
_FEATURE_BY_COMMAND = {
    command.name: (feature, command) for feature in TUI_FEATURES for command in feature.slash_commands
}

P = TypeVar("P")


def slash_command_descriptions(session: Session, key_label: KeyLabel) -> list[tuple[str, str]]:
    """Returns all slash commands with descriptions: bayou's, then those of extensions, prompts and
    skills. The first of a name wins."""
    names = {command.name: command.help_text(key_label) for command in ALL_SLASH_COMMANDS}
    for other in session.commands():
        names.setdefault(other["name"], other.get("description", ""))
    return list(names.items())


def screen_binding_groups() -> tuple[KeyBindingGroup, ...]:
    """Returns the key bindings of all screens by screen; this imports the screens."""
    from app.tui.features.keys.screens import SCREEN_BINDING_GROUPS  # noqa: PLC0415

    return SCREEN_BINDING_GROUPS


class FeatureRegister:
    """Creates the pages of features at first use, runs their slash commands and passes session events to them."""

    def __init__(self, screen: FeatureServices) -> None:
        self._screen = screen
        self._pages: dict[TuiFeature[Any], Any] = {}
        self._listeners: dict[Topic, list[Callable[[Any], object]]] = {}
        for feature in TUI_FEATURES:
            for one in feature.subscriptions:
                self.listen(one.topics, partial(self._run_on_page, feature, one.handle))

    def _run_on_page(self, feature: TuiFeature[P], do: Callable[[P, Any], object], event: object) -> object:
        return do(self.page(feature), event)

    def page(self, feature: TuiFeature[P]) -> P:
        if feature not in self._pages:
            self._pages[feature] = feature.page(self._screen)
        return self._pages[feature]

    def above_editor(self) -> Iterator[Widget]:
        for feature in TUI_FEATURES:
            for widget in feature.above_editor:
                yield widget(self.page(feature))

    def listen(self, topics: Iterable[Topic], listener: Callable[[Any], object]) -> None:
        for topic in topics:
            self._listeners.setdefault(topic, []).append(listener)

    def handle_event(self, event: object) -> None:
        """Passes a session event to the features' listeners of its topics; asynchronous ones run in the background."""
        for topic in event_topics(event):
            for listener in self._listeners.get(topic, ()):
                if inspect.isawaitable(work := listener(event)):
                    self._screen.tasks.run_action_in_background(work)

    def run_key_action(self, key_id: str) -> None:
        feature, key = _FEATURE_BY_KEY[key_id]
        if inspect.isawaitable(work := key.run_key_action(self.page(feature))):
            self._screen.tasks.run_action_in_background(work)

    async def run_slash_command(self, text: str) -> bool:
        """Runs a typed `/name argument`; returns False if there is no such slash command, so that the text is a
        prompt."""
        name, argument = split_slash_command(text)
        if name not in _FEATURE_BY_COMMAND:
            return False
        feature, command = _FEATURE_BY_COMMAND[name]
        await self._screen.tasks.run_action(command.run(self.page(feature), argument))
        return True
