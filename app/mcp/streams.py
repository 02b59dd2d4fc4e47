"""What a connection hears and says: the SDK's streams over a process, and word of their end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from app.mcp.process import ServerProcess

Transport = AbstractAsyncContextManager[Any]
_NOISE_SHOWN = 300


class StdioTransport:
    """The SDK's streams over a process."""

    def __init__(self, process: ServerProcess) -> None:
        self.process = process
        self.ended = asyncio.Event()
        """It says nothing any more."""

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[Any]:
        import anyio  # noqa: PLC0415  (with the SDK)
        from mcp.shared.message import SessionMessage  # noqa: PLC0415  (as above)
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415  (as above)

        process = self.process
        told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, asked = anyio.create_memory_object_stream[SessionMessage](0)

        async def hear() -> None:
            async with told:
                while (line := await process.line()) is not None:
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        noise = line[:_NOISE_SHOWN].decode("utf-8", "replace")
                        process.log.note(f"[not of the protocol, on standard output] {noise}")
                        continue
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
                        await process.write(text.encode() + b"\n")
                    except OSError:
                        await told.aclose()  # Whoever waits for an answer waits in vain.
                        self.ended.set()
                        return

        async with anyio.create_task_group() as both:
            both.start_soon(hear)
            both.start_soon(speak)
            try:
                yield heard, said
            finally:
                both.cancel_scope.cancel()


class StreamHeard:
    """What comes over a transport, which is told of when nothing comes any more."""

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

    def __aiter__(self) -> "StreamHeard":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended.set()
            raise

    async def __aenter__(self) -> "StreamHeard":
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.aclose()
