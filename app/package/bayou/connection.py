"""Connects to a bayou process over two pipes: starts and ends it, reads its lines, and answers its
requests."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bayou.deep_json import decode_deep
from bayou.values import decode_json, encode_json, to_wire

LINE_LIMIT = 256 * 1024 * 1024

AnswerQuestion = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Gets an `extension_ui_request`; returns `{"value": …}` or `{"confirmed": …}`; None: cancelled."""
Tell = Callable[[Any], Awaitable[None]]
"""Reports the progress of a call: a text or a partial `{content, details}` result."""
HostTool = Callable[[Mapping[str, Any], Tell], Awaitable[Any]]
"""Runs a call with its arguments; returns a text or a `{content, details}` result. Cancelled when the result
is no longer needed."""


class RpcError(Exception):
    """bayou refused a command, with its reason as the text, or the process has ended."""


class Connection:
    """Sends commands, matches responses to them, and delivers all other lines."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        answer_question: AnswerQuestion | None,
        timeout: float,
    ) -> None:
        self._cwd = cwd
        self._command = command
        self._env = dict(env) if env is not None else None
        self._answer_question = answer_question
        self._timeout = timeout
        self._process: asyncio.subprocess.Process | None = None
        self._count = 0
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._question_tasks: dict[str, asyncio.Task[None]] = {}
        """Tasks that answer questions, by the questions' ids."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self.tools: dict[str, HostTool] = {}
        self.stderr = ""

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RpcError("bayou was not started.")
        return self._process.pid

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._cwd,
            env=self._env,
            limit=LINE_LIMIT,
        )
        self._spawn(self._read_events())
        self._spawn(self._read_stderr())

    async def stop(self) -> int | None:
        """Closes bayou's input, waits for its orderly end, and returns its exit code."""
        process = self._process
        if process is None:
            return None
        assert process.stdin is not None
        process.stdin.close()
        try:
            return await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            return await process.wait()

    async def wait_until_ended(self) -> int:
        """Waits for bayou's last line and returns the exit code."""
        assert self._process is not None
        await self._ended.wait()
        return await self._process.wait()

    def gone(self) -> RpcError:
        return RpcError(f"bayou has ended. {self.stderr.strip()}".strip())

    def on_event(self, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Calls `listener` with every event as received; returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def request(self, type: str, **fields: Any) -> Any:
        """Sends any command and returns its data. Raises `RpcError` with bayou's error text."""
        self._count += 1
        request_id = f"req_{self._count}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        given = {key: to_wire(value) for key, value in fields.items() if value is not None}
        try:
            await self.send({"id": request_id, "type": type, **given})
            response = await asyncio.wait_for(future, self._timeout)
        finally:
            self._pending.pop(request_id, None)
        if not response.get("success"):
            raise RpcError(str(response.get("error", "unknown error")))
        return response.get("data")

    async def send(self, data: Mapping[str, Any]) -> None:
        """Sends one line to bayou's input."""
        process = self._process
        if process is None or process.returncode is not None:
            raise RpcError(
                "bayou is not running." + (f" Its error output: {self.stderr.strip()}" if self.stderr else "")
            )
        assert process.stdin is not None
        try:
            process.stdin.write(encode_json(dict(data)) + b"\n")
            await process.stdin.drain()
        except ConnectionError:
            raise self.gone() from None

    async def _read_events(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while line := await self._process.stdout.readline():
            try:
                data = _decoded(line)
            except msgspec.DecodeError:
                continue
            if isinstance(data, dict):
                self._take(data)
        self._ended.set()
        for call in self._calls.values():
            call.cancel()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(self.gone())

    def _take(self, data: dict[str, Any]) -> None:
        waiting = self._pending.get(str(data.get("id"))) if data.get("type") == "response" else None
        if waiting is not None and not waiting.done():
            waiting.set_result(data)
            return
        match data.get("type"):
            case "extension_ui_request" if data.get("method") == "cancel":
                if (asked := self._question_tasks.pop(str(data.get("targetId")), None)) is not None:
                    asked.cancel()
            case "extension_ui_request" if self._answer_question is not None:
                self._question_tasks[str(data.get("id"))] = self._spawn(
                    self._answer(self._answer_question, data)
                )
            case "host_tool_call":
                self._calls[data["id"]] = self._spawn(self._run_tool(data))
            case "host_tool_cancel" if (call := self._calls.get(str(data.get("targetId")))) is not None:
                call.cancel()
        for listener in tuple(self._listeners):
            listener(data)

    async def _answer(self, ask: AnswerQuestion, data: dict[str, Any]) -> None:
        answer = await ask(data)
        self._question_tasks.pop(str(data.get("id")), None)
        given = {"cancelled": True} if answer is None else dict(answer)
        await self.send({"type": "extension_ui_response", "id": data["id"], **given})

    async def _run_tool(self, data: dict[str, Any]) -> None:
        async def tell(partial: Any) -> None:
            await self.send(
                {"type": "host_tool_update", "id": data["id"], "partialResult": _as_result(partial)}
            )

        tool = self.tools.get(str(data.get("toolName")))
        try:
            if tool is None:
                raise LookupError(f"This client has no tool {data.get('toolName')}")
            result = _as_result(await tool(data.get("arguments") or {}, tell))
        except Exception as problem:  # noqa: BLE001  (a failing tool of the client's is the model's to hear of)
            result = {**_as_result(str(problem)), "isError": True}
        finally:
            self._calls.pop(data["id"], None)
        await self.send({"type": "host_tool_result", "id": data["id"], "result": result})

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self.stderr = (self.stderr + chunk.decode("utf-8", "replace"))[-20_000:]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _decoded(line: bytes) -> Any:
    try:
        return decode_json(line)
    except msgspec.DecodeError:
        return decode_deep(line)


def _as_result(given: Any) -> Any:
    return {"content": [{"type": "text", "text": given}]} if isinstance(given, str) else given
