"""Textual without its command palette: imported before anything else of it.

With `textual.app` comes the palette, which bayou has not switched on, and with that lists, trees, inputs and selects of
which bayou has its own: 12 ms and a megabyte of each start. While Textual is imported, a module with nothing but the
names stands in the palette's place; who imports it afterwards, or uses one of the names, gets the real one.
"""

from tools.lean_imports import without

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


with without({PALETTE: NAMES}):
    import textual.app
    import textual.theme  # noqa: F401
