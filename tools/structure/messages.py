"""What the searching process is asked and what it answers: one JSON object a line."""

import msgspec


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    replacement: str | None = None
    """None: only searched for."""


class SearchedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    language: str


class StructureRequest(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[SearchedFile, ...]
    rewrites: tuple[Rewrite, ...]


class FoundNode(msgspec.Struct, frozen=True, kw_only=True):
    line: int
    text: str
    captures: dict[str, str] = {}


class TextReplacement(msgspec.Struct, frozen=True, kw_only=True):
    """`text[start:end]`, with line feeds only, becomes this."""

    start: int
    end: int
    text: str


class FileMatches(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """A file in which something was found."""

    path: str
    digest: str
    """Of its bytes."""
    found: tuple[FoundNode, ...] = ()
    replacements: tuple[TextReplacement, ...] = ()
    nested: int = 0
    """Matches within other matches, which are left for another time."""
    skipped: tuple[str, ...] = ()
    """What was left alone, and why."""
    problems: tuple[str, ...] = ()
    """New syntax errors that the parts would make."""


class SearchProblem(msgspec.Struct, frozen=True, kw_only=True, tag="problem"):
    """Nothing was searched in this language."""

    words: str


class SearchDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    searched: int
    unread: tuple[str, ...] = ()
    """Files that are no UTF-8, or are gone."""
    pattern_readings: tuple[str, ...] = ()
    """How the patterns were read, by language."""


Answer = FileMatches | SearchProblem | SearchDone
