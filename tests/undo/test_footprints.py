"""What a command did to a folder is found out, with and without git, and never wrongly."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.undo.change_records import RecordedFileChange, is_same_stored_state
from app.undo.command_file_watcher import CommandFileChanges, CommandFileWatcher
from app.undo.content_store import BlobStore, blob_hash
from app.undo.disk_files import read_disk_file_state
from app.undo.folder_scanners import FullReadScanner, open_folder_scanner
from app.undo.folder_scans import FolderScanner, ScannedContentStore

NAME = "naïve ☃.txt"
GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "t@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    command = ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def shell(folder: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=folder, check=True, capture_output=True)


class Place:
    """A folder that is watched, and what it was like before."""

    def __init__(self, root: Path, way: str) -> None:
        self.root = root
        self.store = BlobStore(root.parent / "agent" / "blobs")
        self.holder = ScannedContentStore(self.store, self.store.put)
        self.watch = CommandFileWatcher(lambda: self._open(way))
        self._number = 0

    def _open(self, way: str) -> FolderScanner | str:
        if way == "plain":
            return FullReadScanner(self.holder, root=self.root, outside=self.root.parent / "agent")
        return open_folder_scanner(
            self.root,
            self.holder,
            home=self.root.parent,
            store=self.root.parent / "agent" / "blobs",
            may_ask_git=lambda: True,
            max_bytes=32 << 20,
        )

    async def run(self, deed: Callable[[], object]) -> CommandFileChanges:
        self._number += 1
        key = str(self._number)
        await self.watch.scan_before(key)
        deed()
        return await self.watch.scan_after(key)

    def snapshot(self) -> dict[str, tuple[bytes, bool] | str]:
        """Bytes and whether it is executable; where a link leads."""
        found: dict[str, tuple[bytes, bool] | str] = {}
        for path in self.root.rglob("*"):
            name = str(path.relative_to(self.root))
            if name.split("/")[0] == ".git" or "/.git/" in name:
                continue
            if path.is_symlink():
                found[name] = str(path.readlink())
            elif path.is_file():
                found[name] = (
                    path.read_bytes(),
                    os.access(path, os.X_OK) and bool(path.stat().st_mode & 0o100),
                )
        return found

    def taken_back(self, changes: tuple[RecordedFileChange, ...]) -> dict[str, tuple[bytes, bool] | str]:
        found = self.snapshot()
        for change in changes:
            now = read_disk_file_state(str(self.root / change.name), 1 << 40)
            assert is_same_stored_state(now.image, change.after), change.name
            if change.before is None:
                del found[change.name]
            elif change.before.kind == "link":
                found[change.name] = os.fsdecode(self.store.get(change.before.hash))
            else:
                found[change.name] = (self.store.get(change.before.hash), bool(change.before.mode & 0o100))
        return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "project"
    folder.mkdir()
    for number in range(4):
        (folder / f"clean{number}.txt").write_text(f"clean {number}\n")
    (folder / "sub").mkdir()
    (folder / "sub/deep.txt").write_text("deep\n")
    (folder / "script.sh").write_text("#!/bin/sh\n")
    (folder / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (folder / NAME).write_text("snow\n")
    (folder / "link").symlink_to("clean0.txt")
    (folder / "dirty.txt").write_text("committed\n")
    return folder


def as_repository(root: Path) -> None:
    (root / ".gitattributes").write_text("crlf.txt text eol=crlf\n")
    (root / ".gitignore").write_text("build/\n.env\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    (root / "dirty.txt").write_text("dirty\n")
    (root / "untracked.txt").write_text("untracked\n")
    (root / ".env").write_text("A=1\n")
    (root / "build").mkdir()
    (root / "build/out").write_text("out\n")


COMMANDS = {
    "append": "echo more >> clean1.txt",
    "remove": "rm clean2.txt sub/deep.txt",
    "rename": "mv clean3.txt renamed.txt",
    "mode": "chmod +x script.sh",
    "dirty": "echo again > dirty.txt",
    "untracked": "echo again > untracked.txt",
    "ignored file": "echo B=2 >> .env",
    "crlf": "printf 'x\\r\\n' >> crlf.txt",
    "name": f"echo melt > '{NAME}'",
    "link": "ln -sfn clean1.txt link",
    "link becomes file": "rm link && echo file > link",
    "time put back": "touch -r clean1.txt /tmp/bayou-ref-$$; printf 'CLEAN 1\\n' > clean1.txt; "
    "touch -r /tmp/bayou-ref-$$ clean1.txt; rm /tmp/bayou-ref-$$",
    "new": "mkdir -p new/er && echo n > new/er/file",
    "folder to file": "rm -r sub && echo file > sub",
}
WITH_GIT = {
    "commit": "echo c > clean1.txt && git add -A && git -c user.name=t -c user.email=t@t commit -qm two",
    "checkout": "git checkout -q -- dirty.txt",
    "stash": "echo s > clean1.txt; git -c user.name=t -c user.email=t@t stash -q",
    "branch": "git -c user.name=t -c user.email=t@t commit -qam dirty && git checkout -q -b other HEAD~1 "
    "&& echo other > clean0.txt && git -c user.name=t -c user.email=t@t commit -qam other",
    "rm --cached": "git rm -q --cached clean0.txt && echo new > clean0.txt",
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("way", ["plain", pytest.param("git", marks=needs_git)])
async def test_each_kind_of_change_can_be_taken_back_exactly(root: Path, name: str, way: str) -> None:
    if way == "git":
        as_repository(root)
    else:
        (root / "untracked.txt").write_text("untracked\n")
        (root / ".env").write_text("A=1\n")
    place = Place(root, way)
    before = place.snapshot()
    done = await place.run(lambda: shell(root, COMMANDS[name]))
    assert done.unstored_files == ()
    assert done.changes != ()
    assert place.taken_back(done.changes) == before


@needs_git
@pytest.mark.parametrize("name", WITH_GIT)
async def test_what_git_does_inside_a_command_hides_nothing(root: Path, name: str) -> None:
    as_repository(root)
    place = Place(root, "git")
    before = place.snapshot()
    index = (root / ".git/index").read_bytes()
    done = await place.run(lambda: None)
    assert done == CommandFileChanges() and (root / ".git/index").read_bytes() == index
    done = await place.run(lambda: shell(root, WITH_GIT[name]))
    assert place.taken_back(done.changes) == before
    assert done.unstored_files == ()
    assert (done.head_move is not None) == (name in ("commit", "branch"))


@pytest.mark.parametrize("way", ["plain", pytest.param("git", marks=needs_git)])
async def test_folders_that_a_command_made_are_known(root: Path, way: str) -> None:
    if way == "git":
        as_repository(root)
    (root / "empty").mkdir()
    place = Place(root, way)
    happened = await place.run(
        lambda: shell(root, "mkdir -p new/er; echo 1 > new/er/a; echo 2 > empty/b; echo 3 > sub/c")
    )
    assert {change.path: change.folders for change in happened.changes} == {
        "empty/b": (),
        "new/er/a": (str(root / "new"), str(root / "new/er")),
        "sub/c": (),
    }


@needs_git
async def test_changes_that_are_not_stored_are_named(root: Path) -> None:
    as_repository(root)
    (root / "large").write_bytes(bytes(5 << 20))
    place = Place(root, "git")
    done = await place.run(lambda: shell(root, "echo x > build/new; echo x >> large; mkdir -p build/more"))
    assert {(one.path, one.why) for one in done.unstored_files} == {
        ("build/", "its contents are not stored"),
        ("large", "larger than 4 MB"),
    }
    assert done.changes == ()


@needs_git
async def test_what_was_ignored_is_not_taken_for_new(root: Path) -> None:
    as_repository(root)
    place = Place(root, "git")
    done = await place.run(lambda: shell(root, "echo .env > .gitignore"))
    assert [change.path for change in done.changes] == [".gitignore"]
    assert ("build/out", "it was ignored by git before") in {
        (one.path, one.why) for one in done.unstored_files
    }


@needs_git
async def test_filters_are_not_run_and_what_they_made_is_named(root: Path, tmp_path: Path) -> None:
    as_repository(root)
    trace = tmp_path / "ran"
    git(root, "config", "filter.upper.smudge", f"sh -c 'touch {trace}; tr a-z A-Z'")
    git(root, "config", "filter.upper.clean", f"sh -c 'touch {trace}; tr A-Z a-z'")
    (root / ".gitattributes").write_text("filtered.txt filter=upper\n")
    (root / "filtered.txt").write_text("LOUD\n")
    os.utime(root / "filtered.txt", (1e9, 1e9))  # old enough for git to believe its index
    git(root, "add", "-A")
    git(root, "commit", "-qm", "filtered")
    trace.unlink()
    place = Place(root, "git")
    done = await place.run(lambda: (root / "filtered.txt").write_text("OTHER\n"))
    assert not trace.exists()
    assert [(one.path, one.why) for one in done.unstored_files] == [
        ("filtered.txt", "it uses the git filter upper, which bayou does not run")
    ]
    assert done.changes == ()


@needs_git
async def test_repositories_within_are_looked_at_too(root: Path) -> None:
    as_repository(root)
    for name in ("nested", "nested/inner", "library"):
        (root / name).mkdir()
        (root / name / "file.txt").write_text(f"{name}\n")
        git(root / name, "init", "-q")
        git(root / name, "add", "file.txt")
        git(root / name, "commit", "-qm", name)
    (root / "library").rename(root.parent / "library")
    git(root, "submodule", "add", "-q", str(root.parent / "library"), "sub/module")
    git(root, "commit", "-qm", "submodule")
    place = Place(root, "git")
    before = place.snapshot()
    command = (
        "for d in nested nested/inner sub/module; do echo more >> $d/file.txt; echo new > $d/new.txt; done"
    )
    done = await place.run(lambda: shell(root, command))
    assert done.unstored_files == ()
    assert {change.path for change in done.changes} == {
        f"{name}/{file}.txt" for name in ("nested", "nested/inner", "sub/module") for file in ("file", "new")
    }
    assert place.taken_back(done.changes) == before
    done = await place.run(lambda: shell(root, "mkdir later && cd later && git init -q . && echo x > y"))
    assert [(one.path, one.why) for one in done.unstored_files] == [("later/", "its contents are not stored")]


@needs_git
async def test_what_lfs_made_comes_from_its_own_store(root: Path) -> None:
    as_repository(root)
    data = b"large and binary\0" * 100
    oid = blob_hash(data)
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (root / "picture.bin").write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "pointer")
    (root / "picture.bin").write_bytes(data)
    git(root, "-c", f"filter.lfs.clean=git -C '{root}' show HEAD:picture.bin", "add", "picture.bin")
    os.utime(root / "picture.bin", (1e9, 1e9))
    git(
        root,
        "-c",
        f"filter.lfs.clean=git -C '{root}' show HEAD:picture.bin",
        "update-index",
        "-q",
        "--refresh",
    )
    objects = root / ".git/lfs/objects" / oid[:2] / oid[2:4]
    place = Place(root, "git")
    done = await place.run(lambda: (root / "picture.bin").write_bytes(b"other"))
    assert done.changes == ()
    assert [one.path for one in done.unstored_files] == ["picture.bin"]
    objects.mkdir(parents=True)
    (objects / oid).write_bytes(data)
    (root / "picture.bin").write_bytes(data)
    os.utime(root / "picture.bin", (1e9, 1e9))
    git(
        root,
        "-c",
        f"filter.lfs.clean=git -C '{root}' show HEAD:picture.bin",
        "update-index",
        "-q",
        "--refresh",
    )
    done = await place.run(lambda: (root / "picture.bin").write_bytes(b"other"))
    (change,) = done.changes
    assert change.before is not None and place.store.get(change.before.hash) == data


async def test_unchanged_files_are_read_once_and_equal_content_is_kept_once(root: Path) -> None:
    place = Place(root, "plain")
    await place.run(lambda: None)
    kept = len(place.store.blobs())
    for entry in place.store.blobs():
        Path(entry.path).unlink()
    await asyncio.sleep(0.06)  # files that are younger than that are looked at twice
    await place.run(lambda: None)
    await place.run(lambda: None)
    assert len(place.store.blobs()) <= kept


async def test_two_commands_at_once_are_told_apart_as_far_as_can_be(root: Path) -> None:
    place = Place(root, "plain")
    await place.watch.scan_before("a")
    (root / "by-a").write_text("a")
    await place.watch.scan_before("b")
    (root / "by-b").write_text("b")
    first = await place.watch.scan_after("b")
    (root / "by-a").write_text("a2")
    second = await place.watch.scan_after("a")
    assert [change.path for change in first.changes] == ["by-b"] and first.concurrent_calls == ("a",)
    assert [change.path for change in second.changes] == ["by-a"] and second.concurrent_calls == ("b",)


async def test_what_a_tool_writes_meanwhile_is_not_the_commands(root: Path) -> None:
    place = Place(root, "plain")
    await place.watch.scan_before("a")
    (root / "clean0.txt").write_text("by a tool\n")
    data = (root / "clean0.txt").read_bytes()
    place.watch.note_change_by_others(
        "clean0.txt", read_disk_file_state(str(root / "clean0.txt"), 1 << 20).image
    )
    place.store.put(data)
    (root / "clean1.txt").write_text("by the command\n")
    done = await place.watch.scan_after("a")
    assert [change.path for change in done.changes] == ["clean1.txt"]


async def test_pipes_are_not_opened_and_sparse_files_are_not_read(root: Path) -> None:
    place = Place(root, "plain")
    os.mkfifo(root / "pipe")
    with (root / "huge").open("wb") as file:
        file.truncate(4 << 30)
    done = await place.run(lambda: shell(root, "echo x >> huge; rm pipe; mkfifo pipe"))
    assert {(one.path, one.why) for one in done.unstored_files} == {
        ("huge", "larger than 1 MB"),
        ("pipe", "is not a file (a device, a pipe or a socket)"),
    }


async def test_too_many_files_without_git_are_said_to_be_too_many(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.undo.folder_scanners.MAX_SCANNED_FILES", 5)
    done = await Place(root, "plain").run(lambda: (root / "clean0.txt").write_text("x"))
    assert [one.path for one in done.unstored_files] == [
        "."
    ] and "not a git repository" in done.unstored_files[0].why
