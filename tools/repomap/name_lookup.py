"""Finds where a name is defined, and where it is used; by name only, so that the result may be imprecise."""

import itertools
import re
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import cast

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.language_detection import detect_language
from tools.repomap.index.declared_names import find_declared_names
from tools.repomap.index.file_kinds import RANKING_WEIGHT_BY_FILE_KIND, RepositoryFileKind
from tools.repomap.index.file_records import is_file_text_hidden, make_index_record_with_outline
from tools.repomap.index.folder_listing import is_path_below, start_listing_with_ripgrep
from tools.repomap.index.outline_packing import StoredOutline
from tools.repomap.index.repository_index import (
    IndexedFile,
    RepositoryIndex,
    last_part_of_symbol_name,
    owner_names_in_symbol_name,
)

_MAX_FOUND_DEFINITIONS = 400
_MAX_LINES_READ_FOR_NAME = 2000
_NAME_USE_SEARCH_TIMEOUT = 10.0
"""The maximum time in seconds of a search for uses; when it is over, as on a slow drive, the uses found so far are
returned."""
_MISSING_OUTLINES_TIMEOUT = 1.0
"""The maximum time in seconds for making outlines that the index lacks, before an answer."""
_NAME_WORD_PATTERN = re.compile(r"[\w$]+")
_MAX_NAME_USE_CANDIDATES_FACTOR = 5
_MAX_NAME_USE_LINE_CHARS = 200
_MAX_FILES_OUTLINED_NOW = 30
"""The maximum number of files that are outlined to complete a list of names while the user types."""


class SymbolDefinition(msgspec.Struct, frozen=True):
    path: str
    symbol: Symbol
    owner_name: str
    """The dotted name of the symbol that encloses the definition; empty at the top level."""
    file_kind: RepositoryFileKind
    """The kind of the file (code, test, docs …) in which the definition is."""

    @property
    def name(self) -> str:
        return f"{self.owner_name}.{self.symbol.name}" if self.owner_name else self.symbol.name


class UseOfName(msgspec.Struct, frozen=True):
    path: str
    line: int
    text: str
    enclosing_symbol: str
    """The name of the symbol that encloses the use; empty if there is none, or if it is unknown."""
    span: tuple[int, int] | None = None


class UsesOfName(msgspec.Struct, frozen=True):
    listed_uses: tuple[UseOfName, ...]
    total_count: int
    file_count: int
    is_cut: bool


ReadFileOutline = Callable[[RepositoryIndex, IndexedFile], StoredOutline | None]
"""A function that returns the current symbols of a file."""


def find_definitions(
    store: RepositoryIndex,
    name: str,
    present: ReadFileOutline,
    *,
    below: str = "",
    near: Sequence[str] = (),
    most: int = 20,
) -> tuple[list[SymbolDefinition], int]:
    """Finds the definitions of a name in the index: nearest first, and their total count. `Owner.name` finds the one in
    that owner."""
    last = _last_name_part(name).rpartition(".")[2]
    outlines: dict[str, tuple[RepositoryFileKind, StoredOutline]] = {}
    for file in store.indexed_files_by_id(store.files_defining_name(last, _MAX_FOUND_DEFINITIONS)):
        outline = present(store, file) if is_path_below(file.path, below) else None
        if outline is not None:
            outlines[file.path] = (file.kind, outline)
    return _sort_definitions(name, outlines, near, most)


def find_definitions_without_index(
    root: Path,
    name: str,
    is_shown: Callable[[str], bool],
    *,
    below: str = "",
    near: Sequence[str] = (),
    most: int = 20,
) -> tuple[list[SymbolDefinition], int]:
    """Finds definitions like `find_definitions`, without an index: in files with a line that declares the name, or
    if there is none, in files that contain it as a word."""
    last = _last_name_part(name).rpartition(".")[2]
    declaring: dict[str, bool] = {}
    for path, _, text in itertools.islice(
        _search_lines_with_name(root, last, below), _MAX_LINES_READ_FOR_NAME
    ):
        if is_shown(path) and not declaring.get(path, False):
            language = detect_language(PurePath(path), b"")
            declaring[path] = last in find_declared_names(language, text, _NAME_WORD_PATTERN.findall(text))
    outlines: dict[str, tuple[RepositoryFileKind, StoredOutline]] = {}
    end = time.monotonic() + _MISSING_OUTLINES_TIMEOUT
    likely = [path for path, declares in declaring.items() if declares] or list(declaring)
    for path in likely[:_MAX_FILES_OUTLINED_NOW]:
        record = make_index_record_with_outline(root, path)
        if record is not None and record.symbols:
            outlines[path] = (
                cast(RepositoryFileKind, record.kind),
                StoredOutline(record.lines, record.symbols),
            )
        if time.monotonic() >= end:
            break
    return _sort_definitions(name, outlines, near, most)


