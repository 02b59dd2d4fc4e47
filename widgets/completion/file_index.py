"""Lists the files of a folder with `rg --files` in the background, and searches them while the user types.

Paths are stored in blocks of a thousand, each with one case-folded text that is scanned at once; the event loop runs
between blocks, so 150,000 files never delay a key. Files ignored by git are included, but ranked last."""

import asyncio
import heapq
import re
import time
from array import array
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from tools.running.child_programs import ChildProgram
from widgets.completion.frecency import PathFrecency

PATHS_PER_INDEX_BLOCK = 1000
FILE_SEARCH_TIME_SLICE_SECONDS = 0.004
"""Seconds of work before the event loop gets control."""
EARLY_SEARCH_RESULTS_SECONDS = 0.025
"""Seconds until the first results are shown, if there are any."""
MAX_INDEXED_FILES = 1_000_000
MAX_INDEXED_IGNORED_FILES = 200_000
MAX_SCORED_PATHS_PER_SEARCH = 150
"""The number of matches per block that are scored exactly."""


class FoundFile(NamedTuple):
    """A file or folder that a search of the file index found, with its score and whether git ignores it."""

    path: str
    """Ends with a slash if it is a folder."""
    score: float
    is_ignored: bool = False


class _PathBlock:
    """A thousand file paths stored as one text with a line feed after each, so that a million paths fit into memory."""

    __slots__ = ("_path_ends", "_text", "case_folded_text", "is_ignored")

    def __init__(self, paths: list[str], *, is_ignored: bool = False) -> None:
        self.is_ignored = is_ignored
        self._text = "\n".join(paths) + "\n"
        folded = self._text.lower()
        self.case_folded_text = self._text if folded == self._text else folded
        self._path_ends = array("I", accumulate(len(path.lower()) + 1 for path in paths))
        """The end of each path in the folded text. If lower case changes a length, the text is split by lines
        instead."""

    def __len__(self) -> int:
        return len(self._path_ends)

    @property
    def paths(self) -> list[str]:
        return self._text[:-1].split("\n")

    def path_at(self, place: int) -> str:
        number = bisect_right(self._path_ends, place)
        if len(self._text) != len(self.case_folded_text):
            return self.paths[number]
        return self._text[self._path_ends[number - 1] if number else 0 : self._path_ends[number] - 1]


