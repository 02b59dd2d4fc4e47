"""Copies of repositories for helpers: what is in them, what is delivered of them, and who finds them again."""

import asyncio
import os
from pathlib import Path

import pytest

from app.copies.changed_files import ChangedFile, RepositoryCopyChanges
from app.copies.isolated_repository_copies import (
    IsolatedRepositoryCopies,
    IsolatedRepositoryCopy,
    IsolatedRepositoryCopyRefused,
)
from tests.batch.batch_setups import git, make_repository

LOCAL = ("-c", "protocol.file.allow=always")


@pytest.fixture
def copies(tmp_path: Path) -> IsolatedRepositoryCopies:
    return IsolatedRepositoryCopies(tmp_path / "state", tmp_path)


async def copied(copies: IsolatedRepositoryCopies, folder: Path) -> IsolatedRepositoryCopy:
    """A copy without changes, which has left the person's index as it was."""
    index = Path(git(folder, "rev-parse", "--absolute-git-dir").strip()) / "index"
    before = index.read_bytes() if index.exists() else None
    made = await copies.make(folder, session=None, title="t")
    assert (index.read_bytes() if index.exists() else None) == before
    assert await made.changes() == RepositoryCopyChanges()
    return made


def work_in(folder: Path) -> None:
    (folder / "a.txt").write_text("changed\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)


async def test_it_is_the_last_commit_with_all_uncommitted_and_new_files(
    tmp_path: Path, copies: IsolatedRepositoryCopies
) -> None:
    place = make_repository(tmp_path / "project")
    for name, text in {".gitignore": "*.log\n", "gone.txt": "g", "staged.txt": "1", "sub/f": "f"}.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    git(place, "add", ".")
    git(place, "commit", "-qm", "two")
    (place / "staged.txt").write_text("22")
    git(place, "add", "staged.txt")
    (place / "staged.txt").write_text("333")
    (place / "gone.txt").unlink()
    (place / "new.bin").write_bytes(b"\0\r\n")
    (place / "x.log").write_text("ignored")
    (place / "link").symlink_to("a.txt")
    (place / os.fsdecode(b"\xff odd\n")).write_text("o")
    made = await copied(copies, place / "sub")
    assert made.path_in_copy(place / "sub") == made.folder / "sub"
    assert git(made.folder, "status", "--porcelain") == git(place, "status", "--porcelain")
    assert (made.folder / "staged.txt").read_text() == "333" and not (made.folder / "x.log").exists()
    assert (made.folder / "new.bin").read_bytes() == b"\0\r\n" and (made.folder / "link").is_symlink()
    work_in(made.folder)
    (made.folder / "staged.txt").unlink()
    (made.folder / "link").unlink()
    (made.folder / "inner").mkdir()
    git(made.folder / "inner", "init", "-q")
    git(made.folder / "inner", "commit", "-q", "--allow-empty", "-m", "own")
    git(made.folder, "add", "a.txt", "run.sh")
    git(made.folder, "commit", "-qm", "on a branch that nobody sees")
    changes = await made.changes()
    assert changes.files == (
        ChangedFile(path="a.txt", before=b"a\n", after=b"changed\n"),
        ChangedFile(path="run.sh", before=None, after=b"#!/bin/sh\n", is_executable=True),
        ChangedFile(path="staged.txt", before=b"333", after=None),
    )
    assert changes.unsupported_files == ("inner", "link")
    assert git(place, "log", "--format=%s").split() == ["two", "one"]


@pytest.mark.parametrize("kind", ["detached", "linked", "submodule", "no commit", "merging"])
async def test_every_state_of_a_repository_works(
    tmp_path: Path, copies: IsolatedRepositoryCopies, kind: str
) -> None:
    place = make_repository(tmp_path / "project")
    if kind == "detached":
        git(place, "checkout", "-q", "--detach")
    elif kind == "linked":
        git(place, "worktree", "add", "-q", str(tmp_path / "linked"))
        place = tmp_path / "linked"
    elif kind == "submodule":
        git(place, *LOCAL, "submodule", "add", "-q", str(make_repository(tmp_path / "lib")), "lib")
    elif kind == "no commit":
        place = tmp_path / "fresh"
        place.mkdir()
        git(place, "init", "-q")
        (place / "a.txt").write_text("a\n")
    else:
        git(place, "switch", "-qc", "other")
        (place / "a.txt").write_text("other\n")
        git(place, "commit", "-qam", "other")
        git(place, "switch", "-q", "main")
        (place / "a.txt").write_text("main\n")
        git(place, "commit", "-qam", "main")
        with pytest.raises(Exception, match="merge"):
            git(place, "merge", "-q", "other")
    made = await copied(copies, place)
    assert made.record.left_out == (("lib",) if kind == "submodule" else ())
    before = (place / "a.txt").read_bytes()
    work_in(made.folder)
    assert [(one.path, one.before) for one in (await made.changes()).files] == [
        ("a.txt", before),
        ("run.sh", None),
    ]


async def test_where_there_is_no_repository_it_is_refused(
    tmp_path: Path, copies: IsolatedRepositoryCopies
) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    (tmp_path / "plain").mkdir()
    for folder, words in (("plain", "not in a git repository"), ("bare.git", "in a bare repository")):
        with pytest.raises(IsolatedRepositoryCopyRefused, match=words):
            await copies.make(tmp_path / folder, session=None, title="t")
    assert not list(tmp_path.glob("state/*"))


async def test_a_copy_is_found_again_once_nobody_uses_it_until_it_is_removed(
    tmp_path: Path, copies: IsolatedRepositoryCopies
) -> None:
    place = make_repository(tmp_path / "project")
    made = await copies.make(place, session=None, title="t")
    assert copies.leftover_helper_copies(place) == []
    (made.folder / "a.txt").write_text("mine\n")
    made.release()
    assert copies.leftover_helper_copies(make_repository(tmp_path / "other")) == []
    [found] = copies.leftover_helper_copies(place)
    assert [one.after for one in (await found.changes()).files] == [b"mine\n"]
    found.remove()
    assert copies.leftover_helper_copies(place) == [] and not list(tmp_path.glob("state/*"))


async def test_a_copy_that_is_stopped_twice_while_it_is_made_is_not_held(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    root = tmp_path / "copies"
    making = asyncio.ensure_future(
        IsolatedRepositoryCopies(root, tmp_path).make(repository, session=None, title="t")
    )
    while not list(root.glob("*/copy.json")):  # noqa: ASYNC110  (written by a thread)
        await asyncio.sleep(0)
    making.cancel()
    await asyncio.sleep(0)
    making.cancel()
    await asyncio.wait([making])
    assert making.cancelled()
    async with asyncio.timeout(30):
        while remaining := list(root.glob("*/copy.json")):
            for copy in IsolatedRepositoryCopies(root, tmp_path).leftover_helper_copies(repository):
                copy.remove()
            await asyncio.sleep(0.01)
    assert not remaining
