"""Controls bayou from Python: starts `bayou --mode rpc`, sends commands, delivers events.

async with RpcClient(cwd=project) as bayou:
    await bayou.prompt_and_wait("What does main.py do?")
    print(await bayou.get_last_assistant_text())

It needs only msgspec and the standard library, so any program can use it, independent of its packages.
`connection` handles the process and its lines; the commands are in `client_commands` and docs/rpc.md, events
and all other values in `values`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from bayou.client_commands import ClientCommands
from bayou.connection import AnswerQuestion, Connection, HostTool, RpcError
from bayou.program import command as own_command
from bayou.values import AgentSettled, Event, Image, from_wire

__all__ = ["RpcClient", "RpcError"]


class RpcClient(ClientCommands):
    """Starts one bayou process, ends it, and delivers its events. A method for every command is inherited."""

    def __init__(
        self,
        *,
        cwd: Path | None = None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
        answer_question: AnswerQuestion | None = None,
        timeout: float = 30.0,
    ) -> None:
        """`command` is how bayou is started, if not as the installation that this module belongs to."""
        super().__init__(self._answer)
        self.connection = Connection(
            [*(command or own_command()), "--mode", "rpc", *arguments],
            cwd=cwd,
            env=env,
            answer_question=answer_question,
            timeout=timeout,
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        await self.connection.start()

    async def stop(self) -> int | None:
        """Closes bayou's input, waits for its orderly end, and returns its exit code."""
        return await self.connection.stop()

    def on_event(self, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Calls `listener` with every event as received; returns a function that stops it."""
        return self.connection.on_event(listener)

    async def request(self, type: str, **fields: Any) -> Any:
        """Sends any command with its fields as on the wire; returns the response's data."""
        return await self.connection.request(type, **fields)

    async def _answer(self, name: str, kind: Any, field: str, /, **given: Any) -> Any:
        """Sends a command; returns its data, or their only field, as `kind`. Raises `RpcError` with bayou's error
        text."""
        data = await self.request(name, **given)
        if kind is None:
            return None
        return from_wire(data.get(field) if field else data, kind)

    # Waiting

    async def collect_events(self, timeout: float = 60.0) -> list[Event]:
        """Collects all events from now until the agent has settled. Raises `RpcError` when bayou ends
        before."""
        events: list[Event] = []
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def note(data: Mapping[str, Any]) -> None:
            try:
                event = from_wire(dict(data), Event)
            except msgspec.ValidationError:
                return  # an event type that a newer bayou added
            events.append(event)
            if isinstance(event, AgentSettled) and not done.done():
                done.set_result(None)

        leave = self.on_event(note)
        ended = asyncio.ensure_future(self.connection.wait_until_ended())
        try:
            async with asyncio.timeout(timeout):
                await asyncio.wait({done, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leave()
            ended.cancel()
        if not done.done():
            raise self.connection.gone()
        return events

    async def wait_for_idle(self, timeout: float = 60.0) -> None:
        """Waits until no run is active; returns at once when none is."""
        settled = asyncio.ensure_future(self.collect_events(timeout))
        await asyncio.sleep(0)  # lets the collector subscribe before the state is requested
        try:
            if (await self.get_state())["isStreaming"]:
                await settled
        finally:
            settled.cancel()

    async def prompt_and_wait(
        self, message: str, images: Sequence[Image] = (), timeout: float = 60.0
    ) -> list[Event]:
        """Sends a prompt and returns all its events; none, if the prompt started no run."""
        collected = asyncio.ensure_future(self.collect_events(timeout))
        await asyncio.sleep(0)  # lets the collector subscribe before the prompt is sent
        try:
            if await self.prompt(message, images) == "handled":
                return []
            return await collected
        finally:
            collected.cancel()

    async def set_host_tools(
        self, tools: Sequence[Mapping[str, Any]], run: Mapping[str, HostTool]
    ) -> list[str]:
        """Gives the model tools that this program runs. `tools`: name, description, parameters."""
        self.connection.tools = dict(run)
        return (await self.request("set_host_tools", tools=list(tools)))["toolNames"]
