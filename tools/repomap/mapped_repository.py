"""Answers questions about a repository from its index, which is built on demand; results show the files as they are
now. Everything here blocks: use a thread. `tools.builtin.locate`, `read`, `grep` and the command line present the
answers."""

import contextlib
import functools
import itertools
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from tools.git.git_repository import find_repository
from tools.repomap.file_ranking import (
    FileRanking,
    RepositoryMapQuestion,
    format_ranking_reason,
    is_ranking_confident,
    parse_repository_map_question,
    rank_files,
    rank_paths,
    score_symbols_for_question,
)
from tools.repomap.folder_map import iterate_candidates_for_folder_map
from tools.repomap.index.builder_process import INDEX_BUSY_MESSAGE, IndexBuilder
from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.file_kinds import RepositoryFileKind, format_file_kind_note
from tools.repomap.index.file_records import (
    MAX_INDEXED_BYTES,
    is_file_text_hidden,
    make_complete_index_record,
    make_index_record_with_outline,
)
from tools.repomap.index.folder_listing import FolderListingCache, is_path_below
from tools.repomap.index.git_history import index_git_history
from tools.repomap.index.index_updater import DEFAULT_INDEX_WAIT_SECONDS, FOLDER_LISTING_TIMEOUT, IndexUpdater
from tools.repomap.index.index_updates import (
    CannotWriteIndex,
    FolderToIndex,
    IndexLocked,
    IndexProgress,
    is_indexed_file_up_to_date,
    make_missing_outlines,
    open_index_for_writing,
    update_index,
)
from tools.repomap.index.outline_packing import StoredOutline
from tools.repomap.index.repository_index import (
    IndexedFile,
    IndexFileDamaged,
    IndexInconsistent,
    RepositoryIndex,
    delete_index,
    index_file_path,
    is_damage_error,
)
from tools.repomap.name_lookup import (
    ReadFileOutline,
    SymbolDefinition,
    UsesOfName,
    find_definitions,
    find_definitions_without_index,
    find_symbols_like,
    find_uses_of_name,
    is_name_defined,
)
from tools.repomap.repository_map_rendering import (
    DEFAULT_MAP_TOKENS,
    RenderedRepositoryMap,
    RepositoryMapCandidate,
    estimate_tokens,
    render_repository_map,
)

_MAX_MAPPED_FILES = 60
_MAX_FILES_READ_FOR_MAP = 9
"""The maximum number of files whose text is searched for the words of a question."""
_MAX_RANKING_REASONS = 3
_COMPLETE_LISTING_TIMEOUT = 10.0
_ANNOUNCED_EDIT_POLL_INTERVAL = 0.05
_HIDING_RULES_CACHE_SECONDS = 0.5
"""The number of seconds for which the rules that hide files are cached, because they are checked for every path."""


class IndexState(msgspec.Struct, frozen=True):
    """The part of the repository that an answer covers: numbers of indexed and missing files, and problems."""

    indexed_count: int
    missing_count: int
    problem: str = ""
    is_listing_cut: bool = False
    """Whether the repository has more files than an index can contain."""
    unreadable_folders: tuple[str, ...] = ()
    """The folders that could not be listed."""
    count_below_folder: int | None = None
    """The number of indexed files in the requested folder; None if the whole repository was meant."""

    @property
    def note_tokens(self) -> int:
        """The maximum number of tokens of the line that states a map's limits (`answer_texts.format_map_answer`)."""
        closed = 10 * bool(self.unreadable_folders) + estimate_tokens(", ".join(self.unreadable_folders[:3]))
        return (
            70
            + 20 * bool(self.missing_count)
            + 30 * self.is_listing_cut
            + estimate_tokens(self.problem)
            + closed
        )


QuestionParameters = ParamSpec("QuestionParameters")
AnswerType = TypeVar("AnswerType")


def _recover_from_damage(
    ask: "Callable[Concatenate[MappedRepository, QuestionParameters], AnswerType]",
) -> "Callable[Concatenate[MappedRepository, QuestionParameters], AnswerType]":
    """Decorates a method so that it deletes an index that turns out to be damaged, and answers without it."""

    @functools.wraps(ask)
    def asked(
        self: "MappedRepository", *words: QuestionParameters.args, **more: QuestionParameters.kwargs
    ) -> AnswerType:
        try:
            return ask(self, *words, **more)
        except (sqlite3.Error, zlib.error, msgspec.MsgspecError, IndexInconsistent) as problem:
            if not is_damage_error(problem):
                raise
            self.discard_damaged_index()
            return ask(self, *words, **more)

    return asked


