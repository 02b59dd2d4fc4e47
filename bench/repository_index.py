"""Measures the index of a repository: building, queries, updates after an edit, size on disk and
in memory.

`python -m bench repository-index FOLDER`: `FOLDER` is a source tree (it may contain several);
without it, a small one is made of copies of bayou's sources. Times are CPU time, so that a
busy machine gives the same figures. Only a first answer and checkouts are wall time, since most of it may
be waiting: a busy machine gives more."""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.processes import python_command
from bench.table import Row
from tools.repomap.index.repository_index import RepositoryIndex
from tools.repomap.mapped_repository import MappedRepository

_COPIES = 3
_ROUNDS = 20
_FIRST_ROUNDS = 5
_SMALL_PROJECT_FILES = 40
"""The number of files of a project whose index is built before the first answer."""
_CHANGED_FILES = 1000
_CODE_ENDINGS = (".py", ".java", ".rs", ".go", ".ts", ".cs", ".scala", ".hs")
_TICK_SECONDS = 2.5
"""What was written within the last two seconds counts as not yet finished."""
_QUESTIONS = (
    "the cache directory is not created when the configuration is read from the environment",
    "retry the request with another connection after a timeout of the client",
    "wrong line numbers are reported by the parser for comments at the end of a file",
)


def rows(folders: Sequence[str] = ()) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as made:
        root = Path(folders[0]) if folders else _own_sources(Path(made, "tree"))
        yield from _measured(root, Path(made, "cache"))
        yield _first_answer(root, "of all these")
        yield from _checkouts(root, Path(made))
        small = Path(made, "small")
        small.mkdir()
        sources = sorted((Path(__file__).resolve().parent.parent / "tools").rglob("*.py"))[
            :_SMALL_PROJECT_FILES
        ]
        for number, source in enumerate(sources):
            shutil.copy2(source, small / f"{number}_{source.name}")
        yield _first_answer(small, f"of {len(sources)}")


