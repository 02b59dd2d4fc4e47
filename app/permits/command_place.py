"""Describes where a command would run: facts about the session's folder, and functions that look up a path in the
file system.

Nothing here reads the disk itself: the permission gate passes the functions in, tests pass their own.
"""

import posixpath
from collections.abc import Callable, Mapping

import msgspec


class CommandPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The folder, home and user of a command, and the functions by which its paths are looked up."""

    workspace: str
    """The session's folder, which may be changed: absolute, with links resolved."""
    added_folders: tuple[str, ...] = ()
    """Further folders that may be changed: absolute, with links resolved."""
    working_folder: str
    """The folder in which the command starts."""
    home_folder: str
    resolved_home_folder: str = ""
    """The home folder with links resolved, if that differs from the home folder's path; empty otherwise."""
    user_name: str = ""
    temporary_folders: tuple[str, ...] = ("/tmp", "/var/tmp")
    """The folders for temporary files, with links resolved."""
    bayou_folders: tuple[str, ...] = ()
    """The folders of bayou's settings and credentials."""
    shell_program: str = "bash"
    """The program that runs command lines."""
    shell_aliases: Mapping[str, str] = {}
    """The aliases of the user's shell, if commands run in it."""
    shell_functions: frozenset[str] = frozenset()
    """The names of functions of the user's shell, whose bodies are not judged."""
    has_sandbox: bool = False
    """Whether commands run in a sandbox."""
    hides_secrets: bool = False
    """Whether commands that only read run in a sandbox that hides secret files and variables."""
    has_secret_variables: bool = True
    """Whether the environment of commands may hold secrets."""
    unsafe_path_folders: tuple[str, ...] = ()
    """The folders of PATH that are in the workspace or relative."""
    resolve_links: Callable[[str], str] = posixpath.normpath
    """A function that resolves the links of an absolute path, as far as the path exists."""
    path_exists: Callable[[str], bool] = lambda path: False
    is_regular_file: Callable[[str], bool] = lambda path: False
    """A function that returns whether a path leads to a regular file."""
    is_git_redirected: Callable[[str], bool] = lambda folder: False
    """A function that returns whether git may start programs, reach hosts or read other files even when it is
    called only to read in this folder."""
    hard_links_of: Callable[[str], tuple[str, ...]] = lambda path: ()
    """A function that returns the protected files of which a path is another name (hard link)."""
    has_secrets_below: Callable[[str], bool] = lambda path: True
    """A function that returns whether there may be secret files below a folder."""
    is_private_key_file: Callable[[str], bool] = lambda path: False
    """A function that returns whether a program's file in the home looks like one with keys, by its mode or name."""

    repository_tracks_secrets: Callable[[str], bool] = lambda folder: False
    """A function that returns whether the repository of a folder has secret files in its index."""
    has_links_to_secrets: Callable[[str], bool] = lambda folder: False
    """A function that returns whether links below a folder may lead to secret files."""
    files_matching: Callable[[str], tuple[str, ...] | None] = lambda pattern: ()
    """A function that returns the existing paths that a pattern with wildcards matches; None if there are too many
    to check."""
    key_files_below: Callable[[str], tuple[str, ...]] = lambda folder: ()
    """A function that returns the files in known places of keys, and private files of programs, below a folder of
    the home."""

    @property
    def writable_roots(self) -> tuple[str, ...]:
        """All folders that may be changed: the session's folder and the added ones."""
        return (self.workspace, *self.added_folders)

    def is_private_key_outside_project(self, path: str) -> bool:
        """Returns whether a file looks like one with keys and belongs to no project; a workspace that contains the
        home does not count as a project."""
        root = self.root_containing(path)
        home = f"{self.resolved_home_folder or self.home_folder}/"
        return (root is None or home.startswith(f"{root.rstrip('/')}/")) and self.is_private_key_file(path)

    def root_containing(self, path: str) -> str | None:
        """Returns the session's or an added folder that contains a path; None if none does."""
        for root in (self.workspace, *self.added_folders):
            if path == root or path.startswith(root if root == "/" else f"{root}/"):
                return root
        return None
