"""Checks the statements that an edit changed with Python's own compiler, because the grammar for maps is too
lenient.

Only the syntax is checked, and only errors that every version of Python reports."""

import ast
import re
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Final

from tools.edits.dialects.old_text_matching import TextEdit
from tools.lazy_patterns import lazy_regex

_MAX_COMPILED_CHARS: Final = 48 * 1024
"""The maximum size of a text that is checked by compiling it, because the interpreter is blocked meanwhile: 10 ms
for this size."""
_COMPILED_FILE_NAME: Final = "<edited text>"
_TOP_LEVEL_LINE_PATTERN: Final = lazy_regex(r"^(?=[^\s#)\]}])", re.MULTILINE)
_PYTHON_CLAUSE_KEYWORDS: Final = ("else", "elif", "except", "finally")
_RELIABLE_PYTHON_ERROR_PATTERN: Final = lazy_regex(
    r"expected an indented block|unexpected indent|unindent does not match|cannot assign to|expected ':'"
    r"|inconsistent use of tabs|unmatched|was never closed|does not match opening"
)


def find_new_python_error(before: str, after: str, spans: Sequence[TextEdit]) -> tuple[int, str] | None:
    """Returns the line (from 1) and the message of a Python syntax error that an edit caused, if the whole text
    compiled before."""
    if not spans:
        return None
    shift = sum(len(span.new_text) - (span.end - span.start) for span in spans[:-1])
    start, end = _find_enclosing_statements(
        after, spans[0].start, spans[-1].start + shift + len(spans[-1].new_text)
    )
    if end - start > _MAX_COMPILED_CHARS or _find_syntax_error(after[start:end]) is None:
        return None
    # Apparently whole statements may be part of a larger one: the whole text decides.
    if max(len(before), len(after)) > _MAX_COMPILED_CHARS:
        return None
    found = _find_syntax_error(after)
    return found if found is not None and _find_syntax_error(before) is None else None


def _find_enclosing_statements(text: str, first: int, last: int) -> tuple[int, int]:
    """Returns the range of whole top-level statements around the changed lines."""
    start = 0
    for match in _TOP_LEVEL_LINE_PATTERN.finditer(text, 0, first + 1):
        if not text.startswith(_PYTHON_CLAUSE_KEYWORDS, match.start()):
            start = match.start()
    following = _TOP_LEVEL_LINE_PATTERN.search(text, last + 1)
    while following is not None and text.startswith(_PYTHON_CLAUSE_KEYWORDS, following.start()):
        following = _TOP_LEVEL_LINE_PATTERN.search(text, following.end() + 1)
    return start, len(text) if following is None else following.start()


def _find_syntax_error(text: str) -> tuple[int, str] | None:
    _ignore_warnings()
    try:
        compile(text, _COMPILED_FILE_NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as problem:
        if _RELIABLE_PYTHON_ERROR_PATTERN.search(problem.msg or "") is None:
            return None
        return problem.lineno or 1, problem.msg
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


@cache
def _ignore_warnings() -> None:
    """Suppresses warnings, so that checking prints nothing on the terminal."""
    warnings.filterwarnings("ignore", module=re.escape(_COMPILED_FILE_NAME))
