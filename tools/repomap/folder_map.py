"""What is in a folder: files by how much others lean on them, deeper folders in a line each."""

import math
from collections import Counter
from collections.abc import Callable, Iterator

from tools.filemap.symbols import Symbol, says_little
from tools.repomap.index.kinds import WEIGHTS, note_of
from tools.repomap.index.parts import counted
from tools.repomap.index.store import IndexedFile, IndexStore
from tools.repomap.lookup import Present
from tools.repomap.render import MapCandidate

_MOST_WEIGHED = 400
_MOST_FOLDERS = 40
_NAMED = 3


def folder_candidates(
    store: IndexStore,
    below: str,
    present: Present,
    hides: Callable[[str], bool] = lambda path: False,
) -> Iterator[MapCandidate]:
    """Its own files, then the folders below it, then their files; the most leaned on first."""
    prefix = f"{below.rstrip('/')}/" if below else ""
    inside = [file for file in store.files() if file.path.startswith(prefix) and not hides(file.path)]
    own = [file for file in inside if "/" not in file.path.removeprefix(prefix)]
    deeper = [file for file in inside if "/" in file.path.removeprefix(prefix)]
    weighed = _weighed(store, [*own, *deeper][:_MOST_WEIGHED])
    yield from _files(store, [file for file in own if file.id in weighed], weighed, present)
    yield from _folders(deeper, prefix, store, weighed)
    yield from _files(store, [file for file in deeper if file.id in weighed], weighed, present)


def _weighed(store: IndexStore, files: list[IndexedFile]) -> dict[int, float]:
    """How many files of the repository share the words of a file's outermost names: who leans on it, about."""
    weights: dict[int, float] = {}
    for file in files:
        names = [symbol.name for symbol in store.outline(file.id).symbols if symbol.parent is None][:40]
        leaning = [store.rarity(part) for name in names for part in counted(name)]
        used = math.log1p(sum(leaning) / max(1, len(leaning)) * math.log1p(len(leaning)))
        weights[file.id] = (used + 0.3 * math.log1p(file.size)) * WEIGHTS[file.kind]
    return weights


def _files(
    store: IndexStore,
    files: list[IndexedFile],
    weights: dict[int, float],
    present: Present,
) -> Iterator[MapCandidate]:
    for file in sorted(files, key=lambda file: (-weights[file.id], file.path)):
        outline = present(store, file)
        if outline is not None:
            scores = [_worth(symbol) for symbol in outline.symbols]
            yield MapCandidate(
                file.path, outline.lines, outline.symbols, scores, note=note_of(file.kind) or file.reason
            )


def _folders(
    files: list[IndexedFile], prefix: str, store: IndexStore, weights: dict[int, float]
) -> Iterator[MapCandidate]:
    """A line each: how many files, and the names that are most worth knowing."""
    counts = Counter(file.path.removeprefix(prefix).partition("/")[0] for file in files)
    for folder, count in counts.most_common(_MOST_FOLDERS):
        path = f"{prefix}{folder}/"
        best = sorted(
            (file for file in files if file.path.startswith(path) and file.id in weights),
            key=lambda file: -weights[file.id],
        )
        names: dict[str, None] = {}
        for file in best[:_NAMED]:
            symbols = [symbol for symbol in store.outline(file.id).symbols if symbol.parent is None]
            if symbols:
                names[max(symbols, key=_worth).name] = None
        told = ", ".join(names)
        yield MapCandidate(path, None, (), (), note=f"{count} files" + (f": {told}" if told else ""))


def _worth(symbol: Symbol) -> float:
    length = symbol.end_line - symbol.start_line + 1
    worth = (
        math.log1p(length) + (1.0 if symbol.is_exported else 0.0) + (1.0 if symbol.parent is None else 0.0)
    )
    return worth * (0.2 if says_little(symbol) else 1.0)
