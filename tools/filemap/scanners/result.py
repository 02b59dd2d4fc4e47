"""The outline returned by a scanner or a grammar, and the registration of a scanner."""

from collections.abc import Callable

import msgspec

from tools.filemap.language import FoundSymbol
from tools.filemap.watch import Deadline

CUT_SHORT = "the time limit was reached: what comes after the last symbol is not in this map"


class Scanned(msgspec.Struct, frozen=True):
    drafts: list[FoundSymbol]
    title: str = ""
    """Name of the language, if the scanner knows it more exactly."""
    notes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    parser: str = "line scanner"
    total_lines: int = 0
    """Number of lines, if they are not those of the file."""


class Scanner(msgspec.Struct, frozen=True):
    title: str
    scan: Callable[[bytes, Deadline], Scanned]
