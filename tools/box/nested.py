"""Finds repositories, autorun files and files that git's configuration starts below a workspace, which are protected
wherever they are.

Unchanged folders are not read again: a search costs one `stat` per folder."""

import fnmatch
import os
import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from tools.box.policy import covering_place
from tools.git.gitlinks import MAX_LINKED_REPOSITORIES, GitLinks
from tools.patterns import late
from tools.protected.later import PROJECT_AUTORUN_FILES, VCS_FOLDERS, matches_row_name

MAX_ENTRIES: Final = 20_000
MAX_REPOSITORIES: Final = 50
"""Maximum number, not counting repositories that an index links to."""
_MAX_NAMED_FOLDERS: Final = 300
"""Maximum number of folders that git's configuration names and the search had not reached."""
_SKIPPED_FOLDERS: Final = frozenset({*VCS_FOLDERS, "node_modules", "__pycache__", "target"})
_ENVIRONMENT_PART: Final = late(r"/\.?venv(?:/lib(?:64)?(?:/python[^/]*(?:/[a-z]+-packages)?)?)?\Z")
"""The folders of a virtual environment that are searched: those on the way to its packages, whose content is not."""
_BARE_REPOSITORY_FILES: Final = frozenset({"HEAD", "objects", "refs"})
_AUTORUN_ROWS: Final[dict[str, list[tuple[str, ...]]]] = {}
_AUTORUN_PATTERNS: Final = tuple(
    row.name for row in PROJECT_AUTORUN_FILES if "*" in row.name and "/" not in row.name
)
_STARTS: Final = tuple(name.partition("*")[0] for name in _AUTORUN_PATTERNS if not name.startswith("*"))
_ENDS: Final = tuple(name[1:] for name in _AUTORUN_PATTERNS if name.startswith("*"))
_PATTERNS_IN_FOLDERS: Final[list[tuple[tuple[str, ...], str]]] = []
_IN_HIDDEN_FOLDERS: Final = frozenset(
    row.name.removeprefix(".*/") for row in PROJECT_AUTORUN_FILES if row.name.startswith(".*/")
)
for _row in PROJECT_AUTORUN_FILES:
    *_folders, _name = _row.name.split("/")
    if _folders and "*" in _name:
        _PATTERNS_IN_FOLDERS.append((tuple(_folders), _name))
    elif "*" not in _row.name and not _row.is_generated and ".git" not in (*_folders, _name):
        _AUTORUN_ROWS.setdefault(_name, []).append(tuple(_folders))

_QUOTES: Final = str.maketrans("", "", "\"'\\")
_READERS: Final = (
    r"(?:(?<![\w.-])(?:(?:ba|da|a|k|mk|z|fi|c|tc)?sh|(?:python|pypy|perl|ruby|php|lua|java|julia)[\d.]*|uv|poetry|node|"
    r"npx|deno|bun|tsx?|Rscript)|(?:^|[;&|(!{])\s*(?:\.|source))(?:\s+run)?"
)
"""Shells and interpreters: they read a script that is not executable, and find one without its ending, or a module."""
_READ_SCRIPTS: Final = late(rf"{_READERS}(?:\s+-\S+)*\s+([^\s;&|]+)", re.MULTILINE)
_AFTER_OPTIONS: Final = late(r"\s-\S+\s+([^\s;&|]+)")
_SEPARATORS: Final = late(r"[/.:,=]+")
_PACKAGE_STEMS: Final = frozenset({"__init__", "__main__", "index"})
"""Files that are found by the name of their folder."""
_COMPUTED: Final = late(r"\$\w+|\$\{[^}]*\}|\{[^}]*\}")
_PATTERN: Final = late(r"[^\s;&|()<>=]*[*?\[][^\s;&|()<>=]*")
_WORD_CHARACTER: Final = late(r"\w")


_Use = Literal["program", "program if executable", "folder"]


class NestedPaths(msgspec.Struct, frozen=True):
    git_folders: tuple[str, ...] = ()
    """Each `.git`, whether folder, file or link, and each bare repository."""
    later: tuple[str, ...] = ()
    """Autorun files and folders; of version control those that are not git's."""
    likely_later: tuple[str, ...] = ()
    """Files and folders that run later if their hidden folder is that of an agent or an editor."""
    limits: tuple[str, ...] = ()
    """Places where the search stopped, and unreadable folders."""


class _Folder(msgspec.Struct, frozen=True):
    path: str
    stamp: tuple[int, int, int]
    names: tuple[str, ...]
    folders: tuple[str, ...]
    found: NestedPaths


