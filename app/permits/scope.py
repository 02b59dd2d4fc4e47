"""What one command leaves for the next: variables, the folder, aliases.

A command may fail, so that there can be several folders in which the next one runs. What is not known is not guessed.
"""

import msgspec

from app.permits.words import UNKNOWN

_MAX_FOLDERS = 6


class ShellScope(msgspec.Struct, kw_only=True):
    folders: tuple[str, ...]
    """Where it may be; UNKNOWN among them if one cannot tell."""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: tuple[str, ...] | None = None
    """`$1` and the others; None if not known."""
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    pending: tuple["ShellScope", ...] = ()
    """What also may be, if a command before failed."""
    has_exited: bool = False
    """`exit` came: nothing follows here."""

    def copy(self) -> "ShellScope":
        twin = msgspec.structs.replace(self)
        twin.variables = dict(self.variables)
        twin.aliases = dict(self.aliases)
        return twin

    def without_pending(self) -> "ShellScope":
        """A copy in which nothing that failed before is pending."""
        twin = self.copy()
        twin.pending = ()
        return twin

    def assign(self, name: str, value: str) -> None:
        """A name that gets two different values is not known any more, whichever of them ran last."""
        if self.variables.setdefault(name, value) != value:
            self.variables[name] = UNKNOWN

    def change_folder(self, folders: tuple[str, ...]) -> None:
        """A change of folder, which may fail."""
        self.pending = (*self.pending, self.without_pending())
        self.folders = folders

    def include_pending(self) -> None:
        """From here on, what failed before counts too."""
        pending, self.pending = self.pending, ()
        for other in pending:
            self.join(other)

    def join(self, other: "ShellScope") -> None:
        """Either of the two: what they do not agree on is unknown."""
        if other.has_exited:
            return
        if self.has_exited:
            self.replace_with(other)
            return
        folders = tuple(dict.fromkeys(self.folders + other.folders))
        self.folders = folders if len(folders) <= _MAX_FOLDERS else (UNKNOWN,)
        if self.variables != other.variables:
            for name in self.variables.keys() | other.variables.keys():
                mine, theirs = self.variables.get(name), other.variables.get(name)
                if mine != theirs:
                    self.variables[name] = UNKNOWN
        if self.arguments != other.arguments:
            self.arguments = None
        self.aliases = {**other.aliases, **self.aliases}

    def replace_with(self, other: "ShellScope") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))
