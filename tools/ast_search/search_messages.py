"""Defines the messages to and from the structural search process: one JSON object per line."""

import msgspec


class PatternRewrite(msgspec.Struct, frozen=True, kw_only=True):
    pattern: str
    replacement: str | None = None
    """The new code; None only searches."""


class FileToSearchStructurally(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    language: str


class StructuralSearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[FileToSearchStructurally, ...]
    rewrites: tuple[PatternRewrite, ...]


class FoundSyntaxNode(msgspec.Struct, frozen=True, kw_only=True):
    line: int
    text: str
    captures: dict[str, str] = {}


class SpanReplacement(msgspec.Struct, frozen=True, kw_only=True):
    """Replaces `text[start:end]`, in the text with line feeds only."""

    start: int
    end: int
    text: str


class StructuralMatchesOfFile(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """A file with the matches of a structural search, and the replacements of a rewrite."""

    path: str
    digest: str
    """The hash of the searched file's bytes."""
    found: tuple[FoundSyntaxNode, ...] = ()
    replacements: tuple[SpanReplacement, ...] = ()
    nested: int = 0
    """The number of matches inside other matches, which are not rewritten in this pass."""
    skipped: tuple[str, ...] = ()
    """Matches that were left alone, with the reason."""
    problems: tuple[str, ...] = ()
    """New syntax errors that the replacements would cause."""


class StructuralSearchProblem(msgspec.Struct, frozen=True, kw_only=True, tag="problem"):
    """The reason why a language was not searched structurally."""

    words: str


class StructuralSearchDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    searched: int
    unread: tuple[str, ...] = ()
    """The files that could not be searched, because they are not UTF-8 or have been removed."""
    pattern_readings: tuple[str, ...] = ()
    """A description of how each pattern was parsed, by language."""


StructuralSearchAnswer = StructuralMatchesOfFile | StructuralSearchProblem | StructuralSearchDone
