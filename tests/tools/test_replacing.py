"""Replacing a file: the old or the new content, whatever happens meanwhile; links and modes stay."""

import os
from pathlib import Path

import pytest

from tools.files.replacing import replace


def test_a_new_file_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.json"
    replace(path, b"one", mode=0o600)
    assert path.read_bytes() == b"one" and path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_one_and_the_mode_is_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    replace(link, b"new")
    assert link.is_symlink() and real.read_bytes() == b"new" and real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_disk_that_refuses_leaves_everything_as_it_was(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(b"old")

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", refuse) if step == "fsync" else (Path, step, refuse)))
    with pytest.raises(OSError, match="No space"):
        replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]


def test_the_disk_is_waited_for_if_it_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    replace(tmp_path / "a", b"1", durable=False)
    assert not forced
    replace(tmp_path / "a", b"2")
    assert len(forced) == 2, "the file and the folder that has its new name"
