"""Facts about the place where commands run, for judging them: links, hooks, secret files.

This module only reads; `app.permits` gets its findings as facts and as functions to call."""

import os
import posixpath
import stat
import time
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from app.permits.command_place import CommandPlace
from app.permits.secret_files import delayed_run_reason, secret_likelihood
from app.permits.shell_words import UNKNOWN
from tools.files.paths import AddedFolders
from tools.git.repository import find_repository
from tools.protected.keys import KEY_PLACES
from tools.protected.later import HOME_AUTORUN_FILES, PROJECT_AUTORUN_FILES
from tools.running.withheld import withheld_names

_MAX_ENTRIES = 3_000
_CACHE_SECONDS = 5.0
"""Seconds for which the secret files of a folder are cached."""
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"})


class SecretFiles(msgspec.Struct, frozen=True):
    """The secret files in a folder, as real paths."""

    paths: tuple[str, ...] = ()
    is_complete: bool = True
    """False: the folder was too large to search completely."""


class CommandContext:
    """Facts about one folder and one home folder."""

    def __init__(
        self,
        home: Path,
        agent_dir: Path,
        sessions_dir: Path | None = None,
        added: AddedFolders | None = None,
    ) -> None:
        self._added = added or AddedFolders()
        self._home = str(home)
        self._real_home = os.path.realpath(home)
        own = filter(None, (agent_dir, sessions_dir))
        self._own_folders = tuple(
            dict.fromkeys(form for one in own for form in (str(one), os.path.realpath(one)))
        )
        self._cached_secrets: dict[str, tuple[float, SecretFiles]] = {}

    def place(
        self,
        folder: Path,
        passed: Collection[str] = (),
        *,
        stands_in: str | None = None,
        has_box: bool = False,
    ) -> CommandPlace:
        """Describes where a command runs. `passed`: secret-looking variables that commands get. `stands_in`: the
        command's folder, if it is not the workspace; empty if unknown. `has_box`: commands that only read run in a
        sandbox."""
        workspace = os.path.realpath(folder)
        added = self._added.real
        links = LinkResolver(workspace)
        return CommandPlace(
            workspace=workspace,
            added=added,
            folder=workspace if stands_in is None else os.path.realpath(stands_in) if stands_in else UNKNOWN,
            home=self._home,
            real_home=self._real_home,
            user=os.environ.get("USER", ""),
            temporary=temporary_folders(),
            own=self._own_folders,
            hides_secrets=has_box and all(self.secrets_below(one).is_complete for one in (workspace, *added)),
            secret_variables=bool(withheld_names(os.environ) - withheld_names(os.environ, passed)),
            resolve=links.resolve,
            search_folders=_search_folders((workspace, *added)),
            exists=os.path.lexists,
            git_runs_programs=self._git_runs_programs,
            other_names=self._other_names((workspace, *added)),
            holds_secrets=self._holds_secrets,
        )

    def _git_runs_programs(self, folder: str) -> bool:
        try:
            repository = find_repository(Path(folder))
            return repository is not None and repository.may_start_programs(Path(self._home))
        except (OSError, ValueError):
            return True

    def _holds_secrets(self, folder: str) -> bool:
        found = self.secrets_below(folder)
        return bool(found.paths) or not found.is_complete

    def secrets_below(self, folder: str) -> "SecretFiles":
        """Returns the files below the folder that hold secrets, judged by their names."""
        known = self._cached_secrets.get(folder)
        now = time.monotonic()
        if known is not None and now - known[0] < _CACHE_SECONDS:
            return known[1]
        found = self._look_for_secrets(folder)
        self._cached_secrets[folder] = (now, found)
        return found

    def _look_for_secrets(self, folder: str) -> "SecretFiles":
        waiting, looked_at, found = [folder], 0, list[str]()
        while waiting:
            try:
                entries = list(os.scandir(waiting.pop()))
            except OSError:
                continue
            looked_at += len(entries)
            if looked_at > _MAX_ENTRIES:
                return SecretFiles(tuple(found), is_complete=False)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED_FOLDERS:
                        waiting.append(entry.path)
                elif self._is_secret(entry.path) or (
                    entry.is_symlink() and self._is_secret(os.path.realpath(entry.path))
                ):
                    found.append(os.path.realpath(entry.path))
        return SecretFiles(tuple(found))

    def _is_secret(self, path: str) -> bool:
        return secret_likelihood(path, self._home, self._own_folders) == "likely" or (
            self._real_home != self._home
            and secret_likelihood(path, self._real_home, self._own_folders) == "likely"
        )

    def _other_names(self, roots: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
        """Returns a function that finds protected hard links of a file; not all hard links can be found."""

        def look(path: str) -> tuple[str, ...]:
            try:
                known = os.stat(path, follow_symlinks=False)  # noqa: PTH116  (a plain text, often)
            except (OSError, ValueError):
                return ()
            if known.st_nlink < 2 or not stat.S_ISREG(known.st_mode):
                return ()
            mark = (known.st_dev, known.st_ino)
            return tuple(one for one in self._protected(roots) if one != path and _file_stamp(one) == mark)

        return look

    def _protected(self, roots: tuple[str, ...]) -> list[str]:
        """Returns files that attackers might link to: those that run later, and those at the places of keys."""
        found = [f"{self._home}/{row.name}" for row in HOME_AUTORUN_FILES if not row.is_folder]
        found += [
            f"{root}/{row.name}" for root in roots for row in PROJECT_AUTORUN_FILES if not row.is_folder
        ]
        found += [f"{root}/.git/config" for root in roots]
        found += [f"{self._home}/{place.name}" for place in KEY_PLACES if not place.is_folder]
        for folder in (
            *(f"{self._home}/{place.name}" for place in KEY_PLACES if place.is_folder),
            *self._own_folders,
            self._home,
            *(f"{root}{name}" for root in roots for name in ("", "/.git/hooks", "/.bayou")),
        ):
            try:
                found += [entry.path for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)][
                    :300
                ]
            except OSError:
                continue
        return [
            one
            for one in dict.fromkeys(found)
            if self._is_secret(one) or delayed_run_reason(one, self._home, self._own_folders) is not None
        ]


