"""The data of actions, as the palette and the table of keys list them."""

import msgspec


class AppActionRow(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the application that a key, a slash command or the palette runs: its title, keys and description."""

    id: str
    title: str
    keys: tuple[str, ...] = ()
    group: str = ""
    detail: str = ""
    words: str = ""
    """Other words by which people search it."""
    is_own: bool = False
    """Its keys are set by the user."""
    problem: str = ""
    """A conflict between its keys and others."""
