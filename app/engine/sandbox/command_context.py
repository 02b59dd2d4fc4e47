"""Facts about the place where commands run, for judging them: links, hooks, secret files.

This module only reads; `app.permits` gets its findings as facts and as functions to call."""

import os
import posixpath
import stat
import time
from collections import deque
from collections.abc import Collection
from functools import partial
from pathlib import Path

import msgspec

from app.engine.sandbox.private_files import PrivateHomeFiles
from app.engine.sandbox.protected_names import ProtectedHardLinks, files_at_or_below
from app.permits.command_place import CommandPlace
from app.permits.secret_files import autorun_reason, bare_git_repository_reason, secret_likelihood_of_path
from app.permits.shell_words import UNKNOWN_TEXT_MARK, WILDCARD_MARK_PATTERN, reached_paths_regex
from tools.box.sandbox_policy import innermost_containing
from tools.files.paths import AddedWorkingFolders, real_path
from tools.git.git_repository import find_repository
from tools.protected.credential_tables import CREDENTIAL_PLACES
from tools.running.withheld_environment_variables import withheld_variable_names

_MAX_SEARCHED_FOLDER_ENTRIES = 3_000
_SECRET_FILES_CACHE_SECONDS = 5.0
"""The number of seconds for which the secret files of a folder are cached."""
_FOLDERS_NOT_SEARCHED_FOR_SECRETS = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"}
)


class SecretFilesInFolder(msgspec.Struct, frozen=True):
    """The secret files in a folder, as real paths."""

    paths: tuple[str, ...] = ()
    linked_files: tuple[str, ...] = ()
    """Other files with several hard links, and symbolic links, because they may lead to a secret file."""
    is_complete: bool = True
    """Whether the whole folder was searched; False if it was too large."""


class CommandPlaceFacts:
    """Facts about the folder where commands run and the home folder, for judging commands."""

    def __init__(
        self,
        home: Path,
        agent_dir: Path,
        sessions_dir: Path | None = None,
        added: AddedWorkingFolders | None = None,
    ) -> None:
        self._added_folders = added or AddedWorkingFolders()
        self._home = str(home)
        self._real_home = real_path(home)
        own = filter(None, (agent_dir, sessions_dir))
        self._own_folders = tuple(dict.fromkeys(form for one in own for form in (str(one), real_path(one))))
        self._cached_secrets: dict[str, tuple[float, SecretFilesInFolder]] = {}
        self.private_files = PrivateHomeFiles(self._real_home)
        self._protected_names = ProtectedHardLinks(
            self._real_home,
            self._own_folders,
            secret_files_below=lambda root: (
                *self.secret_files_below(root).paths,
                *self.private_files.find_private_places().files,
            ),
            is_protected=lambda path: (
                self._is_secret_name(path)
                or self.is_autorun_path(path)
                or self.private_files.is_private_file(path)
            ),
        )

    def describe_command_place(
        self,
        folder: Path,
        passed: Collection[str] = (),
        *,
        stands_in: str | None = None,
        has_box: bool = False,
    ) -> CommandPlace:
        """Describes where a command runs. `passed` are secret-looking variables that commands get. `stands_in` is
        the command's folder if it is not the workspace; empty if unknown. `has_box`: commands that only read run in
        a sandbox."""
        workspace = real_path(folder)
        added = self._added_folders.real
        links = LinkResolver(workspace)
        return CommandPlace(
            workspace=workspace,
            added_folders=added,
            working_folder=workspace
            if stands_in is None
            else real_path(stands_in)
            if stands_in
            else UNKNOWN_TEXT_MARK,
            home_folder=self._home,
            resolved_home_folder=self._real_home,
            user_name=os.environ.get("USER", ""),
            temporary_folders=temporary_folders(),
            bayou_folders=self._own_folders,
            has_sandbox=has_box,
            hides_secrets=has_box
            and all(self.secret_files_below(one).is_complete for one in (workspace, *added)),
            has_secret_variables=bool(
                withheld_variable_names(os.environ) - withheld_variable_names(os.environ, passed)
            ),
            resolve_links=links.resolve_links,
            unsafe_path_folders=_workspace_folders_in_path((workspace, *added)),
            path_exists=os.path.lexists,
            is_regular_file=os.path.isfile,
            is_git_redirected=self._is_git_folder_elsewhere,
            hard_links_of=partial(self._protected_names.protected_hard_links_of, roots=(workspace, *added)),
            has_secrets_below=self._holds_secrets,
            repository_tracks_secrets=self._has_tracked_secrets,
            has_links_to_secrets=partial(self._leads_to_secrets, roots=(workspace, *added)),
            files_matching=expand_path_pattern,
            key_files_below=self._key_files_below,
            is_private_key_file=self.private_files.is_private_file,
        )

    def _is_git_folder_elsewhere(self, folder: str) -> bool:
        try:
            repository = find_repository(Path(folder))
            return repository is not None and repository.may_git_leave_repository(Path(self._home))
        except (OSError, ValueError):
            return True

    def _has_tracked_secrets(self, folder: str) -> bool:
        try:
            repository = find_repository(Path(folder))
            paths = repository.tracked_paths() if repository is not None else ()
        except (OSError, ValueError):
            return True
        return paths is None or any(map(self._is_secret_name, paths))

    def _holds_secrets(self, folder: str) -> bool:
        found = self.secret_files_below(folder)
        return bool(found.paths) or not found.is_complete or self.private_files.has_private_file_below(folder)

    def _key_files_below(self, folder: str) -> tuple[str, ...]:
        """Returns the files in places of keys of the home, and private files of programs, below a folder."""
        private = self.private_files.find_private_places()
        rows = (f"{self._real_home}/{row.name}" for row in CREDENTIAL_PLACES)
        below = f"{folder.rstrip('/')}/"
        places = [
            place
            for place in (*rows, *self._own_folders, *private.files, *private.folders)
            if f"{place}/".startswith(below) or below.startswith(f"{place}/")
        ]
        files = (path for place in places if os.path.lexists(place) for path in files_at_or_below(place))
        kept = (
            path
            for path in files
            if path.startswith(below)
            and (self._is_secret_name(path) or self.private_files.is_private_file(path))
        )
        return tuple(dict.fromkeys(kept))

    def _leads_to_secrets(self, folder: str, roots: tuple[str, ...]) -> bool:
        """Whether a symbolic link below the folder leads out of the workspace, or a hard link is a secret file."""
        found = self.secret_files_below(folder)
        for path in found.linked_files:
            real = real_path(path)
            names = (real, *self._protected_names.protected_hard_links_of(path, roots))
            if innermost_containing(real, roots) is None or any(map(self._is_secret_name, names)):
                return True
        return not found.is_complete

    def secret_files_below(self, folder: str, *, is_fresh: bool = False) -> "SecretFilesInFolder":
        """Returns the files below the folder that hold secrets, judged by their names. With `is_fresh`, files are
        found that were created just now."""
        known = self._cached_secrets.get(folder)
        now = time.monotonic()
        if known is not None and not is_fresh and now - known[0] < _SECRET_FILES_CACHE_SECONDS:
            return known[1]
        found = self._search_secrets(folder)
        self._cached_secrets[folder] = (now, found)
        return found

    def _search_secrets(self, folder: str) -> "SecretFilesInFolder":
        waiting, looked_at, found, linked = deque([folder]), 0, list[str](), list[str]()
        while waiting:
            try:
                entries = list(os.scandir(waiting.popleft()))
            except OSError:
                continue
            looked_at += len(entries)
            if looked_at > _MAX_SEARCHED_FOLDER_ENTRIES:
                return SecretFilesInFolder(tuple(found), tuple(linked), is_complete=False)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _FOLDERS_NOT_SEARCHED_FOR_SECRETS:
                        waiting.append(entry.path)
                elif self._is_secret_name(entry.path) or (
                    entry.is_symlink() and self._is_secret_name(real_path(entry.path))
                ):
                    found.append(real_path(entry.path))
                elif entry.is_symlink() or _has_hard_links(entry):
                    linked.append(entry.path)
        return SecretFilesInFolder(tuple(found), tuple(linked))

    def _is_secret_name(self, path: str) -> bool:
        return secret_likelihood_of_path(path, self._home, self._own_folders) == "likely" or (
            self._real_home != self._home
            and secret_likelihood_of_path(path, self._real_home, self._own_folders) == "likely"
        )

    def is_autorun_path(self, path: str) -> bool:
        """Returns whether writing a path needs a question, because a program runs the file without being asked to.
        The path must be without links."""
        homes = dict.fromkeys((self._home, self._real_home))
        return bare_git_repository_reason(path, os.path.lexists) is not None or any(
            autorun_reason(path, home, self._own_folders) is not None for home in homes
        )


