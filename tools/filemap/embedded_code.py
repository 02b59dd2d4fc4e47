"""Finds the symbols of languages embedded in others, with the line numbers of the whole file: scripts and styles in web
pages, code in Markdown."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import PurePath
from typing import NamedTuple

from tools.filemap.grammar_outline import SourceOutline, outline_with_grammar
from tools.filemap.language_description import FoundSymbol, LanguageDescription
from tools.filemap.language_detection import detect_language
from tools.filemap.languages.language_registry import has_language_description, language_named
from tools.filemap.languages.objc import split_objective_c
from tools.filemap.map_deadline import FileMapTimeLimitReached, MapDeadline
from tools.filemap.scanners.scanner_registry import OUTLINE_SCANNER_BY_LANGUAGE
from tools.filemap.scanners.source_lines import SourceRowCounter
from tools.filemap.symbol_list_changes import sort_symbols_in_file_order

_LANGUAGES_WITH_EMBEDDED_CODE = frozenset({"html", "vue", "svelte"})
_OPENING_TAG_PATTERN = re.compile(
    rb"<(?P<tag>script|style)\b(?P<attributes>(?:[^<>\"']|\"[^\"<]{0,2000}\"|'[^'<]{0,2000}'){0,200})>", re.I
)
_CLOSING_TAGS = {
    b"script": re.compile(rb"</script\s{0,20}>", re.I),
    b"style": re.compile(rb"</style\s{0,20}>", re.I),
}
_SCRIPT_LANGUAGE_ATTRIBUTE_PATTERN = re.compile(rb"\b(?:lang|type)\s*=\s*[\"']?([\w/+.-]+)", re.I)
_LANGUAGE_BY_SCRIPT_TYPE = {
    "ts": "typescript", "typescript": "typescript", "tsx": "tsx", "jsx": "jsx", "js": "javascript",
    "javascript": "javascript", "module": "javascript", "text/javascript": "javascript",
    "application/javascript": "javascript", "text/typescript": "typescript", "text/babel": "jsx",
    "scss": "scss", "css": "css", "text/css": "css", "postcss": "css",
}  # fmt: skip
_MAX_EMBEDDED_BLOCKS = 200
_CODE_FENCE_LANGUAGES_NOT_OUTLINED = frozenset(
    {"css", "dockerfile", "hcl", "html", "make", "scss", "svelte", "toml", "vue"}
)
"""The languages of fenced code blocks that are not outlined: data and markup, which would add little to a
document's outline."""


class EmbeddedCodeBlock(NamedTuple):
    language: str
    start: int
    end: int
    start_row: int


def outline_with_embedded_code(
    language: LanguageDescription, source: bytes, watch: MapDeadline
) -> SourceOutline:
    """Returns the outline of a web page with that of its scripts and styles. Raises `FileMapTimeLimitReached` or
    `FileMapCancelled`."""
    found = outline_with_grammar(language, source, watch)
    if language.name == "objcpp":
        return _add_cpp_symbols(found, source, watch)
    if language.name not in _LANGUAGES_WITH_EMBEDDED_CODE:
        return found
    drafts = found.symbols
    imports = list(found.imports)
    for inner in _find_embedded_blocks(source):
        inside = _outline_embedded_code(inner.language, source[inner.start : inner.end], watch)
        owner = _innermost_symbol_around_block(drafts, inner)
        imports += [name for name in inside.imports if name not in imports]
        _add_embedded_symbols(drafts, inside.symbols, inner, owner)
    return SourceOutline(drafts, imports, found.has_syntax_errors)


def _add_cpp_symbols(found: SourceOutline, source: bytes, watch: MapDeadline) -> SourceOutline:
    """Adds to the outline of an Objective-C++ source the symbols of the C++ code between its classes."""
    around = split_objective_c(source)[1]
    inside = _outline_embedded_code("cpp", around, watch)
    drafts = found.symbols
    _add_embedded_symbols(drafts, inside.symbols, EmbeddedCodeBlock("cpp", 0, len(source), 0), -1)
    for draft in drafts:  # both notes concern a separate text
        draft.start = draft.start_row
    return SourceOutline(
        sort_symbols_in_file_order(drafts),
        inside.imports,
        found.has_syntax_errors or inside.has_syntax_errors,
    )


