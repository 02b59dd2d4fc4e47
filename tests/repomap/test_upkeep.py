"""What is done before an answer, what is left to a builder, and for whom that waits."""

from pathlib import Path

import pytest

from tests.repomap.harbour import FILES, shown, write
from tools.repomap import building, upkeep, way
from tools.repomap.builder import IndexBuilder
from tools.repomap.parts import distinct_parts, parts_of
from tools.repomap.ranking import question_of, rank_paths
from tools.repomap.repository import MappedRepository
from tools.repomap.way import RightOfWay
from tools.repomap.worker import MapWorker


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long somebody waited for a builder, each time."""
    found: list[float] = []
    monkeypatch.setattr(IndexBuilder, "wait", lambda builder, seconds: found.append(seconds))
    return found


def test_a_small_folder_is_whole_before_its_first_answer(
    folder: Path, tmp_path: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(upkeep, "LISTING_SECONDS", 60.0)
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.look(60.0)
    assert repository.is_whole and not repository.upkeep.is_building and waited == []
    assert repository.state().indexed == len(FILES)
    assert repository.definitions("Oar.get")[1] == 1


def test_a_small_folder_with_much_in_it_is_left_to_the_builder(
    folder: Path, tmp_path: Path, waited: list[float]
):
    write(folder, "large.py", "x = 1\n" * 200_000)
    repository = MappedRepository(folder, tmp_path / "cache")
    try:
        repository.look(60.0)
        assert len(waited) == 1
    finally:
        repository.close()


def test_nobody_waits_for_what_takes_long(folder: Path, tmp_path: Path, waited: list[float]):
    for number in range(300):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    try:
        for _ in range(2):
            repository.look()
            assert waited == []
        assert shown(repository, "the cache")[0] == "harbour/cache.py"
    finally:
        repository.close()


def test_of_very_many_files_what_others_changed_is_looked_for_behind_the_answer(
    repository: MappedRepository, folder: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(upkeep, "_SWEPT_AT_ONCE", len(FILES) - 1)
    write(folder, "harbour/new.py", "def capstan():\n    pass\n")
    try:
        repository.look()
        builder = repository.upkeep._builder  # pyright: ignore[reportPrivateUsage]
        assert builder is not None and waited == []
        assert "seen late" in repository.state().problem
        assert builder._done.wait(60)  # pyright: ignore[reportPrivateUsage]
        assert repository.definitions("capstan")[1] == 1
    finally:
        repository.close()


def test_an_index_that_was_never_done_is_gone_on_with_beside_the_answer(
    folder: Path, tmp_path: Path, waited: list[float]
):
    for number in range(300):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    stops = iter([False] * 250)
    assert repository.bring_up_to_date(workers=0, is_stopped=lambda: next(stops, True)) == ""
    assert not repository.is_whole
    try:
        repository.look(60.0)
        assert len(waited) == 1
        assert repository.upkeep._builder is not None  # pyright: ignore[reportPrivateUsage]
    finally:
        repository.close()


def test_names_are_ranked_as_if_each_were_split(folder: Path):
    paths = [f"a{number}/{name}.py" for number, name in enumerate(_NAMES)]
    for name in _NAMES:
        question = question_of(f"the {name} of it")
        wanted = set(question.parts)
        split = sorted(
            (-len(wanted.intersection(parts_of(path))), len(path), path)
            for path in paths
            if wanted.intersection(distinct_parts(path))
        )
        assert rank_paths(paths, question, 100) == [path for _, _, path in split], name


_NAMES = (
    "directories", "DirectoryCache", "caching", "caches", "flies", "fly", "running", "runner", "organization",
    "organize", "creations", "HTTPServers", "boxes", "classes", "Überläufe", "status", "ΣΊΣΥΦΟΣ", "parsed",
)  # fmt: skip


def test_who_maps_waits_for_who_types_and_not_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(way, "_REST_NS", 1_000_000_000)
    typed = RightOfWay.made()
    waits = RightOfWay.of_words(typed.words)
    assert not waits.is_taken
    typed.take()
    assert waits.is_taken
    waits.wait()
    assert not waits.is_taken
    monkeypatch.setattr(way, "_LONGEST_NS", 0)
    monkeypatch.setattr(way, "_REST_NS", 3_600_000_000_000)
    typed.take()
    waits.wait()
    assert waits.is_taken, "it went on all the same"
    typed.hand_over()
    assert typed.is_taken, "its memory is left"


def test_without_such_memory_nobody_waits():
    nobody = RightOfWay.of_words(())
    nobody.take()
    nobody.wait()
    assert not nobody.is_taken and nobody.descriptors == ()


def test_a_worker_answers_when_the_person_has_stopped_typing(folder: Path):
    typed = RightOfWay.made()
    worker = MapWorker(typed)
    try:
        worker.ask(folder, ["harbour/oars.py"])
        assert len(worker.answer()) == 1
        typed.take()
        worker.ask(folder, ["harbour/oars.py"])
        assert len(worker.answer()) == 1
        assert not typed.is_taken
    finally:
        worker.close()
        typed.hand_over()


def test_where_something_is_painted_one_processor_maps(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for number in range(120):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    monkeypatch.setattr(way, "_REST_NS", 3_600_000_000_000)
    monkeypatch.setattr(building, "_mapped_here", lambda root, paths: pytest.fail("it is not free"))
    painted = RightOfWay.made()
    painted.share()
    assert not painted.is_taken and not painted.is_free
    with building.writing(tmp_path / "index.sqlite") as store:
        assert building.build(store, building.IndexedFolder(folder), workers=1, way=painted)
        assert store.named("thing119") != []
    painted.hand_over()


def test_a_session_that_types_is_heard_by_its_builder(
    folder: Path, tmp_path: Path, waited: list[float], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(way, "_REST_NS", 3_600_000_000_000)
    for number in range(300):
        write(folder, f"many/thing{number}.py", f"def thing{number}():\n    pass\n")
    repository = MappedRepository(folder, tmp_path / "cache")
    repository.upkeep.give_way(wholly=True)  # nobody builds yet
    try:
        repository.look()
        builder = repository.upkeep._builder  # pyright: ignore[reportPrivateUsage]
        assert builder is not None
        assert not builder._way.is_taken  # pyright: ignore[reportPrivateUsage]
        repository.upkeep.give_way(wholly=True)
        assert builder._way.is_taken or not builder.is_running  # pyright: ignore[reportPrivateUsage]
    finally:
        repository.close()
