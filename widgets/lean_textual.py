"""Textual without its command palette: imported before anything else of it.

With `textual.app` comes the palette, which bayou has not switched on, and with that lists, trees, inputs and selects of
which bayou has its own: 12 ms and a megabyte of each start. While Textual is imported, a module with nothing but the
names stands in the palette's place; who imports it afterwards, or uses one of the names, gets the real one.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

PALETTE = "textual.command"
NAMES = (
    "CommandListItem",
    "CommandPalette",
    "DiscoveryHit",
    "Hit",
    "Hits",
    "Provider",
    "SimpleProvider",
)
"""What `textual.app` and `textual.theme` take of it."""


class _OfThePalette(type):
    """What stands for each of them: made, or asked for what it has, it is the real one."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return _real(cls)(*arguments, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of every class
            raise AttributeError(name)
        return getattr(_real(cls), name)


def _real(stands_for: type) -> Any:
    return getattr(import_module(PALETTE), stands_for.__name__)


@contextmanager
def palette_unread() -> Iterator[None]:
    """For imports of Textual. Where the palette is there already, nothing is put in its place."""
    if PALETTE in sys.modules:
        yield
        return
    stand_in = ModuleType(PALETTE)
    for name in NAMES:
        setattr(stand_in, name, _OfThePalette(name, (), {}))
    sys.modules[PALETTE] = stand_in
    try:
        yield
    finally:
        del sys.modules[PALETTE]


with palette_unread():
    import textual.app
    import textual.theme  # noqa: F401
