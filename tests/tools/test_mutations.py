"""Changes of one file are serial in call order, those of different files parallel; all are reported."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.file_and_process_operations import LocalFileOperations
from tools.files.file_changes import (
    FileChangeQueue,
    FileStateBeforeChange,
    NewFileContent,
    PendingFileChange,
    hash_file_content,
)
from tools.tool_definition import FileChange


def append(letter: str) -> Callable[[FileStateBeforeChange | None], NewFileContent]:
    return lambda state: NewFileContent(data=(state.data if state else b"") + letter.encode())


async def settle() -> None:
    """Lets everything that can run reach its next wait."""
    for _ in range(20):
        await asyncio.sleep(0)
        await asyncio.to_thread(lambda: None)


async def test_changes_of_one_file_keep_the_call_order(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    path = tmp_path / "file"
    names = [str(path), str(tmp_path / "link"), str(tmp_path / "hard")]
    path.write_text("")
    (tmp_path / "link").symlink_to("file")
    os.link(path, tmp_path / "hard")
    letters = "abcdefghijklmnopqrstuvwxyz"
    await asyncio.gather(
        *(
            queue.change_file(names[number % 3], letter, append(letter))
            for number, letter in enumerate(letters)
        )
    )
    assert path.read_text() == letters


async def test_a_new_file_is_one_file_before_and_after_it_exists(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    path = str(tmp_path / "new")
    await asyncio.gather(*(queue.change_file(path, letter, append(letter)) for letter in "abcdef"))
    assert (tmp_path / "new").read_text() == "abcdef"


async def test_different_files_do_not_wait_for_each_other(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    may_go_on = threading.Event()

    def waits(state: FileStateBeforeChange | None) -> NewFileContent:
        may_go_on.wait()
        return NewFileContent(data=b"late")

    slow = asyncio.create_task(queue.change_file(str(tmp_path / "slow"), "1", waits))
    await queue.change_file(str(tmp_path / "fast"), "2", append("x"))
    assert not slow.done()
    may_go_on.set()
    await slow


async def test_a_cancelled_waiter_neither_blocks_nor_lets_others_overtake(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    path = str(tmp_path / "file")
    may_go_on = threading.Event()

    def waits(state: FileStateBeforeChange | None) -> NewFileContent:
        may_go_on.wait()
        return NewFileContent(data=b"first,")

    first = asyncio.create_task(queue.change_file(path, "1", waits))
    await settle()
    second = asyncio.create_task(queue.change_file(path, "2", append("second,")))
    await settle()
    third = asyncio.create_task(queue.change_file(path, "3", append("third,")))
    await settle()
    second.cancel()
    await settle()
    assert not third.done()
    may_go_on.set()
    await asyncio.gather(first, third)
    assert second.cancelled()
    assert (tmp_path / "file").read_text() == "first,third,"


async def test_a_change_that_has_begun_is_finished_and_told_though_its_caller_is_gone(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    told: list[FileChange] = []
    queue.subscribe(told.append)
    began, may_go_on = threading.Event(), threading.Event()

    def waits(state: FileStateBeforeChange | None) -> NewFileContent:
        began.set()
        may_go_on.wait()
        return NewFileContent(data=b"done")

    change = asyncio.create_task(queue.change_file(str(tmp_path / "file"), "1", waits))
    await asyncio.to_thread(began.wait)
    change.cancel()
    await settle()
    assert not change.done()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await change
    assert (tmp_path / "file").read_bytes() == b"done"
    assert [change.call_id for change in told] == ["1"]


async def test_each_change_is_reported_with_before_and_after(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    told: list[FileChange] = []
    heard: list[PendingFileChange] = []
    queue.subscribe_before_changes(heard.append)
    unsubscribe = queue.subscribe(told.append)
    path = tmp_path / "file"
    await queue.change_file(str(path), "1", append("a"))
    path.chmod(0o600)
    await queue.change_file(str(path), "2", append("b"))
    unsubscribe()
    await queue.change_file(str(path), "3", append("c"))
    first, second = told
    assert (first.before_hash, first.mode_before) == (None, None)
    assert first.after_hash == second.before_hash == hash_file_content(b"a")
    assert (second.mode_before, second.mode_after) == (0o600, 0o600)
    assert [(intent.before and intent.before.data, intent.data) for intent in heard] == [
        (None, b"a"),
        (b"a", b"ab"),
        (b"ab", b"abc"),
    ]


async def test_a_failing_change_leaves_the_file_and_is_not_reported(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    told: list[FileChange] = []
    queue.subscribe(told.append)
    path = tmp_path / "file"
    path.write_text("old")

    def fails(state: FileStateBeforeChange | None) -> NewFileContent:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await queue.change_file(str(path), "1", fails)
    await queue.change_file(str(path), "2", append("!"))
    assert path.read_text() == "old!"
    assert len(told) == 1


async def test_a_listener_that_fails_loses_no_event_for_others(tmp_path: Path) -> None:
    queue = FileChangeQueue(LocalFileOperations())
    told: list[FileChange] = []
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda loop, context: complaints.append(context["message"])
    )

    def fails(change: FileChange) -> None:
        raise ValueError

    queue.subscribe(fails)
    queue.subscribe(told.append)
    await queue.change_file(str(tmp_path / "file"), "1", append("a"))
    assert len(told) == 1
    assert complaints == ["A listener for file changes failed"]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=14),
    st.lists(st.integers(0, 13), max_size=6),
)
async def test_any_interleaving_keeps_order_and_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[int, bool]], cancelled: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("queue")
    queue = FileChangeQueue(LocalFileOperations())
    told: list[FileChange] = []
    queue.subscribe(told.append)
    (folder / "0").write_text("")
    (folder / "0-link").symlink_to("0")
    tasks: list[asyncio.Task[object]] = []
    for number, (file, through_link) in enumerate(calls):
        name = f"{file}-link" if through_link and file == 0 else str(file)
        tasks.append(
            asyncio.create_task(queue.change_file(str(folder / name), str(number), append(f"{number},")))
        )
        if number % 3 == 0:
            await asyncio.sleep(0)
        if number in cancelled:
            tasks[cancelled.index(number) % len(tasks)].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    done = {int(change.call_id) for change in told}
    assert {number for number, task in enumerate(tasks) if not task.cancelled()} <= done
    for file in range(3):
        path = folder / str(file)
        written = [int(part) for part in path.read_text().split(",")[:-1]] if path.exists() else []
        assert written == [
            number for number, (which, _) in enumerate(calls) if which == file and number in done
        ]
    assert queue.is_idle


async def test_a_file_that_another_program_changes_meanwhile_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\n")
    seen: list[bytes] = []

    def compute(state: FileStateBeforeChange | None) -> NewFileContent:
        assert state is not None
        seen.append(state.data)
        if len(seen) == 1:
            with path.open("ab") as file:
                file.write(b"theirs\n")
        return NewFileContent(data=state.data.replace(b"one", b"two"))

    await FileChangeQueue(LocalFileOperations()).change_file(str(path), "1", compute)
    assert seen == [b"one\n", b"one\ntheirs\n"]
    assert path.read_bytes() == b"two\ntheirs\n"


async def test_a_file_that_another_program_makes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def compute(state: FileStateBeforeChange | None) -> NewFileContent:
        if state is None:
            path.write_bytes(b"theirs\n")
        return NewFileContent(data=(state.data if state else b"") + b"ours\n")

    await FileChangeQueue(LocalFileOperations()).change_file(str(path), "1", compute)
    assert path.read_bytes() == b"theirs\nours\n"


async def test_a_concurrent_change_leaves_no_file_half_written(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_bytes(b"old\n")
    calls: list[int] = []

    def compute(states: Sequence[FileStateBeforeChange | None]) -> list[NewFileContent]:
        calls.append(1)
        if len(calls) == 1:
            paths[1].write_bytes(b"theirs, and longer\n")
        return [NewFileContent(data=(state.data if state else b"") + b"ours\n") for state in states]

    await FileChangeQueue(LocalFileOperations()).change_files_together(
        [str(path) for path in paths], "1", compute
    )
    assert [path.read_bytes() for path in paths] == [b"old\nours\n", b"theirs, and longer\nours\n"]


async def test_a_file_that_never_comes_to_rest_is_an_error_and_theirs_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")

    def compute(state: FileStateBeforeChange | None) -> NewFileContent:
        with path.open("ab") as file:
            file.write(b"x")
        return NewFileContent(data=b"ours")

    with pytest.raises(OSError, match="Another program keeps changing it"):
        await FileChangeQueue(LocalFileOperations()).change_file(str(path), "1", compute)
    assert set(path.read_bytes()) == {ord("x")}


_APPENDS = """
import asyncio, sys
from tools.files.file_changes import FileChangeQueue, NewFileContent
from tools.file_and_process_operations import LocalFileOperations

async def main(path, name):
    queue = FileChangeQueue(LocalFileOperations())
    for number in range(150):
        line = f"{name} {number}\\n".encode()
        await queue.change_file(path, line.decode(), lambda state: NewFileContent(data=state.data + line))

asyncio.run(main(*sys.argv[1:]))
"""


def test_two_processes_that_change_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    running = [subprocess.Popen([sys.executable, "-c", _APPENDS, str(path), name]) for name in "ab"]
    assert [process.wait() for process in running] == [0, 0]
    lines = path.read_text().splitlines()
    for name in "ab":
        assert [line for line in lines if line.startswith(name)] == [
            f"{name} {number}" for number in range(150)
        ]
