"""Parses a source with tree-sitter in chunks, so that other threads can run, until the deadline."""

from functools import cache
from typing import Any, cast

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Tree

from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline

_TREE_SITTER_CHUNK_BYTES = 32 * 1024
"""The number of bytes that are parsed at once, which blocks the interpreter for 5 to 10 ms."""


@cache
def load_tree_sitter_grammar(name: str) -> Grammar:
    """Returns the bundled grammar of that name."""
    # Costs 25 ms, needed only when a file is really parsed.
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    return get_language(cast(Any, name))


def parse_source_with_grammar(grammar: Grammar, source: bytes, watch: MapDeadline) -> Tree:
    """Parses a source with a tree-sitter grammar and returns its tree. Raises `FileMapTimeLimitReached` or
    `FileMapCancelled`. A stopped parser is discarded: it would continue with the old text."""
    view = memoryview(source)
    given = [view]
    parser = Parser(grammar)

    def read(offset: int, _point: object) -> Any:
        given.append(view[offset : offset + _TREE_SITTER_CHUNK_BYTES])
        return given[-1]

    def progress(_offset: int, _has_error: bool) -> bool:
        return watch.is_over

    try:
        tree = parser.parse(read, progress_callback=progress)
    except ValueError:
        watch.raise_if_deadline_over()
        raise FileMapTimeLimitReached from None
    finally:
        # The parser never frees its input function: at least the source is freed.
        for part in reversed(given):
            part.release()
    return tree
