"""Renders a map of several files for a model: paths with symbols and lines, within a strict budget."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from tools.filemap.file_map import Symbol
from tools.filemap.rendering.map_symbol_lines import format_line_range, utf8_byte_count
from tools.repomap.index.repository_index import owner_names_in_symbol_name
from tools.repomap.name_lookup import enclosing_symbol_names
from tools.text_sanitizing import escape_controls, one_line

BYTES_PER_TOKEN = 3.6
DEFAULT_MAP_TOKENS = 2000
_MAX_SYMBOLS_BY_FILE_RANK = (
    (1200, (12, 4, 4, 4, 4, 4, 1)),
    (3000, (16, 16, 16, 6, 6, 6, 6, 6, 2)),
    (0, (16, 16, 16, 8, 8, 8, 8, 8, 4)),
)
"""The numbers of symbols that are shown of the first files, and of each following one; measurements favoured a
decreasing number over any equal one."""
_MAX_SYMBOL_NAME_CHARS_IN_MAP = 100
_NAMESPACE_KINDS = frozenset(("module", "namespace", "package"))
_PLAIN_NAME_PATTERN = re.compile(r"[\w$.:#~@-]+")


class RepositoryMapCandidate(msgspec.Struct, frozen=True):
    """A file that a repository map may show, with its symbols and scores."""

    path: str
    lines: int | None
    """The number of lines of the file; None if unknown, or for a folder."""
    symbols: tuple[Symbol, ...]
    scores: Sequence[float]
    reason: str = ""
    """The reason why the file may be meant, in words for the model."""
    note: str = ""
    """A note on the file, such as `test` or `generated`; for a folder, a summary of its content."""


class FileInRepositoryMap(msgspec.Struct, frozen=True):
    path: str
    symbols: tuple[Symbol, ...]
    """The symbols of the file, in the order of the file."""


class RenderedRepositoryMap(msgspec.Struct, frozen=True):
    text: str
    files: tuple[FileInRepositoryMap, ...]

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


def estimate_tokens(text: str) -> int:
    return -int(-utf8_byte_count(text) // BYTES_PER_TOKEN)


def render_repository_map(
    candidates: Iterable[RepositoryMapCandidate], tokens: int, *, behind: int = 0
) -> RenderedRepositoryMap:
    """Renders a repository map: as many files as fit, in the given order; a file whose symbols do not fit gets fewer,
    then none. `behind` reserves tokens for other text, up to half of the budget."""
    room = int((tokens - min(behind, tokens // 2)) * BYTES_PER_TOKEN)
    taper = next(shares for limit, shares in _MAX_SYMBOLS_BY_FILE_RANK if not limit or tokens <= limit)
    blocks: list[str] = []
    shown: list[FileInRepositoryMap] = []
    for place, candidate in enumerate(candidates):
        wanted = taper[min(place, len(taper) - 1)]
        while True:
            chosen = _choose_best_symbols(candidate, wanted)
            block = _render_mapped_file(candidate, chosen)
            if utf8_byte_count(block) + 1 <= room or wanted == 0:
                break
            wanted //= 2
        cost = utf8_byte_count(block) + 1
        if cost > room:
            break
        room -= cost
        blocks.append(block)
        shown.append(FileInRepositoryMap(candidate.path, tuple(candidate.symbols[index] for index in chosen)))
    return RenderedRepositoryMap("\n".join(blocks), tuple(shown))


def _choose_best_symbols(candidate: RepositoryMapCandidate, count: int) -> list[int]:
    """Returns the most likely symbols of a file in the order of the file, without those of score 0."""
    liked = [index for index, score in enumerate(candidate.scores) if score > 0]
    chosen = sorted(liked, key=lambda index: (-candidate.scores[index], index))[:count]
    symbols = candidate.symbols
    return sorted(chosen, key=lambda index: (symbols[index].start_line, -symbols[index].end_line))


def _render_mapped_file(candidate: RepositoryMapCandidate, chosen: Sequence[int]) -> str:
    lines = f"{candidate.lines} lines" if candidate.lines is not None else ""
    told = one_line(escape_controls(", ".join(filter(None, (lines, candidate.note)))))
    rows = [f"{one_line(escape_controls(candidate.path))}  {told}".rstrip()]
    if candidate.reason:
        rows.append(f"  why: {one_line(escape_controls(candidate.reason))}")
    for index in chosen:
        symbol = candidate.symbols[index]
        name = one_line(
            escape_controls(
                symbol_name_with_owners(candidate.symbols, symbol)[:_MAX_SYMBOL_NAME_CHARS_IN_MAP]
            )
        )
        rows.append(f"  {symbol.kind} {name} {format_line_range(symbol.start_line, symbol.end_line)}")
    return "\n".join(rows)


def symbol_name_with_owners(symbols: Sequence[Symbol], symbol: Symbol) -> str:
    """Returns a symbol's name prefixed with its owners, if they are names and the symbol's own name does not begin with
    them. Namespaces are left out: they are the same on every row."""
    owners = enclosing_symbol_names(symbols, symbol, without=_NAMESPACE_KINDS)
    if not all(_PLAIN_NAME_PATTERN.fullmatch(owner) for owner in owners) or owner_names_in_symbol_name(
        symbol.name
    ):
        return symbol.name
    return ".".join([*owners, symbol.name])
