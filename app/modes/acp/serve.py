"""Serves one ACP client over standard input and output, until it has gone or a signal ends bayou."""

import asyncio
from pathlib import Path

from app.assembly.options import Options
from app.exit_codes import FAILED
from app.modes.acp.agent import Agent
from app.modes.acp.client import Client
from app.modes.acp.connection import Connection, LogLine
from app.modes.stdout_writer import (
    READER_TIMEOUT,
    SIGNALLED_READER_TIMEOUT,
    LineWriter,
    claim_stdin,
    claim_stdout,
)
from app.printing import print_problem
from app.resources.paths import Paths


async def run_acp(
    options: Options, paths: Paths, stopped: "asyncio.Future[int]", log_file: Path | None = None
) -> int:
    """Serves until the input ends, the reader of the output has gone, or `stopped` is set."""
    descriptor, writer = claim_stdin(), LineWriter(claim_stdout())
    log = _open_line_log(log_file, paths) if log_file is not None else None
    connection = Connection(descriptor, writer, log)
    agent = Agent(options, paths, Client(connection))
    serving = asyncio.ensure_future(writer.await_while_read(connection.serve(agent.handle_call)))
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    is_stopped = stopped.done()
    serving.cancel()
    await agent.end_sessions()
    has_told = await writer.flush(SIGNALLED_READER_TIMEOUT if is_stopped else READER_TIMEOUT)
    await connection.stop_calls()
    if is_stopped:
        return 128 + stopped.result()
    if writer.failure:
        print_problem(writer.failure)
        return FAILED
    return 0 if has_told else FAILED


def _open_line_log(file: Path, paths: Paths) -> LogLine:
    from app.modes.acp.line_log import LineLog  # noqa: PLC0415  (only with --log: it knows secrets)

    return LineLog(file, paths).log_line
