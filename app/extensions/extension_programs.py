"""Runs a program for an extension, limits its output, and ends its whole process group on timeout or
cancellation; `ProgramSandbox` runs programs as confined as the model's commands."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import msgspec

from app.engine.session import Session
from tools.box.sandbox_policy import SandboxPolicy
from tools.file_and_process_operations import CommandLine
from tools.running.child_programs import ChildProgram
from tools.running.limited_program import run_limited_program
from tools.running.shell_settings import command_environment
from tools.running.withheld_environment_variables import environment_for_child_processes
from tools.tool_definition import ToolError

_DEFAULT_PROGRAM_TIMEOUT_SECONDS = 600.0
"""The time limit of a program in the sandbox that names none."""


class ExecResult(msgspec.Struct, frozen=True, kw_only=True):
    """The output and exit code of a program."""

    stdout: str
    stderr: str
    code: int
    was_killed: bool = False
    """The program was ended because its timeout passed."""
    is_truncated: bool = False
    """The output exceeded `max_bytes`; the first part is kept."""


async def run_program(
    command: str,
    arguments: Sequence[str] = (),
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    max_bytes: int = 1_000_000,
) -> ExecResult:
    """Runs a program without a shell, with bayou's variables except those that look like secrets; `env` adds
    variables. Raises `FileNotFoundError` when there is no program of that name."""
    async with await ChildProgram.start(
        (command, *arguments),
        cwd=cwd,
        env={**environment_for_child_processes(), **(env or {})},
        is_fed=stdin is not None,
        keeps_errors=True,
    ) as program:
        texts = [
            asyncio.ensure_future(_read_limited(pipe, max_bytes)) for pipe in (program.stdout, program.stderr)
        ]
        was_killed = False
        try:
            async with asyncio.timeout(timeout):
                if stdin is not None:
                    await program.write_stdin(stdin.encode())
                await program.wait()
        except TimeoutError:
            was_killed = True
        program.kill()  # a process that it left running keeps the pipes open
        (out, out_cut), (err, err_cut) = await asyncio.gather(*texts)
        code = await program.wait()
    return ExecResult(
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        code=_shell_exit_code(code),
        was_killed=was_killed,
        is_truncated=out_cut or err_cut,
    )


class ProgramSandbox:
    """Runs programs in the session's sandbox, in every mode of permissions, and ends each with all its children. Where
    this system has no sandbox, they run without one.

    Each program gets the policy of its start, because an earlier one may have moved a hidden file or made a
    repository. What no sandbox can prevent is compared once, from before the first program to after the last, as for
    the programs of one command."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._comparison = AsyncExitStack()
        self._comparison_lock = asyncio.Lock()
        self._is_comparing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._comparison.aclose()

    async def exec(
        self,
        command: str,
        arguments: Sequence[str] = (),
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        max_bytes: int = 1_000_000,
    ) -> ExecResult:
        """Runs a program; output beyond `max_bytes` ends it. Raises `ToolError` where a required sandbox is missing or
        commands run elsewhere, and `OSError`."""
        session = self._session
        workspace = session.tools.workspace
        processes = workspace.local_processes
        if processes is None or not workspace.has_local_processes:
            raise ToolError("programs run on another machine in this session")
        box = await session.permissions.boxes.box_for_program(in_every_mode=True)
        line = CommandLine(
            argv=(command, *arguments),
            cwd=str(cwd or session.cwd),
            environment=command_environment(workspace.shell_settings(), extra=env),
            box=box,
        )
        await self._begin_comparison(box)
        try:
            said = await run_limited_program(
                processes,
                line,
                text=(stdin or "").encode(),
                seconds=timeout or _DEFAULT_PROGRAM_TIMEOUT_SECONDS,
                max_bytes=max_bytes,
            )
        finally:
            if box is not None:
                workspace.end_proxy_caller(box.caller)
        return ExecResult(
            stdout=said.output.decode("utf-8", "replace"),
            stderr=said.errors.decode("utf-8", "replace"),
            code=_shell_exit_code(said.exit_code),
            was_killed=said.is_timed_out or said.is_output_cut,
            is_truncated=said.is_output_cut,
        )

    async def _begin_comparison(self, box: SandboxPolicy | None) -> None:
        """Looks at the places that the sandbox cannot protect, before the first program starts."""
        async with self._comparison_lock:
            if box is None or self._is_comparing:
                return
            watch = self._session.permissions.boxes.watch_for_autorun_files(
                box, "hook or program of an extension", self._session.events.warn
            )
            await self._comparison.enter_async_context(watch)
            self._is_comparing = True


def _shell_exit_code(code: int) -> int:
    """Returns 128 + signal for a program that a signal ended, as shells and pi do."""
    return 128 - code if code < 0 else code


async def _read_limited(stream: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    kept = bytearray()
    is_cut = False
    while chunk := await stream.read(65536):
        room = limit - len(kept)
        kept += chunk[:room]
        is_cut = is_cut or len(chunk) > room
    return bytes(kept), is_cut
