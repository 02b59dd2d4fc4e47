"""Running a program for an extension: its output bounded, its whole process group ended on timeout or cancellation."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tools.running.withheld import own_variables


class ExecResult(msgspec.Struct, frozen=True, kw_only=True):
    stdout: str
    stderr: str
    code: int
    was_killed: bool = False
    """It ran into the timeout."""
    is_truncated: bool = False
    """There was more output than was asked for; the first part is kept."""


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
    """Runs a program without a shell, with bayou's variables but those that look like secrets: what it needs of them
    is named in `env`. Raises `FileNotFoundError` when there is none of that name.
    """
    process = await asyncio.create_subprocess_exec(
        command,
        *arguments,
        cwd=cwd,
        env={**own_variables(), **(env or {})},
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    readers = [asyncio.ensure_future(_read(stream, max_bytes)) for stream in (process.stdout, process.stderr)]
    was_killed = False
    try:
        async with asyncio.timeout(timeout):
            if stdin is not None and process.stdin is not None:
                process.stdin.write(stdin.encode())
                process.stdin.close()
            await process.wait()
    except TimeoutError:
        was_killed = True
    finally:
        _end(process)
        if was_killed or process.returncode is None:
            await asyncio.shield(process.wait())
    (out, out_cut), (err, err_cut) = await asyncio.gather(*readers)
    return ExecResult(
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        code=process.returncode if process.returncode is not None else -1,
        was_killed=was_killed,
        is_truncated=out_cut or err_cut,
    )


async def _read(stream: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    kept = bytearray()
    is_cut = False
    while chunk := await stream.read(65536):
        room = limit - len(kept)
        kept += chunk[:room]
        is_cut = is_cut or len(chunk) > room
    return bytes(kept), is_cut


def _end(process: asyncio.subprocess.Process) -> None:
    """The group, so that nothing that was started lives on and keeps the pipes open."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError, AttributeError):
        pass
