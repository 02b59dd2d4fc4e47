"""One parse with tree-sitter: in pieces, so that other threads get their turn, and only until the watch ends it."""

from functools import cache
from typing import Any, cast

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Tree

from tools.filemap.watch import Deadline, TimeLimitReached

_CHUNK = 32 * 1024
"""The interpreter is held while one chunk is parsed: 5 to 10 ms."""


@cache
def load_grammar(name: str) -> Grammar:
    """The bundled grammar of that name."""
    # 25 ms, wanted only when a file is really parsed.
    from tree_sitter_language_pack import get_language  # noqa: PLC0415

    return get_language(cast(Any, name))


def parse(grammar: Grammar, source: bytes, watch: Deadline) -> Tree:
    """Raises `Overtime` or `Cancelled`. A parser that was stopped is thrown away: it would go on with the old text."""
    view = memoryview(source)
    given = [view]
    parser = Parser(grammar)

    def read(offset: int, _point: object) -> Any:
        given.append(view[offset : offset + _CHUNK])
        return given[-1]

    def progress(_offset: int, _has_error: bool) -> bool:
        return watch.is_over

    try:
        tree = parser.parse(read, progress_callback=progress)
    except ValueError:
        watch.check()
        raise TimeLimitReached from None
    finally:
        # The parser never lets go of what it was given: at least the source does not stay with it.
        for part in reversed(given):
            part.release()
    return tree