class StartedNames:
    """Tells by the name of a file whether commands of a configuration may start it, however they are spelled.

    A shell reads such a command, which may change folders, quote and compute; but for computed names, the name of the
    file is in it nevertheless."""

    def __init__(self, commands: Iterable[str]) -> None:
        texts = [command.translate(_QUOTES) for command in commands]
        self.text = "\n".join(texts)
        read = [word for text in texts for word in _READ_SCRIPTS.findall(text)]
        read += [
            word for text in texts if _READ_SCRIPTS.search(text) for word in _AFTER_OPTIONS.findall(text)
        ]
        self._scripts = {part for word in read for part in (word, *_SEPARATORS.split(word)) if part}
        tails = ["/".join(one.split("/")[-2:]) for one in _PATTERN.findall(_COMPUTED.sub("*", self.text))]
        forms = [fnmatch.translate(tail) for tail in dict.fromkeys(tails) if _WORD_CHARACTER.search(tail)]
        self._pattern = re.compile("|".join(forms)) if forms else None

    def use_of(self, name: str, folder: str) -> _Use | None:
        """Returns what the commands may use an entry as, in the folder of this name. A word without ending and path is
        no program: it is one of git's own (`log HEAD`), or looked for in `PATH`."""
        plain = name.translate(_QUOTES)
        stem = plain.rpartition(".")[0]
        script = folder if stem in _PACKAGE_STEMS else stem or plain
        is_named = _occurs(plain, self.text)
        if (is_named and ("." in plain or self._has_path(plain, folder))) or script in self._scripts:
            return "program"
        fits = self._pattern.match if self._pattern is not None else None
        if fits is not None and (fits(name) or fits(f"{folder}/{name}")):
            return "program if executable"
        return "folder" if is_named else None

    def _has_path(self, name: str, folder: str) -> bool:
        """Whether a command has a path that ends with the name in the folder, or in one that is not named."""
        above = rf"(?:^|[^\w.-]|(?<![\w.-])\.\.?|{re.escape(folder)})"
        return re.search(rf"{above}/{re.escape(name)}(?!\w)", self.text, re.MULTILINE) is not None


