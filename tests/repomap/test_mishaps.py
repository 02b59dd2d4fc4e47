"""What becomes of an index that is damaged inside, has no room, or whose repository is another one meanwhile."""

import os
import random
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repomap.harbour import shown, write
from tools.repomap.builder import IndexBuilder
from tools.repomap.building import IndexedFolder
from tools.repomap.repository import MappedRepository


def spoil(index: Path, seed: int) -> None:
    """Behind its head, so that it opens as ever."""
    for ending in ("-wal", "-shm"):
        index.with_name(index.name + ending).unlink(missing_ok=True)
    data, chance = bytearray(index.read_bytes()), random.Random(seed)
    start = chance.randrange(4096, len(data) - 6000)
    data[start : start + 6000] = chance.randbytes(6000)
    index.write_bytes(data)


@pytest.mark.parametrize("seed", range(12))
def test_an_index_that_is_damaged_inside_answers_and_is_made_anew(
    folder: Path, tmp_path: Path, seed: int
) -> None:
    for number in range(60):
        write(folder, f"many/file{number}.py", f'def thing{number}():\n    """A cache."""\n\n\n' * 9)
    made = MappedRepository(folder, tmp_path / "cache")
    assert made.bring_up_to_date(workers=0) == ""
    spoil(made.index, seed)
    repository = MappedRepository(folder, tmp_path / "cache")
    questions: list[Callable[[], object]] = [
        lambda: repository.map_about("the cache of thing4"),
        repository.map_folder,
        lambda: repository.definitions("thing4"),
        lambda: repository.uses("thing4"),
        lambda: repository.symbols_like("thing"),
        lambda: repository.outline_of("many/file1.py"),
        repository.paths,
        repository.state,
        lambda: repository.edited(folder / "many/file1.py"),
    ]
    for ask in questions:
        ask()
    problem = repository.bring_up_to_date(workers=0)
    assert problem == "" or "was damaged" in problem
    if problem:
        assert repository.bring_up_to_date(workers=0) == ""
    assert repository.definitions("thing59")[1] == 9
    assert repository.state().missing == 0


def test_that_an_index_was_damaged_is_said(repository: MappedRepository) -> None:
    repository.forget_damaged()
    assert "damaged" in repository.map_about("cache").state.problem
    assert repository.bring_up_to_date(workers=0) == ""


def test_a_branch_that_is_changed_during_a_build_is_the_one_that_is_shown(
    folder: Path, tmp_path: Path
) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip

    for number in range(250):
        write(folder, f"many/file{number}.py", f"def old{number}():\n    pass\n" * 20)
    git("init", "-q", "-b", "one")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "two")
    for number in range(250):
        write(folder, f"many/file{number}.py", f"def new{number}():\n    pass\n" * 10)
    git("rm", "-q", "--cached", "many/file249.py")
    (folder / "many/file249.py").unlink()
    git("commit", "-qam", "two")
    git("checkout", "-q", "one")
    repository = MappedRepository(folder, tmp_path / "cache")
    builder = IndexBuilder(IndexedFolder(folder), repository.index, None)
    builder.wait(0.5)
    git("checkout", "-q", "two")
    assert builder.wait(60) and builder.report.problem == ""
    # Whatever the builder met, what is shown is as the files are now.
    for number in (0, 100, 248):
        assert repository.definitions(f"old{number}")[0] == []
    assert "many/file249.py" not in shown(repository, "old249")
    assert repository.bring_up_to_date(workers=0) == ""
    assert all(repository.definitions(f"new{number}")[1] == 10 for number in range(249))
    assert repository.definitions("old249")[1] == 0


def test_without_room_for_an_index_one_is_told_and_answers_go_by_paths(folder: Path, tmp_path: Path) -> None:
    for number in range(120):
        write(
            folder, f"many/file{number}.py", f"def thing{number}_{os.urandom(400).hex()}():\n    pass\n" * 9
        )
    repository = MappedRepository(folder, tmp_path / "cache")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        told = repository.bring_up_to_date(workers=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot be written" in told
    assert shown(repository, "the cache")[0] == "harbour/cache.py"
    assert repository.bring_up_to_date(workers=0) == ""
    assert repository.state().missing == 0
