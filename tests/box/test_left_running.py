"""No process in a sandbox goes on behind its command; a background job's does until that ends."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.providers.scripted import say
from app.values.events import Notice
from tests.box.boxed_commands import BoxedCommands
from tests.box.conftest import skip_below
from tests.box.test_set_aside import boxed_session
from tests.permits.test_gate import questions_asked, results
from tests.tools.conftest import until
from tools.box.sandbox_instructions import ConfinementMethod
from tools.tool_definition import ToolError

BEATS = "setsid -f sh -c 'while :; do date +%N > beat; sleep 0.05; done' >/dev/null 2>&1; sleep 0.2"


def still_beats(folder: Path) -> bool:
    before = (folder / "beat").read_text()
    time.sleep(0.3)
    return (folder / "beat").read_text() != before


async def test_a_process_left_running_ends_with_its_command_and_the_result_says_so(tmp_path: Path) -> None:
    harness = boxed_session(tmp_path, command=BEATS)
    assert await questions_asked(harness) == []
    assert not still_beats(harness.session.cwd)
    assert "were ended with it" in results(harness)[0] and "background: true" in results(harness)[0]


SIGNALS = {
    "kills its watcher": "kill -9 $watcher",
    "stops its watcher": "kill -STOP $watcher",
    "kills the supervisor": "kill -9 $supervisor",
    "stops the supervisor": "kill -STOP $supervisor",
    "kills both": "kill -9 $supervisor $watcher",
    "stops both": "kill -STOP $watcher $supervisor",
    "stops the supervisor and kills its watcher": "kill -STOP $supervisor; kill -9 $watcher",
}


@pytest.mark.parametrize("attack", SIGNALS.values(), ids=SIGNALS)
async def test_a_command_that_ends_what_watches_it_ends_with_its_processes(
    project: Path, boxed: Callable[[ConfinementMethod], BoxedCommands], attack: str
) -> None:
    hands = boxed("namespaces")
    if not hands.workspace.abilities().supports_landlock_scopes:
        pytest.skip("without Landlock's scopes the guard of the supervisor can be reached, too")
    outcome = await hands.outcome(
        f"{BEATS}; export watcher=$PPID; export supervisor=$(ps -o ppid= -p $watcher); {attack}; sleep 600"
    )
    assert outcome.exit_code == -9
    await until(lambda: not still_beats(project))
    assert await hands.text("echo still here", "d") == "still here\n"


async def test_what_a_command_made_before_it_killed_its_watcher_at_once_is_moved_away(
    project: Path, boxed: Callable[[ConfinementMethod], BoxedCommands]
) -> None:
    hands = boxed("namespaces")
    for number in range(20):
        outcome = await hands.outcome("echo evil > .envrc; kill -9 $PPID", f"c{number}")
        assert [one.path for one in outcome.moved_autorun_files] == [str(project / ".envrc")]
        assert not (project / ".envrc").exists()


async def test_what_a_command_made_whose_start_failed_is_moved_away_and_named_later(
    project: Path, boxed: Callable[[ConfinementMethod], BoxedCommands], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*given: object, **more: object) -> None:
        (project / ".envrc").write_text("evil")
        raise ToolError("The command could not be started.")

    hands = boxed("namespaces")
    monkeypatch.setattr("tools.running.running_command.start_command_process", fail)
    with pytest.raises(ToolError):
        await hands.started("true")
    assert not (project / ".envrc").exists()
    (note,) = await hands.boxes.autorun_file_notes_between_calls()
    assert ".envrc" in note and "a command that did not finish its start" in note
    assert await hands.boxes.autorun_file_notes_between_calls() == []


HEADLESS = """
import ctypes, platform, threading, time
from pathlib import Path

def beat():
    for _ in range(400):
        Path("beat").write_text(str(time.monotonic()))
        time.sleep(0.05)

threading.Thread(target=beat).start()
while not Path("beat").exists():
    time.sleep(0.01)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""
"""A program whose first thread ends: to the system it looks like one that has ended."""


async def test_a_process_whose_first_thread_has_ended_ends_with_its_command_too(tmp_path: Path) -> None:
    harness = boxed_session(
        tmp_path,
        command="(setsid python3 ../headless.py >/dev/null 2>&1 </dev/null &); until [ -e beat ]; do sleep 0.05; done",
    )
    (harness.session.cwd.parent / "headless.py").write_text(HEADLESS)
    await questions_asked(harness)
    assert not still_beats(harness.session.cwd)


MISSED = """
import os, subprocess
from tools.running import supervisor

supervisor._find_descendants = lambda parent, command: set()
child = subprocess.Popen(["sleep", "60"])
supervisor._kill_command_processes(os.getpid(), 0, lambda: child.poll() is not None)
print(child.poll())
child.kill()
"""
"""Ends a process that no list of all processes names, as one that forks and ends at once."""


def test_a_process_that_the_list_of_processes_misses_ends_too() -> None:
    done = subprocess.run([sys.executable, "-c", MISSED], capture_output=True, text=True, check=True)
    assert done.stdout == "-9\n"


async def test_what_is_about_to_end_may_finish_its_work(tmp_path: Path) -> None:
    harness = boxed_session(
        tmp_path, command="(sleep 0.4; echo whole > late) >/dev/null 2>&1 & echo started; exit 0"
    )
    await questions_asked(harness)
    assert (harness.session.cwd / "late").read_text() == "whole\n"
    assert "were ended" not in results(harness)[0]


async def test_in_a_shell_that_lasts_processes_go_on(home: Path, project: Path) -> None:
    skip_below("namespaces")
    hands = BoxedCommands(home, project, "namespaces", is_persistent=True)
    try:
        outcome = await hands.outcome(BEATS)
        assert not outcome.killed_survivors
        assert still_beats(project)
    finally:
        hands.close()


async def test_a_job_is_named_that_can_read_keys_which_came_after_it_began(tmp_path: Path) -> None:
    harness = boxed_session(tmp_path, command="mkfifo gate; read -r <gate", background=True)
    await questions_asked(harness)
    keys = tmp_path / "home" / ".aws"
    keys.mkdir()
    (keys / "credentials").write_text("a key of aws")
    for _ in range(2):
        harness.script.responses.append(say("again"))
        await questions_asked(harness)
    (said,) = [one.text for one in harness.all(Notice) if "began before" in one.text]
    assert "the job `mkfifo gate" in said and ".aws" in said and "end it with /jobs" in said
    harness.session.jobs.kill("job1")
    await harness.session.jobs.wait("job1")
