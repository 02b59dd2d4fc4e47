"""How an index is made and kept: what goes in, in which order, and what a mishap costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repomap.boat_repository import FILES, Stopped, shown, write
from tests.repomap.crashing_parser import crash_at_poison, crash_with_all_at_poison
from tools.repomap.index import index_updates
from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.index_updates import (
    FolderToIndex,
    compare_folder_with_index,
    make_missing_outlines,
    open_index_for_writing,
    update_index,
)
from tools.repomap.index.indexing_pool import IndexingPool
from tools.repomap.index.repository_index import RepositoryIndex
from tools.repomap.map_answer_texts import format_map_answer
from tools.repomap.mapped_repository import IndexState, MappedRepository


def test_files_that_rules_hide_are_neither_indexed_nor_shown(folder: Path, tmp_path: Path):
    rules = [FileHidingRules()]
    repository = MappedRepository(folder, tmp_path / "cache", hidden=lambda: rules[0])
    assert repository.complete_index(workers=0) == ""
    assert "harbour/cache.py" in shown(repository, "cache directory")
    rules[0] = FileHidingRules((f"{folder.resolve()}/harbour/cache\\.py",))
    repository._hidden_asked_at = float("-inf")  # pyright: ignore[reportPrivateUsage]  (half a second later)
    for is_looked in (False, True):
        if is_looked:
            repository.index_changed_files()
        assert "harbour/cache.py" not in shown(repository, "cache directory")
        assert repository.find_definitions("ReadCache")[0] == []
        assert repository.outline_of_file("harbour/cache.py") is None
        assert "harbour/cache.py" not in repository.map_folder().ranked_map.text
        assert "harbour/cache.py" not in {
            use.path for use in repository.find_uses_of_name("ReadCache").listed_uses
        }
        assert [one.path for one in repository.find_symbols_like_text("ReadCache")] == ["harbour/made_pb2.py"]
    with RepositoryIndex(repository.index) as store:
        assert store.indexed_file_at_path("harbour/cache.py") is None
    fresh = MappedRepository(folder, tmp_path / "other", hidden=lambda: rules[0])
    assert "harbour/cache.py" not in shown(fresh, "cache")


def test_lines_of_secrets_are_no_uses(repository: MappedRepository):
    assert repository.find_uses_of_name("CACHE_DIRECTORY_TOKEN").listed_uses == ()


def test_new_files_are_listed_seldom_but_at_once_when_git_has_done_something(
    repository: MappedRepository, folder: Path
):
    def recheck_trust() -> None:
        repository.upkeep.last_checked_at = float("-inf")  # five seconds later
        repository.index_changed_files()

    repository.index_changed_files()
    write(folder, "harbour/new.py", "def capstan():\n    pass\n")
    write(folder, "harbour/oars.py", "def rowlock():\n    pass\n")
    os.utime(folder / "harbour/oars.py", (1_700_000_200, 1_700_000_200))
    recheck_trust()
    assert repository.find_definitions("rowlock")[1] == 1
    assert repository.find_definitions("capstan")[1] == 0
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    recheck_trust()
    assert repository.find_definitions("capstan")[1] == 1


def test_of_a_large_folder_the_paths_come_first_and_then_where_one_works(folder: Path, tmp_path: Path):
    for number in range(30):
        write(folder, f"far/thing{number:02}.py", f"def far{number}():\n    pass\n")
    large = FolderToIndex(folder, first_folder="harbour", max_files_at_once=10)
    with open_index_for_writing(tmp_path / "index.sqlite") as store:
        found = compare_folder_with_index(store, large)
        assert [path.partition("/")[0] for path in found.changed_files][:4] == ["harbour"] * 4
        assert update_index(store, large, found=found, is_stopped=Stopped(after=1)) is False
        assert store.count_files() == len(found.changed_files)
        assert store.count_files(is_unseen=True) == len(found.changed_files) - 1
        assert [id for id, _ in store.search_text('"far"', 100)] != []
        assert update_index(store, large) is True
        assert store.count_files(is_unseen=True) == 0
        assert store.find_symbols("far29") != []


def test_files_of_the_same_package_are_raised(folder: Path, tmp_path: Path):
    for name in ("one", "two"):
        write(folder, f"packages/{name}/package.json", "{}\n")
        write(folder, f"packages/{name}/src/anchor.py", "def drop_anchor():\n    pass\n")
        write(folder, f"packages/{name}/src/main.py", "def main():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.complete_index(workers=0)
    for name in ("one", "two"):
        found = shown(repository, "drop the anchor", known=[f"packages/{name}/src/main.py"])
        assert found[0] == f"packages/{name}/src/anchor.py"


def test_a_method_is_found_by_the_last_part_of_its_name_too(folder: Path, tmp_path: Path):
    write(folder, "server.go", "package p\n\nfunc (s *Server) Moor() error {\n\treturn nil\n}\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.complete_index(workers=0)
    for name in ("Moor", "Server.Moor", "moor"):
        assert [one.name for one in repository.find_definitions(name)[0]] == ["Server.Moor"], name
    assert repository.find_definitions("Boat.Moor")[0] == []
    assert [one.name for one in repository.find_symbols_like_text("Moo")] == ["Server.Moor"]


def test_while_an_index_is_being_made_what_it_lacks_is_ranked_by_its_path(folder: Path, tmp_path: Path):
    with open_index_for_writing(tmp_path / "cache" / "x") as store:
        pass
    repository = MappedRepository(folder, tmp_path / "cache")
    with open_index_for_writing(repository.index) as store:
        assert update_index(store, FolderToIndex(folder), is_stopped=Stopped(after=1)) is False
    assert shown(repository, "the cache and the guide")[-1] in ("docs/guide.md", "tests/test_cache.py")
    assert {"harbour/cache.py", "tests/test_cache.py"} <= set(shown(repository, "the cache"))
    assert len(repository.map_folder().ranked_map.files) >= 6
    assert len(repository.visible_paths()) == len(FILES)


def test_the_rules_are_not_read_for_every_path(folder: Path, tmp_path: Path):
    asked: list[None] = []

    def hidden() -> FileHidingRules:
        asked.append(None)
        return FileHidingRules()

    repository = MappedRepository(folder, tmp_path / "cache", hidden=hidden)
    repository.complete_index(workers=0)
    asked.clear()
    for _ in range(50):
        repository.is_hidden("harbour/cache.py")
    assert len(asked) <= 2


@pytest.mark.parametrize("has_many", [True, False])
def test_a_file_at_which_workers_die_costs_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_many: bool
):
    for number in range(120):
        write(folder, f"many/file{number}.py", f"def thing{number}():\n    pass\n")
    write(folder, "many/poison.py", "def poison():\n    pass\n" + "x = 1\n" * 5000)
    monkeypatch.setattr(index_updates, "pack_outline_records", crash_at_poison)
    monkeypatch.setattr(index_updates, "pack_complete_records", crash_with_all_at_poison)
    monkeypatch.setattr(index_updates, "_MAX_FILES_WITH_OUTLINES", 0 if has_many else 2000)
    repository = MappedRepository(folder, tmp_path / "cache")
    with open_index_for_writing(repository.index) as store, IndexingPool(folder, 1) as pool:
        assert update_index(store, FolderToIndex(folder), pool=pool)
        assert bool(store.find_symbols("thing7")) is not has_many
        assert make_missing_outlines(store, folder, pool=pool)
    assert repository.index_state() == IndexState(len(FILES) + 121, 0)
    assert all(repository.find_definitions(f"thing{number}")[1] == 1 for number in range(120))
    assert repository.find_definitions("poison")[1] == 0
    with open_index_for_writing(repository.index) as store:
        assert compare_folder_with_index(store, FolderToIndex(folder)).changed_files == ()


def test_of_more_files_than_an_index_takes_that_is_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_updates, "MAX_LISTED_FILES", 3)
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.complete_index(workers=0)
    answer = repository.map_files_for_task("the cache directory")
    assert answer.index_state.indexed_count == 3 and answer.index_state.is_listing_cut
    assert "more files than an index takes; 3 are in it" in format_map_answer(answer, is_question=True)


def test_a_builder_goes_after_the_programs_of_other_sessions():
    program = (
        "import os; from pathlib import Path; from tools.repomap.index.builder_process import lower_process_priority; "
        "lower_process_priority(); group = Path('/proc/self/autogroup'); "
        "print(os.nice(0), group.read_text().split()[-1] if group.exists() else 15)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )
    assert told.stdout.split() == ["15", "15"]


def test_what_a_checkout_changes_is_indexed_whole_by_the_builder(folder: Path, tmp_path: Path):
    for number in range(120):
        write(folder, f"many/file{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    assert repository.complete_index() == ""
    for number in range(120):
        write(folder, f"many/file{number}.py", f"def another{number}():\n    pass\n")
    (folder / "many/file0.py").unlink()
    repository.index_changed_files()
    while repository.upkeep.is_building:
        repository.index_changed_files(patience=1.0)
    repository.close_index_of_repository()
    assert repository.is_index_complete
    assert repository.find_definitions("another7")[1] == 1
    assert repository.find_definitions("thing7")[1] == repository.find_definitions("another0")[1] == 0
