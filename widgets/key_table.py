"""A widget's keys as a table of id, default keys, description and action. Its bindings are generated from the table.

The widget uses `TABLE.bindings` as its BINDINGS and has one action, `action_do(id)`, which runs the table's entry."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from textual.binding import Binding, BindingType

Actor = TypeVar("Actor")


class KeyTableRow(Generic[Actor]):
    """A row of a widget's key table: the keys of one action, its description, and the function that it runs. `id` is
    its name in `keybindings.json`."""

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
    """A widget's keys by id, with the functions that they run.

    A function gets the object that it acts on, which may be another one than the widget that receives the keys."""

    def __init__(self, *rows: KeyTableRow[Actor]) -> None:
        self._rows = {row.id: row for row in rows}

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[KeyTableRow[Actor]]:
        return iter(self._rows.values())

    @property
    def bindings(self) -> list[BindingType]:
        return [row.binding for row in self]

    def run_key_action(self, id: str, actor: Actor) -> object:
        """Runs the function of the key with this id; returns an awaitable if the function is asynchronous."""
        return self._rows[id].do(actor)
