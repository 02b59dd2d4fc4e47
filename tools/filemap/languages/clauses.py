"""Clauses of one function, which stand as several definitions: those with the same number of arguments."""

import re
from collections.abc import Callable

from tools.filemap.language import FoundSymbol

_TEXT = rb'"(?:[^"\\]|\\.)*"' + rb"|'(?:[^'\\\n]|\\.)*'"
_MARKS = rb"<<|>>|[()\[\]{},]|[\w@]+|[^\s\w]"
ERLANG = re.compile(_TEXT + rb"|\$\\?.|(?P<remark>%[^\n]*)|" + _MARKS, re.S)
ELIXIR = re.compile(_TEXT + rb"|\?\\?.|(?P<remark>#[^\n]*)|" + _MARKS, re.S)
_OPEN, _CLOSED = frozenset((b"(", b"[", b"{", b"<<")), frozenset((b")", b"]", b"}", b">>"))
_LONGEST_HEAD = 4000


def same_function(source: bytes, tokens: re.Pattern[bytes]) -> Callable[[FoundSymbol, FoundSymbol], bool]:
    """Whether two neighbours are clauses of one function: asked of the source, for a signature is cut short."""

    def is_same(before: FoundSymbol, after: FoundSymbol) -> bool:
        if before.kind not in ("function", "macro") or before.kind != after.kind or before.name != after.name:
            return False
        return arity(before) == arity(after)

    def arity(draft: FoundSymbol) -> int:
        if "(" not in draft.signature:
            return 0
        start = source.find(b"(", draft.start)
        return _arguments(source[start : start + _LONGEST_HEAD], tokens) if start >= 0 else 0

    return is_same


def _arguments(head: bytes, tokens: re.Pattern[bytes]) -> int:
    depth = commas = 0
    is_empty = True
    for match in tokens.finditer(head):
        token = match[0]
        if match["remark"] is not None:
            continue
        if token in _OPEN:
            is_empty = is_empty and depth == 0
            depth += 1
        elif token in _CLOSED:
            depth -= 1
            if depth == 0:
                break
        elif token == b",":
            commas += depth == 1
        else:
            is_empty = False
    return 0 if is_empty else commas + 1
