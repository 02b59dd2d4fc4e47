"""Runs a batch from Python: `bayou batch` as an async iterator of results.

tasks = [{"id": "one", "repo": "~/src/shop", "prompt": "Fix issue 41.", "check": "make test"}]
async for result in run(tasks, out=Path("fixes"), options=["--models", "sonnet,haiku"]):
    print(result.id, result.outcome, result.patch)

docs/batch.md has the fields of tasks and the options. It needs only msgspec and the standard library.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from bayou.program import command as own_command

__all__ = ["BatchFailed", "BatchResult", "Outcome", "run"]

Outcome = Literal["passed", "failed", "limit", "error", "timeout", "cancelled"]
_LINE_LIMIT = 64 * 1024 * 1024
_END_SECONDS = 15.0


CommitHash = Annotated[str, msgspec.Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")]


class BatchResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The result of one run, a line of `results.jsonl`. Paths are relative to the batch's folder."""

    id: str
    key: str
    """Task, model and repetition: which run of the batch it is."""
    hash: str
    number: int = 1
    model: str | None = None
    """The model that answered; the one that was asked for if none did."""
    asked_model: str | None = None
    thinking: str | None = None
    permissions: str | None = None
    label: str | None = None
    prompt: str = ""
    """A short hash of the prompt."""
    source: str = ""
    """The repository or folder that it worked on a copy of."""
    commit: CommitHash | None = None
    outcome: Outcome
    reason: str = ""
    """Why it did not pass."""
    exit_code: int | None = None
    """bayou's; None if it did not start or was killed."""
    check_code: int | None = None
    patch: str | None = None
    session: str | None = None
    folder: str = ""
    answer: str = ""
    turns: int = 0
    usage: dict[str, Any] = {}
    cost: float = 0.0
    tokens: int = 0
    started: str = ""
    seconds: float = 0.0
    """The whole of it: preparing, agent and check."""
    agent_seconds: float = 0.0


class BatchFailed(Exception):
    """The batch could not be run; the text is bayou's error."""


class _Event(msgspec.Struct):
    """A line of `bayou batch --json`."""

    type: str
    result: BatchResult | None = None


async def run(
    tasks: Iterable[Mapping[str, Any]],
    *,
    out: Path,
    options: Sequence[str] = (),
    run_options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> AsyncIterator[BatchResult]:
    """Yields the result of each run as it ends; those of an earlier start with the same `out` are not run again.

    `options` are those of `bayou batch`, `run_options` those of each run. Leaving the loop early ends all runs.
    Raises `BatchFailed`."""
    out.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  (a folder and a small file)
    file = out.absolute() / "tasks.jsonl"  # noqa: ASYNC240  (as above)
    file.write_bytes(b"".join(msgspec.json.encode(task) + b"\n" for task in tasks))
    words = ("batch", str(file), "--out", str(out), "--json", *options)
    process = await asyncio.create_subprocess_exec(
        *(command or own_command()),
        *words,
        *(("--", *run_options) if run_options else ()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=None if env is None else dict(env),
        limit=_LINE_LIMIT,
    )
    assert process.stdout is not None and process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    has_ended = False
    try:
        async for line in process.stdout:
            event = msgspec.json.decode(line, type=_Event)
            has_ended = has_ended or event.type == "batch_ended"
            if event.result is not None:
                yield event.result
        await process.wait()
        if not has_ended:
            raise BatchFailed((await errors).decode("utf-8", "replace").strip() or "bayou ended early.")
    finally:
        if process.returncode is None:
            await _end(process)
        errors.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Interrupts the batch's process; the interrupted runs have results all the same."""
    try:
        os.kill(process.pid, signal.SIGINT)
    except ProcessLookupError:
        return
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_END_SECONDS):
            while await process.stdout.read(65_536):
                pass  # a full pipe would keep it from ending
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
