"""The family of errors whose words are for the person: what was asked for cannot be done, and why.

Everything else that is raised is a fault of ours.
"""

from pathlib import Path


class Unable(Exception):
    """`str` says what cannot be done, to which thing, and what to do instead."""


class FileFault(Unable):
    """A file could not be read or written. `str` says which, what and why; `what` leaves the file out."""

    def __init__(self, path: Path, what: str, line: int | None = None, column: int | None = None) -> None:
        self.what = what
        place = f", line {line}, column {column}:" if line is not None else ""
        super().__init__(f"{path}{place} {what}")
