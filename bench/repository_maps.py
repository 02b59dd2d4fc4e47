"""Measures how well a ranked map finds the place of a change, on real commits: `python -m bench
repository-maps FOLDER`, where the folder is a clone or contains clones.

A question is the message of a commit with one parent, not by a bot, that touched one to three
code files other than tests: without its first line's prefix, links and trailers, 40 to 1,500
characters long. The answer is the touched files, searched in the tree of its parent. Commits
are drawn with a fixed seed. Half of the clones, by a checksum of their names, are for tuning;
the others are unseen: only their figures are looked at. Without clones nothing is measured.

| Variable | Effect |
|---|---|
| `BENCH_QUESTIONS` | how many questions are drawn from each clone |
| `BENCH_HALF` | `tuned` or `unseen`: only that half |
| `BENCH_BASE` | a revision of bayou whose ranking is measured too, on an index of its own |
| `BENCH_CACHE` | a folder in which trees and indexes are kept for the next run |
"""

import contextlib
import io
import json
import math
import os
import random
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from subprocess import PIPE

import msgspec

from bench.table import Row
from tools.filemap.language_detection import detect_language
from tools.repomap.file_ranking import is_ranking_confident, parse_repository_map_question, rank_files
from tools.repomap.index.file_kinds import classify_repository_file
from tools.repomap.index.repository_index import RepositoryIndex
from tools.repomap.index.word_parts import split_into_word_parts
from tools.repomap.mapped_repository import MappedRepository

SEED = 20261123
QUESTIONS = int(os.environ.get("BENCH_QUESTIONS", "16"))
"""The number of questions drawn from each clone."""
HALF = os.environ.get("BENCH_HALF", "")
BASE = os.environ.get("BENCH_BASE", "")
CACHE = os.environ.get("BENCH_CACHE", "")
_FIRST = (1, 3, 10)
_MIN_QUESTION_CHARS, _MAX_QUESTION_CHARS = 40, 1500
_SKIPPED_NEWEST_COMMITS = 40
"""The number of newest commits that are skipped, so that a later run draws the same ones."""
_Z_SCORE = 1.96
_TRAILER = re.compile(
    r"^(?:[\w-]+-by|Co-authored-by|Closes|Fixes|Refs?|See|Issue|PR|Change-Id|Bug)\b.*$", re.I | re.M
)
_LINK = re.compile(r"https?://\S+|\(?#\d+\)?|\bGH-\d+\b")
_PREFIX = re.compile(r"^(?:\[[^\]]*\]|\w+(?:\([^)]*\))?!?:)\s*")


class Case(msgspec.Struct, frozen=True):
    """A question with the changed lines as its answer."""

    commit: str
    parent: str
    question: str
    touched: tuple[str, ...]
    lines: dict[str, tuple[int, ...]]
    """The changed lines of the parent's files, by path."""


class CaseResult(msgspec.Struct, frozen=True):
    """The ranks found for a case."""

    half: str
    rank: int
    """The rank of the first touched file, from 0; a large number if it was not found."""
    base_rank: int | None
    """The rank by the revision in `BENCH_BASE`."""
    plain_rank: int
    """The rank by BM25 over path and text alone."""
    has_file: bool
    has_symbol: bool | None
    """Whether a changed symbol was found; None if no symbol was changed."""
    tokens: int
    seconds: float
    later_ranks: tuple[int, ...]
    """The rank of each touched file once it is known, for finding the others."""
    is_confident: bool
    """Whether the hint for a first question would be shown."""
    is_right: bool
    """Whether that hint would contain a touched file."""


def rows(folders: Sequence[str] = ()) -> Iterator[Row]:
    clones = sorted(clone for folder in folders for clone in _clones_in(Path(folder)))
    with contextlib.ExitStack() as stack:
        kept = Path(CACHE or stack.enter_context(tempfile.TemporaryDirectory()))
        base = _base_sources(kept) if BASE and clones else None
        results = [
            one
            for clone in clones
            if HALF in ("", _half_of(clone))
            for one in _measure_clone(clone, kept, base)
        ]
    for half in ("tuned", "unseen"):
        some = [one for one in results if one.half == half]
        if some:
            yield from _result_rows(half, some)


