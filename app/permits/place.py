"""Where a command would run: facts that are handed in, and ways to ask the file system about a path.

Nothing here looks anywhere by itself: the gate hands the ways over, tests hand over their own.
"""

import posixpath
from collections.abc import Callable, Mapping

import msgspec


class CommandPlace(msgspec.Struct, frozen=True, kw_only=True):
    workspace: str
    """Absolute, without links: what may be changed."""
    folder: str
    """Where the command begins."""
    home: str
    real_home: str = ""
    """The same without links, if that is another."""
    user: str = ""
    temporary: tuple[str, ...] = ("/tmp", "/var/tmp")
    """Folders for temporary files, without links."""
    own: tuple[str, ...] = ()
    """Folders of bayou's own settings and credentials."""
    aliases: Mapping[str, str] = {}
    """Of the person's own shell, where commands have them."""
    functions: frozenset[str] = frozenset()
    """The same: what they do is not looked into."""
    hides_secrets: bool = False
    """A command that reads runs where secret files and variables cannot be seen."""
    secret_variables: bool = True
    """The environment that commands get may hold secrets."""
    search_folders: tuple[str, ...] = ()
    """Folders in which commands look for programs and that lie in the workspace, or where the command stands."""
    resolve: Callable[[str], str] = posixpath.normpath
    """An absolute path with its links followed, as far as it exists."""
    exists: Callable[[str], bool] = lambda path: False
    git_runs_programs: Callable[[str], bool] = lambda folder: False
    """Whether git, asked only to read in this folder, may start programs that a repository names."""
    other_names: Callable[[str], tuple[str, ...]] = lambda path: ()
    """Protected files that are the same file under another name."""
    holds_secrets: Callable[[str], bool] = lambda path: True
    """Whether there may be secret files below a folder."""
