"""Finds repositories and autorun files below a workspace, which are protected wherever they are, and the files that
commands of git's configuration spell or name.

Unchanged folders are not read again: a search costs one `stat` per folder."""

import fnmatch
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from tools.box.sandbox_policy import innermost_containing
from tools.files.paths import real_path
from tools.git.submodule_search import MAX_GITLINKED_REPOSITORIES, GitlinkFinder
from tools.lazy_patterns import lazy_regex
from tools.protected.autorun_files import PROJECT_AUTORUN_FILES, VCS_FOLDERS, matches_autorun_file_name

MAX_ENTRIES_SEARCHED_FOR_REPOSITORIES: Final = 20_000
MAX_REPOSITORIES_BELOW_WORKSPACE: Final = 50
"""The maximum number of repositories that are searched for below a workspace, not counting those that an index
links to."""
_MAX_FOLDERS_MATCHED_BY_COMMAND_PATTERN: Final = 300
"""The maximum number of folders in which files are searched for that match a pattern in git's configuration."""
_FOLDERS_NOT_SEARCHED_FOR_REPOSITORIES: Final = frozenset(
    {*VCS_FOLDERS, "node_modules", "__pycache__", "target"}
)
_VIRTUAL_ENVIRONMENT_FOLDER_PATTERN: Final = lazy_regex(
    r"/\.?venv(?:/lib(?:64)?(?:/python[^/]*(?:/[a-z]+-packages)?)?)?\Z"
)
"""The folders of a virtual environment that are searched: those on the way to its packages, whose content is not."""
_NAMES_IN_BARE_REPOSITORY: Final = frozenset({"objects", "refs"})
"""Names of which one exists beside `HEAD` in a bare repository; or `commondir`, which names the folder that has
them."""
_AUTORUN_FOLDERS_BY_FILE_NAME: Final[dict[str, list[tuple[str, ...]]]] = {}
_AUTORUN_NAME_PATTERNS: Final = tuple(
    row.name for row in PROJECT_AUTORUN_FILES if "*" in row.name and "/" not in row.name
)
_AUTORUN_NAME_PREFIXES: Final = tuple(
    name.partition("*")[0] for name in _AUTORUN_NAME_PATTERNS if not name.startswith("*")
)
_AUTORUN_NAME_SUFFIXES: Final = tuple(name[1:] for name in _AUTORUN_NAME_PATTERNS if name.startswith("*"))
_AUTORUN_PATTERNS_IN_FOLDERS: Final[list[tuple[tuple[str, ...], str]]] = []
_AUTORUN_NAMES_IN_HIDDEN_FOLDERS: Final = frozenset(
    row.name.removeprefix(".*/") for row in PROJECT_AUTORUN_FILES if row.name.startswith(".*/")
)
for _row in PROJECT_AUTORUN_FILES:
    *_folders, _name = _row.name.split("/")
    if _folders and "*" in _name:
        _AUTORUN_PATTERNS_IN_FOLDERS.append((tuple(_folders), _name))
    elif "*" not in _row.name and not _row.is_generated and ".git" not in (*_folders, _name):
        _AUTORUN_FOLDERS_BY_FILE_NAME.setdefault(_name, []).append(tuple(_folders))

