"""What becomes of an index that is damaged inside, has no room, or whose repository is another one meanwhile."""

import os
import random
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repomap.boat_repository import shown, write
from tools.repomap.index.builder_process import IndexBuilder
from tools.repomap.index.folder_listing import FolderListingCache
from tools.repomap.index.index_updates import FolderToIndex
from tools.repomap.mapped_repository import MappedRepository


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
    assert made.complete_index(workers=0) == ""
    spoil(made.index, seed)
    repository = MappedRepository(folder, tmp_path / "cache")
    questions: list[Callable[[], object]] = [
        lambda: repository.map_files_for_task("the cache of thing4"),
        repository.map_folder,
        lambda: repository.find_definitions("thing4"),
        lambda: repository.find_uses_of_name("thing4"),
        lambda: repository.find_symbols_like_text("thing"),
        lambda: repository.outline_of_file("many/file1.py"),
        repository.visible_paths,
        repository.index_state,
        lambda: repository.index_edited_file(folder / "many/file1.py"),
    ]
    for ask in questions:
        ask()
    problem = repository.complete_index(workers=0)
    assert problem == "" or "was damaged" in problem
    if problem:
        assert repository.complete_index(workers=0) == ""
    assert repository.find_definitions("thing59")[1] == 9
    assert repository.index_state().missing_count == 0


def test_that_an_index_was_damaged_is_said(repository: MappedRepository) -> None:
    repository.discard_damaged_index()
    assert "damaged" in repository.map_files_for_task("cache").index_state.problem
    assert repository.complete_index(workers=0) == ""


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
    builder = IndexBuilder(FolderToIndex(folder), repository.index, None)
    builder.wait_for_builder_end(0.5)
    git("checkout", "-q", "two")
    assert builder.wait_for_builder_end(60) and builder.report.problem == ""
    # After any failure of the builder, results show the present files.
    for number in (0, 100, 248):
        assert repository.find_definitions(f"old{number}")[0] == []
    assert "many/file249.py" not in shown(repository, "old249")
    assert repository.complete_index(workers=0) == ""
    assert all(repository.find_definitions(f"new{number}")[1] == 10 for number in range(249))
    assert repository.find_definitions("old249")[1] == 0


def test_without_room_for_an_index_one_is_reported_and_answers_go_by_paths(
    folder: Path, tmp_path: Path
) -> None:
    for number in range(120):
        write(
            folder, f"many/file{number}.py", f"def thing{number}_{os.urandom(400).hex()}():\n    pass\n" * 9
        )
    repository = MappedRepository(folder, tmp_path / "cache")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        told = repository.complete_index(workers=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "cannot be written" in told
    assert shown(repository, "the cache")[0] == "harbour/cache.py"
    assert repository.complete_index(workers=0) == ""
    assert repository.index_state().missing_count == 0


def test_on_a_slow_drive_an_answer_waits_for_a_part_of_the_files_and_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(400):
        write(folder, f"many/file{number}.py", f"def thing{number}():\n    pass\n")
    assert MappedRepository(folder, tmp_path / "cache").complete_index(workers=0) == ""
    looked: list[str] = []

    def is_stamped(root: Path, path: str, stamp: object) -> bool:
        looked.append(path)
        time.sleep(0.01)
        return True

    monkeypatch.setattr("tools.repomap.index.index_updates._matches_file_stamp", is_stamped)
    monkeypatch.setattr("tools.repomap.index.index_updater._CHANGE_CHECK_TIMEOUT", 0.5)
    repository = MappedRepository(folder, tmp_path / "cache")
    try:
        repository.index_changed_files(patience=0.0)
        assert 0 < len(looked) < 400
        assert shown(repository, "the cache directory")[0] == "harbour/cache.py"
        assert "take long to look at" in repository.index_state().problem
    finally:
        repository.close_index_of_repository()


def test_names_that_could_not_all_be_listed_in_time_are_not_all_there_are(
    folder: Path, tmp_path: Path
) -> None:
    listing = FolderListingCache(folder)
    assert listing.list_paths_cached(lambda path: False, 0.0) == [] and not listing.is_complete
    assert "harbour/cache.py" in listing.list_paths_cached(lambda path: False, 60.0) and listing.is_complete


def test_links_in_circles_are_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "harbour" / "again").symlink_to(folder)
    (folder / "harbour" / "one").symlink_to("other")
    (folder / "harbour" / "other").symlink_to("one")
    repository = MappedRepository(folder, tmp_path / "cache")
    assert repository.complete_index(workers=0) == ""
    assert repository.find_definitions("ReadCache")[1] == 1
    assert not [path for path in repository.visible_paths() if "again" in path]
    assert repository.index_state().missing_count == 0


def test_who_waits_for_a_builder_of_another_takes_over_when_that_is_killed(
    folder: Path, tmp_path: Path
) -> None:
    for number in range(1500):
        write(folder, f"many/file{number}.py", f"def thing{number}(one, two):\n    return one + two\n" * 20)
    other = MappedRepository(folder, tmp_path / "cache")
    heard = threading.Event()
    builder = IndexBuilder(FolderToIndex(folder), other.index, None, heard.set)
    try:
        while not builder.report.done_files and builder.is_running:
            heard.wait(60)
            heard.clear()
        if not builder.is_running:
            pytest.skip("it was done before anybody could be in its way")
        other.index_changed_files(patience=0.0)
        assert not other.upkeep.is_building
        assert other.map_files_for_task("thing7 of many").ranked_map.files
        os.kill(builder._process.pid, signal.SIGKILL)  # pyright: ignore[reportPrivateUsage]
        assert builder.wait_for_builder_end(60)
        other.upkeep.last_checked_at = float("-inf")  # five seconds later
        other.index_changed_files(patience=120)
        assert not other.upkeep.is_building and other.index_state().missing_count == 0
        assert other.find_definitions("thing1499")[1] == 20
    finally:
        builder.stop_builder()
        other.close_index_of_repository()


def test_a_builder_that_is_killed_leaves_no_process_of_its_pool(folder: Path, tmp_path: Path) -> None:
    for number in range(1500):
        write(folder, f"many/file{number}.py", f"def thing{number}(one, two):\n    return one + two\n" * 20)
    heard = threading.Event()
    builder = IndexBuilder(FolderToIndex(folder), tmp_path / "index.sqlite", None, heard.set)
    pid = builder._process.pid  # pyright: ignore[reportPrivateUsage]
    try:
        pool: list[int] = []
        while not pool and builder.is_running:
            pool = children_of(pid)
        if not builder.is_running:
            pytest.skip("it was done before it could be killed")
        os.kill(pid, signal.SIGKILL)
        assert builder.wait_for_builder_end(60)
        while any(map(is_alive, pool)):
            time.sleep(0.01)
    finally:
        builder.stop_builder()


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True)
    return [int(child) for child, parent in map(str.split, listed.stdout.splitlines()) if int(parent) == pid]


def is_alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")
