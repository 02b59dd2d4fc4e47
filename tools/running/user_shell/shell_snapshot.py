"""Takes a snapshot of the user's own shell for commands: aliases, functions and options of its start-up files.

An interactive shell reads its start-up files and reports its definitions; its environment is not stored.
Definitions with secrets are omitted. `startup_scripts` has the scripts that report.
"""

import asyncio
import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.files.atomic_replacement import swap_in_new_file
from tools.lazy_patterns import lazy_regex
from tools.masking.secret_mask import find_secrets_by_shape
from tools.masking.text_without_line_breaks import TextWithoutLineBreaks
from tools.running.shell_settings import ShellSettings, make_shell_argv
from tools.running.user_shell.startup_scripts import (
    REPORTING_STARTUP_FILES_BY_SHELL,
    SHELL_REPORT_END_MARK,
    SHELL_REPORT_SECTION_MARK,
    reporting_shell_argv,
    reporting_shell_variables,
)
from tools.running.withheld_environment_variables import environment_for_child_processes, is_secret_variable
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import ToolError

SHELL_SNAPSHOT_TIMEOUT: Final = 5.0
MAX_SHELL_SNAPSHOT_BYTES: Final = 512 * 1024
_INTERRUPT_GRACE_SECONDS: Final = 1.0
"""The number of seconds that the shell gets after the timeout to report what it has defined so far."""
_MAX_SHELL_SNAPSHOT_AGE_DAYS: Final = 30
_SHELL_REPORT_FILE_NAME: Final = "said"
_STARTUP_FILE_ASSIGNMENT_PATTERN: Final = lazy_regex(
    r"\b([A-Za-z_]\w*)=((?:'[^']*'|\"[^\"]*\"|[^\s;&|'\"])+)"
)
_ALIAS_PATTERN: Final = lazy_regex(r"alias (?:-- )?([^=\s]+)=(.*)", re.DOTALL)
_OPTION_PATTERN: Final = lazy_regex(r"^(?:shopt -s|set -o|setopt) (\w+)$", re.MULTILINE)


class UserShellSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    shell: str = ""
    file: str = ""
    """The path of the file that commands read first; empty if there is no snapshot."""
    aliases: Mapping[str, str] = {}
    functions: Mapping[str, str] = {}
    """The names of the shell functions, each with its definition."""
    options: tuple[str, ...] = ()
    """The names of the enabled shell options."""
    taken_at: float = 0.0
    """Time of the snapshot, in seconds since the epoch."""
    problem: str = ""
    """The reason why the snapshot is empty or incomplete; empty if it is complete."""