def _clones_in(folder: Path) -> list[Path]:
    if (folder / ".git").exists() or (folder / "HEAD").is_file():
        return [folder]
    return [clone for below in sorted(folder.iterdir()) if below.is_dir() for clone in _clones_in(below)]


def _half_of(clone: Path) -> str:
    return "unseen" if zlib.crc32(clone.name.encode()) % 2 else "tuned"


def _result_rows(title: str, results: list[CaseResult]) -> Iterator[Row]:
    count = len(results)
    for most in _FIRST:
        ours = [one.rank < most for one in results]
        plain = _mean([one.plain_rank < most for one in results])
        told = f"{_confidence_interval(ours)}; plain BM25 {100 * plain:.1f}"
        base = [one.base_rank < most for one in results if one.base_rank is not None]
        if base:
            told += f", {BASE} {100 * _mean(base):.1f}"
        yield Row(
            name=f"{title}: {count} questions, touched file in the first {most}",
            figure=100 * _mean(ours),
            unit="%",
            ratio=_mean(ours) / plain if plain else None,
            reference=told,
            limit="3 points over plain BM25" if most == 10 else "",
        )
    symbols = [one.has_symbol for one in results if one.has_symbol is not None]
    sure = [one for one in results if one.is_confident]
    seconds = [_mean([place < 5 for place in one.later_ranks]) for one in results if one.later_ranks]
    for name, found, limit in (
        ("file in 2k tokens", [one.has_file for one in results], "92"),
        (f"changed symbol in 2k tokens ({len(symbols)})", symbols, "80"),
        (f"one file known, another in the first 5 ({len(seconds)})", seconds, "80"),
        ("sure enough for an aside", [one.is_confident for one in results], ""),
        (f"of these asides ({len(sure)}), with a touched file", [one.is_right for one in sure], ""),
    ):
        if found:
            told = _confidence_interval(found)
            yield Row(
                name=f"{title}: {name}", figure=100 * _mean(found), unit="%", reference=told, limit=limit
            )
    largest = max(one.tokens for one in results)
    yield Row(name=f"{title}: largest map", figure=largest, unit="tokens", limit="2000")
    yield Row(
        name=f"{title}: an answer, median",
        figure=1000 * median(one.seconds for one in results),
        unit="ms CPU",
    )


def _mean(found: Sequence[float]) -> float:
    return sum(found) / max(len(found), 1)


def _confidence_interval(found: Sequence[float]) -> str:
    """Returns the 95% confidence interval of a share."""
    share, count = _mean(found), len(found)
    around = 1 + _Z_SCORE**2 / count
    middle = (share + _Z_SCORE**2 / (2 * count)) / around
    half = _Z_SCORE * math.sqrt(share * (1 - share) / count + (_Z_SCORE / (2 * count)) ** 2) / around
    return f"{100 * (middle - half):.0f} to {100 * (middle + half):.0f}"


def _measure_clone(clone: Path, kept: Path, base: Path | None) -> list[CaseResult]:
    results: list[CaseResult] = []
    tree, cache = kept / clone.name / "tree", kept / clone.name / "cache"
    if not tree.exists():
        subprocess.run(["git", "clone", "-q", "-n", "-s", str(clone), str(tree)], check=True)
    repository = MappedRepository(tree, cache, asks_git_at_home=Path.home)
    with _base_ranking(base, tree, kept / clone.name / f"cache-{BASE}") as base_order:
        for case in cases_of(clone, QUESTIONS):
            try:
                _git(tree, "checkout", "-q", "-f", case.parent)
            except subprocess.CalledProcessError:
                continue  # a clone without the files of its whole history
            _backdate_files(tree)
            problem = repository.complete_index()
            if problem:
                raise RuntimeError(problem)
            order = base_order(case.question)
            results.append(_measure_case(repository, case, order, half=_half_of(clone)))
    return results


