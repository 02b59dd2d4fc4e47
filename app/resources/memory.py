"""Finds the context files that a person can add lines to, and adds lines to them."""

from pathlib import Path

import msgspec

from app.resources.context_files import NAMES
from app.resources.files import read_text
from app.resources.paths import Paths
from app.values.unable import FileFault
from tools.files.presence import is_file
from tools.files.replacing import replace_atomically

NEW = "AGENTS.md"


class MemoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A context file that lines can be added to."""

    path: Path
    whose: str
    """A label: `yours, in every project`, `this project's`."""


def memory_files(paths: Paths) -> tuple[MemoryFile, ...]:
    """Returns the existing or future context files of the user and of the project's top folder."""
    return (
        MemoryFile(path=_in(paths.top), whose="this project's"),
        MemoryFile(path=_in(paths.agent_dir), whose="yours, in every project"),
    )


def _in(folder: Path) -> Path:
    return next((folder / name for name in NAMES if is_file(folder / name)), folder / NEW)


def added_by(text: str, line: str) -> str:
    """Returns the text that appends `line` as a list item."""
    item = f"- {' '.join(line.split())}\n"
    if not text.strip():
        return item
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = "" if last.startswith(("- ", "* ")) else "\n"
    return ("" if text.endswith("\n") else "\n") + gap + item


def add_line(file: MemoryFile, line: str, paths: Paths) -> None:
    """Appends a line to the file's current content, which stays byte for byte. Raises `FileFault`."""
    path = file.path
    if path.parent != paths.agent_dir and (problem := paths.way_out(path)):
        raise FileFault(path, f"is not written: {problem}")
    text = read_text(path) or ""
    try:
        before = path.read_bytes() if is_file(path) else b""
        more = added_by(text, line).encode()
        replace_atomically(path, before + (more.replace(b"\n", b"\r\n") if b"\r\n" in before else more))
    except OSError as problem:
        raise FileFault(path, f"could not be written: {problem.strerror or problem}") from None
