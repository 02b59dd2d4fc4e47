"""Actions as rows of the palette and the table of keys."""

import msgspec


class ActionRow(msgspec.Struct, frozen=True, kw_only=True):
    """An action: run by a key, as a command, or from the palette."""

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