def _base_sources(kept: Path) -> Path:
    """Extracts the sources of the revision in `BENCH_BASE`."""
    folder = kept / f"sources-{BASE}"
    if not folder.exists():
        packed = subprocess.run(
            ["git", "archive", BASE, "tools"],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            check=True,
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder


_BASE_PROGRAM = """
import json, sys
from pathlib import Path
from tools.repomap.index.repository_index import RepositoryIndex
from tools.repomap.file_ranking import parse_question, rank_files
from tools.repomap.mapped_repository import MappedRepository

repository = MappedRepository(Path(sys.argv[1]), Path(sys.argv[2]), asks_git_at_home=Path.home)
for line in sys.stdin:
    repository.complete_index()
    with RepositoryIndex(repository.index) as store:
        places = rank_files(store, parse_question(json.loads(line)), most=100).ranked_files
    print(json.dumps([place.file.path for place in places]), flush=True)
"""


@contextlib.contextmanager
def _base_ranking(base: Path | None, tree: Path, cache: Path) -> Generator[Callable[[str], list[str] | None]]:
    """Yields a function that ranks the tree's files for a question as the revision in `BENCH_BASE` does."""
    if base is None:
        yield lambda question: None
        return
    words = [sys.executable, "-c", _BASE_PROGRAM, str(tree), str(cache)]
    process = subprocess.Popen(
        words, cwd=base, env={**os.environ, "PYTHONPATH": str(base)}, text=True, stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    asked, told = process.stdin, process.stdout

    def order(question: str) -> list[str]:
        asked.write(json.dumps(question) + "\n")
        asked.flush()
        return json.loads(told.readline())

    with process:
        yield order


def _backdate_files(tree: Path) -> None:
    """Sets back the time stamps of new files, because files changed just now are not trusted to be
    stable."""
    now = time.time()
    for path in _git(tree, "ls-files", "-z").split("\0"):
        place = tree / path
        if path and place.is_file() and not place.is_symlink() and now - place.stat().st_mtime < 60:
            os.utime(place, (now - 3600, now - 3600))


def _measure_case(
    repository: MappedRepository, case: Case, base: Sequence[str] | None, *, half: str
) -> CaseResult:
    began = time.process_time()
    answer = repository.map_files_for_task(case.question)
    seconds = time.process_time() - began
    with RepositoryIndex(repository.index) as store:
        question = parse_repository_map_question(case.question)
        places = rank_files(store, question, most=100_000).ranked_files
        order = [place.file.path for place in places]
        sure = is_ranking_confident(store, question, places)
        second = tuple(
            _rank_when_known(repository, store, case, known)
            for known in case.touched
            if len(case.touched) > 1
        )
    aside = {file.path for file in repository.map_files_for_task(case.question, tokens=900).ranked_map.files}
    shown = {file.path: file for file in answer.ranked_map.files}
    changed = [
        symbol
        for path in case.touched
        for symbol in _changed_symbols(repository, path, case.lines.get(path, ()))
    ]
    has_symbol = None
    if changed:
        has_symbol = any(
            path in shown and any((one.name, one.start_line) == (name, line) for one in shown[path].symbols)
            for path, name, line in changed
        )
    return CaseResult(
        half=half,
        rank=_first_rank(order, case.touched),
        base_rank=_first_rank(base, case.touched) if base is not None else None,
        plain_rank=_first_rank(_plain_bm25_order(repository, case.question), case.touched),
        has_file=any(path in shown for path in case.touched),
        has_symbol=has_symbol,
        tokens=answer.ranked_map.tokens,
        seconds=seconds,
        later_ranks=second,
        is_confident=sure,
        is_right=not aside.isdisjoint(case.touched),
    )


def _rank_when_known(repository: MappedRepository, store: RepositoryIndex, case: Case, known: str) -> int:
    question = parse_repository_map_question(case.question)
    places = rank_files(
        store, question, known=(known,), most=1000, read=repository.read_visible_text
    ).ranked_files
    others = [place.file.path for place in places if place.file.path != known]
    return _first_rank(others, [path for path in case.touched if path != known])


def _changed_symbols(
    repository: MappedRepository, path: str, lines: Sequence[int]
) -> list[tuple[str, str, int]]:
    """Returns the innermost symbols around the changed lines."""
    with RepositoryIndex(repository.index) as store:
        file = store.indexed_file_at_path(path)
        outline = store.stored_outline(file.id) if file else None
    symbols = outline.symbols if outline is not None else ()
    found: dict[tuple[str, str, int], None] = {}
    for line in lines:
        around = [symbol for symbol in symbols if symbol.start_line <= line <= symbol.end_line]
        if around:
            inner = min(around, key=lambda symbol: symbol.end_line - symbol.start_line)
            found[path, inner.name, inner.start_line] = None
    return list(found)


def _first_rank(order: Sequence[str], touched: Sequence[str]) -> int:
    return min((order.index(path) for path in touched if path in order), default=1_000_000)


def _plain_bm25_order(repository: MappedRepository, question: str) -> list[str]:
    """Ranks files by SQLite's BM25 with its Porter stemmer, over paths and texts with split
    identifiers."""
    paths = repository.visible_paths()
    with sqlite3.connect(":memory:") as db:
        db.execute(
            "create virtual table text using fts5 (path, body, content='', tokenize='porter unicode61')"
        )
        for number, path in enumerate(paths):
            words = (_plain_words(path), _plain_words(repository.read_visible_text(path)))
            db.execute("insert into text (rowid, path, body) values (?, ?, ?)", (number, *words))
        asked = (
            " OR ".join(f'"{part}"' for part in dict.fromkeys(split_into_word_parts(question))) or '"nothing"'
        )
        found = db.execute(
            "select rowid from text where text match ? order by bm25(text) limit 500", (asked,)
        )
        return [paths[row[0]] for row in found]


@lru_cache(maxsize=20_000)
def _plain_words(text: str) -> str:
    """Splits a text once, since most files are the same for the next question."""
    return " ".join(split_into_word_parts(text))


def cases_of(clone: Path, most: int) -> list[Case]:
    """Draws cases from the newest 3,000 commits, oldest first."""
    log = _git(
        clone,
        "log",
        "--no-merges",
        f"--skip={_SKIPPED_NEWEST_COMMITS}",
        "-n3000",
        "--format=%H%x01%P%x01%an%x01%B%x02",
    )
    found: list[Case] = []
    commits = [tuple(entry.strip().split("\x01")) for entry in log.split("\x02") if entry.strip()]
    random.Random(SEED).shuffle(commits)
    for commit, parent, author, message in commits:
        if len(found) >= most:
            break
        case = _case_from_commit(clone, commit, parent, author, message)
        if case is not None:
            found.append(case)
    dates = {case.commit: int(_git(clone, "show", "-s", "--format=%ct", case.commit)) for case in found}
    return sorted(found, key=lambda case: dates[case.commit])


def _case_from_commit(clone: Path, commit: str, parent: str, author: str, message: str) -> Case | None:
    if " " in parent or not parent or "bot" in author.lower():
        return None
    question = _LINK.sub("", _TRAILER.sub("", _PREFIX.sub("", message))).strip()
    if not _MIN_QUESTION_CHARS <= len(question) <= _MAX_QUESTION_CHARS:
        return None
    try:
        diff = _git(clone, "diff", "-U0", "--no-renames", "--diff-filter=M", parent, commit)
    except subprocess.CalledProcessError:
        return None  # a clone without the files of its whole history
    lines: dict[str, list[int]] = {}
    path = ""
    for row in diff.splitlines():
        if row.startswith("--- a/"):
            path = row[6:]
        elif row.startswith("@@") and path:
            start, _, count = row.split()[1][1:].partition(",")
            lines.setdefault(path, []).extend(range(int(start), int(start) + max(1, int(count or 1))))
    code = [
        path
        for path in lines
        if classify_repository_file(path, detect_language(Path(path), b""), b"") == "code"
    ]
    if not 1 <= len(code) <= 3:
        return None
    return Case(commit, parent, question, tuple(code), {path: tuple(lines[path]) for path in code})


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")
