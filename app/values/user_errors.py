"""Errors with a message for the user: what cannot be done, and why. All other exceptions are bugs."""

from pathlib import Path


class UserError(Exception):
    """Raised if an action that the user asked for cannot be done. `str()` says what, to which thing, and what to do
    instead."""


class FileError(UserError):
    """Raised if a file cannot be read or written. `str()` names file, problem and reason; `what` is the problem
    without the file's name."""

    def __init__(self, path: Path, what: str, line: int | None = None, column: int | None = None) -> None:
        self.what = what
        place = f", line {line}, column {column}:" if line is not None else ""
        super().__init__(f"{path}{place} {what}")