class RepositoryMapAnswer(msgspec.Struct, frozen=True):
    ranked_map: RenderedRepositoryMap
    index_state: IndexState
    matched_words: tuple[str, ...] = ()
    """The words of the question that were searched for."""
    has_only_nearby_files: bool = False
    """Whether no file contains the question's words, so that the result has only files near those of the
    conversation."""
    omitted_files: tuple[tuple[str, str], ...] = ()
    """The files named in the question of which only the path is indexed, each with the reason."""
    has_more: bool = False
    """Whether there are more likely files than fit into the answer."""


class MappedRepository:
    def __init__(
        self,
        root: Path,
        cache: Path,
        *,
        asks_git_at_home: Callable[[], Path | None] = lambda: None,
        hidden: Callable[[], FileHidingRules] = FileHidingRules,
        begins_at: Path | None = None,
    ) -> None:
        """Creates the repository without reading it. `asks_git_at_home` returns the user's home if git may be asked
        for this folder's history. `hidden` returns the rules for files that must not be shown now. `begins_at` is
        the session's folder."""
        self.root = root
        self.index = index_file_path(cache, root)
        self.on_progress: Callable[[], None] = lambda: None
        """A function that is called from a thread when the progress of indexing has changed."""
        self._find_home = asks_git_at_home
        self._hidden = hidden
        self._start_folder = _path_relative_to_root(root, begins_at) if begins_at is not None else ""
        self._listing = FolderListingCache(root)
        self._running_edits: set[threading.Event] = set()
        """Events of edits by bayou that the index does not contain yet."""
        self.upkeep = IndexUpdater(
            self.index,
            lambda: self._indexed_folder,
            asks_git_at_home,
            self._listing,
            self.is_hidden,
            lambda: self.on_progress(),
        )
        self._hidden_asked_at = float("-inf")
        self._hiding_rules: tuple[FileHidingRules, Callable[[str], bool]] = (
            FileHidingRules(),
            lambda path: False,
        )

    @property
    def _indexed_folder(self) -> FolderToIndex:
        return FolderToIndex(self.root, self._hidden(), self._start_folder)

    def is_hidden(self, path: str) -> bool:
        """Returns whether the user's rules hide the file."""
        now = time.monotonic()
        if now - self._hidden_asked_at >= _HIDING_RULES_CACHE_SECONDS:
            self._hidden_asked_at, rules = now, self._hidden()
            if self._hiding_rules[0] != rules:
                self._hiding_rules = (rules, rules.make_hidden_file_test(self.root))
        return self._hiding_rules[1](path)

    # Building the index

    def complete_index(
        self,
        *,
        workers: int | None = None,
        progress: Callable[[IndexProgress], None] = lambda progress: None,
        is_stopped: Callable[[], bool] = lambda: False,
        with_outlines: bool = True,
    ) -> str:
        """Completes the repository's index, in this process (`workers=0`) or with a builder. Returns the reason if
        that failed, otherwise an empty text. Without outlines, the index contains only what the ranking needs;
        answers make the outlines that they show."""
        if workers != 0:
            problem = self._run_build(workers, progress, is_stopped, with_outlines)
        else:
            problem = self._build_in_process(progress, is_stopped)
        return (
            "Another bayou is making the index; this is what it has so far."
            if problem == INDEX_BUSY_MESSAGE
            else problem
        )

    def _run_build(
        self,
        workers: int | None,
        progress: Callable[[IndexProgress], None],
        is_stopped: Callable[[], bool],
        with_outlines: bool,
    ) -> str:
        def tell() -> None:
            report = builder.report
            if report.total_files and not report.has_ended:
                progress(IndexProgress(report.done_files, report.total_files))

        builder = IndexBuilder(
            self._indexed_folder,
            self.index,
            self._find_home(),
            processes=workers,
            with_outlines=with_outlines,
        )
        try:
            while not builder.wait_for_builder_end(_ANNOUNCED_EDIT_POLL_INTERVAL):
                if is_stopped():
                    break
                tell()
        finally:
            builder.stop_builder()
        return builder.report.problem

    def _build_in_process(
        self, progress: Callable[[IndexProgress], None], is_stopped: Callable[[], bool]
    ) -> str:
        home = self._find_home()
        try:
            with open_index_for_writing(self.index) as store:
                is_whole = update_index(store, self._indexed_folder, progress=progress, is_stopped=is_stopped)
                if is_whole and home is not None:
                    index_git_history(store, self.root, home)
                if is_whole:
                    make_missing_outlines(store, self.root, is_stopped=is_stopped)
        except IndexLocked:
            return INDEX_BUSY_MESSAGE
        except CannotWriteIndex as problem:
            return str(problem)
        return ""

    def index_changed_files(self, patience: float = DEFAULT_INDEX_WAIT_SECONDS) -> None:
        """Indexes changed files of the repository: a few at once, more in the background, for which this waits only a
        moment."""
        end = time.monotonic() + patience
        for heard in tuple(self._running_edits):
            heard.wait(max(0.0, end - time.monotonic()))
        self.upkeep.index_changed_files(patience)

    def announce_edit(self, path: Path) -> Callable[[], None]:
        """Announces an edit by bayou, so that checks which begin now wait for it. Returns a function for a thread
        that indexes the edited file."""
        heard = threading.Event()
        self._running_edits.add(heard)

        def hear() -> None:
            try:
                self.index_edited_file(path)
            finally:
                self._running_edits.discard(heard)
                heard.set()

        return hear

    def index_edited_file(self, path: Path) -> None:
        """Updates the index, if there is one, after bayou changed a file."""
        if not self.upkeep.has_checked_for_changes or not self.index.exists():
            return
        below = os.path.relpath(path, self.root)
        made = make_complete_index_record(self.root, below) if not below.startswith("..") else None
        with contextlib.suppress(IndexLocked, CannotWriteIndex), open_index_for_writing(self.index) as store:
            if made is not None and not self.is_hidden(below):
                store.store_records([made])

    def discard_damaged_index(self) -> None:
        """Makes the next use rebuild the damaged index."""
        delete_index(self.index)
        self.upkeep.rebuild_index("the index was damaged and is made anew")

    def close_index_of_repository(self) -> None:
        self.upkeep.stop_updating_index()

    # Questions

    @_recover_from_damage
    def map_files_for_task(
        self,
        text: str,
        *,
        below: str = "",
        tokens: int = DEFAULT_MAP_TOKENS,
        known: Sequence[str] = (),
        sure_tokens: int | None = None,
        is_more: bool = False,
    ) -> RepositoryMapAnswer:
        """Returns the map of the files that the words of a task may mean. `sure_tokens` limits the size of a
        confident answer. With `is_more`, returns the files after those of that answer."""
        question = parse_repository_map_question(text)
        with self.open_index() as store:
            if store is None or not store.get_index_property("listed"):
                return _answer_by_file_names(
                    self._listing, self.is_hidden, self.upkeep.problem_text, question, below, tokens
                )
            ranking = rank_files(
                store, question, below=below, known=known, most=_MAX_MAPPED_FILES, read=self.read_visible_text
            )
            candidates = _iterate_map_candidates(
                store, self.current_outline, question, ranking, self.read_visible_text
            )
            unindexed = _list_unindexed_paths(store, self._listing, self.is_hidden, below)
            rest = rank_paths(unindexed, question, _MAX_MAPPED_FILES)
            state = _read_index_state(store, self.upkeep.problem_text, below)
            is_short = sure_tokens is not None and is_ranking_confident(store, question, ranking.ranked_files)
            tried, others = itertools.tee(candidates)
            limit = sure_tokens if is_short and sure_tokens else tokens
            shown = _render_map_answer(tried, rest, limit, state)
            if is_more:
                first = {file.path for file in shown.files}
                left = (one for one in others if one.path not in first)
                tried, others = itertools.tee(left)
                shown = _render_map_answer(tried, [path for path in rest if path not in first], tokens, state)
            has_more = next(itertools.islice(others, len(shown.files), None), None) is not None
            words = tuple(dict.fromkeys(question.word_parts.values()))
            left_out = tuple(
                (file.path, file.path_only_reason)
                for file in ranking.omitted_files
                if not self.is_hidden(file.path)
            )
            return RepositoryMapAnswer(shown, state, words, ranking.has_only_nearby_files, left_out, has_more)

    @_recover_from_damage
    def map_folder(self, below: str = "", *, tokens: int = DEFAULT_MAP_TOKENS) -> RepositoryMapAnswer:
        """Returns the map of a folder: the most used files first."""
        with self.open_index() as store:
            if store is None or not store.get_index_property("listed"):
                return _answer_by_file_names(
                    self._listing, self.is_hidden, self.upkeep.problem_text, None, below, tokens
                )
            rest = _list_unindexed_paths(store, self._listing, self.is_hidden, below)[:_MAX_MAPPED_FILES]
            known = iterate_candidates_for_folder_map(store, below, self.current_outline, self.is_hidden)
            state = _read_index_state(store, self.upkeep.problem_text, below)
            return RepositoryMapAnswer(_render_map_answer(known, rest, tokens, state), state)

    @_recover_from_damage
    def find_definitions(
        self,
        name: str,
        *,
        below: str = "",
        near: Sequence[str] = (),
        most: int = 20,
        searches_text: bool = False,
    ) -> tuple[list[SymbolDefinition], int]:
        """Returns the definitions of a name, nearest first, and their count. With `searches_text`, the text of the
        files is searched if an incomplete index has no definition."""
        with self.open_index() as store:
            found: tuple[list[SymbolDefinition], int] = ([], 0)
            if store is not None:
                found = find_definitions(store, name, self.current_outline, below=below, near=near, most=most)
            if found[0] or not searches_text or (store is not None and store.get_index_property("finished")):
                return found

        def is_shown(path: str) -> bool:
            return not self.is_hidden(path) and not is_file_text_hidden(self.root, path)

        return find_definitions_without_index(self.root, name, is_shown, below=below, near=near, most=most)

    @_recover_from_damage
    def find_symbols_like_text(self, text: str, *, most: int = 100) -> list[SymbolDefinition]:
        """Returns symbols whose name begins with the text, then those whose name contains it; short names first."""
        with self.open_index() as store:
            return (
                find_symbols_like(store, text, self.current_outline, most=most) if store is not None else []
            )

    @_recover_from_damage
    def visible_paths(self) -> list[str]:
        """Returns the paths of all files that may be shown, sorted."""
        with self.open_index() as store:
            known = (
                store.file_stamps() if store is not None and store.get_index_property("finished") else None
            )
        if known is None:
            return self._listing.list_paths_cached(self.is_hidden, _COMPLETE_LISTING_TIMEOUT)
        return sorted(path for path in known if not self.is_hidden(path))

    @_recover_from_damage
    def defined_names(self, names: Iterable[str]) -> list[str]:
        """Returns those of the names for which the repository's code has a definition of exactly that name."""
        with self.open_index() as store:
            return [name for name in names if is_name_defined(store, name)] if store is not None else []

    @_recover_from_damage
    def find_uses_of_name(self, name: str, *, below: str = "", most: int = 100) -> UsesOfName:
        with self.open_index() as store:
            return find_uses_of_name(
                store, self.root, name, self.current_outline, self.is_hidden, below=below, most=most
            )

    @_recover_from_damage
    def outline_of_file(self, path: str) -> StoredOutline | None:
        """Returns the current symbols of an indexed file."""
        with self.open_index() as store:
            file = store.indexed_file_at_path(path) if store is not None else None
            return self.current_outline(store, file) if store is not None and file is not None else None

    @property
    @_recover_from_damage
    def is_index_complete(self) -> bool:
        """Whether the index was completed, with all outlines."""
        with self.open_index() as store:
            return store is not None and bool(
                store.get_index_property("finished") and store.get_index_property("outlined")
            )

    @_recover_from_damage
    def file_kinds_of(self, paths: Iterable[str]) -> dict[str, RepositoryFileKind]:
        """Returns the kinds (code, test, docs …) of those of these files that are indexed."""
        with self.open_index() as store:
            files = [store.indexed_file_at_path(path) for path in paths] if store is not None else []
            return {file.path: file.kind for file in files if file is not None}

    def read_visible_text(self, path: str) -> str:
        """Returns the present content of a file; empty if it may not or cannot be read."""
        if self.is_hidden(path) or is_file_text_hidden(self.root, path):
            return ""
        try:
            return (self.root / path).read_bytes()[:MAX_INDEXED_BYTES].decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""

    def current_outline(self, store: RepositoryIndex, file: IndexedFile) -> StoredOutline | None:
        """Returns the current symbols of a file; None if it is gone, or hidden."""
        if self.is_hidden(file.path):
            return None
        stored = store.stored_outline(file.id) if is_indexed_file_up_to_date(self.root, file) else None
        made = make_index_record_with_outline(self.root, file.path) if stored is None else None
        return stored if made is None else StoredOutline(made.lines, made.symbols or ())

    @_recover_from_damage
    def index_state(self) -> IndexState:
        with self.open_index() as store:
            return _read_index_state(store, self.upkeep.problem_text)

    @contextlib.contextmanager
    def open_index(self) -> Generator[RepositoryIndex | None]:
        """Opens the repository's index for reading; None if there is none, or it is unreadable."""
        try:
            store = RepositoryIndex(self.index)
        except (IndexFileDamaged, sqlite3.Error):
            yield None
            return
        with store:
            yield store


