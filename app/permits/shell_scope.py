"""Shell state that one command leaves for the next: variables, folder, aliases.

A command may fail, so the next one may run in one of several folders. Unknown values stay unknown."""

import msgspec

from app.permits.shell_words import UNKNOWN_TEXT_MARK, parse_word_set

_MAX_POSSIBLE_FOLDERS = 6
_VARIABLES_SET_BY_SHELL = parse_word_set(
    "_ PWD OLDPWD REPLY OPTARG OPTIND RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO COLUMNS LINES "
    "PIPESTATUS BASH_REMATCH MAPFILE COPROC"
)
"""Variables that bash sets without an assignment, so that a value that a script assigns to them need not last."""


class ShellScope(msgspec.Struct, kw_only=True):
    """The shell's state at one point of a script."""

    possible_folders: tuple[str, ...]
    """The folders in which the shell may be; contains UNKNOWN if they are not all known."""
    known_variables: dict[str, str] = msgspec.field(default_factory=dict)
    script_arguments: tuple[str, ...] | None = None
    """The values of `$1` and following; None if they are unknown."""
    shell_aliases: dict[str, str] = msgspec.field(default_factory=dict)
    pending_scopes: tuple["ShellScope", ...] = ()
    """The states that apply if an earlier command failed."""
    has_exited: bool = False
    """Whether `exit` was reached, so that no command follows."""

    def copy(self) -> "ShellScope":
        twin = msgspec.structs.replace(self)
        twin.known_variables = dict(self.known_variables)
        twin.shell_aliases = dict(self.shell_aliases)
        return twin

    def without_pending_scopes(self) -> "ShellScope":
        """Returns a copy of the state without the pending states."""
        twin = self.copy()
        twin.pending_scopes = ()
        return twin

    def known_value(self, name: str, otherwise: str | None = None) -> str | None:
        """Returns the value of a variable; None if it is not known. `otherwise` is its value if no assignment has
        been seen."""
        value = self.known_variables.get(name)
        if value is None:
            return otherwise
        return None if name in _VARIABLES_SET_BY_SHELL else value

    def set_variable(self, name: str, value: str) -> None:
        """Sets a variable; a second, different value makes it unknown, since either assignment may have run."""
        if self.known_variables.setdefault(name, value) != value:
            self.known_variables[name] = UNKNOWN_TEXT_MARK

    def change_folder(self, folders: tuple[str, ...]) -> None:
        """Changes the folder; the old state stays pending because `cd` may fail."""
        self.pending_scopes = (*self.pending_scopes, self.without_pending_scopes())
        self.possible_folders = folders

    def include_pending_scopes(self) -> None:
        """Merges the pending states: from here on both outcomes count."""
        pending, self.pending_scopes = self.pending_scopes, ()
        for other in pending:
            self.merge_scope(other)

    def merge_scope(self, other: "ShellScope") -> None:
        """Merges another possible state; values that differ become unknown."""
        if other.has_exited:
            return
        if self.has_exited:
            self.replace_with(other)
            return
        folders = tuple(dict.fromkeys(self.possible_folders + other.possible_folders))
        self.possible_folders = folders if len(folders) <= _MAX_POSSIBLE_FOLDERS else (UNKNOWN_TEXT_MARK,)
        if self.known_variables != other.known_variables:
            for name in self.known_variables.keys() | other.known_variables.keys():
                mine, theirs = self.known_variables.get(name), other.known_variables.get(name)
                if mine != theirs:
                    self.known_variables[name] = UNKNOWN_TEXT_MARK
        if self.script_arguments != other.script_arguments:
            self.script_arguments = None
        self.shell_aliases = {**other.shell_aliases, **self.shell_aliases}

    def replace_with(self, other: "ShellScope") -> None:
        """Replaces all values by those of another state."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))
