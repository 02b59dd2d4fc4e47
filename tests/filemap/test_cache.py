"""Maps are kept in memory and on disk, come back only for the same bytes, and never fill either."""

import os
from pathlib import Path

import pytest

from tools.filemap import file_mapper as mapping
from tools.filemap.file_mapper import make_file_map
from tools.filemap.map_cache import FileMapCache


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text("def first():\n    pass\n")
    return path


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose maps were really made."""
    made: list[Path] = []
    real = mapping._map_source_text

    def seen(path: Path, *rest: object) -> object:
        made.append(path)
        return real(path, *rest)  # pyright: ignore[reportArgumentType]  (passed on as they came)

    monkeypatch.setattr(mapping, "_map_source_text", seen)
    return made


@pytest.mark.parametrize("again", [True, False], ids=["same cache", "cache of the next session"])
def test_a_known_file_is_not_parsed_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    made = parsed(monkeypatch)
    cache = FileMapCache(tmp_path / "cache")
    first = make_file_map(source, cache=cache)
    assert make_file_map(source, cache=cache if again else FileMapCache(tmp_path / "cache")) == first
    assert made == [source]


def test_a_changed_file_is_mapped_anew(source: Path, tmp_path: Path) -> None:
    cache = FileMapCache(tmp_path / "cache")
    make_file_map(source, cache=cache)
    state = source.stat()
    source.write_text("def other():\n    pass\n")
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert [symbol.name for symbol in make_file_map(source, cache=cache).symbols] == ["other"]


def test_a_map_that_the_clock_cut_short_is_not_kept(source: Path) -> None:
    cache = FileMapCache()
    source.write_text("def first():\n    pass\n" * 20_000)
    assert make_file_map(source, deadline_seconds=0, cache=cache).parser == "heuristic"
    assert make_file_map(source, deadline_seconds=60, cache=cache).parser == "tree-sitter"


def test_the_folder_stays_within_its_bounds(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = FileMapCache(folder, files=5)
    for number in range(12):
        path = tmp_path / f"code{number}.py"
        path.write_text(f"x{number} = 1\n")
        make_file_map(path, cache=cache)
    assert len(list(folder.iterdir())) <= 5


def test_a_damaged_entry_is_made_anew(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first = make_file_map(source, cache=FileMapCache(folder))
    for entry in folder.iterdir():
        entry.write_bytes(b"not a map")
    assert make_file_map(source, cache=FileMapCache(folder)).symbols == first.symbols


def test_a_folder_that_cannot_be_written_is_done_without(source: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, no folder")
    assert make_file_map(source, cache=FileMapCache(tmp_path / "taken" / "cache")).symbols