def _iterate_map_candidates(
    store: RepositoryIndex,
    present: ReadFileOutline,
    question: RepositoryMapQuestion,
    ranking: FileRanking,
    read: Callable[[str], str],
) -> Iterator[RepositoryMapCandidate]:
    """Yields the files that the map may show; of files that are nearly copies of each other, only one."""
    named: dict[str, list[IndexedFile]] = {}
    for place in ranking.ranked_files:
        named.setdefault(place.file.path.rpartition("/")[2], []).append(place.file)
    copies: set[int] = set()
    for number, place in enumerate(ranking.ranked_files):
        file = place.file
        outline = present(store, file) if file.id not in copies else None
        if outline is None:
            continue
        text = read(file.path) if number < _MAX_FILES_READ_FOR_MAP else ""
        scores = score_symbols_for_question(outline, question, ranking, place.lines, text)
        others = [
            other
            for other in named[file.path.rpartition("/")[2]]
            if other.id not in copies | {file.id} and _is_near_copy(outline, store.stored_outline(other.id))
        ]
        copies.update(other.id for other in others)
        many = f"{len(others)} near {'copy' if len(others) == 1 else 'copies'}" if others else ""
        note = ", ".join(filter(None, (format_file_kind_note(file.kind), many)))
        has_reason = number < _MAX_RANKING_REASONS
        reason = format_ranking_reason(store, question, ranking, place) if has_reason else ""
        yield RepositoryMapCandidate(file.path, outline.lines, outline.symbols, scores, reason, note)


