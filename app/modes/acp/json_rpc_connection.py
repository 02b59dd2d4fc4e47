"""The connection to an ACP client: JSON-RPC, one object a line, both ways.

Requests of the client are carried out side by side, each in a task; those of bayou wait for their answers. A line that
is no message is answered with an error, and ends nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Literal

import msgspec

from app.modes.acp.request_errors import INVALID_REQUEST, PARSE_ERROR, AcpRequestError
from app.modes.line_reader import LineTooLong, read_pipe_lines
from app.modes.stdout_writer import StdoutLineWriter
from app.values.codec import decode_json, encode_json

RequestId = str | int | None
LogLine = Callable[[Literal["<", ">"], bytes], None]
"""Notes a line of the client (`<`) or of bayou (`>`)."""


class AcpClientCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request of the client, or a notification, which is not answered."""

    method: str
    parameters: Any
    id: RequestId
    is_notification: bool


CallHandler = Callable[[AcpClientCall], Awaitable[Any]]
"""Returns the result of a call. Raises only `AcpRequestError`."""


class JsonRpcConnection:
    """Reads from a descriptor, and writes to the client in order."""

    def __init__(self, descriptor: int, writer: StdoutLineWriter, log: LogLine | None = None) -> None:
        self._lines = read_pipe_lines(descriptor)
        self._writer = writer
        self._log = log
        self._ids = count()
        self._asked: dict[RequestId, asyncio.Future[Any]] = {}
        """The requests of bayou that the client has not answered."""
        self._calls: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def serve(self, carry_out: CallHandler) -> None:
        """Serves until the end of the input. Nothing is asked afterwards: each open question ends with a
        `ConnectionError`."""
        try:
            async for message in self._read_messages():
                if "method" in message:
                    call = AcpClientCall(
                        method=message["method"],
                        parameters=message.get("params"),
                        id=message.get("id"),
                        is_notification="id" not in message,
                    )
                    task = asyncio.ensure_future(self._run_and_respond(call, carry_out))
                    self._calls.add(task)
                    task.add_done_callback(self._calls.discard)
                else:
                    self._accept_response(message)
        finally:
            self._is_closed = True
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(_disconnected_error())

    async def cancel_client_calls(self) -> None:
        """Stops the calls that are still being carried out."""
        calls = tuple(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def send_request(self, method: str, parameters: msgspec.Struct | Mapping[str, Any]) -> Any:
        """Sends a request and returns the result. Raises `ConnectionError` if the client is gone, and
        `AcpRequestError` for a refusal; a cancelled request is withdrawn."""
        if self._is_closed:
            raise _disconnected_error()
        number = next(self._ids)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": parameters})
        try:
            return await answer
        except asyncio.CancelledError:
            self.send_notification("$/cancel_request", {"requestId": number})
            raise
        finally:
            del self._asked[number]

    def send_notification(self, method: str, parameters: Any) -> None:
        """Sends a notification at once, in order with everything else."""
        self._send({"method": method, "params": parameters})

    async def wait_for_output_space(self) -> None:
        """Waits while the client has too much unread output."""
        await self._writer.wait_for_output_space()

    async def _read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the lines that are requests, notifications or responses; answers other lines with an error."""
        async for line in self._lines:
            if isinstance(line, LineTooLong):
                self._send_error(PARSE_ERROR, "Parse error", str(line))
                continue
            if self._log is not None:
                self._log("<", line)
            if not line.strip():
                continue
            try:
                message = decode_json(line)
            except msgspec.DecodeError as problem:
                self._send_error(PARSE_ERROR, "Parse error", str(problem))
                continue
            if wrong := _message_fault(message):
                self._send_error(INVALID_REQUEST, "Invalid request", wrong)
                continue
            yield message

    async def _run_and_respond(self, call: AcpClientCall, carry_out: CallHandler) -> None:
        try:
            result = {"result": await carry_out(call)}
        except AcpRequestError as problem:
            result = {"error": problem.as_json_rpc_error()}
        if not call.is_notification:
            self._send({"id": call.id, **result})

    def _accept_response(self, message: dict[str, Any]) -> None:
        asked = self._asked.get(message["id"])
        if asked is None or asked.done():
            return
        if "result" in message:
            asked.set_result(message["result"])
        else:
            asked.set_exception(AcpRequestError.from_error_object(message["error"]))

    def _send_error(self, code: int, message: str, reason: str) -> None:
        self._send(
            {"id": None, "error": AcpRequestError(code, message, {"reason": reason}).as_json_rpc_error()}
        )

    def _send(self, message: dict[str, Any]) -> None:
        line = encode_json({"jsonrpc": "2.0", **message})
        if self._log is not None:
            self._log(">", line)
        self._writer.queue_line(line)


def _disconnected_error() -> ConnectionError:
    return ConnectionError("the client has closed the connection")


def _message_fault(message: Any) -> str:
    """Returns why a message is neither a request nor a response; empty when it is one."""
    if not isinstance(message, dict):
        return "a message is a JSON object; batches are not part of the protocol"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "`method` is a text"
        if not _is_id(message.get("id")):
            return "`id` is a text or a whole number"
        return ""
    if "result" not in message and not isinstance(message.get("error"), dict):
        return "there is neither a `method` nor a `result` nor an `error` object"
    return "" if "id" in message and _is_id(message["id"]) else "`id` is a text or a whole number"


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))
