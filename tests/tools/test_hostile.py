"""Hostile names, files and paths: each tool handles each of them."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tools.conftest import ToolCaller
from tools.file_and_process_operations import LocalFileOperations
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

NAMES = [
    "line\nfeed.txt",
    "tab\there.txt",
    'quo"te.txt',
    "apos'trophe.txt",
    "back`tick.txt",
    "-leading.txt",
    "--pre=evil.txt",
    "\u202egnp.txt",
    "עברית.txt",
    "😀 family 👩‍👩‍👧.txt",
    " spaces around .txt ",
    "semi;colon&&.txt",
    "$(touch pwned).txt",
    "*.txt",
    "[ab].txt",
    "{a,b}.txt",
    "esc\x1b[31m.txt",
    "bell\x07.txt",
    "a" * 250 + ".txt",
    "back\\slash.txt",
    "@at.txt",
    "~tilde.txt",
    "file.txt:10-12",
    "artifact:",
    "%41.txt",
]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", NAMES, ids=ascii)
async def test_any_name_is_found_listed_searched_and_changed(
    hands: ToolCaller, project: Path, name: str
) -> None:
    (project / name).write_text("needle\n")
    await hands("write", path=str(project / name), content="needle one\n")
    assert names(project) == [name]
    listed = await hands.text("ls")
    assert "\n" not in listed and "\x1b" not in listed and "\x07" not in listed
    assert (await hands.text("find", pattern="**")) == listed
    assert (await hands.text("grep", pattern="needle")) == f"{listed}:1: needle one"
    # What a listing shows can be used as a path.
    assert await hands.text("read", path=listed) == "needle one"
    await hands("edit", path=listed, oldText="one", newText="two")
    assert len(names(project)) == 1
    assert await hands.text("read", path=listed) == "needle two"


async def test_a_name_that_is_no_utf8_is_shown_and_harms_nothing(hands: ToolCaller, project: Path) -> None:
    (project / os.fsdecode(b"bad\xff.txt")).write_text("needle\n")
    for text in (
        await hands.text("ls"),
        await hands.text("find", pattern="*.txt"),
        await hands.text("grep", pattern="needle"),
    ):
        text.encode("utf-8")
        assert text.startswith("bad\ufffd.txt")


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
        listener.close()


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


MAKERS: dict[str, Callable[[Path], None]] = {
    "fifo": make_fifo,
    "socket": make_socket,
    "loop": make_loop,
    "device": make_device_link,
}
CALLS: dict[str, dict[str, Any]] = {
    "read": {},
    "write": {"content": "x"},
    "edit": {"oldText": "a", "newText": "b"},
    "grep": {"pattern": "x"},
    "ls": {},
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("tool", CALLS)
async def test_what_is_no_file_is_refused_and_never_waited_for(
    hands: ToolCaller, project: Path, tool: str, make: Callable[[Path], None]
) -> None:
    make(project / "odd")
    async with asyncio.timeout(10):
        try:
            text = await hands.text(tool, path="odd", **CALLS[tool])
            assert tool == "ls" and "is a file, not a directory" in text
        except ToolError as problem:
            assert "odd" in str(problem) or "zero" in str(problem)
    assert names(project) == ["odd"]


async def test_searches_walk_past_odd_files_and_loops(hands: ToolCaller, project: Path) -> None:
    for name, make in MAKERS.items():
        make(project / name)
    (project / "folder").mkdir()
    (project / "folder/up").symlink_to("..")
    (project / "real.txt").write_text("needle\n")
    async with asyncio.timeout(10):
        assert await hands.text("grep", pattern="needle") == "real.txt:1: needle"
        assert "real.txt" in await hands.text("find", pattern="*")


class Unreadable(LocalFileOperations):
    """Gives permissions as an ordinary user has them, also when root runs the tests."""

    def open(self, path: str) -> Any:
        if path.endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return super().open(path)


async def test_an_unreadable_file_is_reported(project: Path) -> None:
    (project / "secret").write_text("x")
    hands = ToolCaller(SessionWorkspace(project, files=Unreadable()))
    for tool, arguments in (("read", {}), ("edit", CALLS["edit"]), ("write", CALLS["write"])):
        assert "permission denied" in await hands.error(tool, path="secret", **arguments)
    assert (project / "secret").read_text() == "x"


@pytest.mark.parametrize("tool", [*CALLS, "find"])
async def test_senseless_paths_are_refused(hands: ToolCaller, tool: str) -> None:
    arguments = {**CALLS.get(tool, {"pattern": "x"})}
    assert "null byte" in await hands.error(tool, path="a\0b", **arguments)
    words = await hands.error(tool, path="x" * 5000, **arguments)
    assert len(words) < 6000


async def test_a_file_that_shrinks_while_it_is_read_is_reported(
    hands: ToolCaller, project: Path, workspace: SessionWorkspace
) -> None:
    path = project / "a.txt"
    path.write_text("line\n" * 100_000)
    await hands("read", path="a.txt", offset=90_000)

    class Shrinking(LocalFileOperations):
        def open(self, path: str) -> Any:
            with Path(path).open("r+b") as file:
                file.truncate(100)
            return super().open(path)

    workspace.files = Shrinking()
    words = await hands.error("read", path="a.txt", offset=95_000)
    assert "became shorter while it was read" in words


async def test_a_line_of_ten_megabytes_floods_nothing(hands: ToolCaller, project: Path) -> None:
    (project / "big").write_text("x" * 10_000_000 + "needle")
    for tool, arguments in (("read", {}), ("grep", {"pattern": "needle"})):
        assert len(await hands.text(tool, path="big", **arguments)) < 60_000


async def test_planted_escape_sequences_are_removed_everywhere(hands: ToolCaller, project: Path) -> None:
    planted = "needle \x1b]52;c;ZXZpbA==\x07 \x1b[2J \x1b[201~ \x9b31m\n"
    (project / "evil.txt").write_text(planted)
    texts = [
        await hands.text("read", path="evil.txt"),
        await hands.text("grep", pattern="needle"),
        await hands.text("bash", command="cat evil.txt"),
        await hands.error("edit", path="evil.txt", oldText="needle nowhere", newText="x"),
    ]
    result = await hands("edit", path="evil.txt", oldText="needle", newText="thread")
    texts += [result.text, str(result.details)]
    for text in texts:
        assert not {"\x1b", "\x07", "\x9b"} & set(text)
