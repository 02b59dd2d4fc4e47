"""`--result`: the folder that a run leaves for scripts, also when it failed; and the limits that stop its work."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.exit_codes import DONE, LIMIT_REACHED, USAGE_ERROR
from app.sessions.session_log import SessionLog
from tests.modes.test_print_and_json import bayou

WRITES = str(Path(__file__).parent / "extensions" / "writes.py")
RUN = ("-p", "-e", WRITES, "--model", "scripted/script")


def run(*command: Any, cwd: Path, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


def read(file: Path) -> Any:
    return json.loads(file.read_text())


async def test_a_run_leaves_its_answer_patch_usage_trajectory_and_session(tmp_path: Path) -> None:
    project, result = tmp_path / "project", tmp_path / "made" / "result"
    project.mkdir()
    done = await bayou(*RUN, "--no-session", "--result", "../made/result", "write it", cwd=project)
    assert (done.code, done.out) == (DONE, "It is written.\n"), done.err
    assert (result / "answer.md").read_text() == "It is written.\n"
    run("git", "apply", "--check", result / "changes.patch", cwd=tmp_path)
    assert "+++ b/new.txt" in (result / "changes.patch").read_text()
    usage = read(result / "usage.json")
    assert (usage["exitCode"], usage["turns"], usage["model"]) == (DONE, 3, "scripted/script")
    steps = read(result / "trajectory.json")["steps"]
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent", "agent"]
    assert [call["function_name"] for step in steps for call in step.get("tool_calls", ())] == [
        "write",
        "bash",
    ]
    assert "it ran" in steps[3]["observation"]["results"][0]["content"]
    log = SessionLog.open(result / "session.jsonl")
    assert [type(entry).__name__ for entry in log.entries][-1] == "MessageEntry"


async def test_a_time_limit_stops_a_running_tool_and_the_result_is_written(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    done = await bayou(*RUN, "--time-limit", "4", "--result", "r", "write it", cwd=tmp_path)
    assert (done.code, done.out) == (LIMIT_REACHED, ""), done.err
    assert (
        "The limit of 4 seconds was reached, and the run was stopped. Raise it with --time-limit." in done.err
    )
    assert read(tmp_path / "r" / "usage.json")["exitCode"] == LIMIT_REACHED
    assert (tmp_path / "r" / "changes.patch").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--max-cost", "1"],
            "--max-cost: scripted/script has no prices, so its cost would stay $0. Use --max-tokens",
        ),
        (["--result", "file"], "--result"),
        (["--mode", "rpc", "--result", "r"], "--result is for print and JSON mode"),
    ],
)
async def test_what_cannot_be_kept_is_refused_before_anything_is_sent(
    words: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = await bayou(*RUN, *words, "write it", cwd=tmp_path)
    assert done.code == USAGE_ERROR and told in done.err, done.err
    assert not (tmp_path / "new.txt").exists()


VALIDATES = """
import json, sys
from harbor.models.trajectories import Trajectory
print(len(Trajectory.model_validate(json.load(open(sys.argv[1]))).steps))
"""


def python_for_harbor() -> str:
    """A Python that Harbor runs on, which is 3.12 or newer."""
    roots = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = [
        sys.executable,
        "python3.14",
        "python3.13",
        "python3.12",
        *roots.glob("versions/3.1[2-4].*/bin/python3"),
    ]
    for python in found:
        with suppress(OSError, subprocess.CalledProcessError):
            run(python, "-c", "import sys; assert sys.version_info >= (3, 12)", cwd=Path("/"))
            return str(python)
    pytest.skip("Harbor needs Python 3.12")


@pytest.mark.installs
async def test_harbors_own_models_accept_the_trajectory(tmp_path: Path, outside: dict[str, str]) -> None:
    done = await bayou(*RUN, "--result", "r", "write it", cwd=tmp_path)
    assert done.code == DONE, done.err
    env = {name: value for name, value in outside.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    run(python_for_harbor(), "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path, env=env)
    python = tmp_path / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile")
    run(*pip, "pydantic", cwd=tmp_path, env=env)
    run(*pip, "--no-deps", "harbor>=0.26,<0.27", cwd=tmp_path, env=env)
    assert run(python, "-c", VALIDATES, "r/trajectory.json", cwd=tmp_path, env=env) == "5\n"