class FileIndex:
    """The list of all files and folders below a folder, which is loaded in the background and can be searched."""

    def __init__(
        self,
        root: Path | Callable[[], Path],
        *,
        rg: str,
        env: Mapping[str, str] | None = None,
        frecency: PathFrecency | None = None,
        added: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        """Creates an empty index; `refresh_files` loads it. `root`: the folder, or a function that returns the current
        one. `added`: returns further folders, whose files are listed with absolute paths."""
        self._root = root
        self._added_folders = added
        self._listed_folders = self._indexed_folders()
        self._env = env
        self.frecency = frecency or PathFrecency(clock=time.time)
        self.problem = ""
        """Why the list is missing or incomplete."""
        self.is_loaded = False
        self._rg = rg
        self._blocks: list[_PathBlock] = []
        self._loading: asyncio.Task[None] | None = None
        self._loaded_at = 0.0

    @property
    def root(self) -> Path:
        return self._root if isinstance(self._root, Path) else self._root()

    def _indexed_folders(self) -> tuple[Path, ...]:
        return (self.root, *self._added_folders())

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def refresh_files(self, *, older_than: float = 0.0) -> "asyncio.Task[None]":
        """Starts listing the files again and returns the task. If the listing is in progress, or is younger than
        `older_than` seconds, the existing task is returned; if the folders changed, the old list is dropped."""
        if self._listed_folders != self._indexed_folders():
            self.close()
            self._loading, self._blocks, self.is_loaded = None, [], False
            self._listed_folders = self._indexed_folders()
        if self._loading is None or (
            self._loading.done() and time.monotonic() - self._loaded_at >= older_than
        ):
            self._loading = asyncio.create_task(self._load_blocks())
        return self._loading

    def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()

    def contains_path(self, path: str) -> bool:
        folded = "\n" + path.lower() + "\n"
        return any(folded in "\n" + block.case_folded_text for block in self._blocks)

    # -- loading -------------------------------------------------------------------------------------------

    async def _load_blocks(self) -> None:
        self.problem = ""
        blocks: list[_PathBlock] = []
        try:
            options = ("--files", "--hidden", "--glob", "!.git")
            seen = await self._read_paths(blocks, options, set())
            folders = await self._parent_folders_of(seen)
            for added in self._listed_folders[1:]:
                found = await self._read_paths(blocks, (*options, str(added)), seen)
                folders += await self._parent_folders_of(found, below=len(str(added)))
                seen |= found
            blocks += [
                _PathBlock(folders[at : at + PATHS_PER_INDEX_BLOCK])
                for at in range(0, len(folders), PATHS_PER_INDEX_BLOCK)
            ]
            self._blocks = list(blocks)
            self.is_loaded = True
            options = ("--files", "--hidden", "--no-ignore", "--glob", "!.git")
            await self._read_paths(blocks, options, seen, is_ignored=True)
            self._blocks = blocks
        except OSError as error:
            self.problem = f"{self._rg} cannot be run, so file names are not completed: {error}"
        self.is_loaded = True
        self._loaded_at = time.monotonic()

    async def _read_paths(
        self, blocks: list[_PathBlock], options: Sequence[str], known: set[str], *, is_ignored: bool = False
    ) -> set[str]:
        seen: set[str] = set()
        waiting: list[str] = []
        rest = b""
        argv = (self._rg, "--no-config", *options)
        async with await ChildProgram.start(argv, cwd=self._listed_folders[0], env=self._env) as lister:
            while chunk := await lister.stdout.read(32 * 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    path = line.decode(errors="replace")
                    if path not in known:
                        waiting.append(path)
                        seen.add(path)
                while len(waiting) >= PATHS_PER_INDEX_BLOCK:
                    blocks.append(_PathBlock(waiting[:PATHS_PER_INDEX_BLOCK], is_ignored=is_ignored))
                    del waiting[:PATHS_PER_INDEX_BLOCK]
                    if not self.is_loaded:
                        self._blocks = list(
                            blocks
                        )  # the files known so far can be searched while more arrive
                await asyncio.sleep(0)
                if len(seen) > (MAX_INDEXED_IGNORED_FILES if is_ignored else MAX_INDEXED_FILES):
                    which = (
                        f"{MAX_INDEXED_IGNORED_FILES:,} ignored" if is_ignored else f"{MAX_INDEXED_FILES:,}"
                    )
                    self.problem = f"only the first {which} files are listed"
                    break
        if waiting:
            blocks.append(_PathBlock(waiting, is_ignored=is_ignored))
        return seen

    async def _parent_folders_of(self, paths: Iterable[str], *, below: int = 0) -> list[str]:
        """Returns all folders that contain the given paths, sorted. The first `below` characters of each path are never
        returned as a folder."""
        found: set[str] = set()
        begun = time.monotonic()
        for path in paths:
            at = path.rfind("/")
            while at > below and (folder := path[: at + 1]) not in found:
                found.add(folder)
                at = path.rfind("/", 0, at)
            if time.monotonic() - begun > FILE_SEARCH_TIME_SLICE_SECONDS:
                await asyncio.sleep(0)
                begun = time.monotonic()
        return sorted(found)

    # -- searching -----------------------------------------------------------------------------------------

    async def search_paths(self, query: str, limit: int = 20) -> AsyncIterator[list[FoundFile]]:
        """Yields the files that match a query, best first: an early list if the search takes long, and then the full
        list, which replaces it."""
        search = _FileSearch(query, limit, self.frecency)
        if not query:
            yield search.files_for_empty_query(self._blocks)
            return
        begun = turn = time.monotonic()
        has_answered = False
        for phase in (search.scan_substrings, search.scan_subsequences):
            for block in self._blocks:
                phase(block)
                now = time.monotonic()
                if now - turn > FILE_SEARCH_TIME_SLICE_SECONDS:
                    if not has_answered and now - begun > EARLY_SEARCH_RESULTS_SECONDS and search.best:
                        has_answered = True
                        yield search.best_matching_files()
                    await asyncio.sleep(0)
                    turn = time.monotonic()
            if search.best and (not has_answered or phase == search.scan_subsequences):
                has_answered = True
                yield search.best_matching_files()
                await asyncio.sleep(0)
                turn = time.monotonic()
            if search.has_enough_matches:
                break
        if not has_answered or search.has_more:
            yield search.best_matching_files()


class _FileSearch:
    """One query to the file index: scans blocks of paths and collects the best matches."""

    def __init__(self, query: str, limit: int, frecency: PathFrecency) -> None:
        self.limit = limit
        self.best: dict[str, FoundFile] = {}
        self.has_more = False
        self._frecency = frecency
        self._query = query.lower()
        apart = "".join(f"[^\n{re.escape(char)}]*+{re.escape(char)}" for char in self._query)
        self._subsequence_pattern = re.compile("^" + apart + ".*$", re.MULTILINE)

    @property
    def has_enough_matches(self) -> bool:
        """Whether so many paths contain the query as a substring that paths with its letters scattered need not be
        searched."""
        return len(self.best) >= self.limit * 3

    def files_for_empty_query(self, blocks: Sequence[_PathBlock]) -> list[FoundFile]:
        """Returns the files for an empty query: frequently and recently chosen ones first, then those in the upper
        folders."""
        found = {
            path: FoundFile(path, 1000 + weight)
            for path in self._frecency.scores_and_times
            if (weight := self._frecency_weight(path))
        }
        for block in blocks[:20]:
            if not block.is_ignored:
                for path in block.paths:
                    found.setdefault(path, FoundFile(path, -path.count("/") * 10 - len(path) * 0.01))
        return heapq.nsmallest(self.limit, found.values(), key=_found_file_sort_key)

    def scan_substrings(self, block: _PathBlock) -> None:
        """Adds the paths of a block that contain the query as a substring to the matches."""
        at = block.case_folded_text.find(self._query)
        for _ in range(MAX_SCORED_PATHS_PER_SEARCH):
            if at < 0:
                return
            path = block.path_at(at)
            self._add_matching_path(path, block)
            end = block.case_folded_text.find("\n", at)
            at = block.case_folded_text.find(self._query, end)

    def scan_subsequences(self, block: _PathBlock) -> None:
        """Adds the paths of a block that contain the query's characters in order, with gaps, to the matches."""
        for number, match in enumerate(self._subsequence_pattern.finditer(block.case_folded_text)):
            if number >= MAX_SCORED_PATHS_PER_SEARCH:
                return
            self._add_matching_path(block.path_at(match.start()), block)

    def best_matching_files(self) -> list[FoundFile]:
        self.has_more = False
        return heapq.nsmallest(self.limit, self.best.values(), key=_found_file_sort_key)

    def _add_matching_path(self, path: str, block: _PathBlock) -> None:
        if path in self.best:
            return
        score = (
            self._score_path(path.lower())
            + min(90.0, self._frecency_weight(path) * 30)
            - (300.0 if block.is_ignored else 0.0)
        )
        self.best[path] = FoundFile(path, score, block.is_ignored)
        self.has_more = True
        if len(self.best) > self.limit * 40:
            kept = heapq.nsmallest(self.limit * 4, self.best.values(), key=_found_file_sort_key)
            self.best = {hit.path: hit for hit in kept}

    def _score_path(self, path: str) -> float:
        query = self._query
        name = path.rstrip("/").rpartition("/")[2]
        stem = name.partition(".")[0]
        if query in (name, stem):
            base = 100.0
        elif name.startswith(query):
            base = 80.0
        elif query in name:
            base = 50.0
        elif query in path:
            base = 40.0 if path.startswith(query) else 30.0
        else:
            base = 15.0 if _has_subsequence(query, name) else 5.0
        return base + (5.0 if path.endswith("/") else 0.0) - len(path) * 0.05 - path.count("/") * 0.5

    def _frecency_weight(self, path: str) -> float:
        return self._frecency.frecency_score(path) if path in self._frecency.scores_and_times else 0.0


def _found_file_sort_key(hit: FoundFile) -> tuple[float, int, str]:
    """Returns the sort key of a found file: the highest score first, then the shortest path, then by name, because `rg`
    lists files in a different order each time."""
    return -hit.score, len(hit.path), hit.path


def _has_subsequence(query: str, text: str) -> bool:
    at = 0
    for char in query:
        at = text.find(char, at) + 1
        if not at:
            return False
    return True