def add_fenced_code_symbols(
    drafts: list[FoundSymbol], source: bytes, watch: MapDeadline
) -> list[FoundSymbol]:
    """Adds the symbols that a document's fenced code blocks define, below each block. Raises `FileMapCancelled`."""
    for place, draft, name in list(islice(_find_outlinable_fences(drafts), _MAX_EMBEDDED_BLOCKS)):
        start = source.find(b"\n", draft.start) + 1
        end = start
        for _ in range(draft.end_row - draft.start_row - 1):
            end = source.find(b"\n", end) + 1
        try:
            inside = outline_with_grammar(language_named(name), source[start:end], watch).symbols
        except FileMapTimeLimitReached:
            break
        _add_embedded_symbols(drafts, inside, EmbeddedCodeBlock(name, start, end, draft.start_row + 1), place)
    return sort_symbols_in_file_order(drafts)


def _find_outlinable_fences(drafts: list[FoundSymbol]) -> Iterator[tuple[int, FoundSymbol, str]]:
    """Yields the code blocks of a Markdown outline that are in a supported language, with their positions in the
    list."""
    for place, draft in enumerate(drafts):
        if draft.kind == "code" and draft.end_row > draft.start_row + 1:
            name = _language_of_fence(draft.name)
            if name is not None:
                yield place, draft, name


@lru_cache(maxsize=256)
def _language_of_fence(word: str) -> str | None:
    word = word.lower()
    name = word if has_language_description(word) else detect_language(PurePath(f"code.{word}"), b"")
    return (
        name
        if name is not None
        and has_language_description(name)
        and name not in _CODE_FENCE_LANGUAGES_NOT_OUTLINED
        else None
    )


def _outline_embedded_code(name: str, source: bytes, watch: MapDeadline) -> SourceOutline:
    scanner = OUTLINE_SCANNER_BY_LANGUAGE.get(name)
    if scanner is not None:
        return SourceOutline(scanner.scan_source(source, watch).symbols, [], False)
    return outline_with_grammar(language_named(name), source, watch)


def _find_embedded_blocks(source: bytes) -> list[EmbeddedCodeBlock]:
    blocks: list[EmbeddedCodeBlock] = []
    rows, at = SourceRowCounter(source), 0
    while (
        len(blocks) < _MAX_EMBEDDED_BLOCKS
        and (opening := _OPENING_TAG_PATTERN.search(source, at)) is not None
    ):
        tag = opening["tag"].lower()
        closing = _CLOSING_TAGS[tag].search(source, opening.end())
        if closing is None:
            break
        start, end = opening.end(), closing.start()
        at = closing.end()
        known = _language_of_tag(tag, opening["attributes"])
        if known is not None and source[start:end].strip():
            blocks.append(EmbeddedCodeBlock(known, start, end, rows.row_of(start)))
    return blocks


def _language_of_tag(tag: bytes, attributes: bytes) -> str | None:
    lang = _SCRIPT_LANGUAGE_ATTRIBUTE_PATTERN.search(attributes)
    if lang is None:
        return "javascript" if tag == b"script" else "css"
    return _LANGUAGE_BY_SCRIPT_TYPE.get(lang.group(1).decode("ascii", "replace").lower())


def _innermost_symbol_around_block(drafts: list[FoundSymbol], inner: EmbeddedCodeBlock) -> int:
    """Returns the index of the innermost symbol around an embedded block."""
    around = (
        at for at, each in enumerate(drafts) if each.start <= inner.start and each.end_row >= inner.start_row
    )
    return max(around, key=lambda at: drafts[at].start, default=-1)


def _add_embedded_symbols(
    drafts: list[FoundSymbol], inside: list[FoundSymbol], inner: EmbeddedCodeBlock, owner: int
) -> None:
    offset = len(drafts)
    for draft in inside:
        draft.parent = draft.parent + offset if draft.parent >= 0 else owner
        draft.start += inner.start
        draft.start_row += inner.start_row
        draft.end_row += inner.start_row
        if draft.decorator_row >= 0:
            draft.decorator_row += inner.start_row
    drafts.extend(inside)