def _measured(root: Path, cache: Path) -> Iterator[Row]:
    repository = MappedRepository(root, cache)
    before = _cpu_seconds()
    repository.complete_index(workers=1)
    spent = _cpu_seconds() - before
    files, sources = _sizes(root, repository.visible_paths())
    name = f"{files:,} files, {sources / 1e6:.0f} MB"
    per = f"{1000 * spent / files:.2f} ms a file"
    yield Row(
        name=f"{name}: made, on two cores", figure=spent / 2, unit="s", reference=per, limit="12 at 16,000"
    )
    size = sum(path.stat().st_size for path in cache.rglob("*.sqlite*"))
    yield Row(
        name=f"{name}: store",
        figure=size / 1e6,
        unit="MB",
        ratio=size / sources,
        reference="the sources",
        limit="0.55x",
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield Row(name=f"{name}: largest worker", figure=peak, unit="MB", limit="150 all of them")
    names = [found.symbol.name for found in repository.find_symbols_like_text("get", most=50)]
    places = iter(range(1_000_000))

    def again() -> None:
        repository.upkeep.last_checked_at = float("-inf")  # as if five seconds had passed
        repository.index_changed_files()

    def ask() -> None:
        repository.map_files_for_task(_QUESTIONS[next(places) % len(_QUESTIONS)])

    yield Row(name=f"{name}: warm answer", figure=_median_ms(ask), unit="ms", limit="30")
    again()
    yield Row(name=f"{name}: the sweep before it", figure=_median_ms(again), unit="ms", limit="170 at 16,000")
    with RepositoryIndex(repository.index) as store:
        found = _median_ms(lambda: store.find_symbols(names[next(places) % len(names)]))
        yield Row(name=f"{name}: exact lookup", figure=found, unit="ms", limit="1")
    edited = [
        root / path
        for path in repository.visible_paths()
        if path.endswith((".py", ".java", ".rs", ".go", ".ts"))
    ][:_ROUNDS]

    def edit() -> None:
        repository.index_edited_file(edited[next(places) % len(edited)])

    yield Row(name=f"{name}: one edit", figure=_median_ms(edit), unit="ms", limit="20")
    repository.close_index_of_repository()


_FIRST_ANSWER_PROGRAM = """
import asyncio, sys, tempfile, time
from pathlib import Path
from app.assembly.repo_map_source import hidden_file_patterns
from tools.tool_definition import ToolContext
from tools.builtin.locate import LocateArguments, make_locate_tool
from tools.session_workspace import Workspace

folder = Path({root!r})

def repository(cwd):
    from tools.repomap.index.file_hiding_rules import FileHidingRules
    from tools.repomap.mapped_repository import MappedRepository, find_repository_root
    hidden = FileHidingRules(hidden_file_patterns((), cwd, Path.home()))
    made = MappedRepository(find_repository_root(cwd), Path(cache), hidden=lambda: hidden)
    return kept.setdefault(cwd, made)

async def ask():
    workspace = Workspace(folder, repositories=repository)
    context = ToolContext(call_id="1", cwd=folder, workspace=workspace)
    began = time.perf_counter()
    answer = await make_locate_tool().run(LocateArguments(about={question!r}), context)
    print(1000 * (time.perf_counter() - began), answer.details["indexed"], answer.details["missing"])
    workspace.close()

kept = {{}}
with tempfile.TemporaryDirectory() as cache:
    asyncio.run(ask())
    for made in kept.values():
        made.close()
"""


def _first_answer(root: Path, files: str) -> Row:
    """Measures the tool's first answer in a new process."""
    told: list[tuple[float, str]] = []
    for _ in range(_FIRST_ROUNDS):
        program = python_command(_FIRST_ANSWER_PROGRAM.format(root=str(root), question=_QUESTIONS[0]))
        took, indexed, missing = subprocess.run(
            program, cwd=Path(__file__).parent.parent, env={**os.environ, "PYTHONPATH": "."},
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        told.append((float(took), f"{int(indexed):,} of {int(indexed) + int(missing):,} files in it"))
    figure, reference = sorted(told)[len(told) // 2]
    return Row(
        name=f"first answer without an index, {files}",
        figure=figure,
        unit="ms",
        reference=reference,
        limit="300",
    )


def _checkouts(root: Path, made: Path) -> Iterator[Row]:
    """Measures a checkout of a revision with other contents, and the way back, in a copy of the folder."""
    copy = made / "copy"
    shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))

    def git(*words: str) -> None:
        who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false")
        subprocess.run(("git", "-C", str(copy), *who, *words), check=True, capture_output=True)

    git("init", "-q", "-b", "first")
    git("add", "-A")
    git("commit", "-q", "-m", "First revision")
    git("checkout", "-q", "-b", "second")
    repository = MappedRepository(copy, made / "copy-cache")
    repository.complete_index()
    sources = [path for path in repository.visible_paths() if path.endswith(_CODE_ENDINGS)]
    changed = sources[:: max(1, len(sources) // _CHANGED_FILES)][:_CHANGED_FILES]
    for path in changed:
        (copy / path).write_bytes((copy / path).read_bytes() + b"\n")
    git("commit", "-q", "-a", "-m", "Second revision")
    git("checkout", "-q", "first")
    repository.complete_index()
    for branch, what, limit in (("second", "a checkout of", "2"), ("first", "back again, of", "0.3")):
        git("checkout", "-q", branch)
        time.sleep(_TICK_SECONDS)
        began = time.perf_counter()
        repository.upkeep.last_checked_at = float("-inf")  # as if five seconds had passed
        repository.index_changed_files()
        while repository.upkeep.is_building:
            time.sleep(_TICK_SECONDS / 1000)
        took = time.perf_counter() - began
        yield Row(
            name=f"{what} {len(changed):,} changed files, wall time", figure=took, unit="s", limit=limit
        )
    repository.close_index_of_repository()


def _median_ms(work: Callable[[], object]) -> float:
    """Returns the median CPU time in milliseconds."""
    took: list[float] = []
    for _ in range(_ROUNDS):
        before = _cpu_seconds()
        work()
        took.append(_cpu_seconds() - before)
    return 1000 * median(took)


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and its ended children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _sizes(root: Path, paths: Sequence[str]) -> tuple[int, int]:
    return len(paths), sum(os.lstat(root / path).st_size for path in paths)


def _own_sources(tree: Path) -> Path:
    here = Path(__file__).resolve().parent.parent
    for number in range(_COPIES):
        for name in ("app", "tools", "widgets", "bench"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(here / name, tree / f"copy{number}" / name, ignore=ignored)
    for path in tree.rglob("*"):
        os.utime(path, (time.time() - 3600, time.time() - 3600))
    return tree
