"""How an index is made and kept: what goes in, in which order, and what a mishap costs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.repomap.boat_repository import FILES, Stopped, shown, write
from tests.repomap.crashing_parser import crash_at_poison
from tools.repomap.index import building
from tools.repomap.index.building import IndexedFolder, build_index, open_for_writing, survey_folder
from tools.repomap.index.hidden import HiddenFiles
from tools.repomap.index.store import IndexStore
from tools.repomap.repository import IndexState, MappedRepository
from tools.repomap.telling import map_text


def test_files_that_rules_hide_are_neither_indexed_nor_shown(folder: Path, tmp_path: Path):
    rules = [HiddenFiles()]
    repository = MappedRepository(folder, tmp_path / "cache", hidden=lambda: rules[0])
    assert repository.bring_up_to_date(workers=0) == ""
    assert "harbour/cache.py" in shown(repository, "cache directory")
    rules[0] = HiddenFiles((f"{folder.resolve()}/harbour/cache\\.py",))
    repository._asked_hidden = float("-inf")  # pyright: ignore[reportPrivateUsage]  (half a second later)
    for is_looked in (False, True):
        if is_looked:
            repository.look()
        assert "harbour/cache.py" not in shown(repository, "cache directory")
        assert repository.definitions("ReadCache")[0] == []
        assert repository.outline_of("harbour/cache.py") is None
        assert "harbour/cache.py" not in repository.map_folder().map.text
        assert "harbour/cache.py" not in {use.path for use in repository.uses("ReadCache").shown}
        assert [one.path for one in repository.symbols_like("ReadCache")] == ["harbour/made_pb2.py"]
    with IndexStore(repository.index) as store:
        assert store.file_at("harbour/cache.py") is None
    fresh = MappedRepository(folder, tmp_path / "other", hidden=lambda: rules[0])
    assert "harbour/cache.py" not in shown(fresh, "cache")


def test_lines_of_secrets_are_no_uses(repository: MappedRepository):
    assert repository.uses("CACHE_DIRECTORY_TOKEN").shown == ()


def test_new_files_are_listed_seldom_but_at_once_when_git_has_done_something(
    repository: MappedRepository, folder: Path
):
    def recheck_trust() -> None:
        repository.upkeep.looked = float("-inf")  # five seconds later
        repository.look()

    repository.look()
    write(folder, "harbour/new.py", "def capstan():\n    pass\n")
    write(folder, "harbour/oars.py", "def rowlock():\n    pass\n")
    os.utime(folder / "harbour/oars.py", (1_700_000_200, 1_700_000_200))
    recheck_trust()
    assert repository.definitions("rowlock")[1] == 1
    assert repository.definitions("capstan")[1] == 0
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    recheck_trust()
    assert repository.definitions("capstan")[1] == 1


def test_of_a_large_folder_the_paths_come_first_and_then_where_one_works(folder: Path, tmp_path: Path):
    for number in range(30):
        write(folder, f"far/thing{number:02}.py", f"def far{number}():\n    pass\n")
    large = IndexedFolder(folder, begins_at="harbour", max_files_at_once=10)
    with open_for_writing(tmp_path / "index.sqlite") as store:
        found = survey_folder(store, large)
        assert [path.partition("/")[0] for path in found.waiting][:4] == ["harbour"] * 4
        assert build_index(store, large, found=found, workers=0, is_stopped=Stopped(after=1)) is False
        assert store.count() == len(found.waiting)
        assert store.count(is_unseen=True) == len(found.waiting) - 1
        assert [id for id, _ in store.search('"far"', 100)] != []
        assert build_index(store, large, workers=0) is True
        assert store.count(is_unseen=True) == 0
        assert store.named("far29") != []


def test_files_of_the_same_package_are_raised(folder: Path, tmp_path: Path):
    for name in ("one", "two"):
        write(folder, f"packages/{name}/package.json", "{}\n")
        write(folder, f"packages/{name}/src/anchor.py", "def drop_anchor():\n    pass\n")
        write(folder, f"packages/{name}/src/main.py", "def main():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.bring_up_to_date(workers=0)
    for name in ("one", "two"):
        found = shown(repository, "drop the anchor", known=[f"packages/{name}/src/main.py"])
        assert found[0] == f"packages/{name}/src/anchor.py"


def test_a_method_is_found_by_the_last_part_of_its_name_too(folder: Path, tmp_path: Path):
    write(folder, "server.go", "package p\n\nfunc (s *Server) Moor() error {\n\treturn nil\n}\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.bring_up_to_date(workers=0)
    for name in ("Moor", "Server.Moor", "moor"):
        assert [one.name for one in repository.definitions(name)[0]] == ["Server.Moor"], name
    assert repository.definitions("Boat.Moor")[0] == []
    assert [one.name for one in repository.symbols_like("Moo")] == ["Server.Moor"]


def test_while_an_index_is_being_made_what_it_lacks_is_ranked_by_its_path(folder: Path, tmp_path: Path):
    with open_for_writing(tmp_path / "cache" / "x") as store:
        pass
    repository = MappedRepository(folder, tmp_path / "cache")
    with open_for_writing(repository.index) as store:
        assert build_index(store, IndexedFolder(folder), workers=0, is_stopped=Stopped(after=1)) is False
    assert shown(repository, "the cache and the guide")[-1] in ("docs/guide.md", "tests/test_cache.py")
    assert {"harbour/cache.py", "tests/test_cache.py"} <= set(shown(repository, "the cache"))
    assert len(repository.map_folder().map.files) >= 6
    assert len(repository.paths()) == len(FILES)


def test_the_rules_are_not_read_for_every_path(folder: Path, tmp_path: Path):
    asked: list[None] = []

    def hidden() -> HiddenFiles:
        asked.append(None)
        return HiddenFiles()

    repository = MappedRepository(folder, tmp_path / "cache", hidden=hidden)
    repository.bring_up_to_date(workers=0)
    asked.clear()
    for _ in range(50):
        repository.hides("harbour/cache.py")
    assert len(asked) <= 2


def test_a_file_at_which_workers_die_costs_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(120):
        write(folder, f"many/file{number}.py", f"def thing{number}():\n    pass\n")
    write(folder, "many/poison.py", "def poison():\n    pass\n" + "x = 1\n" * 5000)
    monkeypatch.setattr(building, "index_batch", crash_at_poison)
    repository = MappedRepository(folder, tmp_path / "cache")
    with open_for_writing(repository.index) as store:
        assert build_index(store, IndexedFolder(folder), workers=1)
    assert repository.state() == IndexState(len(FILES) + 121, 0)
    assert all(repository.definitions(f"thing{number}")[1] == 1 for number in range(120))
    assert repository.definitions("poison")[1] == 0
    with open_for_writing(repository.index) as store:
        assert survey_folder(store, IndexedFolder(folder)).waiting == ()


def test_of_more_files_than_an_index_takes_that_is_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(building, "MAX_FILES", 3)
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.bring_up_to_date(workers=0)
    answer = repository.map_about("the cache directory")
    assert answer.state.indexed == 3 and answer.state.is_cut
    assert "more files than an index takes; 3 are in it" in map_text(answer, is_question=True)
