"""An outline as its scanner or its grammar makes it, and how a line scanner is listed."""

from collections.abc import Callable

import msgspec

from tools.filemap.language import FoundSymbol
from tools.filemap.watch import Deadline

CUT_SHORT = "the time limit was reached: what comes after the last symbol is not in this map"


class Scanned(msgspec.Struct, frozen=True):
    drafts: list[FoundSymbol]
    title: str = ""
    """Of the language; a scanner says it when it is more exact than its own."""
    notes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    parser: str = "line scanner"
    total_lines: int = 0
    """Where they are counted otherwise than in the file."""


class Scanner(msgspec.Struct, frozen=True):
    title: str
    scan: Callable[[bytes, Deadline], Scanned]
