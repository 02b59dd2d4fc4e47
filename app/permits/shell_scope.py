"""Shell state that one command leaves for the next: variables, folder, aliases.

A command may fail, so the next one may run in one of several folders. Unknown values stay unknown."""

import msgspec

from app.permits.shell_words import UNKNOWN

_MAX_FOLDERS = 6


class ShellScope(msgspec.Struct, kw_only=True):
    """The shell's state at one point of a script."""

    folders: tuple[str, ...]
    """The possible current folders; contains UNKNOWN if they are not all known."""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: tuple[str, ...] | None = None
    """The values of `$1` and following; None if unknown."""
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    pending: tuple["ShellScope", ...] = ()
    """States that also apply if an earlier command failed."""
    has_exited: bool = False
    """Whether `exit` was reached, so that nothing follows."""

    def copy(self) -> "ShellScope":
        twin = msgspec.structs.replace(self)
        twin.variables = dict(self.variables)
        twin.aliases = dict(self.aliases)
        return twin

    def without_pending(self) -> "ShellScope":
        """A copy without the pending states."""
        twin = self.copy()
        twin.pending = ()
        return twin

    def assign(self, name: str, value: str) -> None:
        """Sets a variable; a second, different value makes it unknown, since either assignment may have run."""
        if self.variables.setdefault(name, value) != value:
            self.variables[name] = UNKNOWN

    def change_folder(self, folders: tuple[str, ...]) -> None:
        """Changes the folder; the old state stays pending because `cd` may fail."""
        self.pending = (*self.pending, self.without_pending())
        self.folders = folders

    def include_pending(self) -> None:
        """Merges the pending states: from here on both outcomes count."""
        pending, self.pending = self.pending, ()
        for other in pending:
            self.join(other)

    def join(self, other: "ShellScope") -> None:
        """Merges another possible state; values that differ become unknown."""
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
        """Takes all values of another state."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))
