"""Serves one ACP client over standard input and output, until it has gone or a signal ends bayou."""

import asyncio
from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions
from app.exit_codes import FAILED
from app.modes.acp.acp_agent import AcpAgent
from app.modes.acp.client import AcpClient
from app.modes.acp.json_rpc_connection import JsonRpcConnection, LogLine
from app.modes.stdout_writer import (
    STDOUT_READER_TIMEOUT,
    STDOUT_READER_TIMEOUT_AFTER_SIGNAL,
    StdoutLineWriter,
    claim_stdin,
    claim_stdout,
)
from app.printing import print_problem
from app.resources.paths import BayouPaths


async def serve_acp_over_stdio(
    options: CommandLineOptions,
    paths: BayouPaths,
    stopped: "asyncio.Future[int]",
    log_file: Path | None = None,
) -> int:
    """Serves until the input ends, the reader of the output has gone, or `stopped` is set."""
    descriptor, writer = claim_stdin(), StdoutLineWriter(claim_stdout())
    log = _open_line_log(log_file, paths) if log_file is not None else None
    connection = JsonRpcConnection(descriptor, writer, log)
    agent = AcpAgent(options, paths, AcpClient(connection))
    serving = asyncio.ensure_future(
        writer.await_until_reader_gone(connection.serve(agent.handle_client_call))
    )
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    is_stopped = stopped.done()
    serving.cancel()
    await agent.end_sessions()
    has_told = await writer.flush(STDOUT_READER_TIMEOUT_AFTER_SIGNAL if is_stopped else STDOUT_READER_TIMEOUT)
    await connection.cancel_client_calls()
    if is_stopped:
        return 128 + stopped.result()
    if writer.failure:
        print_problem(writer.failure)
        return FAILED
    return 0 if has_told else FAILED


def _open_line_log(file: Path, paths: BayouPaths) -> LogLine:
    from app.modes.acp.protocol_log import ProtocolLog  # noqa: PLC0415  (only with --log: it knows secrets)

    return ProtocolLog(file, paths).log_protocol_line
