"""Runs git with the user's own configuration, keys and credential helpers, for what the user asked for by name.

It never asks for a password, and runs no hooks. All other git goes through `repository_copies`, without the
repository's configuration.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from app.copies.repository_copies import GitFailed
from tools.running.child_programs import ChildProgram
from tools.running.programs_outside_project import find_program_outside_project

_USER_GIT_TIMEOUT_SECONDS = 1_800.0
_MAX_GIT_ERROR_CHARS = 2_000
_NON_INTERACTIVE_GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}


async def run_user_git(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, given: bytes = b""
) -> str:
    """Runs git with the user's configuration and returns its output. Raises `GitFailed` with git's last line."""
    program = find_program_outside_project("git", outside=folder)
    if program is None:
        raise GitFailed("git is not installed. Install it.")
    ssh = {} if "GIT_SSH_COMMAND" in os.environ else {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
    base = (program, "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.ext.allow=never")
    async with await ChildProgram.start(
        (*base, *words),
        cwd=folder,
        env={**os.environ, **ssh, **_NON_INTERACTIVE_GIT_ENVIRONMENT, **(env or {})},
        is_fed=True,
        keeps_errors=True,
    ) as git:
        try:
            async with asyncio.timeout(_USER_GIT_TIMEOUT_SECONDS):
                _, told, errors = await asyncio.gather(
                    git.write_stdin(given), git.stdout.read(), git.stderr.read()
                )
                code = await git.wait()
        except TimeoutError:
            raise GitFailed(
                f"git {words[0]} in {folder} took longer than {_USER_GIT_TIMEOUT_SECONDS:g} s."
            ) from None
    if code:
        told_errors = errors[-_MAX_GIT_ERROR_CHARS:].decode("utf-8", "replace").splitlines()
        lines = [line.strip() for line in told_errors if line.strip() and not line.startswith("hint:")]
        raise GitFailed(
            f"git {words[0]} failed with exit code {code}: {lines[-1] if lines else 'it printed no reason'}"
        )
    return told.decode("utf-8", "surrogateescape")
