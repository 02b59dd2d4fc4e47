"""`write` creates or replaces whole files atomically, and reports the change."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller


async def test_a_new_file_gets_its_parents(hands: ToolCaller, project: Path) -> None:
    text = await hands.text("write", path="a/b/c.txt", content="one\ntwo\n")
    assert text == "Successfully wrote to a/b/c.txt (created, 2 lines)."
    assert (project / "a/b/c.txt").read_text() == "one\ntwo\n"


async def test_replacing_tells_the_difference(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    result = await hands("write", path="a.txt", content="one\n2\nthree\nfour\n")
    assert result.text == "Successfully wrote to a.txt (overwritten, +2 -1 lines)."
    assert result.details is not None
    assert result.details["patch"].endswith("-two\n+2\n three\n+four\n")


async def test_a_large_rewrite_tells_only_what_differs(hands: ToolCaller, project: Path) -> None:
    lines = [f"line {number}\n" if number % 3 else "}\n" for number in range(24_000)]
    (project / "a.txt").write_text("".join(lines))
    for number in range(1, 24_000, 300):
        lines[number] = f"changed {number}\n"
    text = await hands.text("write", path="a.txt", content="".join(lines))
    assert text == "Successfully wrote to a.txt (overwritten, +80 -80 lines)."


async def test_mode_and_symlink_target_survive(hands: ToolCaller, project: Path) -> None:
    (project / "real.sh").write_text("old")
    (project / "real.sh").chmod(0o750)
    (project / "link.sh").symlink_to("real.sh")
    await hands("write", path="link.sh", content="new")
    assert (project / "link.sh").is_symlink()
    assert (project / "real.sh").read_text() == "new"
    assert (project / "real.sh").stat().st_mode & 0o777 == 0o750
    assert names(project) == ["link.sh", "real.sh"]


async def test_a_link_to_nowhere_is_written_through(hands: ToolCaller, project: Path) -> None:
    (project / "link").symlink_to("target")
    await hands("write", path="link", content="x")
    assert (project / "target").read_text() == "x" and (project / "link").is_symlink()


async def test_a_directory_is_refused(hands: ToolCaller, project: Path) -> None:
    (project / "folder").mkdir()
    assert "it is a directory" in await hands.error("write", path="folder", content="x")


async def test_a_parent_that_is_a_file_is_refused(hands: ToolCaller, project: Path) -> None:
    (project / "file").write_text("x")
    assert "Could not write" in await hands.error("write", path="file/inside", content="x")


async def test_a_file_that_changed_since_it_was_read_is_warned_of(hands: ToolCaller, project: Path) -> None:
    path = project / "a.txt"
    path.write_text("one\ntwo\n")
    await hands("read", path="a.txt")
    path.write_text("one\n2, by somebody else\n")
    text = await hands.text("write", path="a.txt", content="mine\n")
    assert "[Warning: the file had changed on disk since you last read it (lines 2)" in text


async def test_nothing_is_warned_of_when_only_the_tool_changed_it(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text("one\n")
    await hands("read", path="a.txt")
    await hands("edit", path="a.txt", oldText="one", newText="two")
    assert "Warning" not in await hands.text("write", path="a.txt", content="three\n")
    assert "Warning" not in await hands.text("write", path="a.txt", content="four\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
async def test_a_byte_order_mark_is_kept(hands: ToolCaller, project: Path, encoding: str) -> None:
    (project / "a.txt").write_bytes("één\n".encode(encoding))
    await hands("write", path="a.txt", content="twee\n")
    assert (project / "a.txt").read_bytes() == "twee\n".encode(encoding)


async def test_text_that_is_none_is_refused(hands: ToolCaller, project: Path) -> None:
    assert "cannot be encoded" in await hands.error("write", path="a.txt", content="\ud800")
    assert not (project / "a.txt").exists()


async def test_a_read_only_file_is_refused_and_stays(hands: ToolCaller, project: Path) -> None:
    path = project / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    for name, arguments in (
        ("write", {"content": "new"}),
        ("edit", {"oldText": "old", "newText": "new"}),
    ):
        assert "the file is read-only" in await hands.error(name, path="a.txt", **arguments)
    assert path.read_text() == "old"


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every write fail as on a full disk."""

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tools.file_and_process_operations.os.write", full)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("full_disk")
async def test_a_full_disk_leaves_the_old_file_whole(hands: ToolCaller, project: Path) -> None:
    path = project / "a.txt"
    path.touch()
    with path.open("w") as file:
        file.write("old and whole\n")
    words = await hands.error("write", path="a.txt", content="new\n" * 1000)
    edit_words = await hands.error("edit", path="a.txt", oldText="old", newText="new")
    assert "the disk is full. The file was not changed." in words
    assert "the disk is full" in edit_words
    assert path.read_text() == "old and whole\n"
    assert names(project) == ["a.txt"]


