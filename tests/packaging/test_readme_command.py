"""The README's first command, typed in a fresh checkout. (Its second one is what `.ci/run` begins with.)"""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.version import VERSION
from tests.architecture.sources import ROOT
from tests.packaging.test_lock import commands

NOT_IN_A_CLONE = shutil.ignore_patterns(
    ".venv", ".git", "__pycache__", "build", "dist", ".*_cache", ".hypothesis"
)


@pytest.mark.installs
def test_the_first_command_sets_up_and_starts(tmp_path: Path, outside: dict[str, str]):
    copy = tmp_path / "bayou"
    shutil.copytree(ROOT, copy, ignore=NOT_IN_A_CLONE)
    env = {name: value for name, value in outside.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    env["PIP_COMPILE"] = "0"  # modules that are never imported need not be compiled
    home = tmp_path / "home"

    def run(command: str, **more: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=copy,
            env={**env, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run(f"{commands()[0]} --version") == f"bayou {VERSION}\n"
    answer = run(".venv/bin/bayou --no-session -p list", HOME=str(home), BAYOU_OFFLINE_PACE="0")
    assert "`.` holds" in answer
    module = run(".venv/bin/python -P -m app --version")
    assert module == f"bayou {VERSION}\n"
