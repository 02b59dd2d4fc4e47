"""Machines with 400 MB, folders with a million files, conversations of ten thousand turns."""

import os
import resource
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.scripted_session import ScriptedSession
from tests.hostile.setups import (
    COLD_BAYOU,
    MODEL,
    answer_body,
    ending,
    piece,
    run,
    tool_call_body,
    use_model_at,
    write_user_settings,
)
from tests.modes.processes import COLD_RPC, lines_until, put, start
from tests.providers.loopback import Received, Reply, loopback, sse
from tests.support import terminals
from tests.support.terminals import terminal
from tests.tools.conftest import ToolCaller
from tools.builtin import find
from tools.session_workspace import SessionWorkspace

SMALL = 400 << 20
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc as Linux has them")


def a_small_machine() -> None:
    """All that is mapped counts, so that it is harder than on such a machine."""
    resource.setrlimit(resource.RLIMIT_AS, (SMALL, SMALL))


def resident(pid: int) -> float:
    """Megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


# 400 MB


@on_linux
def test_the_full_screen_runs_reads_completes_and_lists_in_400_megabytes(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "boat.py").write_text("def row():\n    return 'by hand'\n")
    with terminal(project, "--offline", before=a_small_machine) as page:
        page.until("shows its work")
        page.press("run echo $((40 + 2)) boats\r")
        page.until("42 boats")
        page.press("read boat.py\r")
        page.until("by hand")
        page.press("@boa")
        page.until("boat.py")
        page.press("\x15/resume\r")
        page.until("Sessions in this folder")
        page.press("\x1b")
        page.until("Ask anything")
        assert resident(page.process.pid) < 120
        page.press("\x04")
        page.ended()
    assert page.process.returncode == 0


@on_linux
@pytest.mark.parametrize("mode", ["-p", "--mode=json"])
async def test_a_run_with_a_command_and_a_long_answer_in_400_megabytes(tmp_path: Path, mode: str):
    text = ("lorem ipsum dolor sit amet " * 4000)[:100_000]
    async with loopback() as server:
        use_model_at(server, models=[{"id": "m", "contextWindow": 10**9}])
        server.reply(
            Reply(body=tool_call_body("bash", command="seq 100000")),
            Reply(body=(*[sse(piece(text))] * 300, sse(ending(), done=True))),
        )
        with (tmp_path / "out").open("wb") as out:
            code, _, err = await run(
                *COLD_BAYOU, *MODEL, mode, "Say it", cwd=tmp_path, stdout=out, preexec_fn=a_small_machine
            )
    assert (code, err) == (0, "")
    assert (tmp_path / "out").stat().st_size > 30_000_000


async def test_an_answer_for_which_there_is_no_memory_is_explained(tmp_path: Path):
    def too_long(*_: object) -> str:
        raise MemoryError

    harness = ScriptedSession(tmp_path, too_long)  # pyright: ignore[reportArgumentType]
    await harness.prompt("go on for ever")
    answer = harness.session.last_answer
    assert answer is not None and "not enough memory" in (answer.error_message or "")


# A million files


async def test_of_many_files_that_match_the_newest_are_named_and_all_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(find, "_MAX_LOOSE_FIND_MATCHES", 7)
    for number in range(200):
        path = tmp_path / f"{number % 7}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (1e9 + number * 7919 % 200, 1e9 + number * 7919 % 200))
    text = await ToolCaller(SessionWorkspace(tmp_path)).text("find", pattern="*.txt", limit=5)
    newest = sorted(range(200), key=lambda number: -(number * 7919 % 200))[:5]
    assert text.split("\n\n")[0].split() == [f"{number % 7}/{number}.txt" for number in newest]
    assert "(200 found)" in text


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and os.statvfs(memory).f_favail > 1_200_000
    root = memory / f"bayou-million-{os.getpid()}" if roomy else tmp_path_factory.mktemp("million")
    try:
        for number in range(10_000):
            folder = root / f"pkg{number // 100:02}" / f"mod{number % 100:02}"
            folder.mkdir(parents=True)
            for file in range(100):
                os.close(os.open(folder / f"file_{file:02}.py", os.O_CREAT | os.O_WRONLY))
        (root / "pkg77" / "needle.txt").write_text("a needle\n")
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@on_linux
@pytest.mark.long
def test_completing_among_a_million_files(million: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(terminals, "LIMIT", 120)
    with terminal(million, "--offline") as page:
        page.until("shows its work")
        page.press("@pkg77nee")
        page.until("pkg77/needle.txt")
        page.press("\x15")
        for words, found in (
            ("@mod42file_07", "mod42/file_07.py"),
            ("@pkg99mod99file_99", "pkg99/mod99/file_99.py"),
        ):
            page.press(words)
            page.until(found)
            page.press("\x15")
        assert resident(page.process.pid) < 350


@pytest.mark.long
async def test_searching_a_million_files(million: Path):
    hands = ToolCaller(SessionWorkspace(million))
    assert (await hands.text("find", pattern="needle*")) == "pkg77/needle.txt"
    found = await hands.text("find", pattern="**/*.py")
    assert "1000 results limit reached (1,000,000 found)" in found
    assert (await hands.text("grep", pattern="a needle")) == "pkg77/needle.txt:1: a needle"
    assert len((await hands.text("ls", path=".")).splitlines()) >= 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000 < 400


# Ten thousand turns


@on_linux
@pytest.mark.parametrize("turns", [300, pytest.param(10_000, marks=pytest.mark.long)])
async def test_turns_cost_the_same_and_keep_what_was_said_and_no_more(tmp_path: Path, turns: int):
    """A window that is summarised again and again, as it is in sessions of that length."""
    async with loopback() as server:
        use_model_at(server, models=[{"id": "m", "contextWindow": 6000}])
        write_user_settings(compaction={"reserveTokens": 1500, "keepRecentTokens": 1000})

        def answering(received: Received) -> Reply:
            server.requests.clear()
            return Reply(body=answer_body("an answer of some words " * 4))

        server.reply(answering)
        folder = tmp_path / "s"
        process = await start(tmp_path, *MODEL, "--session-dir", str(folder), command=COLD_RPC)
        marks: list[Mark] = []
        for number in range(turns):
            put(process, type="prompt", message=f"please tell me more of {number} " * 5)
            await lines_until(process, type="agent_settled")
            if number in (turns // 10, turns // 2, turns - 1):
                marks.append(Mark(process.pid, folder))
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
    early, middle, late = marks
    assert late.files <= early.files + 2 and late.threads <= 12
    assert late.resident - early.resident < 12 + 4 * (late.written - early.written)
    first, second = (middle.seconds - early.seconds) / 4, (late.seconds - middle.seconds) / 5
    assert second < 1.5 * first + 0.2


class Mark:
    """A process at one moment: megabytes in memory and in its session, open files, threads, seconds of CPU."""

    def __init__(self, pid: int, folder: Path) -> None:
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self.seconds = (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
        self.threads = int(numbers[17])
        self.files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        self.resident = resident(pid)
        self.written = sum(file.stat().st_size for file in folder.glob("*.jsonl")) / 1e6