def _sort_definitions(
    name: str,
    outlines: Mapping[str, tuple[RepositoryFileKind, StoredOutline]],
    near: Sequence[str],
    most: int,
) -> tuple[list[SymbolDefinition], int]:
    *owners, last = [part for part in _last_name_part(name).split(".") if part]
    wanted = [part.lower() for part in owners]
    found: list[tuple[tuple[object, ...], SymbolDefinition]] = []
    for path, (kind, outline) in outlines.items():
        for symbol in outline.symbols:
            if last.lower() not in (symbol.name.lower(), last_part_of_symbol_name(symbol.name).lower()):
                continue
            above = [
                *enclosing_symbol_names(outline.symbols, symbol),
                *owner_names_in_symbol_name(symbol.name),
            ]
            if wanted and [part.lower() for part in above[-len(wanted) :]] != wanted:
                continue
            definition = SymbolDefinition(
                path, symbol, ".".join(enclosing_symbol_names(outline.symbols, symbol)), kind
            )
            found.append((_definition_sort_key(definition, last, near), definition))
    found.sort(key=lambda one: one[0])
    return [definition for _, definition in found[:most]], len(found)


def is_name_defined(store: RepositoryIndex, name: str) -> bool:
    """Returns whether code defines a symbol of exactly that name; documents and data do not count."""
    for id, place in store.find_symbols(name, _MAX_NAME_USE_CANDIDATES_FACTOR):
        file = store.indexed_file(id)
        if file is None or file.kind in ("docs", "data"):
            continue
        outline = store.stored_outline(id)
        symbols = outline.symbols if outline is not None else ()
        if place < len(symbols) and name in (
            symbols[place].name,
            last_part_of_symbol_name(symbols[place].name),
        ):
            return True
    return False


def find_symbols_like(
    store: RepositoryIndex, text: str, present: ReadFileOutline, *, most: int
) -> list[SymbolDefinition]:
    """Returns symbol names that begin with the text, then names that contain it; code before tests, short names
    first."""
    wanted = text.lower()
    found = store.find_symbol_names_containing(text, 4 * most)
    files = {id: store.indexed_file(id) for id in {id for _, id, _ in found}}

    def order(one: tuple[str, int, int]) -> tuple[object, ...]:
        name, id, place = one
        file = files[id]
        return (
            not name.startswith(wanted),
            -RANKING_WEIGHT_BY_FILE_KIND[file.kind] if file else 0,
            len(name),
            name,
            id,
            place,
        )

    outlines: dict[int, StoredOutline | None] = {}
    shown: list[SymbolDefinition] = []
    seen: set[tuple[int, int]] = set()
    for name, id, place in sorted(found, key=order):
        if len(shown) >= most:
            break
        if (id, place) in seen:
            continue  # by its last part too
        seen.add((id, place))
        file = files[id]
        if id not in outlines:
            outlines[id] = present(store, file) if file is not None else None
        outline = outlines[id]
        # A file that has changed since may have other symbols at that place.
        if file is None or outline is None or place >= len(outline.symbols):
            continue
        symbol = outline.symbols[place]
        if name in (symbol.name.lower(), last_part_of_symbol_name(symbol.name).lower()):
            shown.append(_make_definition(file, outline, symbol))
    return shown + _find_symbols_without_outlines(store, wanted, present)[: most - len(shown)]


def _find_symbols_without_outlines(
    store: RepositoryIndex, wanted: str, present: ReadFileOutline
) -> list[SymbolDefinition]:
    """Returns symbol names that begin with the text, from a few files whose outlines the index lacks yet."""
    found: list[SymbolDefinition] = []
    for file in store.indexed_files_by_id(
        store.files_probably_declaring(wanted, _MAX_FILES_OUTLINED_NOW, is_beginning=True)
    ):
        outline = present(store, file)
        if outline is not None:
            found += [
                _make_definition(file, outline, symbol)
                for symbol in outline.symbols
                if last_part_of_symbol_name(symbol.name).lower().startswith(wanted)
            ]
    return sorted(
        found,
        key=lambda one: (-RANKING_WEIGHT_BY_FILE_KIND[one.file_kind], len(one.symbol.name), one.symbol.name),
    )


def _make_definition(file: IndexedFile, outline: StoredOutline, symbol: Symbol) -> SymbolDefinition:
    return SymbolDefinition(
        file.path, symbol, ".".join(enclosing_symbol_names(outline.symbols, symbol)), file.kind
    )


