"""Finds classes and namespaces of C++ whose head was lost to a syntax error, by their text and braces."""

import re

from tools.filemap.language import FoundSymbol
from tools.filemap.scanners.lines import RowCounter
from tools.filemap.watch import Deadline

_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<word>class|struct|namespace)[ \t]+(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    rb"(?P<rest>[^;{}()=]{0,300})\{",
    re.M,
)
_TOKEN = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|^[ \t]*#[ \t]*(?:else|elif|endif|if)"
    rb"|^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\r?\n|\\.)*|[{}]",
    re.M | re.S,
)
_NAMESPACE_MACRO = re.compile(rb"^(?P<before>[A-Z]\w*NAMESPACE)_BEGIN\((?P<name>[a-z]\w*)\)", re.M)
_MAX_RECOVERED = 400
_ENCLOSING_BLOCK = re.compile(
    rb"^[ \t]*(?:(?:inline[ \t]+)?namespace\b[^;{}()=\n]{0,200}|extern[ \t]+\"C(?:\+\+)?\")\s*\{", re.M
)
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:[^\n\\]|\\\r?\n|\\.)*", re.M)
_NOT_BLANK = re.compile(rb"[^\s]")


def recover_classes(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds the missing symbols; symbols inside of them become their children."""
    known = {(draft.start_row, draft.name.split("<")[0].rsplit("::", 1)[-1]) for draft in drafts}
    rows = RowCounter(source)
    made = 0
    for match in _HEAD.finditer(source):
        row = rows.row_of(match.start("word"))
        name = match["name"].decode()
        plain = name.rsplit("::", 1)[-1]
        if any((near, plain) in known for near in (row, row - 1, row - 2, row - 3)) or made >= _MAX_RECOVERED:
            continue
        end = _closing_brace(source, match.end())
        if end < 0:
            continue
        made += 1
        head = " ".join((name + match["rest"].decode("utf-8", "replace")).split())
        end_row = row + source.count(b"\n", match.start(), end)
        _insert(
            drafts,
            FoundSymbol(name, match["word"].decode(), match.start("word"), row, end_row, signature=head),
        )
    return drafts


def blank_wrappers(source: bytes, watch: Deadline) -> bytes:
    """Blanks out namespaces, `extern "C"` and conditions around declarations; positions stay the same.

    For texts that the grammar cannot parse: then one error costs a declaration, not everything after it."""
    covered = bytearray(source)
    for match in _ENCLOSING_BLOCK.finditer(source):
        watch.check()
        end = _closing_brace(source, match.end())
        if end >= 0:
            covered[match.start() : match.end()] = _NOT_BLANK.sub(b" ", match[0])
            covered[end : end + 1] = b" "
    return _CONDITION.sub(lambda match: _NOT_BLANK.sub(b" ", match[0]), bytes(covered))


def add_macro_namespaces(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Treats `LIB_NAMESPACE_BEGIN(detail)` … `LIB_NAMESPACE_END(detail)` as a namespace."""
    rows = RowCounter(source)
    for match in _NAMESPACE_MACRO.finditer(source):
        end = source.find(match["before"] + b"_END(" + match["name"] + b")", match.end())
        if end >= 0:
            row, name = rows.row_of(match.start()), match["name"].decode()
            end_row = row + source.count(b"\n", match.start(), end)
            _insert(drafts, FoundSymbol(name, "namespace", match.start(), row, end_row, signature=name))
    return drafts


def _closing_brace(source: bytes, start: int) -> int:
    """Returns the brace that closes the one before `start`. Of `#if … #else …` only the first branch counts."""
    depth = 1
    kept: list[int] = []
    is_off = 0
    for match in _TOKEN.finditer(source, start, start + 2_000_000):
        token = match[0].strip()
        if token.startswith(b"#"):
            word = token[1:].strip()
            if word == b"if":
                kept.append(0)
            elif word == b"endif" and kept:
                is_off -= kept.pop()
            elif word in (b"else", b"elif") and kept and not kept[-1]:
                kept[-1] = 1
                is_off += 1
        elif not is_off and token in (b"{", b"}"):
            depth += 1 if token == b"{" else -1
            if depth == 0:
                return match.start()
    return -1


def _insert(drafts: list[FoundSymbol], missed: FoundSymbol) -> None:
    start, end_row = missed.start, missed.end_row
    inside = [draft for draft in drafts if draft.start > start and draft.end_row <= end_row]
    ids = {id(draft) for draft in inside}
    around = [at for at, draft in enumerate(drafts) if draft.start <= start and draft.end_row >= end_row]
    missed.parent = max(around, key=lambda at: (drafts[at].start, at), default=-1)
    for draft in inside:
        if draft.parent < 0 or id(drafts[draft.parent]) not in ids:
            draft.parent = len(drafts)
            if draft.kind == "function" and missed.kind != "namespace":
                draft.kind = "method"
    drafts.append(missed)
