"""A repository as it is asked: its index is built when it is first needed, and what is shown is as the files are now.

Everything here blocks: for a thread. Who asks, and what is made of the answer: `tools.builtin.locate`, `read`, `grep`,
the command line.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tools.repomap.building import Busy, CannotBuild, Progress, build, is_fresh, writing
from tools.repomap.listing import list_files
from tools.repomap.outlining import indexed
from tools.repomap.ranking import Question, Ranking, question_of, rank, rank_paths, symbol_scores
from tools.repomap.render import DEFAULT_TOKENS, Candidate, RankedMap, render
from tools.repomap.store import Damaged, KnownFile, Outline, Store, index_path

_MOST_SHOWN = 60


class Answer(msgspec.Struct, frozen=True):
    map: RankedMap
    indexed: int
    missing: int
    """Files that are not in the index yet."""
    problem: str = ""
    """Why there is no index, or not a whole one."""


class Repository:
    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.index = index_path(cache, root)
        self._lock = threading.Lock()

    def bring_up_to_date(
        self,
        *,
        workers: int | None = None,
        progress: Callable[[Progress], None] = lambda progress: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> str:
        """Builds or refreshes the index here and now. Empty, or why that could not be."""
        try:
            with writing(self.index) as store:
                build(store, self.root, workers=workers, progress=progress, is_stopped=is_stopped)
        except Busy:
            return "Another bayou is building the index."
        except CannotBuild as problem:
            return str(problem)
        return ""

    def map_about(
        self,
        text: str,
        *,
        below: str = "",
        tokens: int = DEFAULT_TOKENS,
        known: Sequence[str] = (),
        problem: str = "",
    ) -> Answer:
        """The ranked map for words of a task."""
        question = question_of(text)
        try:
            with self._lock, Store(self.index) as store:
                ranking = rank(store, question, below=below, known=known, most=_MOST_SHOWN)

                candidates = (
                    candidate
                    for place in ranking.places
                    if (candidate := self._candidate(store, place.file, question, ranking, place.lines))
                    is not None
                )
                map = render(candidates, tokens)
                count = store.count()
                listed = int(store.meta("listed") or 0)
                return Answer(map, count, max(0, listed - count), problem)
        except (Damaged, sqlite3.Error):
            return self._by_paths(question, below, tokens, problem)

    def _by_paths(self, question: Question, below: str, tokens: int, problem: str) -> Answer:
        paths = list_files(self.root)
        wanted = rank_paths((path for path in paths if path.startswith(below)), question, _MOST_SHOWN)
        candidates = [Candidate(path, 0, (), ()) for path in wanted]
        return Answer(render(candidates, tokens), 0, len(paths), problem)

    def _candidate(
        self, store: Store, file: KnownFile, question: Question, ranking: Ranking, lines: frozenset[int]
    ) -> Candidate | None:
        outline = self._present(store, file)
        if outline is None:
            return None
        scores = symbol_scores(outline, question, ranking, lines)
        note = file.kind if file.kind in ("test", "generated", "vendored") else ""
        return Candidate(file.path, outline.lines, outline.symbols, scores, note)

    def _present(self, store: Store, file: KnownFile) -> Outline | None:
        """The file's symbols as they are now; None: it is gone."""
        if is_fresh(self.root, file):
            return store.outline(file.id)
        made = indexed(self.root, file.path)
        return Outline(made.lines, made.symbols) if made is not None else None
