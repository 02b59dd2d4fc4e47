"""Python functions that their lines tell whole: no grammar need see them.

A function counts when its head, its body and its end are beyond doubt: not decorated, nothing defined inside, every
bracket and text that it opens closed in it. What it leaves behind are its line ends.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from tools.filemap.language import Block, FoundSymbol, words
from tools.filemap.watch import Deadline
from tools.filemap.wording import MAX_NAME, doc_line, header

_CHECK_EVERY = 128
_LONGEST_HEAD = 4096
_MOST_REMARKS = 60
_MOST_LINES = 60
_HEAD = re.compile(rb"(?P<indent> *)(?P<word>async +)?def +(?P<name>[A-Za-z_]\w*)(?= *\()")
_STRING = re.compile(rb"\"[^\"\\\n]*\"|'[^'\\\n]*'")
_FIRST = re.compile(rb"(?:[ \r\f]*(?:#[^\n]*)?\n)*(?P<indent> *)(?=[^\s#])")
_INNER = re.compile(rb"^ *(?:async +)?(?:def|class)\b", re.M)
_AROUND = words("class_definition function_definition")
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_QUOTES = (b'"""', b"'''")
_EXPORTED, _ASYNC, _BOTH = ("exported",), ("async",), ("exported", "async")

Docstring = Callable[[bytes, int], str]


class _Function(NamedTuple):
    name_at: int
    name: str
    is_async: bool
    first: int
    """Where its first statement begins."""
    end: int
    foot: bytes
    """What must stay in its place, so that a block does not end before it."""


def without_functions(source: bytes, docstring: Docstring, watch: Deadline) -> tuple[bytes, list[Block]]:
    """The source without such functions, and these. Raises `Overtime` or `Cancelled`."""
    if b"\t" in source or any(source.count(quote) % 2 for quote in _QUOTES):
        return source, []
    pieces: list[bytes] = []
    found: list[FoundSymbol] = []
    find, rfind, count = source.find, source.rfind, source.count
    kept = gone = row = counted = steps = 0
    is_quoted = [False, False]
    at = find(b"def ")
    while at >= 0:
        steps += 1
        if steps % _CHECK_EVERY == 0:
            watch.check()
        line = rfind(b"\n", 0, at) + 1
        for number, quote in enumerate(_QUOTES):
            if count(quote, counted, line) % 2:
                is_quoted[number] = not is_quoted[number]
        row += count(b"\n", counted, line)
        counted = max(counted, line)
        function = None if any(is_quoted) else _function(source, line)
        if function is None:
            at = find(b"def ", at + 4)
            continue
        lines = count(b"\n", line, function.end)
        found.append(_draft(function, source, docstring, line - gone, row, row + lines))
        pieces += source[kept:line], b"\n" * lines, function.foot
        kept = function.end
        gone += kept - line - lines - len(function.foot)
        at = find(b"def ", kept)
    if not found:
        return source, []
    pieces.append(source[kept:])
    return b"".join(pieces), [Block(found, owners=_AROUND)]


def _draft(
    function: _Function, source: bytes, docstring: Docstring, start: int, row: int, end_row: int
) -> FoundSymbol:
    name_at, name, is_async, first, _, _ = function
    signature = header(source[name_at:first].rstrip().decode("utf-8", "replace"), is_cut=True)
    if name.startswith("_"):
        modifiers = _ASYNC if is_async else ()
    else:
        modifiers = _BOTH if is_async else _EXPORTED
    doc = doc_line(docstring(source, first))
    return FoundSymbol(
        name, "function", start, row, end_row, -1, signature, modifiers, doc, -1, "", "function_definition"
    )


def _function(source: bytes, line: int) -> _Function | None:
    head = _HEAD.match(source, line)
    if head is None:
        return None
    indent, name = head["indent"], head["name"].decode()
    body = _head_end(source, head.end())
    first = _FIRST.match(source, body) if body >= 0 else None
    if first is None or len(first["indent"]) <= len(indent) or len(name) > MAX_NAME:
        return None
    outside = _outside(indent).search(source, body - 1)
    until = outside.start() + 1 if outside is not None else len(source)
    end = _last_code(source, body, until, indent)
    if end < 0 or not _is_closed(source[body:end]) or _is_decorated(source, line, indent):
        return None
    is_last = outside is None or not source.startswith(indent, until)
    foot = indent + b"0" if indent and is_last else b""
    return _Function(head.start("name"), name, head["word"] is not None, first.end(), end, foot)


def _head_end(source: bytes, at: int) -> int:
    """Where the body begins: behind the first line that closes all brackets, if it ends with a colon; else -1."""
    end = at
    for _ in range(_MOST_LINES):
        end = source.find(b"\n", end, at + _LONGEST_HEAD) + 1
        if not end:
            break
        text = source[at:end]
        if b'"' in text or b"'" in text:
            text = _STRING.sub(b"", text)
        before, remark, _ = text.partition(b"#")
        if b'"' in before or b"'" in before:
            break
        if all(before.count(opening) == before.count(closing) for opening, closing in _BRACKETS):
            return end if before.rstrip().endswith(b":") else -1
        if remark:
            break
    return -1


@lru_cache(maxsize=64)
def _outside(indent: bytes) -> re.Pattern[bytes]:
    """Before a line that stands no deeper than the head and says something."""
    return re.compile(rb"\n(?!" + indent + rb" |[ \r\f]*(?:[\n#]|\Z))")


def _last_code(source: bytes, start: int, until: int, indent: bytes) -> int:
    """Where the last statement ends; -1: that is not certain."""
    for _ in range(_MOST_REMARKS):
        line = source.rfind(b"\n", start - 1, until - 1) + 1
        text = source[line:until].strip()
        if text and not text.startswith(b"#"):
            return -1 if text.endswith(b"\\") else line + len(source[line:until].rstrip())
        if text and source.startswith(indent + b" ", line):
            return -1
        until = line
        if until <= start:
            return -1
    return -1


def _is_closed(body: bytes) -> bool:
    """Whether all that the body opens ends in it, and nothing is defined there."""
    if (b"def " in body or b"class " in body) and _INNER.search(body):
        return False
    return all(body.count(opening) == body.count(closing) for opening, closing in _BRACKETS) and not any(
        body.count(quote) % 2 for quote in _QUOTES
    )


def _is_decorated(source: bytes, line: int, indent: bytes) -> bool:
    """Whether a decorator may stand above: all but a blank line, a comment or the head of a block may be its end."""
    is_apart = False
    for _ in range(_MOST_REMARKS):
        if line == 0:
            return False
        above = source.rfind(b"\n", 0, line - 1) + 1
        text = source[above : line - 1].strip()
        if not text:
            is_apart = True
        elif not text.startswith(b"#"):
            if text.startswith(b"@") or source.startswith(indent + b")", above):
                return True
            return not (is_apart or text.endswith(b":"))
        line = above
    return True
