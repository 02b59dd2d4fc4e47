"""Reads bayou's own files safely, so that a named pipe in the place of a file cannot block the reader."""

import errno
import os
import stat
from pathlib import Path


def read_regular_file(path: Path) -> bytes:
    """Returns the bytes of a regular file. Raises `OSError` for anything else, such as a named pipe, and so never
    blocks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
            raise OSError(code, "It is not a regular file", str(path))
        return file.read()


def read_file_or_pipe(path: Path) -> bytes:
    """Reads a path given by the user, which may be a pipe (`<(command)`). A pipe without a writer raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return file.readall()
        first = file.read(1 << 16)  # None: a writer is about to write
        if first == b"":
            raise OSError(errno.EPIPE, "It is a pipe without a writer", str(path))
        os.set_blocking(descriptor, True)
        return (first or b"") + file.readall()
