"""Secret files, and files that are run later, recognised by path alone.

A path may hold marks (`words`) for globs and variables. Then "likely" means that the pattern is meant for such a file,
"maybe" that it can match one among many others."""

from functools import lru_cache
from typing import Literal

from app.permits.shell_words import ANY_CHARACTER, ANY_DEPTH, ANY_NAME, UNKNOWN, WILDCARD, pattern_of
from tools.patterns import late
from tools.protected.keys import KEY_NAMES, KEY_PLACES, SAMPLE_ENDINGS, SHOWN_OWN_FILES
from tools.protected.later import HOME_AUTORUN_FILES, PROJECT_AUTORUN_FILES, AutorunFile

Likelihood = Literal["no", "maybe", "likely"]

_HOME_FILES = frozenset(place.name.casefold() for place in KEY_PLACES if not place.is_folder)
_HOME_FOLDERS = tuple(place.path.casefold() for place in KEY_PLACES if place.is_folder)
_NAMES = frozenset(one.name.casefold() for one in KEY_NAMES if not one.name.startswith("*"))
_SUFFIXES = tuple(one.name[1:].casefold() for one in KEY_NAMES if one.name.startswith("*"))
_VISIBLE_BAYOU_FILES = frozenset(name.casefold() for name in SHOWN_OWN_FILES)
_FILES = frozenset({"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/dev/mem", "/dev/kmem", "/proc/kcore"})
_PROCESS = late(r"/proc/[^/]+/(environ|mem)|/proc/[^/]+/task/[^/]+/environ")
_DISK = late(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md|loop)")

_DATA_SUFFIXES = frozenset({".json", ".db", ".sqlite"})
_SAMPLE_NAMES = tuple(f"server{suffix}" for suffix in _SUFFIXES)


def _by_first_part(rows: tuple[AutorunFile, ...]) -> dict[str, list[tuple[tuple[str, ...], AutorunFile]]]:
    found: dict[str, list[tuple[tuple[str, ...], AutorunFile]]] = {}
    for row in rows:
        parts = tuple(row.name.casefold().split("/"))
        found.setdefault("*" if parts[0].startswith("*") else parts[0], []).append((parts, row))
    return found


_DELAYED_RUN_IN_PROJECT = _by_first_part(PROJECT_AUTORUN_FILES)
_DELAYED_RUN_IN_HOME = {row.name.casefold(): row for row in HOME_AUTORUN_FILES}


@lru_cache(4096)
def secret_likelihood(path: str, home: str, own: tuple[str, ...] = ()) -> Likelihood:
    """How likely an absolute path holds secrets; upper and lower case are the same."""
    path, home = path.casefold(), home.casefold()
    if any(_is_private_to_bayou(path, folder.casefold()) for folder in own):
        return "likely"
    if WILDCARD.search(path):
        return _secrecy_of_pattern(path, home)
    if path in _FILES or _PROCESS.fullmatch(path) or _DISK.match(path):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if name in _NAMES or name.endswith(_SUFFIXES) or _is_env(name):
        return "likely"
    if path.startswith(home + "/"):
        rest = path[len(home) + 1 :]
        if rest in _HOME_FILES or f"{rest}/".startswith(_HOME_FOLDERS):
            return "likely"
    return "no"


def _is_private_to_bayou(path: str, folder: str) -> bool:
    """Whether the file is in bayou's folder and is not one that people put there to be read."""
    return (
        path.startswith(folder + "/") and path[len(folder) + 1 :].split("/", 1)[0] not in _VISIBLE_BAYOU_FILES
    )


def _is_env(name: str) -> bool:
    return name.startswith(".env.") and not name.endswith(SAMPLE_ENDINGS)


