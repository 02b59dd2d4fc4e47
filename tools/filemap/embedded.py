"""Languages inside others, with the lines of the whole file: scripts and styles of web pages, code in Markdown."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import PurePath
from typing import NamedTuple

from tools.filemap.detection import language_of
from tools.filemap.drafts import ordered
from tools.filemap.engine import Outline, outline
from tools.filemap.language import FoundSymbol, Language
from tools.filemap.languages.objc import parted
from tools.filemap.languages.registry import is_described, language_named
from tools.filemap.scanners.lines import RowCount
from tools.filemap.scanners.registry import SCANNERS
from tools.filemap.watch import Deadline, Overtime

_HOSTS = frozenset({"html", "vue", "svelte"})
_OPENING = re.compile(
    rb"<(?P<tag>script|style)\b(?P<attributes>(?:[^<>\"']|\"[^\"<]{0,2000}\"|'[^'<]{0,2000}'){0,200})>", re.I
)
_CLOSING = {
    b"script": re.compile(rb"</script\s{0,20}>", re.I),
    b"style": re.compile(rb"</style\s{0,20}>", re.I),
}
_LANG = re.compile(rb"\b(?:lang|type)\s*=\s*[\"']?([\w/+.-]+)", re.I)
_BY_LANG = {
    "ts": "typescript", "typescript": "typescript", "tsx": "tsx", "jsx": "jsx", "js": "javascript",
    "javascript": "javascript", "module": "javascript", "text/javascript": "javascript",
    "application/javascript": "javascript", "text/typescript": "typescript", "text/babel": "jsx",
    "scss": "scss", "css": "css", "text/css": "css", "postcss": "css",
}  # fmt: skip
_MAX_BLOCKS = 200
_NO_CODE = frozenset({"css", "dockerfile", "hcl", "html", "make", "scss", "svelte", "toml", "vue"})
"""In a document these are examples of data and markup, which would say little in its outline."""


class Inner(NamedTuple):
    language: str
    start: int
    end: int
    row: int


def outline_with_embedded(language: Language, source: bytes, watch: Deadline) -> Outline:
    """Raises `Overtime` or `Cancelled`."""
    found = outline(language, source, watch)
    if language.name == "objcpp":
        return _with_plain_cpp(found, source, watch)
    if language.name not in _HOSTS:
        return found
    drafts = found.drafts
    imports = list(found.imports)
    for inner in _blocks(source):
        inside = _inside(inner.language, source[inner.start : inner.end], watch)
        owner = _owner(drafts, inner)
        imports += [name for name in inside.imports if name not in imports]
        _add(drafts, inside.drafts, inner, owner)
    return Outline(drafts, imports, found.has_errors)


def _with_plain_cpp(found: Outline, source: bytes, watch: Deadline) -> Outline:
    """Objective-C++ with what stands between its classes."""
    around = parted(source)[1]
    inside = _inside("cpp", around, watch)
    drafts = found.drafts
    _add(drafts, inside.drafts, Inner("cpp", 0, len(source), 0), -1)
    for draft in drafts:  # both were told of a text of its own
        draft.start = draft.start_row
    return Outline(ordered(drafts), inside.imports, found.has_errors or inside.has_errors)


def with_fenced_code(drafts: list[FoundSymbol], source: bytes, watch: Deadline) -> list[FoundSymbol]:
    """A document's symbols with what its fenced code defines, below each fence. Raises `Cancelled`."""
    for place, draft, name in list(islice(_fences(drafts), _MAX_BLOCKS)):
        start = source.find(b"\n", draft.start) + 1
        end = start
        for _ in range(draft.end_row - draft.start_row - 1):
            end = source.find(b"\n", end) + 1
        try:
            inside = outline(language_named(name), source[start:end], watch).drafts
        except Overtime:
            break
        _add(drafts, inside, Inner(name, start, end, draft.start_row + 1), place)
    return ordered(drafts)


def _fences(drafts: list[FoundSymbol]) -> Iterator[tuple[int, FoundSymbol, str]]:
    """Those whose language is described, with their places."""
    for place, draft in enumerate(drafts):
        if draft.kind == "code" and draft.end_row > draft.start_row + 1:
            name = _code_language(draft.name)
            if name is not None:
                yield place, draft, name


@lru_cache(maxsize=256)
def _code_language(word: str) -> str | None:
    word = word.lower()
    name = word if is_described(word) else language_of(PurePath(f"code.{word}"), b"")
    return name if name is not None and is_described(name) and name not in _NO_CODE else None


def _inside(name: str, source: bytes, watch: Deadline) -> Outline:
    scanner = SCANNERS.get(name)
    if scanner is not None:
        return Outline(scanner.scan(source, watch).drafts, [], False)
    return outline(language_named(name), source, watch)


def _blocks(source: bytes) -> list[Inner]:
    blocks: list[Inner] = []
    rows, at = RowCount(source), 0
    while len(blocks) < _MAX_BLOCKS and (opening := _OPENING.search(source, at)) is not None:
        tag = opening["tag"].lower()
        closing = _CLOSING[tag].search(source, opening.end())
        if closing is None:
            break
        start, end = opening.end(), closing.start()
        at = closing.end()
        known = _inner_language(tag, opening["attributes"])
        if known is not None and source[start:end].strip():
            blocks.append(Inner(known, start, end, rows.at(start)))
    return blocks


def _inner_language(tag: bytes, attributes: bytes) -> str | None:
    lang = _LANG.search(attributes)
    if lang is None:
        return "javascript" if tag == b"script" else "css"
    return _BY_LANG.get(lang.group(1).decode("ascii", "replace").lower())


def _owner(drafts: list[FoundSymbol], inner: Inner) -> int:
    """The innermost symbol around the block."""
    around = (at for at, each in enumerate(drafts) if each.start <= inner.start and each.end_row >= inner.row)
    return max(around, key=lambda at: drafts[at].start, default=-1)


def _add(drafts: list[FoundSymbol], inside: list[FoundSymbol], inner: Inner, owner: int) -> None:
    offset = len(drafts)
    for draft in inside:
        draft.parent = draft.parent + offset if draft.parent >= 0 else owner
        draft.start += inner.start
        draft.start_row += inner.row
        draft.end_row += inner.row
        if draft.lead_row >= 0:
            draft.lead_row += inner.row
    drafts.extend(inside)