class UserShellSnapshotCache:
    """Takes the snapshot of the user's shell at the first command that needs it; it lasts as long as the session, or
    until it is taken again."""

    def __init__(self, folder: Path, home: Path) -> None:
        """Creates it without a snapshot. `folder` stores snapshots by a hash of their content, so that sessions
        with equal ones share a file."""
        self._folder = folder
        self._home = home
        self._tasks: dict[str, asyncio.Task[UserShellSnapshot]] = {}
        self.last_snapshot: UserShellSnapshot | None = None

    async def snapshot(self, shell: str, workspace: SessionWorkspace) -> UserShellSnapshot:
        making = self._tasks.get(shell)
        if making is None:
            making = self._tasks[shell] = asyncio.ensure_future(self._take_snapshot(shell, workspace))
        known = await asyncio.shield(making)
        self.last_snapshot = known
        return known

    async def retake_snapshot(self, shell: str, workspace: SessionWorkspace) -> UserShellSnapshot:
        """Takes a new snapshot of the user's shell; commands that start meanwhile wait for it."""
        making = self._tasks.get(shell)
        if making is None or making.done():
            self._tasks.pop(shell, None)
        return await self.snapshot(shell, workspace)

    async def _take_snapshot(self, shell: str, workspace: SessionWorkspace) -> UserShellSnapshot:
        name = Path(shell).name
        private = ""
        try:
            if name not in REPORTING_STARTUP_FILES_BY_SHELL:
                raise ToolError(
                    f"{name or shell} cannot list its aliases and functions; only bash and zsh can"
                )
            private = await asyncio.to_thread(_create_startup_folder, workspace.private_folder, name)
            late = await self._run_reporting_shell(shell, private, workspace)
            snapshot = await asyncio.to_thread(self._store_snapshot, name, private, late)
        except (OSError, ToolError) as failure:
            snapshot = UserShellSnapshot(problem=str(failure))
        finally:
            if private:
                shutil.rmtree(private, ignore_errors=True)
        return msgspec.structs.replace(snapshot, shell=shell, taken_at=time.time())

    def _store_snapshot(self, name: str, private: str, late: str) -> UserShellSnapshot:
        """Stores what the shell reported as a snapshot file. `late` is the problem after a timeout."""
        with Path(private, _SHELL_REPORT_FILE_NAME).open("rb") as file:
            data = file.read(MAX_SHELL_SNAPSHOT_BYTES + 1)
        if not data:
            return UserShellSnapshot(
                problem=late or "its start-up files ended it before it could say anything"
            )
        if len(data) > MAX_SHELL_SNAPSHOT_BYTES:
            return UserShellSnapshot(problem=f"it is more than {MAX_SHELL_SNAPSHOT_BYTES >> 10} KB")
        text, snapshot = _parse_report(data.decode("utf-8", "replace"), name)
        whole = text.encode()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._folder / f"own-{name}-{hashlib.sha256(whole).hexdigest()[:16]}.sh"
        swap_in_new_file(str(place), whole, mode=0o600)
        self._delete_old_snapshots()
        problems = "; ".join(filter(None, (late, snapshot.problem)))
        return msgspec.structs.replace(snapshot, file=str(place), problem=problems)

    def _delete_old_snapshots(self) -> None:
        oldest = time.time() - _MAX_SHELL_SNAPSHOT_AGE_DAYS * 86_400
        for path in self._folder.glob("own-*.sh"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    async def _run_reporting_shell(self, shell: str, private: str, workspace: SessionWorkspace) -> str:
        home = str(self._home)
        box = workspace.box_of_start_up(private)
        variables = reporting_shell_variables(
            private, f"{private}/{_SHELL_REPORT_FILE_NAME}", home, os.environ.get("ZDOTDIR", "")
        )
        command = CommandLine(
            argv=reporting_shell_argv(shell, Path(shell).name, private),
            cwd=home,
            environment={
                **environment_for_child_processes(()),
                **variables,
                **dict(box.environment if box else ()),
            },
            box=box,
        )
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            running = await workspace.processes.start(command, nowhere)
        finally:
            os.close(nowhere)
        try:
            if await _wait_for_shell_end(running, SHELL_SNAPSHOT_TIMEOUT):
                return ""
            with suppress(OSError):
                os.killpg(running.pid, signal.SIGUSR1)
            await _wait_for_shell_end(running, _INTERRUPT_GRACE_SECONDS)
            return f"its start-up files took longer than {SHELL_SNAPSHOT_TIMEOUT:g} s"
        finally:
            running.kill()


def _create_startup_folder(private_folder: Callable[[str], Path], name: str) -> str:
    """Creates a folder with files that replace a shell's start-up files and make the shell report its definitions."""
    folder = str(private_folder("shell"))
    for file, text in REPORTING_STARTUP_FILES_BY_SHELL[name].items():
        Path(folder, file).write_text(text, encoding="utf-8")
    Path(folder, _SHELL_REPORT_FILE_NAME).touch(mode=0o600)
    return folder


async def _wait_for_shell_end(running: RunningProcess, seconds: float) -> bool:
    try:
        await asyncio.wait_for(running.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _parse_report(text: str, shell: str) -> tuple[str, UserShellSnapshot]:
    """Parses a shell's report: returns the text that commands will read first, and the snapshot's data."""
    is_whole = text.endswith(SHELL_REPORT_END_MARK)
    options, *pieces = text.removesuffix(SHELL_REPORT_END_MARK).split(SHELL_REPORT_SECTION_MARK)
    if not is_whole and pieces:
        pieces.pop()  # it may be incomplete
    bodies: dict[str, str] = {}
    lines: list[str] = []
    aliases: dict[str, str] = {}
    left_out = 0
    for piece in pieces:
        kind, _, body = piece.partition("\n")
        matched = _ALIAS_PATTERN.match(body.strip())
        if _looks_like_secret(body) or (matched and _looks_like_secret(_strip_shell_quotes(matched[2]))):
            left_out += 1
        elif kind.startswith("function "):
            if "builtin autoload -X" not in body:  # zsh has not loaded it
                bodies[kind.removeprefix("function ")] = body
        elif matched:
            lines.append(body)
            aliases[matched[1]] = _strip_shell_quotes(matched[2])
    # An alias would be expanded in the name of a function that is defined after it.
    beginning = "shopt -s expand_aliases\n" if shell == "bash" else ""
    whole = "".join((beginning, "unalias -a\n", options, *bodies.values(), *lines))
    problems = [] if is_whole else ["it did not come to the end of what it has"]
    if left_out:
        is_one = left_out == 1
        problems.append(
            f"{left_out} of its definitions {'holds' if is_one else 'hold'} something like a secret and "
            f"{'is' if is_one else 'are'} left out"
        )
    return whole, UserShellSnapshot(
        aliases=aliases,
        functions=bodies,
        options=tuple(found[1] for found in _OPTION_PATTERN.finditer(options)),
        problem="; ".join(problems),
    )


def _looks_like_secret(text: str) -> bool:
    """Returns whether a shell definition has a secret, judged by its value's shape, or by its name."""
    if next(find_secrets_by_shape(text, TextWithoutLineBreaks(text)), None) is not None:
        return True
    return any(
        is_secret_variable(found[1], found[2].strip("'\""))
        for found in _STARTUP_FILE_ASSIGNMENT_PATTERN.finditer(text)
    )


def _strip_shell_quotes(text: str) -> str:
    r"""Removes the quoting of bash and zsh from a word: single quotes, a quote within as `'\''`."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("'\\''", "'")
    return text


async def get_user_shell_snapshot(
    workspace: SessionWorkspace, settings: ShellSettings, *, is_anew: bool = False
) -> UserShellSnapshot | None:
    """Returns the snapshot of the user's shell for these settings, if commands use that shell."""
    if settings.user_shell is None or not workspace.has_local_processes:
        return None
    shell = make_shell_argv(settings, workspace.processes.find_program)[0]
    take = settings.user_shell.retake_snapshot if is_anew else settings.user_shell.snapshot
    return await take(shell, workspace)


def prepend_shell_snapshot(snapshot: UserShellSnapshot, shell: str, command: str) -> str:
    """Prepends the user's shell definitions to the command."""
    if not snapshot.file:
        return command
    reads = f". '{_quote_for_shell(snapshot.file)}' 2>/dev/null"
    if Path(shell).name == "zsh":  # it parses the whole text before it runs any of it
        return f"setopt aliases; {reads}; eval '{_quote_for_shell(command)}'"
    return f"{reads}\n{command}"


def _quote_for_shell(text: str) -> str:
    return text.replace("'", "'\\''")