def _secrecy_of_pattern(path: str, home: str) -> Likelihood:
    if path.startswith((home + "/", "/")) and _may_match_below(path, home):
        return "likely"
    if path.startswith("/proc/") and path.endswith(("environ", "mem")):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if not WILDCARD.search(name):
        return "likely" if name in _NAMES or name.endswith(_SUFFIXES) or _is_env(name) else "no"
    if name[0] == ANY_NAME and name[1:] in _DATA_SUFFIXES:
        return "maybe"  # a browser's file may be among them, but such a pattern is meant for a project's data
    form = pattern_of(name)
    plain = WILDCARD.sub("", name)
    if plain:
        meant = name.startswith(".") or len(plain) > 1 or name.startswith(ANY_CHARACTER)
        if meant and any(form.fullmatch(one) and _hides_dot(name, one) for one in (*_NAMES, ".env.local")):
            return "likely"
        if name[-1] not in (ANY_NAME, UNKNOWN, ANY_DEPTH) and any(
            form.fullmatch(one) for one in _SAMPLE_NAMES
        ):
            return "likely"
    return "maybe" if _is_open(name, plain) else "no"


def _hides_dot(pattern: str, name: str) -> bool:
    """Whether a leading wildcard cannot match the dot of a name (without `dotglob`)."""
    return not name.startswith(".") or pattern[0] in (".", ANY_CHARACTER, UNKNOWN, ANY_DEPTH)


def _is_open(name: str, plain: str) -> bool:
    """Whether a pattern could match any name: it ends in a wildcard."""
    return name[-1] in (ANY_NAME, UNKNOWN, ANY_DEPTH, ANY_CHARACTER) or not plain


def _may_match_below(path: str, home: str) -> bool:
    """Whether its folders are secret ones, or a specific pattern can match one."""
    parts = path.split("/")
    base = home.split("/")
    if len(parts) <= len(base):
        return False
    if not all(_can_be(part, name) for part, name in zip(parts, base, strict=False)):
        return False
    rest = parts[len(base) :]
    for folder in (*_HOME_FOLDERS, *_HOME_FILES):
        names = folder.rstrip("/").split("/")
        if len(rest) >= len(names) and all(
            _can_be(part, name) and WILDCARD.sub("", part) for part, name in zip(rest, names, strict=False)
        ):
            return True
    return False


def _can_be(part: str, name: str) -> bool:
    if part == name:
        return True
    return bool(WILDCARD.search(part)) and pattern_of(part).fullmatch(name) is not None


@lru_cache(4096)
def delayed_run_reason(path: str, home: str, own: tuple[str, ...] = ()) -> str | None:
    """Why a file written there would be run later; None if it is not."""
    path, home = path.casefold(), home.casefold()
    for folder in own:
        folder = folder.casefold()
        if path == folder or path.startswith(folder + "/"):
            return "bayou's own settings, which decide what may run"
    row = _row_in_project(path.split("/"))
    if row is not None:
        return f"{row.name} runs later ({row.source})"
    folder, _, name = path.rpartition("/")
    if name in _DELAYED_RUN_IN_HOME and UNKNOWN in folder:
        return f"it can be ~/{name}, which runs later ({_DELAYED_RUN_IN_HOME[name].source})"
    if path.startswith(home + "/"):
        parts = path[len(home) + 1 :].split("/")
        for count in range(1, len(parts) + 1):
            row = _DELAYED_RUN_IN_HOME.get("/".join(parts[:count]))
            if row is not None and (row.is_folder or count == len(parts)):
                return f"~/{row.name} runs later ({row.source})"
    return None


def _row_in_project(parts: list[str]) -> AutorunFile | None:
    for start, part in enumerate(parts):
        if part.startswith(".") and WILDCARD.search(part):
            rows = [row for first in _DELAYED_RUN_IN_PROJECT.values() for row in first]
        else:
            rows = [*_DELAYED_RUN_IN_PROJECT.get(part, ()), *_DELAYED_RUN_IN_PROJECT["*"]]
        for names, row in rows:
            rest = parts[start : start + len(names)]
            is_whole = row.is_folder or start + len(names) == len(parts)
            if is_whole and len(rest) == len(names) and all(map(_matches_name, rest, names)):
                return row
    return None


def _matches_name(part: str, name: str) -> bool:
    if name.startswith("*"):
        return part.endswith(name[1:])
    return part == name or (part.startswith(".") and _can_be(part, name))
