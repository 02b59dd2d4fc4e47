"""What can be done, as rows of the palette and of the table of keys."""

import msgspec


class ActionRow(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be done: by a key, as a command, from the palette."""

    id: str
    title: str
    keys: tuple[str, ...] = ()
    group: str = ""
    detail: str = ""
    is_own: bool = False
    """The keys are the person's, not the default ones."""
    problem: str = ""
    """A conflict of its keys."""
