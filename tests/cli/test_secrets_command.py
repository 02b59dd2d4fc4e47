"""`bayou secrets` in a separate process."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.masking.examples import PRIVATE_KEY, SHAPED, random_text
from tests.support import warm_bayou

TOKEN = SHAPED["github-token"]
OWN = random_text(40, 4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".env").write_text(f"API_TOKEN={OWN}\nPORT=3000\nDB_PASSWORD=hunter2\n")
    return tmp_path / "project"


def bayou(folder: Path, *words: str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(folder.parent), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return warm_bayou.run("secrets", *words, cwd=folder, env={**home, **env}, input=given)


def test_a_pipe_is_masked(folder: Path):
    done = bayou(
        folder,
        "mask",
        given=f"a {TOKEN}\nb {OWN}\nc {random_text(30)}\n{PRIVATE_KEY}",
        MY_TOKEN=random_text(30),
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line[:10] for line in lines[:3]] == ["a [secret:", "b [secret:", "c [secret:"]
    assert "API_TOKEN" in lines[1] and "MY_TOKEN" in lines[2]
    assert len(lines) == 3 + len(PRIVATE_KEY.splitlines())


def test_files_are_listed_with_line_and_kind(folder: Path):
    (folder / "notes.txt").write_text(f"nothing\nhere {TOKEN}\n")
    done = bayou(folder, "list", "notes.txt", ".env")
    assert done.returncode == 1
    assert [line.rsplit(" ", 1)[0] for line in done.stdout.splitlines()] == [
        "notes.txt:2: github-token",
        ".env:1: API_TOKEN",
        ".env:3: DB_PASSWORD",
    ]
    told = [json.loads(line) for line in bayou(folder, "list", "--json", "notes.txt").stdout.splitlines()]
    assert [(one["file"], one["line"], one["kind"]) for one in told] == [("notes.txt", 2, "github-token")]
    assert bayou(folder, "list", given="nothing at all\n").returncode == 0


def test_what_it_is_not_is_reported(folder: Path):
    assert "mask [FILE" in bayou(folder, "--help").stdout
    assert "Unknown command" in bayou(folder, "hide").stderr
    assert "No such file" in bayou(folder, "mask", "nowhere").stderr
