"""The rows of the map screen: folders, files and symbols as a tree, or search results. Pure."""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from app.tui.features.map.screen import RepositoryMapRow
from tools.filemap.file_map import Symbol
from tools.number_formatting import count_with_noun

if TYPE_CHECKING:
    from tools.repomap.session_map import FileMatchingSearch

_MAX_SYMBOLS_PER_FILE = 500
"""The maximum number of symbols listed per file; typing a name finds the others."""
_MAX_MAP_PATH_CELLS = 40
_GREATEST_UNICODE_CHARACTER = "\U0010ffff"


class RepositoryMapPlace(msgspec.Struct, frozen=True):
    """The file, folder or symbol that a row of the repository map stands for."""

    path: str
    symbol: Symbol | None = None

    @property
    def id(self) -> str:
        return f"{self.path}\0{self.symbol.name}\0{self.symbol.start_line}" if self.symbol else self.path

    @property
    def reference(self) -> str:
        """The text with which a prompt mentions the place, without the leading `@`: `path` or
        `path:name`."""
        return f"{self.path}:{self.symbol.name}" if self.symbol else self.path

    @property
    def location(self) -> str:
        """The path of the place, with its line numbers if it is a symbol, as text."""
        return f"{self.path}:{symbol_line_range_text(self.symbol)}" if self.symbol else self.path


PlaceWithRow = tuple[RepositoryMapPlace, RepositoryMapRow]


def repository_tree_rows(
    files: Sequence[str], opened: Collection[str], symbols: Mapping[str, Sequence[Symbol]]
) -> Iterator[PlaceWithRow]:
    """Yields the rows of the repository map as a tree. `files`: sorted paths; `opened`: folders (with a trailing slash)
    and files that are unfolded."""
    yield from _folder_rows(files, 0, len(files), "", 0, opened, symbols)


def _folder_rows(
    files: Sequence[str],
    start: int,
    end: int,
    prefix: str,
    depth: int,
    opened: Collection[str],
    symbols: Mapping[str, Sequence[Symbol]],
) -> Iterator[PlaceWithRow]:
    """Yields the rows of one folder of the repository map: first its folders, then its files, unfolded ones with their
    content."""
    own: list[str] = []
    at = start
    while at < end:
        name, slash, _ = files[at].removeprefix(prefix).partition("/")
        if not slash:
            own.append(files[at])
            at += 1
            continue
        below = f"{prefix}{name}/"
        after = bisect_left(files, below + _GREATEST_UNICODE_CHARACTER, at, end)
        is_open = below in opened
        row = RepositoryMapRow(
            id=below,
            title=f"{name}/",
            depth=depth,
            detail=count_with_noun(after - at, "file"),
            is_open=is_open,
            is_folder=True,
        )
        yield RepositoryMapPlace(below), row
        if is_open:
            yield from _folder_rows(files, at, after, below, depth + 1, opened, symbols)
        at = after
    for path in own:
        is_open = path in opened
        yield (
            RepositoryMapPlace(path),
            RepositoryMapRow(id=path, title=path.removeprefix(prefix), depth=depth, is_open=is_open),
        )
        if is_open:
            yield from _symbol_rows(path, symbols.get(path, ()), depth + 1)


def file_paths_below_folder(files: Sequence[str], folder: str) -> list[str]:
    """Returns the paths of the files below a folder, relative to it; `folder` ends in a slash."""
    found = files[bisect_left(files, folder) : bisect_left(files, folder + _GREATEST_UNICODE_CHARACTER)]
    return [path.removeprefix(folder) for path in found]


def _symbol_rows(path: str, symbols: Sequence[Symbol], depth: int) -> Iterator[PlaceWithRow]:
    depths: dict[int, int] = {}
    for index, symbol in enumerate(symbols[:_MAX_SYMBOLS_PER_FILE]):
        above = depths.get(symbol.parent, -1) if symbol.parent is not None else -1
        depths[index] = above + 1
        place = RepositoryMapPlace(path, symbol)
        yield place, _symbol_row(place, symbol, depth + depths[index])
    if len(symbols) > _MAX_SYMBOLS_PER_FILE:
        more = RepositoryMapRow(
            id=f"{path}\0more", title=f"… {len(symbols) - _MAX_SYMBOLS_PER_FILE:,} more", depth=depth
        )
        yield RepositoryMapPlace(path), more


def found_file_rows(found: Sequence["FileMatchingSearch"], *, by_path: bool) -> Iterator[PlaceWithRow]:
    """Yields the rows of a search in the repository map: each found file with its matching symbols, best match first or
    sorted by path."""
    for file in sorted(found, key=lambda one: one.path) if by_path else found:
        yield (
            RepositoryMapPlace(file.path),
            RepositoryMapRow(id=file.path, title=shorten_path_at_start(file.path), detail=file.note),
        )
        for symbol in file.symbols:
            place = RepositoryMapPlace(file.path, symbol)
            yield place, _symbol_row(place, symbol, 1)


def shorten_path_at_start(path: str) -> str:
    """Shortens a long path at its beginning, because a list would cut the file name at the end."""
    if len(path) <= _MAX_MAP_PATH_CELLS:
        return path
    folders = path.split("/")
    shown = folders.pop()
    while folders and len(folders[-1]) + len(shown) + 3 <= _MAX_MAP_PATH_CELLS:
        shown = f"{folders.pop()}/{shown}"
    return f"…/{shown}" if folders else shown


def symbol_line_range_text(symbol: Symbol) -> str:
    first, last = symbol.start_line, symbol.end_line
    return f"{first}" if first == last else f"{first}-{last}"


def _symbol_row(place: RepositoryMapPlace, symbol: Symbol, depth: int) -> RepositoryMapRow:
    return RepositoryMapRow(
        id=place.id, title=symbol.name, kind=symbol.kind, depth=depth, right=symbol_line_range_text(symbol)
    )
