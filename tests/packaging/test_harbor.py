"""Harbor carries out trials with bayou: its generic adapter for ACP agents and its adapter for pi solve its tasks.

Harbor's environments are containers, which a test cannot count on: `harbor_folder` is one of plain folders.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT
from tests.modes.test_run_result import python_for_harbor

SOLVER = ["-e", str(Path(__file__).with_name("solver.py"))]
TASKS = {
    "write-file": ("Write ahoy into note.txt. Run: echo ahoy > note.txt", "grep -qx ahoy note.txt"),
    "count-lines": ("Count the lines. Run: wc -l < lines.txt > count.txt", 'test "$(cat count.txt)" -eq 3'),
    "fix-script": ("Mend add.sh. Run: sed -i s/-/+/ add.sh", 'test "$(sh add.sh)" = 5'),
}
"""Of each task its instruction and what its test checks."""
REWARD = '"${0%/*}/../logs/verifier/reward.txt"'


@pytest.fixture
def tasks(tmp_path: Path) -> list[Path]:
    folders = []
    for name, (instruction, check) in TASKS.items():
        folder = tmp_path / "tasks" / name
        for part in ("tests", "environment"):
            (folder / part).mkdir(parents=True)
        (folder / "task.toml").write_text('version = "1.0"\n[agent]\ntimeout_sec = 120.0\n')
        (folder / "instruction.md").write_text(instruction)
        (folder / "tests" / "test.sh").write_text(f"if {check}; then echo 1; else echo 0; fi > {REWARD}\n")
        (folder / "environment" / "lines.txt").write_text("a\nb\nc\n")
        (folder / "environment" / "add.sh").write_text("echo $((2 - 3))\n")
        folders.append(folder)
    return folders


@pytest.fixture
def harbor(tmp_path: Path, outside: dict[str, str]) -> Path:
    """The command `harbor`, in an environment of its own that also has what its runner for ACP agents installs."""
    env = {name: value for name, value in outside.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    venv = tmp_path / "venv"
    subprocess.run([python_for_harbor(), "-m", "venv", "--without-pip", venv], env=env, check=True)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "-q", "--no-compile"]
    done = subprocess.run(
        [*pip, "harbor>=0.26,<0.27", "agent-client-protocol"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"Harbor cannot be installed: {done.stderr.strip()[-200:]}")
    return venv / "bin" / "harbor"


def program(file: Path, *words: str) -> Path:
    """Writes a program that runs bayou with these words before its own."""
    file.parent.mkdir(parents=True, exist_ok=True)
    package = shlex.quote(str(ROOT / "app" / "package"))
    command = shlex.join([sys.executable, "-P", "-m", "bayou", *words])
    file.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {command} "$@"\n')
    file.chmod(0o755)
    return file


@pytest.mark.installs
def test_harbors_adapters_for_acp_and_for_pi_have_bayou_solve_tasks(
    harbor: Path, tasks: list[Path], tmp_path: Path
) -> None:
    acp = program(tmp_path / "bin" / "bayou-acp", "acp", *SOLVER, "--model", "scripted/script")
    program(tmp_path / "bin" / "pi", *SOLVER)
    (tmp_path / "home" / ".nvm").mkdir(parents=True)
    (tmp_path / "home" / ".nvm" / "nvm.sh").touch()  # the adapter for pi reads it
    entry = {
        "id": "bayou",
        "name": "bayou",
        "version": "1",
        "description": "bayou",
        "distribution": {"local": {"cmd": str(acp)}},
    }
    agents: list[dict[str, Any]] = [
        {"name": "acp", "kwargs": {"registry_entry": entry, "skip_install": True}},
        {"name": "pi", "model_name": "scripted/script", "kwargs": {"skip_install": True}},
    ]
    job = {
        "job_name": "job",
        "jobs_dir": str(tmp_path),
        "n_concurrent_trials": 1,
        "agents": agents,
        "environment": {"import_path": "harbor_folder:FolderEnvironment"},
        "datasets": [{"path": str(tmp_path / "tasks")}],
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    env = {
        **{key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parent),
        "HOME": str(tmp_path / "home"),
    }
    command = [harbor, "run", "--yes", "--config", tmp_path / "job.json"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    results = [json.loads(file.read_text()) for file in tmp_path.glob("job/*/result.json")]
    told = [(one["agent_info"]["name"], one["task_name"], one["exception_info"]) for one in results]
    assert len(results) == len(agents) * len(tasks), done.stdout + done.stderr + str(told)
    for result in results:
        assert result["exception_info"] is None, json.dumps(result["exception_info"])
        assert result["verifier_result"]["rewards"] == {"reward": 1.0}, told
    for trajectory in tmp_path.glob("job/*/agent/trajectory.json"):
        assert "The task is done." in json.dumps(json.loads(trajectory.read_text())["steps"][-1])
