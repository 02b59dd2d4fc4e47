"""The branch of the working folder and whether everything is committed, as git tells it."""

import asyncio
from pathlib import Path

from app.resources.paths import project_root

PATIENCE = 5.0
_ASK = ("git", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--untracked-files=normal")


async def git_state(cwd: Path) -> str:
    """`main`, `main*` with changes, a short commit when no branch is checked out; nothing outside of a repository."""
    if project_root(cwd) is None:
        return ""
    try:
        process = await asyncio.create_subprocess_exec(
            *_ASK,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        told, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:  # a huge repository or a slow disk: the footer does without
        process.kill()
        await process.wait()
        return ""
    return read_status(told.decode("utf-8", "replace"))


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
