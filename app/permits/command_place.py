"""Where a command would run: facts about the session's folder, and functions that ask the file system about a path.

Nothing here reads the disk itself: the gate passes the functions in, tests pass their own."""

import posixpath
from collections.abc import Callable, Mapping

import msgspec


class CommandPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The folder, home and user of a command, and how to look at paths."""

    workspace: str
    """The folder that may be changed: absolute, links resolved."""
    added_folders: tuple[str, ...] = ()
    """Further folders that may be changed: absolute, links resolved."""
    working_folder: str
    """The folder in which the command starts."""
    home_folder: str
    resolved_home_folder: str = ""
    """The home folder with links resolved, if that differs."""
    user_name: str = ""
    temporary_folders: tuple[str, ...] = ("/tmp", "/var/tmp")
    """Folders for temporary files, links resolved."""
    bayou_folders: tuple[str, ...] = ()
    """Folders of bayou's settings and credentials."""
    shell_program: str = "bash"
    """The program that runs command lines."""
    shell_aliases: Mapping[str, str] = {}
    """Aliases of the person's shell, where commands run in it."""
    shell_functions: frozenset[str] = frozenset()
    """Functions of the person's shell, whose bodies are not judged."""
    has_sandbox: bool = False
    """Whether commands run in a sandbox."""
    hides_secrets: bool = False
    """Whether commands that only read run where secret files and variables are hidden."""
    has_secret_variables: bool = True
    """Whether the environment of commands may hold secrets."""
    unsafe_path_folders: tuple[str, ...] = ()
    """Folders of PATH that are in the workspace or relative."""
    resolve_links: Callable[[str], str] = posixpath.normpath
    """Follows the links of an absolute path, as far as the path exists."""
    path_exists: Callable[[str], bool] = lambda path: False
    is_regular_file: Callable[[str], bool] = lambda path: False
    """Whether a path leads to a regular file."""
    is_git_redirected: Callable[[str], bool] = lambda folder: False
    """Whether git, called only to read in this folder, may start programs, reach hosts or read other files."""
    hard_links_of: Callable[[str], tuple[str, ...]] = lambda path: ()
    """Protected files that are the same file under another name (hard links)."""
    has_secrets_below: Callable[[str], bool] = lambda path: True
    """Whether there may be secret files below a folder."""
    is_private_key_file: Callable[[str], bool] = lambda path: False
    """Whether a file of a program in the home looks like one with keys, by its mode or name."""

    repository_tracks_secrets: Callable[[str], bool] = lambda folder: False
    """Whether the repository of a folder has secret files in its index."""
    has_links_to_secrets: Callable[[str], bool] = lambda folder: False
    """Whether links below a folder may lead to secret files."""
    files_matching: Callable[[str], tuple[str, ...] | None] = lambda pattern: ()
    """The existing paths that a pattern with marks for single names matches; None if there are too many to look at."""
    key_files_below: Callable[[str], tuple[str, ...]] = lambda folder: ()
    """Files in places of keys of the home, and private files of programs, below a folder."""

    @property
    def writable_roots(self) -> tuple[str, ...]:
        """All folders that may be changed."""
        return (self.workspace, *self.added_folders)

    def is_private_key_outside_project(self, path: str) -> bool:
        """Whether a file looks like one with keys, and is no file of a project: a workspace that has the home in it is
        none."""
        root = self.root_containing(path)
        home = f"{self.resolved_home_folder or self.home_folder}/"
        return (root is None or home.startswith(f"{root.rstrip('/')}/")) and self.is_private_key_file(path)

    def root_containing(self, path: str) -> str | None:
        """Returns the folder of `roots` that contains a path."""
        for root in (self.workspace, *self.added_folders):
            if path == root or path.startswith(root if root == "/" else f"{root}/"):
                return root
        return None
