"""Defines the outline that a scanner or a grammar returns, and the registration of a scanner."""

from collections.abc import Callable

import msgspec

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline

OUTLINE_TIME_LIMIT_NOTE = "the time limit was reached: what comes after the last symbol is not in this map"


class ScannedOutline(msgspec.Struct, frozen=True):
    symbols: list[FoundSymbol]
    title: str = ""
    """The name of the language for people, if the scanner knows it more exactly than the file's name tells; empty
    otherwise."""
    notes: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    parser: str = "line scanner"
    total_lines: int = 0
    """The number of lines of the outlined text, if it differs from that of the file."""


class OutlineScanner(msgspec.Struct, frozen=True):
    title: str
    scan_source: Callable[[bytes, MapDeadline], ScannedOutline]
