"""Follows imports in context files: `@docs/style.md` in a line adds that file behind the one that names it.

Only existing files are imports; other words with an `@` are left unchanged. Code is skipped.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.values.user_errors import FileError
from tools.files.path_existence import is_file
from tools.lazy_patterns import lazy_regex

MAX_CONTEXT_IMPORT_DEPTH = 5
MAX_IMPORTED_CONTEXT_FILES = 50
MAX_IMPORTED_CONTEXT_CHARS = 200_000
"""The maximum number of characters of all texts that one context file imports."""
FILE_MENTION_PATTERN = lazy_regex(r"(?<![\w`@./])@((?:~/|/|\.{1,2}/)?[\w\-.][\w\-./]*)")
"""Matches a word with an `@` before it that may be a file, as in context files and commands."""
_MARKDOWN_FENCE_PATTERN = lazy_regex(r"\s*(```|~~~)")
_MARKDOWN_CODE_SPAN = lazy_regex(r"(`+)[^`].*?\1")
_INSTRUCTION_FOLDERS_IN_HOME = (".claude", ".agents")


class ImportedContextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a context file imports."""

    path: Path
    text: str


class ImportedContextFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a context file imports, in reading order, and the problems of files that were not read."""

    files: tuple[ImportedContextFile, ...] = ()
    problems: tuple[str, ...] = ()


ImportTest = Callable[[Path], bool]
"""A function that returns whether a file, given with its links resolved, may be imported."""


def read_context_file_imports(
    file: Path, text: str, *, home: Path, may_import: ImportTest
) -> ImportedContextFiles:
    """Reads the files that a context file imports, and those that these import, each file once."""
    reader = _ImportReader(home, may_import)
    reader.seen.add(os.path.realpath(file))
    reader.read(file, text, 1)
    return ImportedContextFiles(files=tuple(reader.files), problems=tuple(dict.fromkeys(reader.problems)))


def make_project_import_test(paths: BayouPaths) -> ImportTest:
    """Returns a test of the files that a project may import: its own files, and Markdown files of the folders in
    the home where people keep instructions."""
    top = os.path.realpath(paths.top)
    homes = [os.path.realpath(paths.home / name) for name in _INSTRUCTION_FOLDERS_IN_HOME]
    homes.append(os.path.realpath(paths.agent_dir))

    def may_import(real: Path) -> bool:
        is_instruction = real.suffix == ".md" and any(real.is_relative_to(folder) for folder in homes)
        return real.is_relative_to(top) or is_instruction

    return may_import


def make_below_folder_test(folder: Path) -> ImportTest:
    """Returns a test that allows files below a folder."""
    base = os.path.realpath(folder)
    return lambda real: real.is_relative_to(base)


def possible_import_names(text: str) -> Iterator[str]:
    """Yields the words of a text that may be imports, without those in code."""
    is_code = False
    for line in text.splitlines():
        if _MARKDOWN_FENCE_PATTERN.match(line):
            is_code = not is_code
        elif not is_code and "@" in line:
            yield from (
                name.rstrip(".") for name in FILE_MENTION_PATTERN.findall(_MARKDOWN_CODE_SPAN.sub(" ", line))
            )


class _ImportReader:
    """Collects the imports of one context file."""

    def __init__(self, home: Path, may_import: ImportTest) -> None:
        self.files: list[ImportedContextFile] = []
        self.problems: list[str] = []
        self.seen: set[str] = set()
        self._home = home
        self._may_import = may_import
        self._chars = 0

    def read(self, file: Path, text: str, depth: int) -> None:
        for name in possible_import_names(text):
            path = self._home / name[2:] if name.startswith("~/") else file.parent / name
            real = os.path.realpath(path)
            if real in self.seen or not is_file(path):
                continue
            if reason := self._why_refused(Path(real), depth):
                self.problems.append(f"{file}: @{name} was not read: {reason}")
                continue
            self.seen.add(real)
            self._import_file(path, depth)

    def _why_refused(self, real: Path, depth: int) -> str:
        if not self._may_import(real):
            return "it is outside the folder that this file may import from"
        if depth > MAX_CONTEXT_IMPORT_DEPTH:
            return f"imports may be nested at most {MAX_CONTEXT_IMPORT_DEPTH} deep"
        if len(self.files) >= MAX_IMPORTED_CONTEXT_FILES:
            return f"at most {MAX_IMPORTED_CONTEXT_FILES} files can be imported"
        return ""

    def _import_file(self, path: Path, depth: int) -> None:
        normal = Path(os.path.normpath(path))
        try:
            text = (read_text(path) or "").strip()
        except FileError as problem:
            self.problems.append(str(problem))
            return
        if self._chars + len(text) > MAX_IMPORTED_CONTEXT_CHARS:
            self.problems.append(
                f"{normal} was not read: imports have more than {MAX_IMPORTED_CONTEXT_CHARS:,} characters"
            )
            return
        self._chars += len(text)
        if text:
            self.files.append(ImportedContextFile(path=normal, text=text))
        self.read(normal, text, depth + 1)