def _file_stamp(path: str) -> tuple[int, int] | None:
    try:
        known = os.stat(path, follow_symlinks=False)  # noqa: PTH116  (a plain text, often)
    except (OSError, ValueError):
        return None
    return known.st_dev, known.st_ino


class LinkResolver:
    """Resolves symbolic links in absolute paths, reading each folder once."""

    def __init__(self, known: str) -> None:
        self._real: dict[str, str] = {"/": "/", known: known}

    def resolve(self, path: str) -> str:
        plain = posixpath.normpath(path)
        if plain != path and ("/../" in path or path.endswith("/..")):
            return os.path.realpath(path)  # `..` behind a link is the parent of the link's target
        return self._real_path(plain)

    def _real_path(self, path: str) -> str:
        known = self._real.get(path)
        if known is not None:
            return known
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError):
            return self._of_parent(path)
        if stat.S_ISLNK(mode):
            return os.path.realpath(path)
        real = self._of_parent(path)
        if stat.S_ISDIR(mode) and len(self._real) < 1_000:
            self._real[path] = real
        return real

    def _of_parent(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        parent = self._real_path(folder or "/")
        return f"{parent.rstrip('/')}/{name}"


def _search_folders(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the folders of PATH in the workspace or an added folder, and relative ones, which depend on the
    command's folder."""
    parts = [part or "." for part in os.environ.get("PATH", "").split(os.pathsep)]
    inside = tuple(root.rstrip("/") + "/" for root in roots)
    return tuple(
        one for one in parts if not one.startswith("/") or f"{os.path.realpath(one)}/".startswith(inside)
    )


def temporary_folders() -> tuple[str, ...]:
    wanted = ("/tmp", "/var/tmp", os.environ.get("TMPDIR") or "/tmp")
    return tuple(one for one in dict.fromkeys(map(os.path.realpath, wanted)) if one != "/") or ("/tmp",)
