"""Converts path patterns of models to regular expressions over paths with forward slashes."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from tools.lazy_patterns import lazy_regex

_GLOB_CHARACTER_PATTERN: Final = lazy_regex(r"[*?\[{]")


def has_glob_characters(pattern: str) -> bool:
    return bool(_GLOB_CHARACTER_PATTERN.search(pattern))


def compile_glob(pattern: str, *, ignore_case: bool = False) -> "re.Pattern[str]":
    """Converts a glob to a regular expression: `*`, `?`, `[...]` and `{a,b}` within a name; `**` across directories."""
    return re.compile(_translate_glob(pattern), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def compile_path_glob(pattern: str, *, ignore_case: bool = False) -> "re.Pattern[str]":
    """Converts a glob to a regular expression for relative paths: without a slash it matches names anywhere, with
    slashes it may begin at any depth."""
    return compile_glob(
        f"**/{pattern}" if not pattern.startswith("**/") else pattern, ignore_case=ignore_case
    )


def escape_glob(path: str) -> str:
    """Returns a glob that matches exactly this path, with its special characters escaped."""
    return _GLOB_CHARACTER_PATTERN.sub(r"[\g<0>]", path.replace("\\", "\\\\"))


class GlobFileFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The files selected by a list of globs: those of the plain globs, without those of the negated ones."""

    included_patterns: tuple["re.Pattern[str]", ...] = ()
    """Patterns of paths to include; empty means all files."""
    name_patterns: tuple[str, ...] = ()
    """Patterns for the last part of the path, if all `included_patterns` restrict it; empty otherwise."""
    excluded_globs: tuple[str, ...] = ()
    """The globs of excluded paths in ripgrep's syntax."""

    def matches_path(self, path: str) -> bool:
        return not self.included_patterns or any(
            pattern.fullmatch(path) for pattern in self.included_patterns
        )


def parse_glob_list(
    globs: str, folder: str, is_there: Callable[[str], bool], is_folder: Callable[[str], bool]
) -> GlobFileFilter:
    """Parses a list of globs such as `*.ts,*.js,!*.test.ts` relative to `folder`. A glob with a slash, such as
    `src/**/*.py`, begins at `folder`, as in ripgrep; `./src` and an absolute path do, too. One without, such as `*.ts`
    or `docs/`, matches at any depth. `docs/` and the name of a folder match everything below."""
    only: list[str] = []
    without: list[str] = []
    for item in _split_glob_list(globs):
        is_negated, glob = item.startswith("!"), item.removeprefix("!").strip()
        glob = _make_glob_relative(glob, folder)
        if not glob.strip("/"):
            continue
        if has_glob_characters(glob) and is_there(glob.lstrip("/")):
            glob = escape_glob(glob)
        if is_negated:
            without.append(glob)
        else:
            is_all = glob.endswith("/") or (not has_glob_characters(glob) and is_folder(glob.lstrip("/")))
            whole = f"{glob.rstrip('/')}/**" if is_all else glob
            only.append(whole.lstrip("/") if "/" in glob.rstrip("/") else f"**/{whole}")
    names = [basename_part_of_glob(glob) for glob in only]
    return GlobFileFilter(
        included_patterns=tuple(map(compile_glob, only)),
        name_patterns=tuple(name for name in names if name) if all(names) else (),
        excluded_globs=tuple(without),
    )


def make_absolute_globs(globs: str, folder: str) -> tuple[str, ...]:
    """Returns an absolute glob for each glob of a list, for the files that it selects in `folder`."""
    asked = [
        _make_glob_relative(item, folder).lstrip("/")
        for item in _split_glob_list(globs)
        if not item.startswith("!")
    ]
    return tuple(f"{folder.rstrip('/')}/{glob}" for glob in asked if glob)


def _split_glob_list(globs: str) -> Iterator[str]:
    """Splits a list of globs at commas; commas within braces and brackets belong to a glob."""
    depth = start = 0
    for index, char in enumerate(globs):
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            yield globs[start:index].strip()
            start = index + 1
    yield globs[start:].strip()


def _make_glob_relative(glob: str, folder: str) -> str:
    """Makes an absolute glob relative to the searched folder; a leading slash means that folder."""
    if glob == folder or glob.startswith(f"{folder.rstrip('/')}/"):
        return "/" + glob[len(folder) :].lstrip("/")
    return "/" + glob[2:] if glob.startswith("./") else glob


def basename_part_of_glob(pattern: str) -> str | None:
    """Returns the part of a glob for the last part of the path, if it restricts the result and its braces are
    closed."""
    last = pattern.rsplit("/", 1)[-1]
    if (
        not last
        or last == "**"
        or last.count("{") != last.count("}")
        or pattern.count("{") != last.count("{")
    ):
        return None
    return last


def _translate_glob(pattern: str) -> str:
    out: list[str] = []
    index = depth = 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**/", index) and (index == 0 or pattern[index - 1] == "/"):
            out.append("(?:[^/]*/)*")
            index += 3
            continue
        if pattern.startswith("**", index):
            out.append(".*")
            index += 2
            continue
        if char == "[":
            end = _find_class_end(pattern, index)
            if end:
                body = pattern[index + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
                body = f"^/{body[1:]}" if body[0] in "!^" else body
                out.append(f"[{body}]")
                index = end + 1
                continue
        if char == "\\" and index + 1 < len(pattern):
            out.append(re.escape(pattern[index + 1]))
            index += 2
            continue
        if char == "{" and "}" in pattern[index:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
        index += 1
    return "".join(out) + ")" * depth


def _find_class_end(pattern: str, start: int) -> int:
    """Returns the index of the bracket that closes a character class of a glob, or 0."""
    first = start + (2 if pattern[start + 1 : start + 2] in ("!", "^") else 1)
    end = pattern.find("]", first + 1)
    return max(end, 0)
