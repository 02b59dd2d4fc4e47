"""Defines the messages to and from the structural search process: one JSON object per line."""

import msgspec


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    replacement: str | None = None
    """The new code; None only searches."""


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
    """Replaces `text[start:end]`, in the text with line feeds only."""

    start: int
    end: int
    text: str


class FileMatches(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """A file with the matches of a structural search, and the replacements of a rewrite."""

    path: str
    digest: str
    """Hash of the file's bytes."""
    found: tuple[FoundNode, ...] = ()
    replacements: tuple[TextReplacement, ...] = ()
    nested: int = 0
    """Number of matches within other matches, which are not rewritten in this pass."""
    skipped: tuple[str, ...] = ()
    """Matches that were left alone, with the reason."""
    problems: tuple[str, ...] = ()
    """New syntax errors that the replacements would cause."""


class SearchProblem(msgspec.Struct, frozen=True, kw_only=True, tag="problem"):
    """The reason why a language was not searched structurally."""

    words: str


class SearchDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    searched: int
    unread: tuple[str, ...] = ()
    """Files that are not UTF-8, or are gone."""
    pattern_readings: tuple[str, ...] = ()
    """How the patterns were parsed, by language."""


Answer = FileMatches | SearchProblem | SearchDone
