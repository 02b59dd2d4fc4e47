"""Finds where a name is defined, and where it is used; by name only, so that the result may be imprecise."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from tools.filemap.symbols import Symbol
from tools.repomap.index.kinds import KIND_WEIGHTS, FileKind
from tools.repomap.index.listing import is_below, ripgrep_process
from tools.repomap.index.outlining import is_secret
from tools.repomap.index.packing import StoredOutline
from tools.repomap.index.store import IndexedFile, IndexStore, last_part, owner_names

_MAX_DEFINITIONS = 400
_MAX_HITS = 2000
_SEARCH_TIMEOUT = 10.0
"""Timeout of a search for uses: on a slow drive, the uses found so far are returned."""
_MAX_CANDIDATES_FACTOR = 5
_MAX_LINE = 200


class Definition(msgspec.Struct, frozen=True):
    path: str
    symbol: Symbol
    owner: str
    """Dotted name of the enclosing symbol; empty at the top level."""
    kind: FileKind
    """The kind of the file."""

    @property
    def name(self) -> str:
        return f"{self.owner}.{self.symbol.name}" if self.owner else self.symbol.name


class NameUse(msgspec.Struct, frozen=True):
    path: str
    line: int
    text: str
    within: str
    """The enclosing symbol; empty if there is none, or it is unknown."""
    span: tuple[int, int] | None = None


class NameUses(msgspec.Struct, frozen=True):
    shown: tuple[NameUse, ...]
    count: int
    files: int
    is_cut: bool


CurrentOutline = Callable[[IndexStore, IndexedFile], StoredOutline | None]
"""Returns the current symbols of a file."""


def find_definitions(
    store: IndexStore,
    name: str,
    present: CurrentOutline,
    *,
    below: str = "",
    near: Sequence[str] = (),
    most: int = 20,
) -> tuple[list[Definition], int]:
    """Returns definitions, nearest first, and their total count. `Owner.name` finds the one in that owner."""
    *owners, last = [part for part in _last_name_part(name).split(".") if part]
    wanted = [part.lower() for part in owners]
    found: list[tuple[tuple[object, ...], Definition]] = []
    outlines: dict[int, tuple[IndexedFile, StoredOutline] | None] = {}
    for id, _ in store.named(last, _MAX_DEFINITIONS):
        if id not in outlines:
            file = store.file(id)
            outline = present(store, file) if file is not None and is_below(file.path, below) else None
            outlines[id] = (file, outline) if file is not None and outline is not None else None
    for known in outlines.values():
        if known is None:
            continue
        file, outline = known
        for symbol in outline.symbols:
            if last.lower() not in (symbol.name.lower(), last_part(symbol.name).lower()):
                continue
            above = [*owners_of(outline.symbols, symbol), *owner_names(symbol.name)]
            if wanted and [part.lower() for part in above[-len(wanted) :]] != wanted:
                continue
            definition = _definition(file, outline, symbol)
            found.append((_definition_order(definition, last, near), definition))
    found.sort(key=lambda one: one[0])
    return [definition for _, definition in found[:most]], len(found)


def is_defined(store: IndexStore, name: str) -> bool:
    """Returns whether code defines a symbol of exactly that name; documents and data do not count."""
    for id, place in store.named(name, _MAX_CANDIDATES_FACTOR):
        file = store.file(id)
        if file is None or file.kind in ("docs", "data"):
            continue
        symbols = store.outline(id).symbols
        if place < len(symbols) and name in (symbols[place].name, last_part(symbols[place].name)):
            return True
    return False


def symbols_like(store: IndexStore, text: str, present: CurrentOutline, *, most: int) -> list[Definition]:
    """Returns names that begin with the text, then names that contain it; code before tests, short names first."""
    wanted = text.lower()
    found = store.symbols_matching(text, 4 * most)
    files = {id: store.file(id) for id in {id for _, id, _ in found}}

    def order(one: tuple[str, int, int]) -> tuple[object, ...]:
        name, id, place = one
        file = files[id]
        return (
            not name.startswith(wanted),
            -KIND_WEIGHTS[file.kind] if file else 0,
            len(name),
            name,
            id,
            place,
        )

    outlines: dict[int, StoredOutline | None] = {}
    shown: list[Definition] = []
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
        if name in (symbol.name.lower(), last_part(symbol.name).lower()):
            shown.append(_definition(file, outline, symbol))
    return shown


def _definition(file: IndexedFile, outline: StoredOutline, symbol: Symbol) -> Definition:
    return Definition(file.path, symbol, ".".join(owners_of(outline.symbols, symbol)), file.kind)


def owners_of(symbols: Sequence[Symbol], symbol: Symbol) -> list[str]:
    names: list[str] = []
    at = symbol.parent
    while at is not None and len(names) < 20:
        names.append(symbols[at].name)
        at = symbols[at].parent
    return names[::-1]


def innermost_symbol(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    around = [symbol for symbol in symbols if symbol.start_line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)


def find_uses(
    store: IndexStore | None,
    root: Path,
    name: str,
    present: CurrentOutline,
    hides: Callable[[str], bool],
    *,
    below: str = "",
    most: int = 100,
) -> NameUses:
    """Returns lines that contain the name as a word, code before tests, without its definitions."""
    last = _last_name_part(name).rpartition(".")[2]
    hits: dict[str, list[tuple[int, str]]] = {}
    count = 0
    began = time.monotonic()
    for path, line, text in _grep_name(root, last, below):
        if is_secret(path) or hides(path):
            continue
        hits.setdefault(path, []).append((line, text))
        count += 1
        if count >= _MAX_HITS:
            break
    shown: list[NameUse] = []
    files = {path: store.file_at(path) for path in hits} if store is not None else {}

    def order(path: str) -> tuple[float, str]:
        file = files.get(path)
        return -KIND_WEIGHTS[file.kind] if file is not None else 0.0, path

    for path in sorted(hits, key=order):
        file, is_full = files.get(path), len(shown) >= most
        outline = present(store, file) if store is not None and file is not None and not is_full else None
        for line, text in hits[path]:
            inner = innermost_symbol(outline.symbols, line) if outline is not None else None
            if inner is not None and (last_part(inner.name), inner.start_line) == (last, line):
                count -= 1
                continue
            within = ".".join([*owners_of(outline.symbols, inner), inner.name]) if inner and outline else ""
            span = (inner.start_line, inner.end_line) if inner else None
            if len(shown) < most:
                shown.append(NameUse(path, line, text[:_MAX_LINE], within, span))
    having = len({use.path for use in shown}) if len(shown) == count else len(hits)
    is_cut = count >= _MAX_HITS or time.monotonic() - began >= _SEARCH_TIMEOUT
    return NameUses(tuple(shown), count, having, is_cut)


def _grep_name(root: Path, name: str, below: str) -> Iterator[tuple[str, int, str]]:
    if not name:
        return
    words = ("--null", "--line-number", "-wF", "--max-columns=2000", "--sort=path")
    with ripgrep_process(root, *words, "--", name, f"./{below}" if below else ".") as process:
        if process is None or process.stdout is None:
            return
        ending = threading.Timer(_SEARCH_TIMEOUT, process.kill)
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


def _definition_order(definition: Definition, name: str, near: Sequence[str]) -> tuple[object, ...]:
    """Sorts exact case first, then the conversation's files and folders, code before tests, long before short
    symbols."""
    folders = {path.rpartition("/")[0] for path in near}
    nearness = 0 if definition.path in near else 1 if definition.path.rpartition("/")[0] in folders else 2
    length = definition.symbol.end_line - definition.symbol.start_line
    is_exact = name in (definition.symbol.name, last_part(definition.symbol.name))
    return (
        not is_exact,
        nearness,
        -KIND_WEIGHTS[definition.kind],
        -length,
        definition.path,
        definition.symbol.start_line,
    )


def _last_name_part(name: str) -> str:
    for separator in ("::", "#", "->"):
        name = name.replace(separator, ".")
    return name.replace("()", "").strip()