class NestedPathFinder:
    """Finds repositories and autorun files below the workspaces of one session."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._searched: dict[str, list[_Folder]] = {}
        """The folders of the last search of each workspace."""
        self._started: dict[str, tuple[_Folder, tuple[tuple[str, _Use], ...]]] = {}
        """The entries of folders, by the path that leads there, that `_started_text` names."""
        self._started_text = ""
        self._links = GitLinks()
        self._reported_limits: frozenset[str] = frozenset()

    def new_limits(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the limits that the last search reached for the first time: each is reported once, until it is no
        longer reached."""
        new = tuple(one for one in limits if one not in self._reported_limits)
        self._reported_limits = frozenset(limits)
        return new

    def find_in(self, roots: Iterable[str]) -> NestedPaths:
        """Finds the repositories and autorun files below several folders."""
        found = [self.find(root) for root in roots]
        return NestedPaths(
            git_folders=tuple(dict.fromkeys(git for one in found for git in one.git_folders)),
            later=tuple(dict.fromkeys(path for one in found for path in one.later)),
            likely_later=tuple(dict.fromkeys(path for one in found for path in one.likely_later)),
            limits=tuple(dict.fromkeys(limit for one in found for limit in one.limits)),
        )

    def find(self, workspace: str) -> NestedPaths:
        """Finds the repositories and autorun files below a folder, breadth first, up to `MAX_ENTRIES` entries, and
        follows an index to linked repositories wherever they are."""
        if workspace == "/":
            return NestedPaths()
        waiting, seen, gits = deque([workspace]), 0, list[str]()
        later, likely, searched = list[str](), list[str](), list[_Folder]()
        while waiting and seen < MAX_ENTRIES:
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
        limits = [f"more than {MAX_ENTRIES:,} entries"] if waiting else []
        if len(gits) > MAX_REPOSITORIES:
            limits.append(f"more than {MAX_REPOSITORIES} repositories")
        own = (os.path.dirname(git) if git.endswith("/.git") else git for git in gits[:MAX_REPOSITORIES])  # noqa: PTH120
        linked = self._links.find((workspace, *own))
        if not linked.is_complete:
            limits.append(f"more than {MAX_LINKED_REPOSITORIES} repositories in git's index")
        limits += [f"an unreadable git index ({index})" for index in linked.unreadable_indexes]
        known = dict.fromkeys((*linked.git_paths, *gits[:MAX_REPOSITORIES]))
        return NestedPaths(tuple(known), tuple(later), tuple(likely), tuple(limits))

    def find_started(
        self, names: StartedNames, roots: Iterable[str], places: Iterable[str], git_folders: Sequence[str]
    ) -> Iterable[str]:
        """Yields the files that commands with these names may start: in the folders of the last search, at these
        places, in git's folders, and in each folder that the commands name, wherever it is. What git itself writes
        (`HEAD`, references) is not executable."""
        if names.text != self._started_text:
            self._started_text, self._started = names.text, {}
        first = [folder for root in roots for folder in self._searched.get(root, ())]
        places = map(os.path.realpath, (*git_folders, *places))
        first += [folder for place in places if (folder := self._scan_folder(place))]
        seen = {folder.path: folder for folder in first}
        waiting = deque(seen.items())
        for _ in range(len(seen) + _MAX_NAMED_FOLDERS):
            if not waiting:
                break
            shown, folder = waiting.popleft()
            entries = self._started_entries(shown, folder, names)
            git = covering_place(folder.path, git_folders) if entries else None
            is_data = git is not None and folder.path.startswith((f"{git}/refs", f"{git}/logs"))
            for name, use in entries:
                path, real = f"{shown.rstrip('/')}/{name}", f"{folder.path.rstrip('/')}/{name}"
                if os.path.islink(real):  # noqa: PTH114  (a text)
                    real = os.path.realpath(real)
                if not os.path.isdir(real):  # noqa: PTH112  (a text)
                    is_written_by_git = is_data or (git is not None and "." not in name)
                    is_sure = use == "program" and not is_written_by_git
                    if is_sure or (use != "folder" and os.access(real, os.X_OK)):
                        yield path
                elif real not in seen or path != real:
                    inner = self._scan_folder(real)
                    if inner is not None:
                        seen[real] = inner
                        waiting.append((path, inner))

    def _started_entries(
        self, shown: str, folder: _Folder, names: StartedNames
    ) -> tuple[tuple[str, _Use], ...]:
        """Returns the entries of a folder, at the path by which commands reach it, that they may use."""
        known, entries = self._started.get(shown, (None, ()))
        if known is not folder:
            above = shown.rpartition("/")[2]
            found: list[tuple[str, _Use]] = []
            for name in folder.names:
                if (use := names.use_of(name, above)) is not None:
                    found.append((name, use))
            entries = tuple(found)
            self._started[shown] = (folder, entries)
        return entries

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
    environment = _ENVIRONMENT_PART.search(path)
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            is_searched = environment is None or _ENVIRONMENT_PART.match(entry.path, environment.start())
            if is_searched and entry.name not in _SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    gits = [f"{path}/.git"] if ".git" in names else []
    if _BARE_REPOSITORY_FILES.issubset(names):
        gits.append(path)
    later = tuple(_autorun_paths(path, names))
    is_hidden = path.rpartition("/")[2].startswith(".")
    likely = {f"{path}/{name}" for name in names if is_hidden and name in _IN_HIDDEN_FOLDERS}.difference(
        later
    )
    return _Folder(
        path,
        stamp,
        tuple(names),
        tuple(sorted(folders)),
        NestedPaths(tuple(gits), later, tuple(sorted(likely))),
    )


def _occurs(name: str, text: str) -> bool:
    """Whether the text has the name, and not only as a part of a longer word."""
    if not name or name not in text:
        return False
    before, after = (r"(?<![\w%])" if name[0].isalnum() else ""), (r"(?!\w)" if name[-1].isalnum() else "")
    return re.search(f"{before}{re.escape(name)}{after}", text) is not None


def has_autorun_pattern(name: str) -> bool:
    """Whether the name of a file is one of an autorun row with a `*`."""
    is_near = name.startswith(_STARTS) or name.endswith(_ENDS)  # a search asks about every file
    return is_near and any(matches_row_name(name, pattern) for pattern in _AUTORUN_PATTERNS)


def _autorun_paths(path: str, names: Iterable[str]) -> list[str]:
    above = path.split("/")

    def is_in(folders: tuple[str, ...]) -> bool:
        return not folders or tuple(above[-len(folders) :]) == folders

    patterns = [name for folders, name in _PATTERNS_IN_FOLDERS if is_in(folders)]
    return [
        f"{path}/{name}"
        for name in names
        if has_autorun_pattern(name)
        or any(map(is_in, _AUTORUN_ROWS.get(name, ())))
        or any(matches_row_name(name, pattern) for pattern in patterns)
    ]
