"""Recognises secret files, and files that are run later, by their paths alone.

A path may contain marks (`shell_words`) for globs and variables. Then "likely" means that the pattern is meant for
such a file, "maybe" that it can match one among many others.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from app.permits.shell_words import (
    ANY_CHARACTER_MARK,
    ANY_DEPTH_MARK,
    ANY_FILE_NAME_MARK,
    UNKNOWN_TEXT_MARK,
    WILDCARD_MARK_PATTERN,
    shell_word_regex,
)
from tools.lazy_patterns import lazy_regex
from tools.protected.autorun_files import (
    HOME_AUTORUN_FILES,
    PROJECT_AUTORUN_FILES,
    AutorunFile,
    matches_autorun_file_name,
)
from tools.protected.credential_file_names import is_credential_file_name
from tools.protected.credential_tables import (
    BAYOU_FILES_VISIBLE_IN_SANDBOX,
    CREDENTIAL_FILE_NAMES,
    CREDENTIAL_PLACES,
)

Likelihood = Literal["no", "maybe", "likely"]

_SECRET_FILES_IN_HOME = frozenset(place.name.casefold() for place in CREDENTIAL_PLACES if not place.is_folder)
_SECRET_FOLDERS_IN_HOME = tuple(place.path.casefold() for place in CREDENTIAL_PLACES if place.is_folder)
_SECRET_FILE_NAMES = frozenset(
    one.name.casefold() for one in CREDENTIAL_FILE_NAMES if not one.name.startswith("*")
)
_VISIBLE_BAYOU_FILES = frozenset(name.casefold() for name in BAYOU_FILES_VISIBLE_IN_SANDBOX)
_SECRET_SYSTEM_FILES = frozenset(
    {"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/dev/mem", "/dev/kmem", "/proc/kcore"}
)
_PROC_SECRET_PATH = lazy_regex(r"/proc/[^/]+/(environ|mem)|/proc/[^/]+/task/[^/]+/environ")
_DISK_DEVICE = lazy_regex(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md|loop)")

_MIN_LITERAL_CHARS_OF_PATTERN = 3
"""The minimum number of literal characters of a pattern for data files that counts as meant for a secret file."""
_BARE_GIT_REPOSITORY_FILES = frozenset({"config", "config.worktree", "commondir", "hooks"})
"""The names from which git takes programs and other folders, in a folder with a file `HEAD`."""
_SECRET_DATA_FILE_SUFFIXES = frozenset(
    {".json", ".db", ".sqlite", ".yaml", ".yml", ".toml", ".php", ".tfvars"}
)
_SECRET_NAME_EXAMPLES = (
    ".env.local",
    *(
        one.name.replace("*", "server", 1).replace("*", "").casefold()
        for one in CREDENTIAL_FILE_NAMES
        if one.name[0] == "*"
    ),
)
"""Example names for the rows of secret files whose names have wildcards."""


def _rows_by_first_path_part(
    rows: tuple[AutorunFile, ...],
) -> dict[str, list[tuple[tuple[str, ...], AutorunFile]]]:
    found: dict[str, list[tuple[tuple[str, ...], AutorunFile]]] = {}
    for row in rows:
        parts = tuple(row.name.casefold().split("/"))
        found.setdefault("*" if "*" in parts[0] else parts[0], []).append((parts, row))
    return found


_AUTORUN_FILES_IN_PROJECT = _rows_by_first_path_part(PROJECT_AUTORUN_FILES)
_AUTORUN_FILE_NAMES_WITH_WILDCARD = [names[0].partition("*") for names, _ in _AUTORUN_FILES_IN_PROJECT["*"]]
_AUTORUN_FILE_NAME_STARTS = tuple(start for start, _, _ in _AUTORUN_FILE_NAMES_WITH_WILDCARD if start)
_AUTORUN_FILE_NAME_ENDS = tuple(end for start, _, end in _AUTORUN_FILE_NAMES_WITH_WILDCARD if not start)
_AUTORUN_FILE_BY_NAME_IN_HOME = {row.name.casefold(): row for row in HOME_AUTORUN_FILES}


@lru_cache(4096)
def secret_likelihood_of_path(path: str, home: str, own: tuple[str, ...] = ()) -> Likelihood:
    """Returns how likely an absolute path has secrets; upper and lower case are the same."""
    path, home = path.casefold(), home.casefold()
    if any(_is_private_to_bayou(path, folder.casefold()) for folder in own):
        return "likely"
    if WILDCARD_MARK_PATTERN.search(path):
        return _secret_likelihood_of_pattern(path, home)
    if path in _SECRET_SYSTEM_FILES or _PROC_SECRET_PATH.fullmatch(path) or _DISK_DEVICE.match(path):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if is_credential_file_name(name):
        return "likely"
    if path.startswith(home + "/"):
        rest = path[len(home) + 1 :]
        if rest in _SECRET_FILES_IN_HOME or f"{rest}/".startswith(_SECRET_FOLDERS_IN_HOME):
            return "likely"
    return "no"


def _is_private_to_bayou(path: str, folder: str) -> bool:
    """Returns whether the file is in bayou's folder and is not one that users put there to be read."""
    return (
        path.startswith(folder + "/") and path[len(folder) + 1 :].split("/", 1)[0] not in _VISIBLE_BAYOU_FILES
    )


