"""Harbor's own programs drive bayou: its generic runner for ACP agents, and the command line of its adapter for pi.

Its environments are containers, which a test cannot count on, so the runner works in plain folders here.
"""

import json
import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.modes.test_run_result import python_for_harbor

SOLVER = ["-e", str(Path(__file__).with_name("solver.py")), "--model", "scripted/script"]
TASKS = {
    "write-file": ("Write ahoy into note.txt. Run: echo ahoy > note.txt", "grep -qx ahoy note.txt"),
    "count-lines": ("Count the lines. Run: wc -l < lines.txt > count.txt", 'test "$(cat count.txt)" -eq 3'),
    "fix-script": ("Mend add.sh. Run: sed -i s/-/+/ add.sh", 'test "$(sh add.sh)" = 5'),
}
"""Of each task its instruction and its test, which lie in the folder as Harbor has them."""


@pytest.fixture
def tasks(tmp_path: Path) -> list[Path]:
    folders = []
    for name, (instruction, check) in TASKS.items():
        folder = tmp_path / name
        for part in ("tests", "environment"):
            (folder / part).mkdir(parents=True)
        (folder / "task.toml").write_text('version = "1.0"\n[agent]\ntimeout_sec = 120.0\n')
        (folder / "instruction.md").write_text(instruction)
        (folder / "tests" / "test.sh").write_text(f"#!/bin/sh\n{check}\n")
        (folder / "environment" / "lines.txt").write_text("a\nb\nc\n")
        (folder / "environment" / "add.sh").write_text("echo $((2 - 3))\n")
        folders.append(folder)
    return folders


def is_solved(task: Path) -> bool:
    return (
        subprocess.run(["sh", task / "tests" / "test.sh"], cwd=task / "environment", check=False).returncode
        == 0
    )


def bayou(*words: str) -> str:
    package = shlex.quote(str(ROOT / "app" / "package"))
    return f"PYTHONPATH={package} exec {shlex.quote(sys.executable)} -P -m bayou {shlex.join(words)}"


@pytest.mark.installs
def test_harbors_runner_for_acp_agents_has_bayou_solve_tasks(
    tasks: list[Path], tmp_path: Path, outside: dict[str, str]
) -> None:
    env = {name: value for name, value in outside.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    python, base = tmp_path / "venv" / "bin" / "python", python_for_harbor()
    subprocess.run([base, "-m", "venv", "--without-pip", tmp_path / "venv"], env=env, check=True)
    pip = [sys.executable, "-m", "pip", "--python", python]
    subprocess.run([*pip, "install", "-q", "agent-client-protocol"], env=env, check=True)
    subprocess.run(
        [*pip, "download", "-q", "--no-deps", "-d", tmp_path, "harbor>=0.26,<0.27"], env=env, check=True
    )
    (wheel,) = tmp_path.glob("harbor-*.whl")
    runner = tmp_path / "acp_runner.py"
    runner.write_bytes(zipfile.ZipFile(wheel).read("harbor/agents/installed/acp_runner.py"))
    launcher = tmp_path / "launcher"
    launcher.write_text(f"#!/bin/sh\n{bayou('acp', *SOLVER)}\n")
    launcher.chmod(0o755)
    for task in tasks:
        assert not is_solved(task)
        instruction, logs = (task / "instruction.md").read_text(), task / "logs"
        words = [f"--instruction={instruction}", f"--logs-dir={logs}", f"--launcher={launcher}"]
        done = subprocess.run(
            [python, runner, *words], cwd=task / "environment", capture_output=True, text=True
        )
        assert done.returncode == 0 and "The task is done." in done.stdout, done.stdout + done.stderr
        assert "error" not in json.loads((logs / "acp-summary.json").read_text())
        assert is_solved(task)


def test_the_command_line_of_harbors_adapter_for_pi_has_bayou_solve_tasks(
    tasks: list[Path], tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pi").write_text(f'#!/bin/sh\n{bayou(*SOLVER[:2])} "$@"\n')
    (programs / "pi").chmod(0o755)
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for task in tasks:
        assert not is_solved(task)
        sessions, instruction = task / "logs" / "sessions", (task / "instruction.md").read_text()
        sessions.mkdir(parents=True)
        command = (
            f"pi --print --mode json --session-dir {shlex.quote(str(sessions))} --provider scripted --model script "
            f'{shlex.quote(instruction)} 2>&1 </dev/null | grep -v \'"type":"message_update"\''
        )
        done = subprocess.run(
            command, shell=True, cwd=task / "environment", env=env, capture_output=True, text=True
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert [line["type"] for line in lines][-1] == "agent_settled", done.stdout
        assert list(sessions.rglob("*.jsonl"))
        assert is_solved(task)
