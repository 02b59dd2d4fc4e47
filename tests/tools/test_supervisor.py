"""No started process survives the end of bayou, of the supervisor or of a command's parents."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller, until
from tests.tools.test_bash import alive, until_gone
from tools.file_and_process_operations import CommandLine
from tools.running.local_processes import LocalProcesses
from tools.session_workspace import SessionWorkspace

ORPHAN = "(setsid env -i sleep {mark} >/dev/null 2>&1 </dev/null &)"
"""A process without its parent, in a separate session and group, with another environment."""


async def test_an_orphan_that_hides_is_reported_and_ends_with_the_session(
    hands: ToolCaller, workspace: SessionWorkspace
) -> None:
    text = await hands.text("bash", command=ORPHAN.format(mark="601.1"))
    assert "[Processes started by this command still run" in text
    assert alive("601.1")
    workspace.close()
    assert not alive("601.1")


async def test_ending_one_command_leaves_the_children_of_others_alone(hands: ToolCaller) -> None:
    await hands("bash", command=ORPHAN.format(mark="601.2"))
    text = await hands.text("bash", command=f"{ORPHAN.format(mark='601.3')}; sleep 600", timeout=1)
    assert "timed out" in text
    assert alive("601.2") and not alive("601.3")


async def test_a_command_without_leftovers_is_not_said_to_have_any(hands: ToolCaller) -> None:
    texts = await asyncio.gather(*(hands.text("bash", command="true | cat & wait; :") for _ in range(20)))
    assert set(texts) == {"(no output)"}


async def test_zombies_of_orphans_do_not_pile_up(hands: ToolCaller) -> None:
    text = await hands.text(
        "bash", command="for i in 1 2 3 4 5; do (true &); done; sleep 0.2; ps -o stat= --ppid $PPID"
    )
    assert "Z" not in text


async def test_a_command_is_distinguished_from_what_cannot_be_started(project: Path) -> None:
    processes = LocalProcesses()
    for command in (
        CommandLine(argv=("/no/such/program",), cwd=str(project), environment={}),
        CommandLine(argv=("/bin/true",), cwd=str(project / "nowhere"), environment={}),
    ):
        with pytest.raises(FileNotFoundError):
            await processes.start(command, 1)
    processes.close()


async def test_signals_have_their_usual_meaning_in_commands(hands: ToolCaller) -> None:
    ignored = int((await hands.text("bash", command="grep SigIgn /proc/$$/status")).split()[1], 16)
    assert ignored == 0


async def test_the_supervisor_shrugs_off_what_is_meant_for_others_and_is_replaced_when_killed(
    hands: ToolCaller,
) -> None:
    supervisor = "ps -o ppid= -p $PPID"
    number = int(await hands.text("bash", command=f"kill -TERM $PPID; {supervisor}"))
    os.kill(number, signal.SIGTERM)
    assert int(await hands.text("bash", command=supervisor)) == number
    os.kill(number, signal.SIGKILL)
    await until(lambda: " Z " in Path(f"/proc/{number}/stat").read_text())
    assert await hands.text("bash", command="echo still here") == "still here"


async def test_a_command_ends_with_its_watcher(hands: ToolCaller) -> None:
    result = await hands("bash", command="echo before; sleep 0.1; kill -9 $PPID; sleep 601.4")
    assert result.text.endswith("Command exited with code 137 (ended by SIGKILL)")
    await until_gone("601.4")


async def test_no_key_can_be_read_from_the_supervisor(
    hands: ToolCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key")
    text = await hands.text("bash", command="cat /proc/$PPID/environ | tr '\\0' '\\n'; echo end")
    assert "PATH=" in text and "planted-key" not in text


STARTING = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tools.tool_definition import ToolContext
from tools.builtin.bash import BashArguments, make_bash_tool
from tools.session_workspace import SessionWorkspace

async def main():
    workspace = SessionWorkspace(Path({cwd!r}))
    print("ready", flush=True)
    commands = ["sleep {mark}", "setsid sleep {mark} & wait", "(setsid env -i sleep {mark} &); sleep {mark}"]
    calls = []
    for number in range(60):
        arguments = BashArguments(command=commands[number % 3])
        calls.append(asyncio.ensure_future(make_bash_tool().run(arguments, ToolContext(
            call_id="1", cwd=workspace.cwd, workspace=workspace))))
        await asyncio.sleep(0)
    await asyncio.gather(*calls)

asyncio.run(main())
"""


async def _kill_while_starting(project: Path, mark: str, seconds: float) -> None:
    script = STARTING.format(root=str(Path.cwd()), cwd=str(project), mark=mark)
    # The supervisor, its watchers and the commands have the mark in their environment, if not in their words.
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/{mark}"}
    program = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment
    )
    assert program.stdout is not None
    assert await asyncio.to_thread(program.stdout.readline) == b"ready\n"
    await asyncio.sleep(seconds)
    os.kill(program.pid, signal.SIGKILL)
    await asyncio.to_thread(program.wait)
    program.stdout.close()
    await until(lambda: not alive(mark) and not _with_environment(mark))


def _with_environment(mark: str) -> list[str]:
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("seconds", [0.0, 0.015, 0.03, 0.06, 0.3])
async def test_nothing_survives_a_kill_of_bayou_while_it_starts_commands(
    project: Path, seconds: float
) -> None:
    await _kill_while_starting(project, f"601.5{int(seconds * 1000):03}7", seconds)


@pytest.mark.long
async def test_nothing_survives_a_kill_at_any_moment(project: Path) -> None:
    chance = random.Random()
    for number in range(150):
        await _kill_while_starting(project, f"601.6{number:03}7", chance.uniform(0, 0.3))