def _secret_likelihood_of_pattern(path: str, home: str) -> Likelihood:
    if path.startswith((home + "/", "/")) and _may_match_secret_below(path, home):
        return "likely"
    if path.startswith("/proc/") and path.endswith(("environ", "mem")):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if not WILDCARD_MARK_PATTERN.search(name):
        return "likely" if is_credential_file_name(name) else "no"
    stem, dot, ending = name.rpartition(".")
    if (
        dot + ending in _SECRET_DATA_FILE_SUFFIXES
        and len(WILDCARD_MARK_PATTERN.sub("", stem)) < _MIN_LITERAL_CHARS_OF_PATTERN
    ):
        return "maybe"  # such a file may be among them, but the pattern is meant for a project's data
    form = shell_word_regex(name)
    plain = WILDCARD_MARK_PATTERN.sub("", name)
    if plain:
        meant = name.startswith(".") or len(plain) > 1 or name.startswith(ANY_CHARACTER_MARK)
        if meant and any(
            form.fullmatch(one) and _cannot_match_dot(name, one)
            for one in (*_SECRET_FILE_NAMES, _SECRET_NAME_EXAMPLES[0])
        ):
            return "likely"
        if name[-1] not in (ANY_FILE_NAME_MARK, UNKNOWN_TEXT_MARK, ANY_DEPTH_MARK) and any(
            form.fullmatch(one) for one in _SECRET_NAME_EXAMPLES
        ):
            return "likely"
    return "maybe" if _could_match_any_name(name, plain) else "no"


def _cannot_match_dot(pattern: str, name: str) -> bool:
    """Returns whether a leading wildcard cannot match the dot of a name (without `dotglob`)."""
    return not name.startswith(".") or pattern[0] in (
        ".",
        ANY_CHARACTER_MARK,
        UNKNOWN_TEXT_MARK,
        ANY_DEPTH_MARK,
    )


def _could_match_any_name(name: str, plain: str) -> bool:
    """Returns whether a pattern could match any name, because it ends in a wildcard."""
    return (
        name[-1] in (ANY_FILE_NAME_MARK, UNKNOWN_TEXT_MARK, ANY_DEPTH_MARK, ANY_CHARACTER_MARK) or not plain
    )


def _may_match_secret_below(path: str, home: str) -> bool:
    """Returns whether the folders of a pattern are secret, or a specific pattern can match a secret file."""
    parts = path.split("/")
    base = home.split("/")
    if len(parts) <= len(base):
        return False
    if not all(_pattern_can_match_name(part, name) for part, name in zip(parts, base, strict=False)):
        return False
    rest = parts[len(base) :]
    for folder in (*_SECRET_FOLDERS_IN_HOME, *_SECRET_FILES_IN_HOME):
        names = folder.rstrip("/").split("/")
        if len(rest) >= len(names) and all(
            _pattern_can_match_name(part, name) and WILDCARD_MARK_PATTERN.sub("", part)
            for part, name in zip(rest, names, strict=False)
        ):
            return True
    return False


