"""Builds the map of a folder: its files by how many others depend on them, deeper folders in a line each."""

import math
from collections import Counter
from collections.abc import Callable, Iterator

from tools.filemap.file_map import Symbol, is_one_line_member
from tools.repomap.index.file_kinds import RANKING_WEIGHT_BY_FILE_KIND, format_file_kind_note
from tools.repomap.index.repository_index import IndexedFile, RepositoryIndex
from tools.repomap.index.word_parts import count_word_parts
from tools.repomap.name_lookup import ReadFileOutline
from tools.repomap.repository_map_rendering import RepositoryMapCandidate

_MAX_WEIGHTED_FILES_OF_FOLDER = 400
_MAX_SHOWN_SUBFOLDERS = 40
_MAX_SYMBOLS_IN_FOLDER_SUMMARY = 3


def iterate_candidates_for_folder_map(
    store: RepositoryIndex,
    below: str,
    present: ReadFileOutline,
    hides: Callable[[str], bool] = lambda path: False,
) -> Iterator[RepositoryMapCandidate]:
    """Yields the candidates for a folder's map: the folder's own files, then its subfolders, then their files;
    within each, the most used first."""
    prefix = f"{below.rstrip('/')}/" if below else ""
    inside = [file for file in store.indexed_files() if file.path.startswith(prefix) and not hides(file.path)]
    own = [file for file in inside if "/" not in file.path.removeprefix(prefix)]
    deeper = [file for file in inside if "/" in file.path.removeprefix(prefix)]
    weighed = _estimate_file_weights(store, [*own, *deeper][:_MAX_WEIGHTED_FILES_OF_FOLDER])
    yield from _iterate_file_candidates(store, [file for file in own if file.id in weighed], weighed, present)
    yield from _iterate_folder_summaries(deeper, prefix, store, weighed)
    yield from _iterate_file_candidates(
        store, [file for file in deeper if file.id in weighed], weighed, present
    )


def _estimate_file_weights(store: RepositoryIndex, files: list[IndexedFile]) -> dict[int, float]:
    """Estimates how many files depend on each file, by counting files that contain the names of its top-level
    symbols."""
    weights: dict[int, float] = {}
    for file in files:
        names = [symbol.name for symbol in _read_top_level_symbols(store, file)[:40]]
        leaning = [store.count_versions_with_word(part) for name in names for part in count_word_parts(name)]
        used = math.log1p(sum(leaning) / max(1, len(leaning)) * math.log1p(len(leaning)))
        weights[file.id] = (used + 0.3 * math.log1p(file.size)) * RANKING_WEIGHT_BY_FILE_KIND[file.kind]
    return weights


def _iterate_file_candidates(
    store: RepositoryIndex,
    files: list[IndexedFile],
    weights: dict[int, float],
    present: ReadFileOutline,
) -> Iterator[RepositoryMapCandidate]:
    for file in sorted(files, key=lambda file: (-weights[file.id], file.path)):
        outline = present(store, file)
        if outline is not None:
            scores = [_score_symbol(symbol) for symbol in outline.symbols]
            yield RepositoryMapCandidate(
                file.path,
                outline.lines,
                outline.symbols,
                scores,
                note=format_file_kind_note(file.kind) or file.path_only_reason,
            )


def _iterate_folder_summaries(
    files: list[IndexedFile], prefix: str, store: RepositoryIndex, weights: dict[int, float]
) -> Iterator[RepositoryMapCandidate]:
    """Yields a line for each subfolder of a folder's map: the number of files, and its most important names."""
    counts = Counter(file.path.removeprefix(prefix).partition("/")[0] for file in files)
    for folder, count in counts.most_common(_MAX_SHOWN_SUBFOLDERS):
        path = f"{prefix}{folder}/"
        best = sorted(
            (file for file in files if file.path.startswith(path) and file.id in weights),
            key=lambda file: -weights[file.id],
        )
        names: dict[str, None] = {}
        for file in best[:_MAX_SYMBOLS_IN_FOLDER_SUMMARY]:
            symbols = _read_top_level_symbols(store, file)
            if symbols:
                names[max(symbols, key=_score_symbol).name] = None
        told = ", ".join(names)
        yield RepositoryMapCandidate(
            path, None, (), (), note=f"{count} files" + (f": {told}" if told else "")
        )


def _read_top_level_symbols(store: RepositoryIndex, file: IndexedFile) -> list[Symbol]:
    outline = store.stored_outline(file.id)
    return [symbol for symbol in outline.symbols if symbol.parent is None] if outline is not None else []


def _score_symbol(symbol: Symbol) -> float:
    length = symbol.end_line - symbol.start_line + 1
    worth = (
        math.log1p(length) + (1.0 if symbol.is_exported else 0.0) + (1.0 if symbol.parent is None else 0.0)
    )
    return worth * (0.2 if is_one_line_member(symbol) else 1.0)
