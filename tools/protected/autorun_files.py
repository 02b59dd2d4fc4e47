"""Autorun files: the permission gate asks before they are written, and the sandbox protects them from commands.

The rows are in `autorun_files.txt`, which says what belongs there. `app.permits.secret_files` checks paths against
them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec


class AutorunFile(msgspec.Struct, frozen=True):
    path: str
    """The relative path of the autorun file. A trailing slash means a folder with everything in it. One `*` in a
    name matches any text."""
    source: str
    """The program that runs the file, and where its manual says that."""
    is_generated: bool = False
    """Whether package managers write the file, so that commands may change it; bayou's own tools ask first."""

    @property
    def name(self) -> str:
        return self.path.rstrip("/")

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


def matches_autorun_file_name(name: str, pattern: str) -> bool:
    """Returns whether a file name is that of a row of the table, which may have one `*`."""
    start, star, end = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(start) + len(end) and name.startswith(start) and name.endswith(end)


def _expand_braces(pattern: str) -> Iterator[str]:
    """Returns all paths that a pattern with `{a,b}` stands for, as in a shell."""
    start, opened, rest = pattern.partition("{")
    if not opened:
        yield pattern
        return
    words, _, end = rest.partition("}")
    for word in words.split(","):
        yield from _expand_braces(f"{start}{word}{end}")


def _read_autorun_rows() -> Iterator[tuple[str, AutorunFile]]:
    """Yields the rows of the table of autorun files, each with the section that it is in."""
    section = ""
    for line in Path(__file__).with_name("autorun_files.txt").read_text("utf-8").splitlines():
        patterns, bar, source = line.partition(" | ")
        if line.startswith("["):
            section = line.strip("[]")
        elif bar:
            for pattern in patterns.split():
                for path in _expand_braces(pattern):
                    yield section, AutorunFile(path, source, is_generated=section == "generated")


_AUTORUN_TABLE_ROWS: Final = tuple(_read_autorun_rows())
PROJECT_AUTORUN_FILES: Final = tuple(row for section, row in _AUTORUN_TABLE_ROWS if section != "home")
"""Autorun files in any folder of a project."""

HOME_AUTORUN_FILES: Final = tuple(row for section, row in _AUTORUN_TABLE_ROWS if section == "home")
"""Autorun files in the home folder."""

VCS_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of version control systems: removing one removes the project's history."""

VCS_CONTROL_FILES: Final = (
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".jj/repo/store/git_target",
    ".jj/workspace-config.toml",
)
"""Files in repositories of version control systems other than git that start programs or lead to another repository."""
