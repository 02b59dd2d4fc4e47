"""Runs an MCP server that is a program on this machine: its lines, its standard error, its end.

It runs under the supervisor process (`tools.running.supervisor`), which ends it with all its child processes, even when
bayou dies. Of the protocol only the framing is known here (`McpStdioTransport`). The SDK's own transport is not used:
it starts programs outside of the sandbox, leaves child processes behind when the server ends by itself, and joins lines
without a limit."""

import asyncio
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from app.mcp.server_context import McpServerLog
from app.mcp.server_errors import describe_pydantic_error
from tools.file_and_process_operations import CommandLine, RunningProcess
from tools.running.local_processes import LocalProcesses, create_large_pipe

MAX_MCP_SERVER_LINE_BYTES = 64 * 1024 * 1024
MAX_MCP_READ_AHEAD_BYTES = 8 * 1024 * 1024
"""How many bytes are read ahead of the reader of lines."""
MCP_SERVER_EXIT_GRACE_SECONDS = 0.3
"""The time that a server has to end by itself after its input was closed."""
_VARIABLES_INHERITED_BY_SERVERS = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ")
_VARIABLE_PREFIXES_INHERITED_BY_SERVERS = ("LC_", "XDG_")
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


def environment_for_mcp_server(env: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables of bayou that every local MCP server gets, without keys of
    providers."""
    return {
        name: value
        for name, value in env.items()
        if name in (*_VARIABLES_INHERITED_BY_SERVERS, *_CERTIFICATE_VARIABLES)
        or name.startswith(_VARIABLE_PREFIXES_INHERITED_BY_SERVERS)
        or name.upper() in _PROXY_VARIABLES
    }


class McpServerProcess:
    """The process of a local MCP server, running or ended."""

    def __init__(self, process: RunningProcess, log: McpServerLog) -> None:
        self.log = log
        self.output_fault = ""
        """Why bayou stopped reading, when the server caused it."""
        self.exit_code: int | None = None
        self._process = process
        self._output_lines = _OutputLineProtocol(self._report_long_line)
        self._stderr_protocol = _StderrProtocol(log)
        self._stdin: asyncio.StreamWriter | None = None
        self._exit_watch_task = asyncio.ensure_future(self._watch_exit())

    @staticmethod
    async def start_process(
        processes: LocalProcesses, command: CommandLine, log: McpServerLog
    ) -> "McpServerProcess":
        """Starts a local MCP server's process. Raises `OSError`, including `BoxFailed`."""
        ends = [*os.pipe(), *create_large_pipe(), *os.pipe()]
        his_in, my_in, my_out, his_out, my_errors, his_errors = ends
        try:
            process = await processes.start_piped(command, his_in, his_out, his_errors)
        except BaseException:
            for end in (my_in, my_out, my_errors):
                os.close(end)
            raise
        finally:
            for end in (his_in, his_out, his_errors):
                os.close(end)
        server = McpServerProcess(process, log)
        await server._connect_pipes(my_in, my_out, my_errors)
        return server

    async def _connect_pipes(self, stdin: int, output: int, errors: int) -> None:
        loop = asyncio.get_running_loop()
        opened = [os.fdopen(descriptor, mode, 0) for descriptor, mode in ((output, "rb"), (errors, "rb"))]
        await loop.connect_read_pipe(lambda: self._output_lines, opened[0])
        await loop.connect_read_pipe(lambda: self._stderr_protocol, opened[1])
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(stdin, "wb", 0)
        )
        self._stdin = asyncio.StreamWriter(transport, protocol, None, loop)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def next_line(self) -> bytes | None:
        """Returns the next line of the server's standard output; None when the output has ended."""
        return await self._output_lines.next_line()

    async def write_line(self, line: bytes) -> None:
        """Writes a line to the server's standard input. Raises `OSError` when the process does not read any more."""
        assert self._stdin is not None
        self._stdin.write(line)
        await self._stdin.drain()

    async def end_process(self) -> None:
        """Closes the server's input, then lets the supervisor end the process with all its child processes."""
        self._close_stdin()
        await asyncio.wait({self._exit_watch_task}, timeout=MCP_SERVER_EXIT_GRACE_SECONDS)
        await self._process.end()
        await asyncio.wait({self._exit_watch_task}, timeout=MCP_SERVER_EXIT_GRACE_SECONDS)
        self._output_lines.close()
        self._stderr_protocol.close()

    def _close_stdin(self) -> None:
        if self._stdin is not None and not self._stdin.transport.is_closing():
            self._stdin.transport.abort()

    async def _watch_exit(self) -> None:
        self.exit_code = await self._process.wait()

    async def wait_for_exit_code(self, seconds: float) -> int | None:
        """Waits up to `seconds` for the exit code of a server's process; None when the process still runs."""
        await asyncio.wait({self._exit_watch_task}, timeout=seconds)
        return self.exit_code

    def _report_long_line(self) -> None:
        self.output_fault = (
            f"the server sent a line of more than {MAX_MCP_SERVER_LINE_BYTES // 1024 // 1024} MB"
        )