def _pattern_can_match_name(part: str, name: str) -> bool:
    if part == name:
        return True
    return bool(WILDCARD_MARK_PATTERN.search(part)) and shell_word_regex(part).fullmatch(name) is not None


@lru_cache(4096)
def autorun_reason(path: str, home: str, own: tuple[str, ...] = ()) -> str | None:
    """Returns why a file written at this path would be run later; None if it would not."""
    if path.endswith("/HEAD"):
        return "it can make its folder a git repository, whose configuration starts programs (gitrepository-layout(5))"
    path, home = path.casefold(), home.casefold()
    for folder in own:
        folder = folder.casefold()
        if path == folder or path.startswith(folder + "/"):
            return "bayou's own settings, which decide what may run"
    row = _autorun_row_in_project(path.split("/"))
    if row is not None:
        return f"{row.name} runs later ({row.source})"
    folder, _, name = path.rpartition("/")
    if name in _AUTORUN_FILE_BY_NAME_IN_HOME and UNKNOWN_TEXT_MARK in folder:
        return f"it can be ~/{name}, which runs later ({_AUTORUN_FILE_BY_NAME_IN_HOME[name].source})"
    if path.startswith(home + "/"):
        parts = path[len(home) + 1 :].split("/")
        for count in range(1, len(parts) + 1):
            row = _AUTORUN_FILE_BY_NAME_IN_HOME.get("/".join(parts[:count]))
            if row is not None and (row.is_folder or count == len(parts)):
                return f"~/{row.name} runs later ({row.source})"
    return None


def folder_autorun_reason(folder: str, home: str) -> str | None:
    """Returns why a file in the folder may be run later, by the folder's name; None if none may."""
    parts = folder.casefold().split("/")
    in_home = folder[len(home) + 1 :].casefold() if folder.startswith(f"{home}/") else ""
    for names, row in (row for rows in _AUTORUN_FILES_IN_PROJECT.values() for row in rows):
        for count in range(1, len(names)):
            if len(parts) > count and all(map(_matches_autorun_name, parts[-count:], names[:count])):
                return f"{row.name} runs later ({row.source})"
    found = (
        row
        for name, row in _AUTORUN_FILE_BY_NAME_IN_HOME.items()
        if in_home and name.startswith(f"{in_home}/")
    )
    return next((f"~/{row.name} runs later ({row.source})" for row in found), None)


def bare_git_repository_reason(path: str, exists: Callable[[str], bool]) -> str | None:
    """Returns why git may start what is written at this path, because it belongs to a repository that is not called
    `.git`; None if it does not."""
    parts = path.split("/")
    for count, part in enumerate(parts):
        if part in _BARE_GIT_REPOSITORY_FILES and exists("/".join((*parts[:count], "HEAD"))):
            return f"git takes it from the repository {parts[count - 1] or '/'} (gitrepository-layout(5))"
    return None


def _autorun_row_in_project(parts: list[str]) -> AutorunFile | None:
    for start, part in enumerate(parts):
        if part.startswith(".") and WILDCARD_MARK_PATTERN.search(part):
            rows = [row for first in _AUTORUN_FILES_IN_PROJECT.values() for row in first]
        else:
            rows = list(_AUTORUN_FILES_IN_PROJECT.get(part, ()))
            if part.startswith(_AUTORUN_FILE_NAME_STARTS) or part.endswith(_AUTORUN_FILE_NAME_ENDS):
                rows += _AUTORUN_FILES_IN_PROJECT["*"]
        for names, row in rows:
            rest = parts[start : start + len(names)]
            is_whole = row.is_folder or start + len(names) == len(parts)
            if is_whole and len(rest) == len(names) and all(map(_matches_autorun_name, rest, names)):
                return row
    return None


def _matches_autorun_name(part: str, name: str) -> bool:
    return matches_autorun_file_name(part, name) or (
        part.startswith(".") and _pattern_can_match_name(part, name)
    )
