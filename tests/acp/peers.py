"""A client that writes the lines of ACP itself, and checks every line of bayou against the published schema.

`schema-v1.json` is `schema/v1/schema.json` of the npm package `@agentclientprotocol/sdk` 2.4.0 (Apache License 2.0,
by Zed Industries and contributors), without its descriptions."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from tests.support.warm_bayou import BAYOU

SCHEMA = json.loads((Path(__file__).parent / "schema-v1.json").read_text())
STAGE = str(Path(__file__).parents[1] / "modes" / "extensions" / "stage.py")
CALLS = str(Path(__file__).parents[1] / "modes" / "extensions" / "calls.py")
FAST = {"BAYOU_OFFLINE_PACE": "0"}
_LIMIT = 256 * 1024 * 1024

Answer = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Gets the method and the parameters of a request of bayou; returns the result."""


class AcpError(Exception):
    """bayou has answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.data = error.get("data") or {}


@cache
def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


@cache
def kind_of(method: str, ending: str) -> str | None:
    """The definition of a method's request, response or notification; None for one that is not stable."""
    found = [
        name
        for name, one in SCHEMA["$defs"].items()
        if one.get("x-method") == method and name.endswith(ending)
    ]
    return found[0] if found else None


def check(kind: str | None, value: Any) -> None:
    if kind is not None:
        validator(kind).validate(value)


async def refuse(method: str, parameters: Mapping[str, Any]) -> Any:
    raise AssertionError(f"{method} was not expected: {parameters}")


def choosing(name: str) -> Answer:
    """Answers permission requests with the option of this name, or its beginning."""

    async def answer(method: str, parameters: Mapping[str, Any]) -> Any:
        assert method == "session/request_permission"
        option = next(one for one in parameters["options"] if one["name"].startswith(name))
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}

    return answer


class AcpClient:
    """One bayou, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process, answer: Answer) -> None:
        self.process = process
        self.answer = answer
        self.updates: list[Mapping[str, Any]] = []
        """The updates of all sessions."""
        self.told_before: list[Mapping[str, Any]] = []
        """The updates that had come when the last request was answered."""
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        """The requests of bayou."""
        self.taken_back: list[Any] = []
        """The ids of those that bayou has taken back."""
        self.unasked: list[Mapping[str, Any]] = []
        """Answers without an id: to lines that are no requests."""
        self._count = 0
        self._open: dict[Any, tuple[str, asyncio.Future[Any]]] = {}
        self._answering: dict[Any, asyncio.Task[None]] = {}
        self._changed = asyncio.Condition()
        self._reading = asyncio.ensure_future(self._read())

    async def initialize(self, **capabilities: Any) -> Mapping[str, Any]:
        return await self.call(
            "initialize", protocolVersion=1, clientCapabilities=capabilities, clientInfo=None
        )

    async def new(self, cwd: Path, **more: Any) -> str:
        answer = await self.call("session/new", cwd=str(cwd), **{"mcpServers": [], **more})
        return str(answer["sessionId"])

    async def prompt(self, session: str, *words: str | Mapping[str, Any], **more: Any) -> str:
        """The reason for which the turn has ended."""
        blocks = [{"type": "text", "text": word} if isinstance(word, str) else word for word in words]
        answer = await self.call("session/prompt", sessionId=session, prompt=blocks, **more)
        return str(answer["stopReason"])

    async def call(self, method: str, **parameters: Any) -> Any:
        """The result. Raises `AcpError` for a refusal."""
        self._count += 1
        return await self.call_with_id(self._count, method, **parameters)

    async def call_with_id(self, id: Any, method: str, **parameters: Any) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[id] = method, future
        self.write({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters})
        return await asyncio.wait_for(future, 60)

    def notify(self, method: str, **parameters: Any) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": parameters})

    def write(self, message: Any) -> None:
        self.write_line(json.dumps(message).encode())

    def write_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")

    def kinds(self) -> list[str]:
        """The kinds of the updates, each once where several of a kind follow each other."""
        kinds = [str(one["sessionUpdate"]) for one in self.updates]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [one for one in self.updates if one["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one["content"].get("text", "") for one in self.of(kind))

    async def until(self, is_there: Callable[[], Any]) -> Any:
        """Waits until something has come that the condition finds; returns what it finds."""
        async with asyncio.timeout(60), self._changed:
            while not (found := is_there()):
                await self._changed.wait()
            return found

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = await asyncio.wait_for(self.process.wait(), 30)
        await self._reading
        return code

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self._take(json.loads(line))
            async with self._changed:
                self._changed.notify_all()
        for _, future in self._open.values():
            if not future.done():
                future.set_exception(ConnectionError("bayou has ended"))

    def _take(self, message: Mapping[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        method, id = message.get("method"), message.get("id")
        if method == "session/update":
            check("SessionNotification", message["params"])
            self.updates.append(message["params"]["update"])
        elif method == "$/cancel_request":
            self.taken_back.append(message["params"]["requestId"])
            if (task := self._answering.get(message["params"]["requestId"])) is not None:
                task.cancel()
        elif method is not None:
            check(kind_of(method, "Request"), message["params"])
            self.asked.append((method, message["params"]))
            self._answering[id] = asyncio.ensure_future(self._answer(id, method, message["params"]))
        elif id is None:
            self.unasked.append(message)
        else:
            self._settle(message)

    def _settle(self, message: Mapping[str, Any]) -> None:
        method, future = self._open.pop(message["id"])
        self.told_before = list(self.updates)
        if "error" in message:
            check("Error", message["error"])
            if not future.done():
                future.set_exception(AcpError(message["error"]))
            return
        if message["result"] is not None:
            check(kind_of(method, "Response"), message["result"])
        if not future.done():
            future.set_result(message["result"])

    async def _answer(self, id: Any, method: str, parameters: Mapping[str, Any]) -> None:
        result = await self.answer(method, parameters)
        self.write({"jsonrpc": "2.0", "id": id, "result": result})


@asynccontextmanager
async def bayou(
    *words: str, answer: Answer = refuse, env: Mapping[str, str] | None = None
) -> AsyncIterator[AcpClient]:
    """A bayou that has not been initialised."""
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "acp", *words, env={**os.environ, **FAST, **(env or {})},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=_LIMIT,
    )  # fmt: skip
    client = AcpClient(process, answer)
    try:
        yield client
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def scripted_client(
    *words: str, answer: Answer = refuse, **capabilities: Any
) -> AsyncIterator[AcpClient]:
    """An initialised one, with the model of `modes/extensions/stage.py`."""
    async with bayou("-e", STAGE, *words, answer=answer) as client:
        await client.initialize(**capabilities)
        yield client
