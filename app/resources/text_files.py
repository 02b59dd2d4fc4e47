"""Reads and replaces small text files that people edit: faults are reported in plain words, and a write
replaces the whole file or nothing."""

import os
import stat
from pathlib import Path

from app.values.user_errors import FileError
from tools.files.atomic_replacement import replace_file_atomically

MAX_TEXT_FILE_BYTES = 4 * 1024 * 1024
"""The maximum size of a file that is read, in bytes; files that people write for bayou are smaller."""


def read_text(path: Path) -> str | None:
    """Returns the text of a file, or None if the file does not exist. Raises `FileError`."""
    try:
        # A pipe must not block the read, even one that has just replaced the file.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileError(path, "is not a regular file")
            data = file.read(MAX_TEXT_FILE_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise FileError(path, "is a folder, but a file is needed") from None
    except OSError as problem:
        raise FileError(path, f"cannot be read: {problem.strerror or problem}") from None
    if len(data) > MAX_TEXT_FILE_BYTES:
        raise FileError(path, f"is larger than {MAX_TEXT_FILE_BYTES // (1024 * 1024)} MB and was not read")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise FileError(path, f"is not UTF-8 text in line {line}; save the file as UTF-8") from None


def symlink_escape(path: Path, base: Path) -> str:
    """Says where a path inside `base` leads if its links leave `base`; empty otherwise."""
    target = Path(os.path.realpath(path))
    if not path.is_relative_to(base) or target.is_relative_to(os.path.realpath(base)):
        return ""
    return f"{path} is a link out of {base}, to {target}, and is not read"


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replaces the file in one step; without `mode` the file keeps its permissions. Raises `FileError`."""
    try:
        replace_file_atomically(path, text.encode("utf-8", "surrogatepass"), mode=mode)
    except OSError as problem:
        raise FileError(path, f"cannot be written: {problem.strerror or problem}") from None
