"""Runs git with the user's own configuration, keys and credential helpers, for what the user asked for by name.

It never asks for a password, and runs no hooks. All other git goes through `repository_copies`, without the
repository's configuration.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from app.copies.repository_copies import GitFailed
from tools.running.own_programs import find_own_program
from tools.running.programs import RunningProgram

_GIT_TIMEOUT = 1_800.0
_MAX_ERROR_CHARS = 2_000
_GIT_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}


async def run_user_git(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, given: bytes = b""
) -> str:
    """Runs git with the user's configuration and returns its output. Raises `GitFailed` with git's last line."""
    program = find_own_program("git", outside=folder)
    if program is None:
        raise GitFailed("git is not installed. Install it.")
    ssh = {} if "GIT_SSH_COMMAND" in os.environ else {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
    base = (program, "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.ext.allow=never")
    async with await RunningProgram.start(
        (*base, *words),
        cwd=folder,
        env={**os.environ, **ssh, **_GIT_ENVIRONMENT, **(env or {})},
        is_fed=True,
        keeps_errors=True,
    ) as git:
        try:
            async with asyncio.timeout(_GIT_TIMEOUT):
                _, told, errors = await asyncio.gather(
                    git.write_stdin(given), git.stdout.read(), git.stderr.read()
                )
                code = await git.wait()
        except TimeoutError:
            raise GitFailed(f"git {words[0]} in {folder} took longer than {_GIT_TIMEOUT:g} s.") from None
    if code:
        told_errors = errors[-_MAX_ERROR_CHARS:].decode("utf-8", "replace").splitlines()
        lines = [line.strip() for line in told_errors if line.strip() and not line.startswith("hint:")]
        raise GitFailed(
            f"git {words[0]} failed with exit code {code}: {lines[-1] if lines else 'it printed no reason'}"
        )
    return told.decode("utf-8", "surrogateescape")
