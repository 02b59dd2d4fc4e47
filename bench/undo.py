"""Measures undo: recording changes, commands in trees of all sizes, restoring, and opening
afterwards.

CPU time includes children. References are measured on the same files directly before."""

import asyncio
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.sessions.session_ids import session_sidecar_path
from app.sessions.session_log import SessionLog
from app.undo.change_ledger import FileChangeLedger, UndoLedgerLine, UnfinishedFileOperations
from app.undo.change_records import FILE_CHANGES_ENTRY_TYPE as FILES_TYPE
from app.undo.change_records import FileChangesData, RecordedFileChange, file_data_to_entry_data
from app.undo.content_store import UndoStoreSettings
from app.undo.session_undo import SessionUndo, open_session_undo
from app.values.entries import CustomEntry, MessageEntry
from app.values.messages import user_message
from bench.table import Row
from tools.file_and_process_operations import LocalFileOperations
from tools.files.atomic_replacement import swap_in_new_file
from tools.files.file_changes import FileChangeQueue, FileStateBeforeChange, NewFileContent
from tools.tool_definition import FileChange

SMALL, LARGE = 1_000, 100_000
"""The numbers of files in the trees in which a command runs."""
RESTORED = 1_000
CHANGES = 10_000
_EDITED = 100_000
_STATUS = ("git", "status", "--porcelain=v2", "-z", "-uall", "--no-renames", "--ignored=matching")


def rows(small: int = SMALL, large: int = LARGE) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        yield _editing(root / "edit")
        if shutil.which("git") is not None:
            for count in (small, large):
                yield from _commands(root / f"tree{count}", count)
            yield _commands_at_once(root / "at-once")
        yield from _restore_rows(root / "back")
        yield _opening(root / "open")


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _best(work: Callable[[], object], repeat: int = 5) -> float:
    """Returns the CPU seconds of the cheapest of several runs."""
    found: list[float] = []
    for _ in range(repeat):
        began = _cpu()
        work()
        found.append(_cpu() - began)
    return min(found)


def _start_undo(folder: Path) -> tuple[Path, SessionUndo]:
    project = folder / "project"
    project.mkdir(parents=True)
    place = UndoStoreSettings(store=folder / "agent" / "blobs", home=folder, may_ask_git=lambda: False)
    log = SessionLog.create(folder, project)
    return project, open_session_undo(log, place, project, limit=lambda: 32 << 20)


def _editing(folder: Path) -> Row:
    project, parts = _start_undo(folder)
    path = project / "file"
    numbers = iter(range(1_000_000))

    async def edit(queue: FileChangeQueue) -> None:
        def compute(state: FileStateBeforeChange | None) -> NewFileContent:
            text = f"{next(numbers)} line of a file\n"
            return NewFileContent(data=(text * (_EDITED // len(text))).encode())

        await queue.change_file(str(path), f"call{next(numbers)}", compute)

    def measured(keeps: bool) -> float:
        queue = FileChangeQueue(LocalFileOperations())
        if keeps:
            queue.subscribe_before_changes(parts.recorder.record_before_write)
            queue.subscribe(lambda change: _record_change(parts, change))
        asyncio.run(edit(queue))
        return _best(lambda: asyncio.run(edit(queue)), 20)

    with_it, without = measured(True), measured(False)
    return Row(
        name="before-image of an edit of 100 KB, CPU beside the edit",
        figure=(with_it - without) * 1000,
        unit="ms",
        ratio=with_it / without,
        reference="the edit alone",
        limit="under 3 ms",
    )


def _record_change(parts: SessionUndo, change: FileChange) -> None:
    parts.recorder.record_write_done(change)


def _commands_at_once(folder: Path) -> Row:
    """Measures a hundred commands that write files, all started at the same time."""
    project, parts = _tree(folder, 2_000)

    async def one(number: int, watched: bool) -> None:
        if watched:
            await parts.watch.scan_before(f"c{number}")
        command = f"sleep 0.1; echo {number} > out{number}; echo more >> d0/s0/f{number % 20}.py"
        await (await asyncio.create_subprocess_exec("sh", "-c", command, cwd=project)).wait()
        if watched:
            await parts.watch.scan_after(f"c{number}")

    async def all_of_them(watched: bool) -> float:
        began = time.perf_counter()
        await asyncio.gather(*(one(number, watched) for number in range(100)))
        return time.perf_counter() - began

    without, watched = asyncio.run(all_of_them(False)), asyncio.run(all_of_them(True))
    return Row(
        name="100 commands at once that write, in a git tree of 2,000 files",
        figure=watched,
        unit="s",
        ratio=watched / without,
        reference="the same without looks",
        limit="2x",
    )


def _tree(folder: Path, count: int) -> tuple[Path, SessionUndo]:
    """Creates a repository of `count` files, with undo for it."""
    project, parts = _start_undo(folder)
    for number in range(count):
        path = project / f"d{number // 400}" / f"s{number // 20 % 20}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function_{number}(a):\n    return a * {number}\n" * 20)
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    for words in (
        ("init", "-q"),
        ("config", "gc.auto", "0"),  # which would go on behind the commit
        ("add", "-A"),
        ("-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "one"),
    ):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)

    return project, parts


def _commands(folder: Path, count: int) -> Iterator[Row]:
    project, parts = _tree(folder, count)
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}

    def two_bare() -> None:
        for _ in range(2):
            subprocess.run(_STATUS, cwd=project, env=environment, stdout=subprocess.DEVNULL, check=True)

    numbers = iter(range(1_000_000))
    held: list[float] = []

    async def both() -> None:
        key = f"c{next(numbers)}"
        watching = asyncio.ensure_future(_longest_hold(held))
        await parts.watch.scan_before(key)
        await parts.watch.scan_after(key)
        watching.cancel()

    two_bare()
    asyncio.run(both())
    held.clear()
    repeat = 5 if count > 10_000 else 15
    bare, watched = _best(two_bare, repeat), _best(lambda: asyncio.run(both()), repeat)
    yield Row(
        name=f"command in a git tree of {count:,} files, both looks, CPU",
        figure=watched * 1000,
        unit="ms",
        ratio=watched / bare,
        reference="two bare git status",
        limit="1.2x; 1,000 files under 25 ms",
    )
    yield Row(
        name=f"longest that the loop was held meanwhile, {count:,} files",
        figure=min(held) * 1000 if held else 0,
        unit="ms",
        limit="a frame",
    )


async def _longest_hold(found: list[float]) -> None:
    longest = 0.0
    try:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began - 0.001)
    finally:
        found.append(longest)


