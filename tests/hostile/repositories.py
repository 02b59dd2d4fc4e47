"""Hostile repositories, made with the real git."""

import os
import subprocess
from pathlib import Path

_WHO = {
    "GIT_AUTHOR_NAME": "Nobody",
    "GIT_AUTHOR_EMAIL": "nobody@example.org",
    "GIT_COMMITTER_NAME": "Nobody",
    "GIT_COMMITTER_EMAIL": "nobody@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **_WHO}, capture_output=True, text=True, check=True
    )
    return done.stdout


def repository(folder: Path) -> Path:
    """With one commit on `harbour`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=harbour")
    (folder / "README.md").write_text("boats\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def make_stale(folder: Path) -> None:
    """So that git has to read every file to know whether it has changed."""
    for file in folder.iterdir():
        if file.is_file() and file.name != ".git":
            os.utime(file, (1, 1))