def _is_near_copy(one: StoredOutline, other: StoredOutline | None) -> bool:
    """Returns whether two files are near copies: nine of ten symbols have the same names."""
    if other is None:
        return False
    names, others = ({symbol.name for symbol in outline.symbols} for outline in (one, other))
    return len(names & others) >= 0.9 * max(len(names), len(others), 1)


def _list_unindexed_paths(
    store: RepositoryIndex, listing: FolderListingCache, hides: Callable[[str], bool], below: str
) -> list[str]:
    """Returns files of the repository of which not even the path is indexed."""
    listed = int(store.get_index_property("listed") or 0)
    if store.get_index_property("finished") or (listed and store.count_files() >= listed):
        return []
    known = store.file_stamps()
    paths = listing.list_paths_cached(hides, FOLDER_LISTING_TIMEOUT)
    return [path for path in paths if path not in known and is_path_below(path, below)]


def _answer_by_file_names(
    listing: FolderListingCache,
    hides: Callable[[str], bool],
    trouble: str,
    question: RepositoryMapQuestion | None,
    below: str,
    tokens: int,
) -> RepositoryMapAnswer:
    """Answers a question from file names only, before there is an index."""
    paths = [
        path
        for path in listing.list_paths_cached(hides, FOLDER_LISTING_TIMEOUT)
        if is_path_below(path, below)
    ]
    wanted = (
        rank_paths(paths, question, _MAX_MAPPED_FILES) if question is not None else paths[:_MAX_MAPPED_FILES]
    )
    words = tuple(question.word_parts.values()) if question is not None else ()
    problem = trouble if listing.is_complete else "the names of its files are still being listed."
    state = IndexState(0, len(paths), problem)
    return RepositoryMapAnswer(_render_map_answer((), wanted, tokens, state), state, words)


