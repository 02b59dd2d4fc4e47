"""Builds every git command that bayou starts by itself: it only reads and starts no program for a repository."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tools.git.git_config import GitConfiguration, read_user_git_configuration
from tools.git.risky_settings import find_git_filter_names
from tools.running.child_programs import ChildProgram
from tools.running.programs_outside_project import find_program_outside_project
from tools.running.withheld_environment_variables import environment_for_child_processes

_GIT_OPTIONS_THAT_DISABLE_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "core.attributesFile": os.devnull,
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "interactive.diffFilter": "cat",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "sequence.editor": "false",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}
_GIT_VARIABLES_THAT_RESTRICT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "false",
    "GIT_EDITOR": "false",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_PASSED_GIT_VARIABLES = frozenset(
    ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
)


class ReadOnlyGitCommand(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]

    def run(self, seconds: float, given: bytes = b"") -> tuple[int, bytes]:
        """Runs git with the input `given`, and returns its exit code and output. Blocks. Raises `OSError` if git
        cannot start, and `TimeoutError` after `seconds`."""
        try:
            done = subprocess.run(
                self.argv,
                cwd=self.cwd,
                env=dict(self.environment),
                input=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        return done.returncode, done.stdout

    async def run_async(self, seconds: float, given: bytes = b"") -> tuple[int, bytes]:
        """Runs git without blocking the event loop, and returns its exit code and output."""
        async with (
            await ChildProgram.start(
                self.argv, cwd=self.cwd, env=self.environment, is_fed=bool(given)
            ) as git,
            asyncio.timeout(seconds),
        ):
            if given:
                _, told = await asyncio.gather(git.write_stdin(given), git.stdout.read())
            else:
                told = await git.stdout.read()
            return await git.wait(), told


def make_read_only_git_command(
    top: Path, *words: str, repository: GitConfiguration, home: Path
) -> ReadOnlyGitCommand | None:
    """Builds the command `git WORDS`, which only reads, for the repository at `top` with that configuration; None
    if git is not installed. All filters that any configuration defines are disabled by name, so that the
    repository's attributes run no program."""
    program = find_program_outside_project("git", outside=top)
    if program is None:
        return None
    off = dict(_GIT_OPTIONS_THAT_DISABLE_PROGRAMS)
    for name in sorted(
        {"lfs", *find_git_filter_names(repository), *find_git_filter_names(read_user_git_configuration(home))}
    ):
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")):
            off[f"filter.{name}.{key}"] = value
    settings = [part for key, value in off.items() for part in ("-c", f"{key}={value}")]
    return ReadOnlyGitCommand(
        argv=(program, "--no-optional-locks", "--no-pager", *settings, *words),
        cwd=top,
        environment=_git_environment(top),
    )


def _git_environment(top: Path) -> dict[str, str]:
    """Returns the environment variables for git: the user's without secrets and without those that name another
    repository or a program; git searches no folder above `top`."""
    own = environment_for_child_processes()
    kept = {
        name: value
        for name, value in own.items()
        if not name.startswith("GIT_") or name in _PASSED_GIT_VARIABLES
    }
    return {**kept, **_GIT_VARIABLES_THAT_RESTRICT, "GIT_CEILING_DIRECTORIES": str(top.parent)}
