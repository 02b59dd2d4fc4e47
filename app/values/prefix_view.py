"""A read-only view of the first items of a list that only grows, which costs the same for any number of
items."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar, cast, overload

T = TypeVar("T")


class PrefixView(Sequence[T]):
    """A view of the items that a list had when the view was made. The list may only be appended to."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[T]) -> None:
        self._items = items
        self._length = len(items)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            begin, end, step = at.indices(self._length)
            if step == 1:
                return tuple(self._items[begin:end])
            return tuple(self._items[index] for index in range(begin, end, step))
        return self._items[range(self._length)[at]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return False
        items = cast("Sequence[object]", other)
        return len(items) == self._length and tuple(self) == tuple(items)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Beginning({list(self)!r})"