@pytest.mark.usefixtures("full_disk")
async def test_a_full_disk_leaves_a_hard_linked_file_whole(
    hands: ToolCaller, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "a.txt"
    path.touch()
    with path.open("w") as file:
        file.write("old and whole\n")
    (project / "b.txt").hardlink_to(path)

    def full(descriptor: int, offset: int, count: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tools.file_and_process_operations.os.posix_fallocate", full)
    assert "the disk is full" in await hands.error("write", path="b.txt", content="new\n" * 1000)
    assert path.read_text() == "old and whole\n"


ON_A_SMALL_DISK = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tools.tool_definition import ToolContext, ToolError
from tools.builtin.edit import EditArguments, OldTextReplacementArgument, make_edit_tool_with_old_texts
from tools.builtin.write import WriteArguments, make_write_tool
folder = Path(sys.argv[1])
old = "old and whole\\n" * 2500
(folder / "a.txt").write_text(old)
(folder / "b.txt").write_text(old[:7000])
(folder / "c.txt").hardlink_to(folder / "b.txt")
context = ToolContext(call_id="1", cwd=folder)
edit = OldTextReplacementArgument(old_text=old[:-1], new_text="y" * 300_000)
for tool, arguments in (
    (make_write_tool(), WriteArguments(path="a.txt", content="x" * 300_000)),
    (make_write_tool(), WriteArguments(path="c.txt", content="x" * 300_000)),
    (make_write_tool(), WriteArguments(path="new.txt", content="x" * 300_000)),
    (make_edit_tool_with_old_texts(), EditArguments(path="a.txt", edits=(edit,))),
):
    try:
        print(asyncio.run(tool.run(arguments, context)).text)
    except ToolError as problem:
        print(problem)
assert (folder / "a.txt").read_text() == old
assert (folder / "b.txt").read_text() == old[:7000]
print(sorted(path.name for path in folder.iterdir()))
"""


def test_a_really_full_disk_leaves_every_file_whole(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk of its own needs user namespaces, which this system does not allow")
    mount = 'mount -t tmpfs -o size=96k tmpfs "$1" && exec "$2" -c "$3" "$1" "$4"'
    root = str(Path(__file__).parents[2])
    argv = ["unshare", "-rm", "sh", "-c", mount, "sh", str(tmp_path), sys.executable, ON_A_SMALL_DISK, root]
    told = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 5 and all("the disk is full" in line for line in lines[:4])
    assert lines[4] == "['a.txt', 'b.txt', 'c.txt']"


@pytest.mark.parametrize("tool", ["write", "edit"])
async def test_a_file_shared_with_a_cache_is_replaced_also_without_a_sandbox(
    hands: ToolCaller, project: Path, tmp_path: Path, tool: str
) -> None:
    """As uv and pnpm install: the other projects that have the file keep it."""
    cached = tmp_path / "cache.txt"
    cached.write_text("old\n")
    (project / "module.txt").hardlink_to(cached)
    if tool == "write":
        await hands("write", path="module.txt", content="new\n")
    else:
        await hands("edit", path="module.txt", oldText="old", newText="new")
    assert (project / "module.txt").read_text() == "new\n" and cached.read_text() == "old\n"
