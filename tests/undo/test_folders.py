"""What undo makes of folders: empty, renamed, replaced by a link, repositories."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.undo.machine import World
from tests.undo.test_footprints import Place, as_repository, git, needs_git, root, shell

__all__ = ["root"]


@needs_git
async def test_undo_says_which_files_it_would_not_hold(root: Path) -> None:
    as_repository(root)
    (root / ".gitignore").write_text("build/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "ignore")
    for folder in ("build", "src", "src/inner"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "file").write_text("x")
    git(root / "src/inner", "init", "-q")
    with (root / "src/huge").open("wb") as file:
        file.truncate(5 << 20)
    watch = Place(root, "git").watch

    async def unheld(*names: str, ignored: bool = True) -> dict[str, str]:
        found = await watch.list_unrestorable_files(
            [str(root / name) if name else str(root) for name in names], ignored=ignored
        )
        return {one.path: one.why for one in found}

    within = {
        "src/huge": "larger than 4 MB",
        "src/inner/": "deleting a whole repository cannot be undone",
    }
    assert await unheld("clean0.txt") == {}
    assert await unheld("src/file") == {}
    assert await unheld("src") == within
    assert await unheld("build/file") == {"build/": "its contents are not stored"}
    assert await unheld("") == {**within, "build/": "its contents are not stored"}
    assert await unheld("", ignored=False) == {"src/huge": "larger than 4 MB"}
    elsewhere = str(root.parent / "elsewhere")
    (outside,) = await watch.list_unrestorable_files([elsewhere], ignored=True)
    assert (outside.path, outside.why) == (elsewhere, "it is outside the session's folder")


async def test_undo_says_which_files_it_would_not_hold_without_git(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(2 << 20)
    found = await Place(root, "plain").watch.list_unrestorable_files([str(root)], ignored=True)
    assert [(one.path, one.why) for one in found] == [("huge", "larger than 1 MB")]


@pytest.mark.parametrize("way", ["plain", pytest.param("git", marks=needs_git)])
async def test_empty_folders_that_a_command_makes_or_removes_are_changes(root: Path, way: str) -> None:
    if way == "git":
        as_repository(root)
    place = Place(root, way)
    made = await place.run(lambda: shell(root, "mkdir -p one/two three; mkdir four; echo > four/file"))
    found = {change.path: (change.after and change.after.kind, change.folders) for change in made.changes}
    assert found == {
        "one/two": ("folder", (str(root / "one"),)),
        "three": ("folder", ()),
        "four/file": ("file", (str(root / "four"),)),
    }
    removed = await place.run(lambda: shell(root, "rmdir -p one/two; rm four/file"))
    assert {
        change.path: (change.before and change.before.kind, change.after) for change in removed.changes
    } == {
        "one/two": ("folder", None),
        "four/file": ("file", None),
    }
    filled = await place.run(lambda: shell(root, "echo > three/file; rmdir four"))
    assert {change.path for change in filled.changes} == {"three/file", "four"}


@pytest.mark.parametrize("way", ["plain", pytest.param("git", marks=needs_git)])
async def test_a_renamed_folder_with_old_files_is_held_whole(root: Path, way: str) -> None:
    for name in ("sub/deep.txt", "sub"):
        os.utime(root / name, (1e9, 1e9))
    if way == "git":
        as_repository(root)
    (root / "sub/more.txt").write_text("more\n")
    os.utime(root / "sub/more.txt", (1e9, 1e9))
    await asyncio.sleep(0.1)  # so that the change time of what is renamed is surely older than the first look
    place = Place(root, way)
    before = place.snapshot()
    done = await place.run(lambda: shell(root, "mv sub moved"))
    assert done.unstored_files == ()
    assert {change.path for change in done.changes} == {
        "sub/deep.txt",
        "sub/more.txt",
        "moved/deep.txt",
        "moved/more.txt",
    }
    assert place.taken_back(done.changes) == before


@pytest.mark.parametrize("way", ["plain", pytest.param("git", marks=needs_git)])
async def test_files_behind_a_folder_that_became_a_link_count_as_removed(root: Path, way: str) -> None:
    (root / "new").mkdir()
    (root / "new/deep.txt").write_text("another\n")
    if way == "git":
        as_repository(root)
    place = Place(root, way)
    before = place.snapshot()
    done = await place.run(lambda: shell(root, "rm -rf sub && ln -s new sub"))
    assert {change.path for change in done.changes} == {"sub", "sub/deep.txt"} and done.unstored_files == ()
    for change in done.changes:
        if change.after is not None:
            (root / change.name).unlink()
    (root / "sub").mkdir()
    (root / "sub/deep.txt").write_text("deep\n")
    assert place.snapshot() == before


@needs_git
async def test_repositories_that_only_the_index_names_are_looked_at(root: Path) -> None:
    as_repository(root)
    (root / "linked").mkdir()
    (root / "linked/file").write_text("linked\n")
    git(root / "linked", "init", "-q")
    git(root / "linked", "add", "file")
    git(root / "linked", "commit", "-qm", "linked")
    git(root, "add", "linked")
    git(root, "commit", "-qm", "gitlink")
    assert not (root / ".gitmodules").exists()
    place = Place(root, "git")
    before = place.snapshot()
    done = await place.run(lambda: shell(root, "echo more >> linked/file; echo new > linked/new"))
    assert {change.path for change in done.changes} == {
        "linked/file",
        "linked/new",
    } and done.unstored_files == ()
    assert place.taken_back(done.changes) == before


@needs_git
@pytest.mark.parametrize("command", ["rm -rf nested", "mv nested elsewhere"])
async def test_a_repository_that_is_removed_or_renamed_is_named(root: Path, command: str) -> None:
    as_repository(root)
    (root / "nested").mkdir()
    (root / "nested/file").write_text("nested\n")
    git(root / "nested", "init", "-q")
    git(root / "nested", "add", "file")
    git(root / "nested", "commit", "-qm", "nested")
    (root / "nested/untracked").write_text("untracked\n")
    done = await Place(root, "git").run(lambda: shell(root, command))
    told = {one.path: one.why for one in done.unstored_files}
    assert told["nested/"] == "the repository in it was removed or renamed, and its commits are not stored"
    assert [change.path for change in done.changes] == ["nested/untracked"]


def test_a_file_comes_back_where_a_folder_took_its_name_and_was_filled(tmp_path: Path) -> None:
    world = World(tmp_path, has_git=False)
    world.prompt()
    world.command("rm -rf b; mkdir -p b")
    world.command("mv sub/c b")
    data = world.restores.carry_out_restore_plan(world.restores.plan_undo(), {})
    assert data.kept == ()
    assert world.snapshot() == world.at[None]