def enclosing_symbol_names(
    symbols: Sequence[Symbol], symbol: Symbol, *, without: Container[str] = frozenset()
) -> list[str]:
    """Returns the names of the symbols around a symbol, outermost first, without some kinds (such as namespaces)
    except for the innermost."""
    names: list[str] = []
    at = symbol.parent
    while at is not None and len(names) < 20:
        if not names or symbols[at].kind not in without:
            names.append(symbols[at].name)
        at = symbols[at].parent
    return names[::-1]


def innermost_symbol_around_line(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    around = [symbol for symbol in symbols if symbol.start_line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)


def find_uses_of_name(
    store: RepositoryIndex | None,
    root: Path,
    name: str,
    present: ReadFileOutline,
    hides: Callable[[str], bool],
    *,
    below: str = "",
    most: int = 100,
) -> UsesOfName:
    """Finds the uses of a name: lines that contain it as a word, code before tests, without its definitions."""
    last = _last_name_part(name).rpartition(".")[2]
    hits: dict[str, list[tuple[int, str]]] = {}
    count = 0
    began = time.monotonic()
    for path, line, text in _search_lines_with_name(root, last, below):
        if hides(path) or is_file_text_hidden(root, path):
            continue
        hits.setdefault(path, []).append((line, text))
        count += 1
        if count >= _MAX_LINES_READ_FOR_NAME:
            break
    shown: list[UseOfName] = []
    files = {path: store.indexed_file_at_path(path) for path in hits} if store is not None else {}

    def order(path: str) -> tuple[float, str]:
        file = files.get(path)
        return -RANKING_WEIGHT_BY_FILE_KIND[file.kind] if file is not None else 0.0, path

    for path in sorted(hits, key=order):
        file, is_full = files.get(path), len(shown) >= most
        outline = present(store, file) if store is not None and file is not None and not is_full else None
        for line, text in hits[path]:
            inner = innermost_symbol_around_line(outline.symbols, line) if outline is not None else None
            if inner is not None and (last_part_of_symbol_name(inner.name), inner.start_line) == (last, line):
                count -= 1
                continue
            within = (
                ".".join([*enclosing_symbol_names(outline.symbols, inner), inner.name])
                if inner and outline
                else ""
            )
            span = (inner.start_line, inner.end_line) if inner else None
            if len(shown) < most:
                shown.append(UseOfName(path, line, text[:_MAX_NAME_USE_LINE_CHARS], within, span))
    having = len({use.path for use in shown}) if len(shown) == count else len(hits)
    is_cut = count >= _MAX_LINES_READ_FOR_NAME or time.monotonic() - began >= _NAME_USE_SEARCH_TIMEOUT
    return UsesOfName(tuple(shown), count, having, is_cut)


def _search_lines_with_name(root: Path, name: str, below: str) -> Iterator[tuple[str, int, str]]:
    if not name:
        return
    words = ("--null", "--line-number", "-wF", "--max-columns=2000", "--sort=path")
    with start_listing_with_ripgrep(root, *words, "--", name, f"./{below}" if below else ".") as process:
        if process is None or process.stdout is None:
            return
        ending = threading.Timer(_NAME_USE_SEARCH_TIMEOUT, process.kill)
        ending.start()
        try:
            for row in process.stdout:
                path, _, rest = row.partition(b"\0")
                number, _, text = rest.partition(b":")
                if number.isdigit():
                    told = text.decode("utf-8", "replace").strip()
                    yield path.decode("utf-8", "surrogateescape").removeprefix("./"), int(number), told
        finally:
            ending.cancel()


def _definition_sort_key(definition: SymbolDefinition, name: str, near: Sequence[str]) -> tuple[object, ...]:
    """Returns the sort key of a definition: exact case first, then the conversation's files and folders, code before
    tests, long before short symbols."""
    folders = {path.rpartition("/")[0] for path in near}
    nearness = 0 if definition.path in near else 1 if definition.path.rpartition("/")[0] in folders else 2
    length = definition.symbol.end_line - definition.symbol.start_line
    is_exact = name in (definition.symbol.name, last_part_of_symbol_name(definition.symbol.name))
    return (
        not is_exact,
        nearness,
        -RANKING_WEIGHT_BY_FILE_KIND[definition.file_kind],
        -length,
        definition.path,
        definition.symbol.start_line,
    )


def _last_name_part(name: str) -> str:
    for separator in ("::", "#", "->"):
        name = name.replace(separator, ".")
    return name.replace("()", "").strip()
