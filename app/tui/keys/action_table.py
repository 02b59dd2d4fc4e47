"""All actions by name: key actions and slash commands, for the palette and the table of keys.

Screens, whose keys are part of it, are imported when the whole table is shown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from textual.binding import Binding

from app.tui.keys.keymap import KeyMap, KeyPlace, keys_of, place
from app.tui.keys.page_keys import PageKey, bindings
from app.tui.keys.verb_words import words_of
from widgets.editor.prompt import PromptEditor
from widgets.editor.vi.keys import BINDINGS as VI_KEYS
from widgets.key_labels import NO_KEY, key_label, key_name
from widgets.screens.actions import ActionRow
from widgets.status.queue import QueueView
from widgets.transcript.searching.search_bar import SearchBar
from widgets.transcript.view import Transcript

_ON_THE_PAGE: tuple[KeyPlace, ...] = (
    place("the editor", PromptEditor.BINDINGS),
    place("the transcript's blocks", Transcript.BINDINGS),
    place("the search in the transcript", SearchBar.BINDINGS),
    place("waiting messages", QueueView.BINDINGS),
    place("vi's normal and visual mode", VI_KEYS),
)
_EXTENSIONS = "Extensions"
_NOT_OFFERED = {"app.interrupt", "app.clear", "app.palette", "tui.editor.closeCompletion", "transcript.leave"}


class ActionTable:
    """What one application can be asked to do."""

    def __init__(
        self,
        page: Sequence[PageKey[Any]],
        commands: Callable[[], Sequence[tuple[str, str]]],
        screens: Callable[[], tuple[KeyPlace, ...]],
        hints: Mapping[str, str],
    ) -> None:
        """`page`: the keys of the page itself; `commands`: all slash commands that there are, with their meaning;
        `screens`: the keys of all screens; `hints`: what the arguments of commands are called."""
        self.hints = hints
        self._page = bindings(page)
        self._verbs = {key.id: key.verb for key in page if key.verb}
        self._screens = screens
        self.command_names = commands
        self.own = KeyMap()
        """The person's own keys, as far as they are others than the defaults."""
        self.shortcuts: dict[str, tuple[str, str]] = {}
        """By key: action and meaning of what extensions have bound."""

    @cached_property
    def places(self) -> tuple[KeyPlace, ...]:
        """Every place where keys are heard, in the order in which the table of keys has them."""
        return (place("the page", self._page), *_ON_THE_PAGE, *self._screens())

    def key_rows(self) -> list[ActionRow]:
        """The live map of keys. An action that several places share is told once, where it comes first."""
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
        """What can be done from the page: its own actions, slash commands, the editor's and the transcript's."""
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
        return [*actions, *commands, *others]

    def told(self, binding: Binding) -> str:
        """What the action of a binding does, in words."""
        verb = self._verbs.get(binding.id or "")
        return words_of(verb) if verb else binding.description

    def keys_of(self, action: str) -> tuple[str, ...]:
        """As Textual names them. Of an action that several places share, those of the first."""
        for one in self._near_and_far():
            for binding in one.bindings:
                if binding.id == action:
                    return keys_of(binding, self.own.keys)
        return ()

    def key_of(self, action: str) -> str:
        """As it is written for a person; empty when the key was taken away."""
        key = next(iter(self.keys_of(action)), NO_KEY)
        return "" if key == NO_KEY else key_name(key)

    def key_label(self, action: str, usual: str) -> str:
        """In a text: `usual` unless the person has another key; nothing when it was taken away."""
        return key_label(self.own.keys, action, usual)

    def _near_and_far(self) -> Iterator[KeyPlace]:
        """What is on the page first: for most of what is asked no screen need be loaded."""
        yield place("the page", self._page)
        yield from _ON_THE_PAGE
        yield from self.places
