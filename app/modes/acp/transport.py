"""The lines between bayou and an ACP client, as the SDK's `Transport`: one JSON object a line, both ways.

The SDK's own transport ends the connection at a line that is no object, and answers no line that is no JSON.
"""

from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any, Literal

import msgspec

from app.modes.lines import TooLong, read_lines
from app.modes.stdout_writer import LineWriter
from app.values.codec import decode_json, encode_json

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
REQUEST_ID: ContextVar[Any] = ContextVar("the id of the request that is carried out now", default=None)
ASKED: ContextVar[list[Any] | None] = ContextVar("takes the ids of requests to the client", default=None)

LogLine = Callable[[Literal["<", ">"], bytes], None]
"""Notes a line of the client (`<`) or of bayou (`>`)."""


class LineTransport:
    """Reads requests from a descriptor, and writes to the client in order."""

    def __init__(self, descriptor: int, writer: LineWriter, log: LogLine | None = None) -> None:
        self._lines = read_lines(descriptor)
        self._writer = writer
        self._log = log

    async def receive(self) -> dict[str, Any] | None:
        """Returns the next message; None at the end of the input. Lines that are no message are answered with
        an error."""
        async for message in self._messages():
            # The SDK carries a request out in a task that inherits this context.
            REQUEST_ID.set(message.get("id") if "method" in message else None)
            return message
        return None

    async def _messages(self) -> AsyncIterator[dict[str, Any]]:
        async for line in self._lines:
            if isinstance(line, TooLong):
                self._refuse(PARSE_ERROR, "Parse error", str(line))
                continue
            if self._log is not None:
                self._log("<", line)
            if not line.strip():
                continue
            try:
                message = decode_json(line)
            except msgspec.DecodeError as problem:
                self._refuse(PARSE_ERROR, "Parse error", str(problem))
                continue
            if wrong := _fault_of(message):
                self._refuse(INVALID_REQUEST, "Invalid request", wrong)
                continue
            yield message

    async def send(self, message: dict[str, Any]) -> None:
        asked = ASKED.get()
        if asked is not None and "method" in message and "id" in message:
            asked.append(message["id"])
        self._put(encode_json(message))

    async def close(self) -> None:
        """Leaves the rest to the writer, which is flushed at the end."""

    async def room(self) -> None:
        """Waits while the client has not read what was sent."""
        await self._writer.room()

    def notify(self, method: str, parameters: Any) -> None:
        """Sends a notification at once, in order with everything else."""
        self._put(encode_json({"jsonrpc": "2.0", "method": method, "params": parameters}))

    def _refuse(self, code: int, message: str, reason: str) -> None:
        error = {"code": code, "message": message, "data": {"reason": reason}}
        self._put(encode_json({"jsonrpc": "2.0", "id": None, "error": error}))

    def _put(self, line: bytes) -> None:
        if self._log is not None:
            self._log(">", line)
        self._writer.put(line)


def _fault_of(message: Any) -> str:
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
