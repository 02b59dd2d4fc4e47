"""The rows of the map screen: folders, files and symbols as a tree, or search results. Pure."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from app.tui.features.map.screen import PlaceRow
from tools.amounts import pluralized
from tools.filemap.symbols import Symbol

if TYPE_CHECKING:
    from tools.repomap.of_session import MatchedFile

_MOST_SYMBOLS = 500
"""The maximum number of symbols listed per file; typing a name finds the others."""
_MAX_PATH_CELLS = 40
_LAST = "\U0010ffff"


class MapPlace(msgspec.Struct, frozen=True):
    """The file, folder or symbol that a row represents."""

    path: str
    symbol: Symbol | None = None

    @property
    def id(self) -> str:
        return f"{self.path}\0{self.symbol.name}\0{self.symbol.start_line}" if self.symbol else self.path

    @property
    def reference(self) -> str:
        """The place as a prompt mentions it, without the leading sign: `path` or `path:name`."""
        return f"{self.path}:{self.symbol.name}" if self.symbol else self.path

    @property
    def at(self) -> str:
        """The path and line numbers of the place."""
        return f"{self.path}:{lines_of(self.symbol)}" if self.symbol else self.path


PlaceAndRow = tuple[MapPlace, PlaceRow]


def tree_rows(
    files: Sequence[str], opened: Collection[str], symbols: Mapping[str, Sequence[Symbol]]
) -> Iterator[PlaceAndRow]:
    """Yields the rows of the tree. `files`: sorted paths; `opened`: folders (with a trailing slash)
    and files that are unfolded."""
    yield from _inside(files, 0, len(files), "", 0, opened, symbols)


def _inside(
    files: Sequence[str],
    start: int,
    end: int,
    prefix: str,
    depth: int,
    opened: Collection[str],
    symbols: Mapping[str, Sequence[Symbol]],
) -> Iterator[PlaceAndRow]:
    """Yields the rows of one folder, folders before files."""
    own: list[str] = []
    at = start
    while at < end:
        name, slash, _ = files[at].removeprefix(prefix).partition("/")
        if not slash:
            own.append(files[at])
            at += 1
            continue
        below = f"{prefix}{name}/"
        after = bisect_left(files, below + _LAST, at, end)
        is_open = below in opened
        row = PlaceRow(
            id=below,
            title=f"{name}/",
            depth=depth,
            detail=pluralized(after - at, "file"),
            is_open=is_open,
            is_folder=True,
        )
        yield MapPlace(below), row
        if is_open:
            yield from _inside(files, at, after, below, depth + 1, opened, symbols)
        at = after
    for path in own:
        is_open = path in opened
        yield MapPlace(path), PlaceRow(id=path, title=path.removeprefix(prefix), depth=depth, is_open=is_open)
        if is_open:
            yield from _symbols(path, symbols.get(path, ()), depth + 1)


def names_below(files: Sequence[str], folder: str) -> list[str]:
    """Returns the paths of the files below a folder, relative to it; `folder` ends in a slash."""
    found = files[bisect_left(files, folder) : bisect_left(files, folder + _LAST)]
    return [path.removeprefix(folder) for path in found]


def _symbols(path: str, symbols: Sequence[Symbol], depth: int) -> Iterator[PlaceAndRow]:
    depths: dict[int, int] = {}
    for index, symbol in enumerate(symbols[:_MOST_SYMBOLS]):
        above = depths.get(symbol.parent, -1) if symbol.parent is not None else -1
        depths[index] = above + 1
        place = MapPlace(path, symbol)
        yield place, _symbol_row(place, symbol, depth + depths[index])
    if len(symbols) > _MOST_SYMBOLS:
        more = PlaceRow(id=f"{path}\0more", title=f"… {len(symbols) - _MOST_SYMBOLS:,} more", depth=depth)
        yield MapPlace(path), more


def found_rows(found: Sequence["MatchedFile"], *, by_path: bool) -> Iterator[PlaceAndRow]:
    """Yields each found file with its matching symbols, best match first or sorted by path."""
    for file in sorted(found, key=lambda one: one.path) if by_path else found:
        yield MapPlace(file.path), PlaceRow(id=file.path, title=ending(file.path), detail=file.note)
        for symbol in file.symbols:
            place = MapPlace(file.path, symbol)
            yield place, _symbol_row(place, symbol, 1)


def ending(path: str) -> str:
    """Shortens a long path at its beginning, because a list would cut the file name at the end."""
    if len(path) <= _MAX_PATH_CELLS:
        return path
    folders = path.split("/")
    shown = folders.pop()
    while folders and len(folders[-1]) + len(shown) + 3 <= _MAX_PATH_CELLS:
        shown = f"{folders.pop()}/{shown}"
    return f"…/{shown}" if folders else shown


def lines_of(symbol: Symbol) -> str:
    first, last = symbol.start_line, symbol.end_line
    return f"{first}" if first == last else f"{first}-{last}"


def _symbol_row(place: MapPlace, symbol: Symbol, depth: int) -> PlaceRow:
    return PlaceRow(id=place.id, title=symbol.name, kind=symbol.kind, depth=depth, right=lines_of(symbol))