def _has_hard_links(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_nlink > 1
    except OSError:
        return False


class LinkResolver:
    """Resolves symbolic links in absolute paths, reading each folder once."""

    def __init__(self, known: str) -> None:
        self._resolved: dict[str, str] = {"/": "/", known: known}

    def resolve_links(self, path: str) -> str:
        plain = posixpath.normpath(path)
        if plain != path and ("/../" in path or path.endswith("/..")):
            return real_path(path)  # `..` behind a link is the parent of the link's target
        return self._real_path(plain)

    def _real_path(self, path: str) -> str:
        known = self._resolved.get(path)
        if known is not None:
            return known
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            return self._resolve_parent(path)
        if stat.S_ISLNK(mode):
            return real_path(path)
        real = self._resolve_parent(path)
        if stat.S_ISDIR(mode) and len(self._resolved) < 1_000:
            self._resolved[path] = real
        return real

    def _resolve_parent(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        parent = self._real_path(folder or "/")
        return f"{parent.rstrip('/')}/{name}"


def expand_path_pattern(pattern: str) -> tuple[str, ...] | None:
    """Returns the existing paths that a pattern matches as the shell expands it; None if there are too many entries to
    look at. `pattern` has marks for single names only."""
    found, looked_at = [""], 0
    for name in pattern.split("/")[1:]:
        if WILDCARD_MARK_PATTERN.search(name) is None:
            found = [f"{path}/{name}" for path in found]
            continue
        form, next_found = reached_paths_regex(name), list[str]()
        for path in found:
            try:
                names = os.listdir(path or "/")  # noqa: PTH208  (names alone)
            except OSError:
                continue
            looked_at += len(names)
            if looked_at > _MAX_SEARCHED_FOLDER_ENTRIES:
                return None
            next_found += [f"{path}/{one}" for one in names if form.fullmatch(one)]
        found = next_found
    return tuple(path for path in found if os.path.lexists(path))


def _workspace_folders_in_path(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the folders of PATH that are in the workspace or an added folder, and relative ones, which depend
    on the command's folder."""
    parts = [part or "." for part in os.environ.get("PATH", "").split(os.pathsep)]
    inside = tuple(root.rstrip("/") + "/" for root in roots)
    return tuple(one for one in parts if not one.startswith("/") or f"{real_path(one)}/".startswith(inside))


def temporary_folders() -> tuple[str, ...]:
    wanted = ("/tmp", "/var/tmp", os.environ.get("TMPDIR") or "/tmp")
    return tuple(one for one in dict.fromkeys(map(real_path, wanted)) if one != "/") or ("/tmp",)
