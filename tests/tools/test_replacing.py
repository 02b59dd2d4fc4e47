"""Replacing a file: readers see the old or the new content; links and modes stay."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.files.atomic_replacement import (
    is_temporary_replacement_name,
    overwrite_file_in_place,
    remove_stale_temporary_files,
    replace_file_atomically,
    swap_in_new_file,
    swap_in_symbolic_link,
)


def test_a_new_file_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.json"
    replace_file_atomically(path, b"one", mode=0o600)
    assert path.read_bytes() == b"one" and path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_one_and_the_mode_is_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    replace_file_atomically(link, b"new")
    assert link.is_symlink() and real.read_bytes() == b"new" and real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("place", "step"), [(os, "fsync"), (os, "fchmod"), (os, "replace")])
def test_a_disk_that_refuses_leaves_everything_as_it_was(
    place: object, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(b"old")

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(place, step, refuse)
    with pytest.raises(OSError, match="No space"):
        replace_file_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]


def test_the_very_name_is_swapped_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "name").symlink_to("other")
    swap_in_new_file(str(tmp_path / "name"), b"file", mode=0o640)
    assert not (tmp_path / "name").is_symlink() and (tmp_path / "other").read_bytes() == b"other"
    swap_in_symbolic_link(str(tmp_path / "name"), "other")
    assert (tmp_path / "name").readlink() == Path("other")
    assert {one.name for one in tmp_path.iterdir()} == {"name", "other"}


def test_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f".bayou-{ended.pid}-{'0' * 16}.tmp", f".bayou-{os.getpid()}-{'1' * 16}.tmp", ".bayou-mine.tmp"]
    for name in names:
        (tmp_path / name).touch()
    assert [is_temporary_replacement_name(name) for name in names] == [True, True, False]
    remove_stale_temporary_files(str(tmp_path))
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names[1:])
    remove_stale_temporary_files(str(tmp_path / "nowhere"))


def test_what_cannot_be_overwritten_whole_has_its_old_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old content")
    write, written = os.write, iter(range(100))

    def once(descriptor: int, data: bytes) -> int:
        if next(written) == 1:
            raise OSError(5, "Input/output error")
        return write(descriptor, data[:4])

    monkeypatch.setattr(os, "write", once)
    with pytest.raises(OSError, match="Input/output"):
        overwrite_file_in_place(str(path), b"new content that is longer")
    assert path.read_bytes() == b"old content"
    monkeypatch.setattr(os, "write", write)
    overwrite_file_in_place(str(path), b"new", mode=0o600)
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o600


def test_the_disk_is_waited_for_if_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    replace_file_atomically(tmp_path / "a", b"1", durable=False)
    assert not forced
    replace_file_atomically(tmp_path / "a", b"2")
    assert len(forced) == 2, "the file and the folder that has its new name"


def test_what_is_new_is_open_as_far_as_the_person_wants_it(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file_atomically(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file_atomically(path, b"1")
    assert path.read_bytes() == b"1"
