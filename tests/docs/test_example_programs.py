"""The programs of docs/examples/programs, run as they stand there."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

PROGRAMS = ROOT / "docs" / "examples" / "programs"
FLAGS = ["-e", str(Path(__file__).with_name("reviewer.py")), "--model", "scripted/script"]
PACKAGE = str(ROOT / "app" / "package")


def run(*command: str | Path, cwd: Path, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": PACKAGE, **env},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_reviewer_fails_for_a_serious_fault_and_keeps_what_was_done(tmp_path: Path) -> None:
    programs, project = tmp_path / "bin", tmp_path / "project"
    programs.mkdir()
    project.mkdir()
    (programs / "bayou").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m bayou "$@"\n')
    (programs / "bayou").chmod(0o755)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (
        ["init", "-q", "-b", "main"],
        ["commit", "-q", "--allow-empty", "-m", "one"],
        ["switch", "-qc", "x"],
    ):
        assert run(*git, *words, cwd=project).returncode == 0
    (project / "boat.py").write_text("1 / 0\n")
    for words in (["add", "boat.py"], ["commit", "-q", "-m", "two"]):
        assert run(*git, *words, cwd=project).returncode == 0
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = run(sys.executable, PROGRAMS / "review.py", "main", *FLAGS, cwd=project, PATH=path)
    assert (done.returncode, done.stdout) == (1, "boat.py:1: serious: It divides by zero.\n"), done.stderr
    assert json.loads((project / "review" / "usage.json").read_text())["turns"] == 2
    done = run(
        sys.executable, PROGRAMS / "review.py", "main", "--max-turns", "1", *FLAGS, cwd=project, PATH=path
    )
    assert done.returncode == 3 and "bayou ended with 3" in done.stderr


def test_the_bot_remembers_each_channel(tmp_path: Path) -> None:
    lines = "sea hello\nland hi\nsea again\n"
    done = run(sys.executable, PROGRAMS / "bot.py", *FLAGS, cwd=tmp_path, given=lines)
    assert done.stdout.splitlines() == [
        "sea: I heard 1: hello",
        "land: I heard 1: hi",
        "sea: I heard 2: again",
    ]


async def test_the_cell_of_the_notebook_prints_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "boat.txt").touch()
    monkeypatch.chdir(tmp_path)
    cells = json.loads((PROGRAMS / "stream.ipynb").read_text())["cells"]
    (cell,) = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    made = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
    assert inspect.isawaitable(made)
    await made
    assert "boat.txt" in capsys.readouterr().out
