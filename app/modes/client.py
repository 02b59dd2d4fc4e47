"""Driving bayou from Python: starts `bayou --mode rpc`, sends commands, hands out events.

async with RpcClient(cwd=project) as bayou:
    await bayou.prompt_and_wait("What does main.py do?")
    print(await bayou.get_last_assistant_text())
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from app.values.codec import decode_json, encode_json
from app.values.content import Image
from app.values.events import AgentSettled, Event
from app.values.messages import Message
from app.values.models import Model
from app.values.wire import from_wire, to_wire

LINE_LIMIT = 256 * 1024 * 1024

AnswerQuestion = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Gets an `extension_ui_request`; returns `{"value": …}` or `{"confirmed": …}`; None: cancelled."""
HostTool = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Gets a call's arguments; returns its text or a `{content, details}` result."""


class RpcError(Exception):
    """bayou refused a command, in its own words, or has gone."""


class RpcClient:
    """One bayou process."""

    def __init__(
        self,
        *,
        cwd: Path | None = None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-P", "-m", "app"),
        answer_question: AnswerQuestion | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._cwd = cwd
        self._command = [*command, "--mode", "rpc", *arguments]
        self._env = dict(env) if env is not None else None
        self._answer_question = answer_question
        self._timeout = timeout
        self._process: asyncio.subprocess.Process | None = None
        self._count = 0
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._tools: dict[str, HostTool] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.stderr = ""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            cwd=self._cwd,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_LIMIT,
        )
        self._spawn(self._read_events())
        self._spawn(self._read_stderr())

    async def stop(self) -> int | None:
        """Closes bayou's input and waits for its orderly end."""
        process = self._process
        if process is None:
            return None
        if process.stdin is not None:
            process.stdin.close()
        try:
            return await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            return await process.wait()

    # Hearing

    def on_event(self, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Calls `listener` with every event as it came; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def collect_events(self, timeout: float = 60.0) -> list[Event]:
        """Everything from now until the agent has settled."""
        events: list[Event] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note(data: Mapping[str, Any]) -> None:
            try:
                event = from_wire(dict(data), Event)
            except msgspec.ValidationError:
                return  # an event of a newer bayou
            events.append(event)
            if isinstance(event, AgentSettled) and not done.done():
                done.set_result(None)

        leave = self.on_event(note)
        try:
            await asyncio.wait_for(done, timeout)
        finally:
            leave()
        return events

    async def wait_for_idle(self, timeout: float = 60.0) -> None:
        await self.collect_events(timeout)

    async def prompt_and_wait(
        self, message: str, images: Sequence[Image] = (), timeout: float = 60.0
    ) -> list[Event]:
        """Sends a prompt and returns everything that came of it."""
        collected = asyncio.ensure_future(self.collect_events(timeout))
        await asyncio.sleep(0)  # the listener is in place before the prompt goes out
        try:
            await self.prompt(message, images)
            return await collected
        finally:
            collected.cancel()

    # Asking

    async def request(self, type: str, **fields: Any) -> Any:
        """Sends any command; returns its data. Raises `RpcError` with bayou's own words."""
        self._count += 1
        request_id = f"req_{self._count}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = future
        given = {key: to_wire(value) for key, value in fields.items() if value is not None}
        await self._send({"id": request_id, "type": type, **given})
        try:
            response = await asyncio.wait_for(future, self._timeout)
        finally:
            self._pending.pop(request_id, None)
        if not response.get("success"):
            raise RpcError(str(response.get("error", "unknown error")))
        return response.get("data")

    async def prompt(
        self, message: str, images: Sequence[Image] = (), streaming_behavior: str | None = None
    ) -> str:
        data = await self.request(
            "prompt", message=message, images=list(images) or None, streamingBehavior=streaming_behavior
        )
        return str(data["disposition"])

    async def steer(self, message: str, images: Sequence[Image] = ()) -> str:
        data = await self.request("steer", message=message, images=list(images) or None)
        return str(data["disposition"])

    async def follow_up(self, message: str, images: Sequence[Image] = ()) -> str:
        data = await self.request("follow_up", message=message, images=list(images) or None)
        return str(data["disposition"])

    async def abort(self) -> None:
        await self.request("abort")

    async def abort_and_prompt(self, message: str) -> str:
        return str((await self.request("abort_and_prompt", message=message))["disposition"])

    async def clear_queue(self) -> dict[str, list[str]]:
        return await self.request("clear_queue")

    async def get_state(self) -> dict[str, Any]:
        return await self.request("get_state")

    async def get_messages(self) -> list[Message]:
        data = await self.request("get_messages")
        return [from_wire(message, Message) for message in data["messages"]]

    async def get_last_assistant_text(self) -> str | None:
        return (await self.request("get_last_assistant_text") or {}).get("text")

    async def get_available_models(self) -> list[Model]:
        data = await self.request("get_available_models")
        return [from_wire(model, Model) for model in data["models"]]

    async def set_model(self, provider: str, model_id: str) -> Model:
        return from_wire(await self.request("set_model", provider=provider, modelId=model_id), Model)

    async def cycle_model(self) -> dict[str, Any] | None:
        return await self.request("cycle_model")

    async def set_thinking_level(self, level: str) -> None:
        await self.request("set_thinking_level", level=level)

    async def get_available_thinking_levels(self) -> list[str]:
        return (await self.request("get_available_thinking_levels"))["levels"]

    async def compact(self, custom_instructions: str | None = None) -> dict[str, Any]:
        return await self.request("compact", customInstructions=custom_instructions)

    async def bash(self, command: str, exclude_from_context: bool = False) -> dict[str, Any]:
        return await self.request("bash", command=command, excludeFromContext=exclude_from_context)

    async def get_session_stats(self) -> dict[str, Any]:
        return await self.request("get_session_stats")

    async def get_context_usage(self) -> dict[str, Any] | None:
        return await self.request("get_context_usage")

    async def new_session(self, parent_session: str | None = None) -> dict[str, Any]:
        return await self.request("new_session", parentSession=parent_session)

    async def switch_session(self, session_path: str) -> dict[str, Any]:
        return await self.request("switch_session", sessionPath=session_path)

    async def fork(self, entry_id: str) -> dict[str, Any]:
        return await self.request("fork", entryId=entry_id)

    async def clone(self) -> dict[str, Any]:
        return await self.request("clone")

    async def get_fork_messages(self) -> list[dict[str, str]]:
        return (await self.request("get_fork_messages"))["messages"]

    async def get_entries(self, since: str | None = None) -> dict[str, Any]:
        return await self.request("get_entries", since=since)

    async def get_tree(self) -> dict[str, Any]:
        return await self.request("get_tree")

    async def navigate_tree(self, entry_id: str | None) -> dict[str, Any]:
        return await self.request("navigate_tree", entryId=entry_id)

    async def set_label(self, entry_id: str, label: str | None) -> None:
        await self.request("set_label", entryId=entry_id, label=label)

    async def set_session_name(self, name: str) -> None:
        await self.request("set_session_name", name=name)

    async def list_jobs(self) -> list[dict[str, Any]]:
        return (await self.request("list_jobs"))["jobs"]

    async def kill_job(self, job_id: str) -> None:
        await self.request("kill_job", jobId=job_id)

    async def set_host_tools(
        self, tools: Sequence[Mapping[str, Any]], run: Mapping[str, HostTool]
    ) -> list[str]:
        """Gives the model tools that this program carries out. `tools`: name, description, parameters."""
        self._tools = dict(run)
        return (await self.request("set_host_tools", tools=list(tools)))["toolNames"]

    # Inside

    async def _send(self, data: Mapping[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            raise RpcError(
                "bayou is not running." + (f" It said: {self.stderr.strip()}" if self.stderr else "")
            )
        process.stdin.write(encode_json(dict(data)) + b"\n")
        await process.stdin.drain()

    async def _read_events(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while line := await self._process.stdout.readline():
            try:
                data = decode_json(line)
            except msgspec.DecodeError:
                continue
            if isinstance(data, dict):
                self._take(data)
        gone = RpcError(f"bayou has ended. {self.stderr.strip()}".strip())
        for future in self._pending.values():
            if not future.done():
                future.set_exception(gone)

    def _take(self, data: dict[str, Any]) -> None:
        waiting = self._pending.get(str(data.get("id"))) if data.get("type") == "response" else None
        if waiting is not None and not waiting.done():
            waiting.set_result(data)
            return
        if data.get("type") == "extension_ui_request" and self._answer_question is not None:
            self._spawn(self._answer(self._answer_question, data))
        elif data.get("type") == "host_tool_call":
            self._spawn(self._run_tool(data))
        for listener in tuple(self._listeners):
            listener(data)

    async def _answer(self, ask: AnswerQuestion, data: dict[str, Any]) -> None:
        answer = await ask(data)
        given = {"cancelled": True} if answer is None else dict(answer)
        await self._send({"type": "extension_ui_response", "id": data["id"], **given})

    async def _run_tool(self, data: dict[str, Any]) -> None:
        tool = self._tools.get(str(data.get("toolName")))
        try:
            if tool is None:
                raise LookupError(f"This client has no tool {data.get('toolName')}")
            result = await tool(data.get("arguments") or {})
        except Exception as problem:  # noqa: BLE001  (a failing tool of the client's is the model's to hear of)
            result = {"content": [{"type": "text", "text": str(problem)}], "isError": True}
        if isinstance(result, str):
            result = {"content": [{"type": "text", "text": result}]}
        await self._send({"type": "host_tool_result", "id": data["id"], "result": result})

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self.stderr = (self.stderr + chunk.decode("utf-8", "replace"))[-20_000:]

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
