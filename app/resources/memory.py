"""Files of context that a person adds lines to: where they are, and what becomes of them. Pure but for reading."""

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
    """One that a line can be added to."""

    path: Path
    whose: str
    """`yours, in every project`, `this project's`."""


def memory_files(paths: Paths) -> tuple[MemoryFile, ...]:
    """Those that are read as context, or would be: the person's own, and the project's at its top."""
    return (
        MemoryFile(path=_in(paths.top), whose="this project's"),
        MemoryFile(path=_in(paths.agent_dir), whose="yours, in every project"),
    )


def _in(folder: Path) -> Path:
    return next((folder / name for name in NAMES if is_file(folder / name)), folder / NEW)


def added_by(text: str, line: str) -> str:
    """What stands behind a text when one more item does."""
    item = f"- {' '.join(line.split())}\n"
    if not text.strip():
        return item
    last = text.rstrip().rpartition("\n")[2].lstrip()
    gap = "" if last.startswith(("- ", "* ")) else "\n"
    return ("" if text.endswith("\n") else "\n") + gap + item


def add_line(file: MemoryFile, line: str, paths: Paths) -> None:
    """To the file as it is by now, whoever changed it; what was there stays byte for byte. Raises `FileFault`."""
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
