"""Finds classes and namespaces of C++ whose head was lost to a syntax error, by their text and braces."""

import re
from bisect import bisect_left

from tools.filemap.language_description import FoundSymbol
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.scanners.source_lines import SourceRowCounter

_CPP_CLASS_HEAD_PATTERN = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<word>class|struct|namespace)[ \t]+(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    rb"(?P<rest>[^;{}()=]{0,300})\{",
    re.M,
)
_BRACE_OR_TEXT_PATTERN = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|^[ \t]*#[ \t]*(?:else|elif|endif|if)"
    rb"|^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\r?\n|\\.)*|[{}]",
    re.M | re.S,
)
_NAMESPACE_BEGIN_MACRO_PATTERN = re.compile(
    rb"^(?P<before>[A-Z]\w*NAMESPACE)_BEGIN\((?P<name>[a-z]\w*)\)", re.M
)
_MAX_RECOVERED_CLASSES = 400
_CPP_WRAPPER_PATTERN = re.compile(
    rb"^[ \t]*(?:(?:inline[ \t]+)?namespace\b[^;{}()=\n]{0,200}|extern[ \t]+\"C(?:\+\+)?\")\s*\{", re.M
)
_CONDITION_DIRECTIVE_PATTERN = re.compile(
    rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:[^\n\\]|\\\r?\n|\\.)*", re.M
)
_NOT_BLANK_PATTERN = re.compile(rb"[^\s]")


_STRING_OR_COMMENT_PATTERN = re.compile(
    rb"R\"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|//[^\n]*|/\*.*?\*/",
    re.S,
)


class _StringAndCommentRanges:
    """The positions of the strings and comments in a source, which are searched for on first use."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._spans: list[tuple[int, int]] | None = None

    def contain_position(self, position: int) -> bool:
        if self._spans is None:
            self._spans = [match.span() for match in _STRING_OR_COMMENT_PATTERN.finditer(self._source)]
        at = bisect_left(self._spans, (position, 0)) - 1
        return at >= 0 and position < self._spans[at][1]


def recover_lost_cpp_classes(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds the C++ classes and namespaces that a syntax error lost; symbols inside of them become their children."""
    known = {(draft.start_row, draft.name.split("<")[0].rsplit("::", 1)[-1]) for draft in drafts}
    rows, texts = SourceRowCounter(source), _StringAndCommentRanges(source)
    made = 0
    for match in _CPP_CLASS_HEAD_PATTERN.finditer(source):
        row = rows.row_of(match.start("word"))
        name = match["name"].decode()
        plain = name.rsplit("::", 1)[-1]
        if (
            any((near, plain) in known for near in (row, row - 1, row - 2, row - 3))
            or made >= _MAX_RECOVERED_CLASSES
        ):
            continue
        end = _find_closing_brace(source, match.end())
        if end < 0 or texts.contain_position(match.start("word")):
            continue
        made += 1
        head = " ".join((name + match["rest"].decode("utf-8", "replace")).split())
        end_row = row + source.count(b"\n", match.start(), end)
        _insert_lost_class(
            drafts,
            FoundSymbol(name, match["word"].decode(), match.start("word"), row, end_row, signature=head),
        )
    return drafts


def blank_cpp_wrappers(source: bytes, watch: MapDeadline) -> bytes:
    """Blanks out C++ namespaces, `extern "C"` and conditions around declarations, for texts that the grammar cannot
    parse: then one error costs a declaration, not everything after it. Positions stay the same."""
    covered = bytearray(source)
    for match in _CPP_WRAPPER_PATTERN.finditer(source):
        watch.raise_if_deadline_over()
        end = _find_closing_brace(source, match.end())
        if end >= 0:
            covered[match.start() : match.end()] = _NOT_BLANK_PATTERN.sub(b" ", match[0])
            covered[end : end + 1] = b" "
    return _CONDITION_DIRECTIVE_PATTERN.sub(
        lambda match: _NOT_BLANK_PATTERN.sub(b" ", match[0]), bytes(covered)
    )


def add_cpp_macro_namespaces(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Adds a C++ namespace symbol for `LIB_NAMESPACE_BEGIN(detail)` … `LIB_NAMESPACE_END(detail)`."""
    rows = SourceRowCounter(source)
    for match in _NAMESPACE_BEGIN_MACRO_PATTERN.finditer(source):
        end = source.find(match["before"] + b"_END(" + match["name"] + b")", match.end())
        if end >= 0:
            row, name = rows.row_of(match.start()), match["name"].decode()
            end_row = row + source.count(b"\n", match.start(), end)
            _insert_lost_class(
                drafts, FoundSymbol(name, "namespace", match.start(), row, end_row, signature=name)
            )
    return drafts


def _find_closing_brace(source: bytes, start: int) -> int:
    """Returns the position of the brace that closes the one before `start`. Of `#if … #else …` only the first branch
    counts."""
    depth = 1
    kept: list[int] = []
    is_off = 0
    for match in _BRACE_OR_TEXT_PATTERN.finditer(source, start, start + 2_000_000):
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


def _insert_lost_class(drafts: list[FoundSymbol], missed: FoundSymbol) -> None:
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
