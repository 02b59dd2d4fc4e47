"""Programs that look at code and fail, hang, or say too much: named, bounded, ended, and nothing of them left."""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from app.providers.scripted import call, fail, say
from app.values.diagnostics import DiagnosticsEnd, DiagnosticsStart
from app.values.events import AgentSettled
from tests.engine.diagnosed_session import change, diagnosed_session, diagnostic_texts, warnings, write


async def test_missing_linters_are_reported_once(tmp_path: Path):
    harness = diagnosed_session(
        tmp_path,
        *(call("write", path="a.txt", content="1"), say("done")),
        *(call("write", path="a.txt", content="2"), say("done")),
        command="no-such-linter {files}",
    )
    await harness.prompt("go")
    await harness.prompt("go")
    assert warnings(harness) == ["Diagnostics: no-such-linter is not found."]
    assert diagnostic_texts(harness) == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11"),
        (
            "import sys; print('Oops: error in settings', file=sys.stderr); sys.exit(3)",
            "Oops: error in settings",
        ),
        ("import sys; sys.exit(2)", "exit code 2"),
    ],
)
async def test_a_program_that_breaks_is_named_and_passed_over(tmp_path: Path, script: str, why: str):
    (tmp_path / "broken.py").write_text(script)
    harness = diagnosed_session(
        tmp_path,
        call("write", path="a.txt", content="1"),
        say("done"),
        command=f"{sys.executable} {tmp_path}/broken.py",
    )
    await harness.prompt("go")
    [text] = warnings(harness)
    assert why in text and diagnostic_texts(harness) == []
    assert harness.all(AgentSettled)[0].aborted is False


async def test_output_without_end_is_bounded(tmp_path: Path):
    (tmp_path / "loud.py").write_text(
        "n = 0\nwhile True:\n    n += 1\n    print(f'a.txt:{n}:1: error: ' + 'x' * 1000)"
    )
    harness = diagnosed_session(
        tmp_path,
        call("write", path="a.txt", content="1"),
        say("done"),
        say("oh"),
        command=f"{sys.executable} {tmp_path}/loud.py",
    )
    await harness.prompt("go")
    assert "more are not shown" in diagnostic_texts(harness)[0]
    assert "more than 4 MB" in warnings(harness)[0]


async def test_one_that_takes_too_long_is_ended_with_its_children(tmp_path: Path):
    pids = tmp_path / "pids"
    (tmp_path / "slow.sh").write_text(f"sleep 1000 & echo $$ $! > {pids}; wait\n")
    harness = diagnosed_session(
        tmp_path,
        call("write", path="a.txt", content="1"),
        say("done"),
        command=f"sh {tmp_path}/slow.sh",
    )
    harness.effective_settings.set("diagnostics.timeoutSeconds", 3)
    await harness.prompt("go")
    assert "took longer than 3 seconds" in warnings(harness)[0]
    assert [is_alive(pid) for pid in pids.read_text().split()] == [False, False]


async def test_an_abort_ends_it_with_its_children_and_leaves_no_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It hangs where it looks at the folder as it was before."""
    images = tmp_path / "images"
    images.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(images))
    pids = tmp_path / "pids"
    spoken = Spoken(pids)
    (tmp_path / "slow.sh").write_text(
        f"case $PWD in */bayou-before-*) sleep 1000 & echo $$ $! > {pids}; wait;; *) echo a.txt:1:1: bad;; esac\n"
    )
    harness = diagnosed_session(
        tmp_path, change("a.txt", "one", "two"), say("done"), command=f"sh {tmp_path}/slow.sh"
    )
    write(harness, "a.txt", "one\n")
    await harness.session.prompt("go")
    running = (await spoken.words()).split()
    assert [is_alive(pid) for pid in running] == [True, True] and list(images.iterdir())
    await harness.session.abort()
    # One that was just being started is ended by its watcher, beside the abort.
    assert await asyncio.to_thread(left_of, running) == []
    assert harness.all(DiagnosticsEnd)[0].aborted and harness.all(AgentSettled)[0].aborted
    assert diagnostic_texts(harness) == [] and list(images.glob("bayou-before-*")) == []


class Spoken:
    """Where a program says that it runs; waited for, but not for ever."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    async def words(self) -> str:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._descriptor, ready.set)
        try:
            async with asyncio.timeout(30):
                await ready.wait()
            return os.read(self._descriptor, 4096).decode()
        finally:
            loop.remove_reader(self._descriptor)
            os.close(self._descriptor)


def left_of(pids: list[str]) -> list[str]:
    """Those that have not ended, once they had the time to."""
    latest = time.monotonic() + 10
    while time.monotonic() < latest and any(map(is_alive, pids)):
        time.sleep(0.01)
    return [pid for pid in pids if is_alive(pid)]


def is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_what_an_abort_left_unlooked_at_is_looked_at_with_the_next_change(tmp_path: Path):
    gate = asyncio.Event()
    harness = diagnosed_session(
        tmp_path,
        change("a.txt", "one", "BAD"),
        say("half", gate=gate),
        say("hello"),
        change("a.txt", "two", "deux"),
        say("nothing more"),
        say("I see"),
    )
    write(harness, "a.txt", "one\ntwo\n")
    await harness.session.prompt("go")
    await harness.until(lambda: len(harness.script.received_contexts) == 2)
    await harness.session.abort()
    await harness.prompt("hello")
    assert diagnostic_texts(harness) == [] and harness.all(DiagnosticsStart) == [], (
        "unchanged files cause no wait"
    )
    await harness.prompt("go on")
    assert "a.txt:1:1: error: BAD" in diagnostic_texts(harness)[0]


async def test_what_is_said_while_it_is_looked_at_is_heard(tmp_path: Path):
    ready, go = tmp_path / "ready", tmp_path / "go"
    spoken = Spoken(ready)
    os.mkfifo(go)
    (tmp_path / "waits.py").write_text(
        f"file = open({str(ready)!r}, 'w'); file.write('ready'); file.flush(); open({str(go)!r}).read()"
    )
    harness = diagnosed_session(
        tmp_path,
        call("write", path="a.txt", content="1"),
        say("done"),
        say("heard"),
        command=f"{sys.executable} {tmp_path}/waits.py",
    )
    await harness.session.prompt("go")
    assert await spoken.words() == "ready"
    await harness.session.queue("steering", "and this")
    await asyncio.to_thread(go.write_text, "")
    await harness.session.wait_until_idle()
    assert harness.session.messages[-1].content[0].text == "heard"  # type: ignore[union-attr]


async def test_after_a_failed_answer_no_program_runs(tmp_path: Path):
    harness = diagnosed_session(tmp_path, call("write", path="a.txt", content="BAD"), fail("no", status=400))
    await harness.prompt("go")
    assert harness.all(DiagnosticsStart) == []
