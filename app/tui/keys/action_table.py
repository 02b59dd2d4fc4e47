"""The table of all actions: key actions and slash commands, for the palette and the list of keys.

Screens, whose keys it includes, are imported when the whole table is shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from textual.binding import Binding

from app.tui.keys.keymap import KeyMap, KeyPlace, key_place, keys_of
from app.tui.keys.page_keys import PageKey, textual_bindings
from app.tui.keys.verb_words import describe_verb
from widgets.editor.prompt import PromptEditor
from widgets.editor.vi.keys import BINDINGS as VI_KEYS
from widgets.key_labels import NO_KEY, key_label, key_name
from widgets.screens.actions import ActionRow
from widgets.status.queue import QueueView
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

_ON_THE_PAGE: tuple[KeyPlace, ...] = (
    key_place("the editor", PromptEditor.BINDINGS),
    key_place("the transcript's blocks", Transcript.BINDINGS),
    key_place("the search in the transcript", SearchBar.BINDINGS),
    key_place("waiting messages", QueueView.BINDINGS),
    key_place("vi's normal and visual mode", VI_KEYS),
)
_EXTENSIONS = "Extensions"
_NOT_OFFERED = {"app.interrupt", "app.clear", "app.palette", "tui.editor.closeCompletion", "transcript.leave"}
_AT_THE_END = ("app.suspend", "app.exit")
"""Actions that leave the page; the first row of the palette must never be one of them."""


class ActionTable:
    """Lists the actions of one application with their keys."""

    def __init__(
        self,
        page: Sequence[PageKey[Any]],
        commands: Callable[[], Sequence[tuple[str, str]]],
        screens: Callable[[], tuple[KeyPlace, ...]],
        hints: Mapping[str, str],
    ) -> None:
        """`page`: the page's own keys; `commands`: returns all slash commands with descriptions;
        `screens`: returns the keys of all screens; `hints`: argument names of commands."""
        self.hints = hints
        self._page = textual_bindings(page)
        self._verbs = {key.id: key.verb for key in page if key.verb}
        self._screens = screens
        self.command_names = commands
        self.own = KeyMap()
        """The user's key bindings, as far as they differ from the defaults."""
        self.shortcuts: dict[str, tuple[str, str]] = {}
        """The shortcuts bound by extensions: action and description by key."""

    @cached_property
    def places(self) -> tuple[KeyPlace, ...]:
        """Every place with key bindings, in the order of the list of keys."""
        return (key_place("the page", self._page), *_ON_THE_PAGE, *self._screens())

    def key_rows(self) -> list[ActionRow]:
        """Returns the rows of the list of keys; an action of several places has one row, at its first
        place."""
        own, conflicts = self.own.keys, self.own.conflicts
        rows: list[ActionRow] = []
        told: set[str] = set()
        for one in self.places:
            for binding in one.bindings:
                if binding.id is None or binding.id in told:
                    continue
                told.add(binding.id)
                rows.append(
                    ActionRow(
                        id=binding.id,
                        title=self.told(binding),
                        keys=keys_of(binding, own),
                        group=one.title[:1].upper() + one.title[1:],
                        is_own=binding.id in own,
                        problem=conflicts.get(binding.id, ""),
                    )
                )
        return rows + self._extension_rows()

    def _extension_rows(self) -> list[ActionRow]:
        return [
            ActionRow(id=action, title=meaning, keys=(key,), group=_EXTENSIONS)
            for key, (action, meaning) in self.shortcuts.items()
        ]

    def palette_rows(self) -> list[ActionRow]:
        """Returns the rows of the palette: actions of the page, slash commands, actions of editor and
        transcript."""
        page, *around = self.places[:3]
        own = {binding.id for binding in page.bindings}
        suggested_rules = {binding.id for one in around for binding in one.bindings}
        actions: list[ActionRow] = []
        others: list[ActionRow] = []
        for row in self.key_rows():
            if row.id in _NOT_OFFERED:
                continue
            if row.id in own:
                actions.append(ActionRow(id=row.id, title=row.title, keys=row.keys))
            elif row.id in suggested_rules or row.group == _EXTENSIONS:
                others.append(ActionRow(id=row.id, title=row.title, keys=row.keys, detail=row.group.lower()))
        commands = [
            ActionRow(id=f"/{name}", title=f"/{name}", detail=text) for name, text in self.command_names()
        ]
        leaving = [row for row in actions if row.id in _AT_THE_END]
        return [*(row for row in actions if row.id not in _AT_THE_END), *commands, *others, *leaving]

    def told(self, binding: Binding) -> str:
        """Returns the description of a binding's action."""
        verb = self._verbs.get(binding.id or "")
        return describe_verb(verb) if verb else binding.description

    def keys_of(self, action: str) -> tuple[str, ...]:
        """Returns an action's keys in Textual's spelling; if several places have the action, those of
        the first."""
        for one in self._ordered_places():
            for binding in one.bindings:
                if binding.id == action:
                    return keys_of(binding, self.own.keys)
        return ()

    def key_of(self, action: str) -> str:
        """Returns the label of an action's first key; empty if the action has no key."""
        key = next(iter(self.keys_of(action)), NO_KEY)
        return "" if key == NO_KEY else key_name(key)

    def key_label(self, action: str, usual: str) -> str:
        """Returns the key label for a text: `usual` unless the user has bound another key; empty if
        the action has no key."""
        return key_label(self.own.keys, action, usual)

    def _ordered_places(self) -> Iterator[KeyPlace]:
        """Yields the places, those of the page first, so that most lookups load no screen."""
        yield key_place("the page", self._page)
        yield from _ON_THE_PAGE
        yield from self.places