class _OutputLineProtocol(asyncio.Protocol):
    """Splits the output of an MCP server's process into lines. Pieces of a line are joined once, at its end."""

    def __init__(self, too_long: Callable[[], None]) -> None:
        self._report_long_line = too_long
        self._pieces: list[bytes] = []
        self._buffered_bytes = self._waiting = 0
        self._complete_lines: deque[bytes] = deque()
        self._line_arrived = asyncio.Event()
        self._has_ended = False
        self._pipe: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._pipe = transport

    def data_received(self, data: bytes) -> None:
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._pieces.append(end)
            whole = b"".join(self._pieces)
            self._pieces, self._buffered_bytes = [], 0
            if whole.strip():
                self._complete_lines.append(whole)
                self._waiting += len(whole)
        if rest:
            self._pieces.append(rest)
            self._buffered_bytes += len(rest)
        if self._buffered_bytes > MAX_MCP_SERVER_LINE_BYTES:
            self._report_long_line()
            self._pieces = []
            self.close()
        self._line_arrived.set()
        if self._waiting > MAX_MCP_READ_AHEAD_BYTES and self._pipe is not None:
            self._pipe.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        self._line_arrived.set()

    async def next_line(self) -> bytes | None:
        while not self._complete_lines:
            if self._has_ended:
                return None
            self._line_arrived.clear()
            await self._line_arrived.wait()
        line = self._complete_lines.popleft()
        self._waiting -= len(line)
        if (
            self._waiting <= MAX_MCP_READ_AHEAD_BYTES // 2
            and self._pipe is not None
            and not self._pipe.is_closing()
        ):
            self._pipe.resume_reading()
        return line

    def close(self) -> None:
        self._has_ended = True
        self._line_arrived.set()
        if self._pipe is not None:
            self._pipe.close()


class _StderrProtocol(asyncio.Protocol):
    """Passes a server's standard error to its log."""

    def __init__(self, log: McpServerLog) -> None:
        self._log = log
        self._pipe: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = transport

    def data_received(self, data: bytes) -> None:
        self._log.add_bytes(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._log.flush_last_line()

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()


McpTransport = AbstractAsyncContextManager[Any]
_MAX_LOGGED_NON_JSON_CHARS = 300
_LEADING_JSON_RPC_ID_PATTERN = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(?P<id>\d{1,18})\s*,'
)
_TRAILING_JSON_RPC_ID_PATTERN = re.compile(
    rb'"id"\s*:\s*(?P<id>\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$'
)


class McpStdioTransport:
    """Adapts the process of a local MCP server to the streams that the SDK expects."""

    def __init__(self, process: McpServerProcess) -> None:
        self.process = process
        self.ended = asyncio.Event()
        """Set when the output has ended."""

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[Any]:
        import anyio  # noqa: PLC0415  (with the SDK)
        from mcp.shared.message import SessionMessage  # noqa: PLC0415  (as above)
        from mcp_types import (  # noqa: PLC0415  (as above)
            PARSE_ERROR,
            ErrorData,
            JSONRPCError,
            jsonrpc_message_adapter,
        )

        process = self.process
        told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, asked = anyio.create_memory_object_stream[SessionMessage](0)

        async def hear() -> None:
            async with told:
                while (line := await process.next_line()) is not None:
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError as problem:
                        noise = line[:_MAX_LOGGED_NON_JSON_CHARS].decode("utf-8", "replace")
                        process.log.write_note(f"[not of the protocol, on standard output] {noise}")
                        if (number := _find_answered_request_id(line)) is None:
                            continue
                        reason = f"its answer cannot be read: {describe_pydantic_error(problem)}"
                        error = ErrorData(code=PARSE_ERROR, message=reason)
                        message = JSONRPCError(jsonrpc="2.0", id=number, error=error)
                    try:
                        await told.send(SessionMessage(message))
                    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                        return
            self.ended.set()

        async def speak() -> None:
            async with asked:
                async for message in asked:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    try:
                        await process.write_line(text.encode() + b"\n")
                    except OSError:
                        await told.aclose()  # No answer can arrive for open requests.
                        self.ended.set()
                        return

        async with anyio.create_task_group() as both:
            both.start_soon(hear)
            both.start_soon(speak)
            try:
                yield heard, said
            finally:
                both.cancel_scope.cancel()


def _find_answered_request_id(line: bytes) -> int | None:
    """Returns the number of the request that an unreadable line of a server answers, from the line's start or end; None
    if it is no answer."""
    head, tail = line[:_MAX_LOGGED_NON_JSON_CHARS], line[-_MAX_LOGGED_NON_JSON_CHARS:]
    if b'"method"' in head:
        return None
    found = _LEADING_JSON_RPC_ID_PATTERN.match(head) or _TRAILING_JSON_RPC_ID_PATTERN.search(tail)
    return int(found["id"]) if found else None


class EndSignallingStream:
    """Wraps a stream for the SDK and sets the event `ended` when no more messages will arrive."""

    def __init__(self, stream: Any, ended: asyncio.Event) -> None:
        self._stream = stream
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> "EndSignallingStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended.set()
            raise

    async def __aenter__(self) -> "EndSignallingStream":
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.aclose()
