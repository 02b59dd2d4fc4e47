"""Resolves a path as a model writes it, and suggests near misses for a missing path. Holds the folders that a
session works in besides its own."""

import difflib
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

from tools.text_sanitizing import one_line, unescape_controls


class AddedWorkingFolders:
    """The folders that a session works in besides its own. Tools, permissions, the sandbox, undo, maps, completion and
    the trust question read the same object."""

    def __init__(self, paths: tuple[Path, ...] = ()) -> None:
        self.paths = paths
        """The added folders as absolute paths with links resolved."""

    @property
    def real(self) -> tuple[str, ...]:
        return tuple(map(str, self.paths))


_QUOTE_CHARACTERS = "\"'`"
_NARROW_NO_BREAK_SPACE = "\u202f"
_MAX_ENTRIES_COMPARED_FOR_SUGGESTION = 5_000


def resolve_path(raw: str, cwd: Path, exists: Callable[[str], bool]) -> str:
    """Returns the absolute path that the path `raw` of a model means. Tries other spellings if it is missing, and
    returns the plain spelling if none exists."""
    plain = absolute_path(raw, cwd)
    literal = os.path.normpath(cwd / raw) if raw else str(cwd)
    if "\0" in raw:
        return plain
    for candidate in (literal, plain, *_lookalike_paths(plain)):
        if exists(candidate):
            return candidate
    return plain


def absolute_path(raw: str, cwd: Path) -> str:
    """Makes a path as typed absolute: removes quotes, `@` and `file://`, expands `~`, and resolves it relative to
    `cwd`."""
    text = raw.strip()
    if len(text) > 1 and text[0] in _QUOTE_CHARACTERS and text[-1] == text[0]:
        text = text[1:-1]
    if text.startswith("@"):
        text = text[1:]
    if text.startswith("file://"):
        text = unquote(urlparse(text).path)
    if text == "~" or text.startswith("~/"):
        text = str(Path.home() / text[2:])
    return os.path.normpath(cwd / text)


def real_path(path: "str | os.PathLike[str]") -> str:
    """Returns a path with its links resolved; unchanged if a link on it may not be read, as with another process's
    root."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def _lookalike_paths(path: str) -> Iterator[str]:
    """Yields other spellings of a missing path that look the same: composed and decomposed characters, screenshot
    names, pictures, shell escapes."""
    seen = {path}
    candidates: list[str] = []
    for form in ("NFC", "NFD"):
        candidates.append(unicodedata.normalize(form, path))
    for time in (" AM", " PM"):
        candidates.append(path.replace(time, _NARROW_NO_BREAK_SPACE + time[1:]))
    candidates.append(path.replace("'", "\u2019"))
    candidates.append(unicodedata.normalize("NFD", path.replace("'", "\u2019")))
    candidates.append(path.replace("\\ ", " "))
    candidates.append(unescape_controls(path))
    for candidate in candidates:
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def display_path(path: str, cwd: Path) -> str:
    """Returns a path as people and models read it: relative if inside `cwd`, on one line, valid UTF-8."""
    inside = os.path.relpath(path, cwd)
    return one_line(path if inside.startswith("..") else inside)


def path_prefix_of_folder(folder: str, cwd: Path) -> str:
    """Returns the prefix that turns paths relative to a folder into paths relative to `cwd`."""
    if folder == str(cwd):
        return ""
    try:
        return f"{Path(folder).relative_to(cwd)}/"
    except ValueError:
        return f"{folder.rstrip('/')}/"


def format_path_suggestion(path: str, names_in: Callable[[str], Iterable[str]]) -> str:
    """Returns a sentence with near misses of a missing path, or an empty text."""
    parent, name = str(Path(path).parent), Path(path).name
    try:
        names = [
            entry
            for entry, _ in zip(names_in(parent), range(_MAX_ENTRIES_COMPARED_FOR_SUGGESTION), strict=False)
        ]
    except OSError:
        return _missing_folder(parent, names_in)
    same = [entry for entry in names if entry.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if not close:
        stem = name.rsplit(".", 1)[0]
        close = [entry for entry in names if stem and entry.rsplit(".", 1)[0] == stem][:3]
    if not close:
        return ""
    listed = " or ".join(one_line(str(Path(parent, entry))) for entry in close)
    return f" Did you mean {listed}?"


def _missing_folder(parent: str, names_in: Callable[[str], Iterable[str]]) -> str:
    folder = parent
    while True:
        above = str(Path(folder).parent)
        if above == folder:
            return ""
        try:
            names_in(above)
        except OSError:
            folder = above
            continue
        return f" The folder {one_line(folder)} does not exist.{format_path_suggestion(folder, names_in)}"
