"""Stock of a small shop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

MAX_SHELVES: int = 12
default_currency = "EUR"


class OutOfStock(Exception):
    """Nothing left on any shelf."""


@dataclass(frozen=True)
class Item:
    """One thing that can be sold."""

    name: str
    price: float = 0.0

    @property
    def label(self) -> str:
        return f"{self.name} ({self.price:.2f})"

    @staticmethod
    def parse(text: str) -> Item:
        def clean(part: str) -> str:
            return part.strip()

        name, price = map(clean, text.split(";"))
        return Item(name, float(price))


class Shelf:
    class Slot:
        width = 3

    def __iter__(self) -> Iterator[Item]:
        yield from self._items

    async def restock(
        self,
        items: list[Item],
        *,
        limit: int = 10,
    ) -> None:
        # takes its time
        await asyncio.sleep(0)


if MAX_SHELVES > 10:

    def warn() -> None:
        print("many shelves")

else:
    warn = None


async def main() -> None:
    await Shelf().restock([])