def _restore_rows(folder: Path) -> Iterator[Row]:
    project, parts = _start_undo(folder)
    log = parts.log
    queue = FileChangeQueue(LocalFileOperations())
    queue.subscribe_before_changes(parts.recorder.record_before_write)
    queue.subscribe(lambda change: _record_change(parts, change))

    async def write_all(version: int) -> None:
        log.append(MessageEntry(parent_id=None, message=user_message(f"version {version}")))
        for number in range(RESTORED):
            text = f"{number} {version}\n" * 300
            await queue.change_file(
                str(project / f"f{number}"),
                f"call{version}",
                lambda state, text=text: NewFileContent(data=text.encode()),
            )
        data = parts.recorder.take_changes_of_call(f"call{version}", "write")
        assert data is not None
        log.append(CustomEntry(parent_id=None, custom_type=FILES_TYPE, data=file_data_to_entry_data(data)))

    for version in range(2):
        asyncio.run(write_all(version))
    began, cpu = time.perf_counter(), _cpu()
    plan = parts.restores.plan_undo()
    yield Row(
        name="preview of 1,000 files",
        figure=time.perf_counter() - began,
        unit="s",
        limit="0.3 s",
    )
    bare = _bare_swap_seconds(folder / "bare")
    began, cpu = time.perf_counter(), _cpu()
    done = parts.restores.carry_out_restore_plan(plan, {})
    assert done.total == RESTORED
    seconds, cpu = time.perf_counter() - began, _cpu() - cpu
    yield Row(name="undo of 1,000 files, CPU", figure=cpu, unit="s", limit="0.5 s")
    yield Row(
        name="undo of 1,000 files",
        figure=seconds,
        unit="s",
        ratio=seconds / bare,
        reference="as many written beside and renamed",
        limit="1 s",
    )


def _bare_swap_seconds(folder: Path) -> float:
    """Returns the seconds that the disk takes for the same writes now."""
    folder.mkdir()
    began = 0.0
    for version in range(2):
        began = time.perf_counter()
        for number in range(RESTORED):
            text = f"{number} {version}\n" * 300
            swap_in_new_file(str(folder / f"f{number}"), text.encode(), mode=0o644)
    return time.perf_counter() - began


def _opening(folder: Path) -> Row:
    folder.mkdir()
    plain, changed = (_session(folder / name, has_changes=name == "changed") for name in ("plain", "changed"))

    def open_it(path: Path) -> Callable[[], object]:
        def work() -> None:
            log = SessionLog.open(path, read_only=True)
            assert (
                FileChangeLedger(session_sidecar_path(path, "files")).unfinished_operations()
                == UnfinishedFileOperations()
            )
            log.close()

        return work

    bare, with_it = _best(open_it(plain), 7), _best(open_it(changed), 7)
    return Row(
        name="opening a session of 10,000 changes, CPU",
        figure=with_it * 1000,
        unit="ms",
        ratio=with_it / bare,
        reference="as many other entries of that size",
        limit="no slower",
    )


def _session(folder: Path, *, has_changes: bool) -> Path:
    _, parts = _start_undo(folder)
    parts.log.append(MessageEntry(parent_id=None, message=user_message("go")))
    for number in range(CHANGES):
        change = {"path": f"src/f{number}.py", "before": None, "after": {"hash": "0" * 64, "size": 10}}
        data = file_data_to_entry_data(FileChangesData(call_id=f"call{number}", tool="write"))
        data["changes"] = [change]
        kind = FILES_TYPE if has_changes else "bench.other"
        parts.log.append(CustomEntry(parent_id=None, custom_type=kind, data=data))
        if has_changes:
            parts.recorder.ledger.append_operation_begin(
                UndoLedgerLine(
                    kind="change", id=f"call{number}", change=RecordedFileChange(path=f"f{number}")
                )
            )
            parts.recorder.mark_recorded(f"call{number}")
    path = parts.log.path
    assert path is not None
    parts.log.close()
    return path