_SHELL_QUOTE_REMOVAL_TABLE: Final = str.maketrans("", "", "\"'\\")
_SHELL_SUBSTITUTION_PATTERN: Final = lazy_regex(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+|\{[^{}\s]*\}")
_SHELL_WORD_PATTERN: Final = lazy_regex(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s;&|(){}<>=:,!`'"\\])+""", re.DOTALL)
_PYTHON_MODULE_ARGUMENT_PATTERN: Final = lazy_regex(r"python[^\s/]*\s[^;&|]*?-m\s+([\w.]+)")
_GLOB_CHARACTER_PATTERN: Final = lazy_regex(r"[*?\[]")
_WORD_CHARACTER_PATTERN: Final = lazy_regex(r"\w")
_DATA_FILE_SUFFIXES: Final = (".json", ".md")
"""File name endings of data: a command that names such a file reads or writes it and does not run it."""
GIT_ALIAS_PREFIX: Final = "git "
"""Beginning of a command that git itself reads (an alias), not a shell."""


class NestedRepositoryPaths(msgspec.Struct, frozen=True):
    git_folders: tuple[str, ...] = ()
    """Each `.git` below the workspace, whether a folder, a file or a link, and each bare repository."""
    later: tuple[str, ...] = ()
    """Autorun files and folders below the workspace, including those of version control systems other than git."""
    likely_later: tuple[str, ...] = ()
    """Files and folders that would run later if the hidden folder that contains them belongs to an agent or an
    editor."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped, and unreadable folders."""


class _Folder(msgspec.Struct, frozen=True):
    path: str
    stamp: tuple[int, int, int]
    names: tuple[str, ...]
    folders: tuple[str, ...]
    found: NestedRepositoryPaths


class GitStartedFileNames:
    """The paths that commands of git's configuration contain, and their words that may be names of files.

    A shell may read such a command, so each is read with its quotes and without, and both as it is and with `*` for
    parts that the shell computes.
    """

    def __init__(self, commands: Iterable[str]) -> None:
        self.paths: dict[str, bool] = {}
        """Each path in the commands, with whether it matters only if it is executable."""
        words: dict[str, None] = {}
        for text in commands:
            computed = _SHELL_SUBSTITUTION_PATTERN.sub("*", _SHELL_SUBSTITUTION_PATTERN.sub("*", text))
            forms = (
                text,
                text.translate(_SHELL_QUOTE_REMOVAL_TABLE),
                computed,
                computed.translate(_SHELL_QUOTE_REMOVAL_TABLE),
            )
            found = [
                word.translate(_SHELL_QUOTE_REMOVAL_TABLE)
                for form in forms
                for word in _SHELL_WORD_PATTERN.findall(form)
            ]
            is_git = text.startswith(GIT_ALIAS_PREFIX)
            if not is_git:
                words.update(dict.fromkeys(word.rpartition("/")[2] for word in found))
            modules = [
                f"./{name.replace('.', '/')}" for name in _PYTHON_MODULE_ARGUMENT_PATTERN.findall(text)
            ]
            found += [module + end for module in modules for end in (".py", "/__main__.py")]
            for path in (word for word in found if "/" in word and _WORD_CHARACTER_PATTERN.search(word)):
                is_pattern = _GLOB_CHARACTER_PATTERN.search(rest := path.removeprefix("*/")) is not None
                if is_pattern or not path.endswith(_DATA_FILE_SUFFIXES):
                    self.paths[rest] = (is_pattern or is_git) and self.paths.get(rest, True)
        self._words = frozenset(word for word in words if not word.endswith(_DATA_FILE_SUFFIXES))
        forms = [
            word
            for word in words
            if _GLOB_CHARACTER_PATTERN.search(word) and _WORD_CHARACTER_PATTERN.search(word)
        ]
        self._pattern = re.compile("|".join(map(fnmatch.translate, forms))) if forms else None

    def find_named_files(self, names: Iterable[str]) -> dict[str, bool]:
        """Returns those of the names that are words of the commands. The value is True if only an executable file
        of that name matters, because the name fits only a word with `*`."""
        match = self._pattern.match if self._pattern is not None else None
        fitting = (name for name in names if match(name)) if match is not None else ()
        return {**dict.fromkeys(fitting, True), **dict.fromkeys(self._words.intersection(names), False)}


@lru_cache(maxsize=16)
def git_started_file_names(commands: tuple[str, ...]) -> GitStartedFileNames:
    return GitStartedFileNames(commands)


class NestedRepositoryFinder:
    """Finds repositories and autorun files below the workspaces of one session."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._searched: dict[str, list[_Folder]] = {}
        """The folders of the last search, by workspace."""
        self._links = GitlinkFinder()
        self._reported_limits: frozenset[str] = frozenset()

    def take_newly_reached_limits(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the limits that the last search reached for the first time: each is reported once, until it is no
        longer reached."""
        new = tuple(one for one in limits if one not in self._reported_limits)
        self._reported_limits = frozenset(limits)
        return new

    def find_in(self, roots: Iterable[str]) -> NestedRepositoryPaths:
        """Finds the repositories and autorun files below several folders."""
        found = [self.find(root) for root in roots]
        return NestedRepositoryPaths(
            git_folders=tuple(dict.fromkeys(git for one in found for git in one.git_folders)),
            later=tuple(dict.fromkeys(path for one in found for path in one.later)),
            likely_later=tuple(dict.fromkeys(path for one in found for path in one.likely_later)),
            limits=tuple(dict.fromkeys(limit for one in found for limit in one.limits)),
        )

    def find(self, workspace: str) -> NestedRepositoryPaths:
        """Finds the repositories and autorun files below a folder, breadth first, up to
        `MAX_ENTRIES_SEARCHED_FOR_REPOSITORIES` entries, and follows an index to linked repositories wherever they
        are."""
        if workspace == "/":
            return NestedRepositoryPaths()
        waiting, seen, gits = deque([workspace]), 0, list[str]()
        later, likely, searched = list[str](), list[str](), list[_Folder]()
        while waiting and seen < MAX_ENTRIES_SEARCHED_FOR_REPOSITORIES:
            folder = self._scan_folder(waiting.popleft())
            if folder is None:
                continue
            searched.append(folder)
            seen += len(folder.names)
            waiting.extend(folder.folders)
            gits += folder.found.git_folders
            later += folder.found.later
            likely += folder.found.likely_later
        self._searched[workspace] = searched
        limits = [f"more than {MAX_ENTRIES_SEARCHED_FOR_REPOSITORIES:,} entries"] if waiting else []
        if len(gits) > MAX_REPOSITORIES_BELOW_WORKSPACE:
            limits.append(f"more than {MAX_REPOSITORIES_BELOW_WORKSPACE} repositories")
        own = (
            os.path.dirname(git) if git.endswith("/.git") else git  # noqa: PTH120  (of a text)
            for git in gits[:MAX_REPOSITORIES_BELOW_WORKSPACE]
        )
        linked = self._links.find_gitlinked_repositories((workspace, *own))
        if not linked.is_complete:
            limits.append(f"more than {MAX_GITLINKED_REPOSITORIES} repositories in git's index")
        limits += [f"an unreadable git index ({index})" for index in linked.unreadable_indexes]
        known = dict.fromkeys((*linked.git_paths, *gits[:MAX_REPOSITORIES_BELOW_WORKSPACE]))
        return NestedRepositoryPaths(tuple(known), tuple(later), tuple(likely), tuple(limits))

    def find_files_at_command_paths(
        self, commands: tuple[str, ...], places: Sequence[str], home: str
    ) -> Iterable[str]:
        """Yields the files at the paths that these commands spell, relative ones below each of the places."""
        for path, is_program in git_started_file_names(commands).paths.items():
            tops = (home,) if path.startswith("~/") else places
            for start in dict.fromkeys(os.path.join(top, path.removeprefix("~/")) for top in tops):  # noqa: PTH118
                fitting = self._fitting_paths(start) if is_program else (start,)
                for one in fitting:
                    if os.path.isfile(one) and (not is_program or os.access(one, os.X_OK)):  # noqa: PTH113
                        yield one

    def _fitting_paths(self, pattern: str) -> Sequence[str]:
        found = [""]
        for part in pattern.split("/")[1:]:
            if _GLOB_CHARACTER_PATTERN.search(part):
                folders = [
                    self._scan_folder(real_path(one))
                    for one in found[:_MAX_FOLDERS_MATCHED_BY_COMMAND_PATTERN]
                ]
                found = [
                    f"{one}/{name}"
                    for one, folder in zip(found, folders, strict=False)
                    for name in fnmatch.filter(folder.names if folder is not None else (), part)
                ]
            else:
                found = [f"{one}/{part}" for one in found]
        return found

    def find_files_named_in_commands(
        self, commands: tuple[str, ...], roots: Iterable[str]
    ) -> dict[str, tuple[int, ...]]:
        """Returns the files in the folders of the last search whose names are words of these commands, each with its
        mode, and what changes whenever the file does unless its name only fits a pattern. Files of bare repositories do
        not count: they have git's words."""
        found: dict[str, tuple[int, ...]] = {}
        names = git_started_file_names(commands)
        folders = [folder for root in roots for folder in self._searched.get(root, ())]
        gits = [git for folder in folders for git in folder.found.git_folders]
        for folder in folders if commands else ():
            named = names.find_named_files(folder.names)
            if not named or innermost_containing(folder.path, gits) is not None:
                continue
            for name, is_program in named.items():
                try:
                    seen = os.stat(path := f"{folder.path}/{name}")  # noqa: PTH116  (a text, and many)
                except OSError:
                    continue
                if stat.S_ISREG(seen.st_mode) and (seen.st_mode & 0o111 or not is_program):
                    changing = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
                    found[path] = (seen.st_mode, *(() if is_program else changing))
        return found

    def _scan_folder(self, path: str) -> _Folder | None:
        try:
            status = os.lstat(path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._folders.get(path)
            if known is None or known.stamp != stamp:
                known = self._folders[path] = _read_folder(path, stamp)
        except OSError:
            self._folders.pop(path, None)
            return None
        return known


def _read_folder(path: str, stamp: tuple[int, int, int]) -> _Folder:
    names: list[str] = []
    folders: list[str] = []
    environment = _VIRTUAL_ENVIRONMENT_FOLDER_PATTERN.search(path)
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            is_searched = environment is None or _VIRTUAL_ENVIRONMENT_FOLDER_PATTERN.match(
                entry.path, environment.start()
            )
            if (
                is_searched
                and entry.name not in _FOLDERS_NOT_SEARCHED_FOR_REPOSITORIES
                and entry.is_dir(follow_symlinks=False)
            ):
                folders.append(entry.path)
    gits = [f"{path}/.git"] if ".git" in names else []
    if "HEAD" in names and ("commondir" in names or _NAMES_IN_BARE_REPOSITORY.issubset(names)):
        gits.append(path)
    later = tuple(_autorun_paths(path, names))
    is_hidden = path.rpartition("/")[2].startswith(".")
    likely = {
        f"{path}/{name}" for name in names if is_hidden and name in _AUTORUN_NAMES_IN_HIDDEN_FOLDERS
    }.difference(later)
    return _Folder(
        path,
        stamp,
        tuple(names),
        tuple(sorted(folders)),
        NestedRepositoryPaths(tuple(gits), later, tuple(sorted(likely))),
    )


def matches_autorun_pattern(name: str) -> bool:
    """Returns whether a file name matches an autorun pattern that contains `*`."""
    is_near = name.startswith(_AUTORUN_NAME_PREFIXES) or name.endswith(
        _AUTORUN_NAME_SUFFIXES
    )  # a search asks about every file
    return is_near and any(matches_autorun_file_name(name, pattern) for pattern in _AUTORUN_NAME_PATTERNS)


def can_changed_file_run(path: str) -> bool:
    """Returns whether a changed file is a program, an autorun file, or one of a repository, such as a hook."""
    parts = path.split("/")
    return (
        not VCS_FOLDERS.isdisjoint(parts)
        or os.path.lexists(f"{os.path.dirname(path)}/HEAD")  # noqa: PTH120  (of a bare repository)
        or (os.path.isfile(path) and os.access(path, os.X_OK))  # noqa: PTH113  (a text)
        or any(
            _autorun_paths("/".join(parts[:count]), parts[count : count + 1])
            for count in range(1, len(parts))
        )
    )


def _autorun_paths(path: str, names: Iterable[str]) -> list[str]:
    above = path.split("/")

    def is_in(folders: tuple[str, ...]) -> bool:
        return not folders or tuple(above[-len(folders) :]) == folders

    patterns = [name for folders, name in _AUTORUN_PATTERNS_IN_FOLDERS if is_in(folders)]
    return [
        f"{path}/{name}"
        for name in names
        if matches_autorun_pattern(name)
        or any(map(is_in, _AUTORUN_FOLDERS_BY_FILE_NAME.get(name, ())))
        or any(matches_autorun_file_name(name, pattern) for pattern in patterns)
    ]
