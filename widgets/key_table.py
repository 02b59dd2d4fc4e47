"""The keys of a widget as a table: id, default keys, words, and what is done. Bindings are made from it.

A widget that has one binds `TABLE.bindings` and has one action: `action_do(id)`, which asks the table.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from textual.binding import Binding, BindingType

Actor = TypeVar("Actor")


class Key(Generic[Actor]):
    """One row. `id` is what a person's `keybindings.json` names."""

    __slots__ = ("do", "id", "is_remappable", "keys", "words")

    def __init__(
        self,
        id: str,
        keys: str,
        words: str,
        do: Callable[[Actor], object],
        *,
        is_remappable: bool = True,
    ) -> None:
        self.id = id
        self.keys = keys
        self.words = words
        self.do = do
        self.is_remappable = is_remappable

    @property
    def binding(self) -> Binding:
        id = self.id if self.is_remappable else None
        return Binding(self.keys, f"do('{self.id}')", self.words, show=False, id=id)


class KeyTable(Generic[Actor]):
    """What keys do with an actor, which need not be the widget that hears them."""

    def __init__(self, *rows: Key[Actor]) -> None:
        self._rows = {row.id: row for row in rows}

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[Key[Actor]]:
        return iter(self._rows.values())

    @property
    def bindings(self) -> list[BindingType]:
        return [row.binding for row in self]

    def do(self, id: str, actor: Actor) -> object:
        """What the table says for an id. An awaitable if that takes time."""
        return self._rows[id].do(actor)
