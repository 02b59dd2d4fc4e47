"""Finds context files: instructions that people write for every session in a folder, from the root folder
down to `cwd`. Adds lines to them."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.resources.context_imports import (
    make_below_folder_test,
    make_project_import_test,
    read_context_file_imports,
)
from app.resources.paths import BayouPaths, folders_up_to_project_top
from app.resources.text_files import read_text, symlink_escape
from app.values.user_errors import FileError
from tools.files.path_existence import exists, is_dir, is_file

CONTEXT_FILE_NAMES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""The names of context files in order of precedence; in a folder, only the first that exists is read."""


class ContextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A context file and its text."""

    path: Path
    text: str


class ContextFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The context files of a session, in reading order, and the faults of unreadable ones."""

    files: tuple[ContextFile, ...] = ()
    problems: tuple[str, ...] = ()


def find_context_files(paths: BayouPaths, *, is_trusted: bool = False) -> ContextFiles:
    """Returns the agent folder's file, then one per folder from the root down to `cwd`, each followed by what it
    imports. Reading runs nothing, so only the imports of the project's files need trust."""
    found: list[ContextFile] = []
    problems: list[str] = []
    seen: set[Path] = set()
    top = paths.top
    for folder in (paths.agent_dir, *_folders_down_to(paths.cwd)):
        path = _first_context_file(folder)
        if path is None:
            continue
        real = path.resolve()
        if real in seen:
            continue
        seen.add(real)
        if not folder.is_relative_to(top) and _has_other_owner(path):
            problems.append(f"{path} belongs to another user of this machine and is not read")
            continue
        if folder != paths.agent_dir and (problem := symlink_escape(path, _link_boundary(folder, top))):
            problems.append(problem)
            continue
        try:
            text = read_text(path)
        except FileError as problem:
            problems.append(str(problem))
            continue
        if not text or not text.strip():
            continue
        found.append(ContextFile(path=path, text=text.strip()))
        if folder == paths.agent_dir:
            may_import = make_below_folder_test(paths.home)
        elif folder.is_relative_to(top):
            may_import = make_project_import_test(paths)
        else:
            may_import = make_below_folder_test(folder)
        if is_trusted or folder == paths.agent_dir or not folder.is_relative_to(top):
            imported = read_context_file_imports(path, text, home=paths.home, may_import=may_import)
            found += [ContextFile(path=one.path, text=one.text) for one in imported.files]
            problems += imported.problems
    return ContextFiles(files=tuple(found), problems=tuple(problems))


def nested_context_files(paths: BayouPaths, touched: Path) -> Iterator[Path]:
    """Yields the context files in the folders below `cwd` down to the one of a touched file, whose links do not
    leave the project; in an added folder its own first."""
    if touched.is_relative_to(paths.cwd):
        parts = touched.parent.relative_to(paths.cwd).parts
        for count in range(1, len(parts) + 1):
            file = _first_context_file(paths.cwd.joinpath(*parts[:count]))
            if file is not None and not paths.symlink_escape(file):
                yield file
        return
    base = next((one for one in paths.added_folders.paths if touched.is_relative_to(one)), None)
    for folder in reversed(list(folders_up_to_project_top(touched.parent, base))) if base is not None else ():
        file = _first_context_file(folder)
        if file is not None and not symlink_escape(file, base or folder):
            yield file


def project_context_files(paths: BayouPaths) -> tuple[Path, ...]:
    """Returns the context files from the project's top folder down to `cwd`."""
    found = (_first_context_file(folder) for folder in folders_up_to_project_top(paths.cwd, paths.top))
    return tuple(file for file in found if file is not None and not paths.symlink_escape(file))[::-1]


def _has_other_owner(path: Path) -> bool:
    """Says whether another user owns a file. Other users can write to folders above a project, such as
    `/tmp`."""
    try:
        return path.stat().st_uid not in (0, os.getuid())
    except (OSError, AttributeError):  # the file is gone, or the system has no owners
        return False


def _link_boundary(folder: Path, top: Path) -> Path:
    """Returns the folder that a context file's links may not leave: the project, or for a folder above the
    project that folder."""
    return top if folder.is_relative_to(top) else folder


def _first_context_file(folder: Path) -> Path | None:
    for name in CONTEXT_FILE_NAMES:
        path = folder / name
        try:
            if exists(path) and not is_dir(path):  # a pipe is reported, not skipped
                return path
        except OSError:
            continue
    return None


def _folders_down_to(cwd: Path) -> Iterator[Path]:
    """Yields the folders from the root down. A worktree inside its main checkout has copies of the same
    files, so the checkout's folder is skipped where both have a context file of the same name."""
    worktree, main = _nested_worktree(cwd)
    for folder in (*reversed(cwd.parents), cwd):
        if worktree and main and folder.is_relative_to(main) and not folder.is_relative_to(worktree):
            copy = worktree / folder.relative_to(main)
            own, other = _first_context_file(folder), _first_context_file(copy)
            if own and other and own.name == other.name:
                continue
        yield folder


def _nested_worktree(cwd: Path) -> tuple[Path | None, Path | None]:
    """Returns the worktree that contains `cwd` and its main checkout, if the worktree lies inside the checkout;
    None otherwise."""
    for folder in (cwd, *cwd.parents):
        link = folder / ".git"
        if is_dir(link):
            break
        if is_file(link):
            main = _main_checkout(link)
            if main is not None and folder != main and folder.is_relative_to(main):
                return folder, main
            break
    return None, None


def _main_checkout(link: Path) -> Path | None:
    """Returns the main checkout that a worktree's `.git` file names (`<main>/.git/worktrees/<name>`), or None
    for a submodule's."""
    try:
        line = link.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    if not line.startswith("gitdir:"):
        return None
    folder = Path(line.removeprefix("gitdir:").strip())
    if not folder.is_absolute():
        folder = link.parent / folder
    folder = folder.resolve()
    if folder.parent.name == "worktrees" and folder.parent.parent.name == ".git":
        return folder.parent.parent.parent
    return None


NEW_CONTEXT_FILE_NAME = "AGENTS.md"


class AppendableContextFile(msgspec.Struct, frozen=True, kw_only=True):
    """A context file that lines can be added to."""

    path: Path
    label: str
    """The label of the file: `for all your projects`, `for this project`."""


def appendable_context_files(paths: BayouPaths) -> tuple[AppendableContextFile, ...]:
    """Returns the existing or future context files of the user and of the project's top folder."""
    return (
        AppendableContextFile(path=_memory_file_in(paths.top), label="for this project"),
        AppendableContextFile(path=_memory_file_in(paths.agent_dir), label="for all your projects"),
    )


def _memory_file_in(folder: Path) -> Path:
    return next(
        (folder / name for name in CONTEXT_FILE_NAMES if is_file(folder / name)),
        folder / NEW_CONTEXT_FILE_NAME,
    )


def text_of_appended_list_item(text: str, line: str) -> str:
    """Returns the text that appends `line` as a list item."""
    item = f"- {' '.join(line.split())}\n"
    if not text.strip():
        return item
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = "" if last.startswith(("- ", "* ")) else "\n"
    return ("" if text.endswith("\n") else "\n") + gap + item


def append_list_item_to_content(before: bytes, line: str) -> bytes:
    """Appends a line to the content of a file, which stays byte for byte. Raises `UnicodeDecodeError`."""
    more = text_of_appended_list_item(before.decode(), line).encode()
    return before + (more.replace(b"\n", b"\r\n") if b"\r\n" in before else more)
