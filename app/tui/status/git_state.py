"""The working folder's branch, and whether there are uncommitted changes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tools.git.command import GitCommand, git_command
from tools.git.repository import find_repository

PATIENCE = 5.0
_ASK = ("status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=all")


async def git_state(cwd: Path, *, home: Path, is_vouched: Callable[[], bool]) -> str:
    """Returns `main`, `main*` with changes, or a short commit without a branch; empty outside of a
    repository.

    If the repository's configuration could start programs and the user does not trust it
    (`is_vouched`), git is not run and changes are not shown."""
    head, command = await asyncio.to_thread(_look, cwd, home, is_vouched)
    told = await _ask(command) if command is not None else None
    return head if told is None else read_status(told)


def _look(cwd: Path, home: Path, is_vouched: Callable[[], bool]) -> tuple[str, GitCommand | None]:
    repository = find_repository(cwd)
    if repository is None:
        return "", None
    head = repository.head()
    if repository.is_bare or (repository.risky_settings(home) and not is_vouched()):
        return head, None
    configuration = repository.configuration(home)
    return head, git_command(repository.top, *_ASK, repository=configuration, home=home)


async def _ask(command: GitCommand) -> str | None:
    try:
        code, told = await command.ask(PATIENCE)
    except OSError:
        return None  # too late, for example in a huge repository: the footer shows nothing
    return told.decode("utf-8", "replace") if code == 0 else None


def read_status(told: str) -> str:
    branch = commit = ""
    is_changed = False
    for line in told.splitlines():
        if line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line.startswith("# branch.oid "):
            commit = line.removeprefix("# branch.oid ")[:7]
        elif line and not line.startswith("#"):
            is_changed = True
    if branch == "(detached)":
        branch = commit
    return f"{branch}*" if is_changed and branch else branch