def _render_map_answer(
    candidates: Iterable[RepositoryMapCandidate], paths: Iterable[str], tokens: int, state: IndexState
) -> RenderedRepositoryMap:
    """Renders the map that answers a question. `paths` are files of which only the path is known."""
    others = (RepositoryMapCandidate(path, None, (), ()) for path in paths)
    return render_repository_map(itertools.chain(candidates, others), tokens, behind=state.note_tokens)


def _read_index_state(store: RepositoryIndex | None, problem: str, below: str = "") -> IndexState:
    if store is None:
        return IndexState(0, 0, problem)
    count = store.count_files() - store.count_files(is_unseen=True)
    missing = max(0, int(store.get_index_property("listed") or 0) - count)
    of_folder = store.count_files(below=below) if below else None
    unreadable = tuple(filter(None, store.get_index_property("unreadable").split("\n")))
    is_cut = bool(store.get_index_property("cut"))
    return IndexState(
        count,
        missing,
        problem,
        is_listing_cut=is_cut,
        unreadable_folders=unreadable,
        count_below_folder=of_folder,
    )


def _path_relative_to_root(root: Path, folder: Path) -> str:
    """Returns a path relative to the repository's root; empty if it is outside."""
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
    return "" if below == "." or below.startswith("..") else below


def find_repository_root(folder: Path) -> Path:
    """Returns the git work tree of the folder, otherwise the folder."""
    found = find_repository(folder)
    return found.work_tree if found is not None and not found.is_bare else folder
