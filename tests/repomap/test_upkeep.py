"""What is done before an answer, and what is left to a builder."""

from pathlib import Path

import pytest

from tests.repomap.boat_repository import FILES, shown, write
from tools.repomap.file_ranking import parse_repository_map_question, rank_paths
from tools.repomap.index import index_updater
from tools.repomap.index.builder_process import IndexBuilder
from tools.repomap.index.word_parts import split_into_word_parts
from tools.repomap.mapped_repository import MappedRepository


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each wait for a builder."""
    found: list[float] = []
    monkeypatch.setattr(IndexBuilder, "wait_for_builder_end", lambda builder, seconds: found.append(seconds))
    return found


def test_a_small_folder_is_whole_before_its_first_answer(
    folder: Path, tmp_path: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_updater, "FOLDER_LISTING_TIMEOUT", 60.0)
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.index_changed_files(60.0)
    assert repository.is_index_complete and not repository.upkeep.is_building and waited == []
    assert repository.index_state().indexed_count == len(FILES)
    assert repository.find_definitions("Oar.get")[1] == 1


def test_a_small_folder_with_much_in_it_is_left_to_the_builder(
    folder: Path, tmp_path: Path, waited: list[float]
):
    write(folder, "large.py", "x = 1\n" * 200_000)
    repository = MappedRepository(folder, tmp_path / "cache")
    try:
        repository.index_changed_files(60.0)
        assert len(waited) == 1
    finally:
        repository.close_index_of_repository()


def test_answers_do_not_wait_for_long_builds(folder: Path, tmp_path: Path, waited: list[float]):
    for number in range(300):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    try:
        for _ in range(2):
            repository.index_changed_files()
            assert waited == []
        assert shown(repository, "the cache")[0] == "harbour/cache.py"
    finally:
        repository.close_index_of_repository()


def test_of_very_many_files_what_others_changed_is_looked_for_behind_the_answer(
    repository: MappedRepository, folder: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index_updater, "_MAX_FILES_CHECKED_FOR_CHANGES", len(FILES) - 1)
    write(folder, "harbour/new.py", "def capstan():\n    pass\n")
    try:
        repository.index_changed_files()
        builder = repository.upkeep._builder  # pyright: ignore[reportPrivateUsage]
        assert builder is not None and waited == []
        assert "seen late" in repository.index_state().problem
        assert builder._ended_event.wait(60)  # pyright: ignore[reportPrivateUsage]
        assert repository.find_definitions("capstan")[1] == 1
    finally:
        repository.close_index_of_repository()


def test_an_index_that_was_never_done_is_gone_on_with_beside_the_answer(
    folder: Path, tmp_path: Path, waited: list[float]
):
    for number in range(300):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    stops = iter([False] * 250)
    assert repository.complete_index(workers=0, is_stopped=lambda: next(stops, True)) == ""
    assert not repository.is_index_complete
    try:
        repository.index_changed_files(60.0)
        assert len(waited) == 1
        assert repository.upkeep._builder is not None  # pyright: ignore[reportPrivateUsage]
    finally:
        repository.close_index_of_repository()


def test_names_are_ranked_as_if_each_were_split(folder: Path):
    paths = [f"a{number}/{name}.py" for number, name in enumerate(_NAMES)]
    for name in _NAMES:
        question = parse_repository_map_question(f"the {name} of it")
        wanted = set(question.word_parts)
        split = sorted(
            (-len(wanted.intersection(split_into_word_parts(path))), len(path), path)
            for path in paths
            if wanted.intersection(set(split_into_word_parts(path)))
        )
        assert rank_paths(paths, question, 100) == [path for _, _, path in split], name


_NAMES = (
    "directories", "DirectoryCache", "caching", "caches", "flies", "fly", "running", "runner", "organization",
    "organize", "creations", "HTTPServers", "boxes", "classes", "Überläufe", "status", "ΣΊΣΥΦΟΣ", "parsed",
)  # fmt: skip
