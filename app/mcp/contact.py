"""One attempt at a server: its process or its address, the connection over it, why it failed, and how it is left."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.mcp.entries import ServerConfig
from app.mcp.faults import CallRefused, ServerFault, SignInNeeded
from app.mcp.link import Greeting, Listeners, ServerLink, StdioTransport, Transport
from app.mcp.manifest import Manifest, Manifests, manifest_of
from app.mcp.process import ServerProcess
from app.mcp.server_log import ServerLog
from tools.base import ToolError
from tools.box.policy import Box
from tools.operations import CommandLine
from tools.running.process import BoxFailed, LocalProcesses

LEAVE_SECONDS = 1.0
_EXIT_SECONDS = 0.5
_FAILURES, _WITHIN_SECONDS = 3, 60.0
_PAUSE_SECONDS, _LONGEST_PAUSE = 30.0, 300.0


async def _no_box(config: ServerConfig) -> Box | None:
    return None


async def _as_written(config: ServerConfig) -> ServerConfig:
    return config


class ServerGround(msgspec.Struct, frozen=True, kw_only=True):
    """What the servers of a session stand on."""

    processes: Callable[[], LocalProcesses]
    folder: Callable[[], Path]
    """The one that the session works in."""
    environment: Callable[[], Mapping[str, str]]
    """What a server may see of bayou's own variables."""
    resolved: Callable[[ServerConfig], Awaitable[ServerConfig]] = _as_written
    """With the values that are only named in it. Raises `Unable`."""
    remote: Callable[[ServerConfig, ServerLog], Callable[[], Transport]] | None = None
    """The way to a server on the network."""
    box: Callable[[ServerConfig], Awaitable[Box | None]] = _no_box
    elicit: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    manifests: Manifests = msgspec.field(default_factory=lambda: Manifests(None))
    logs: Path | None = None
    mask: Callable[[str], str] = str
    now: Callable[[], float] = time.monotonic


class Contact:
    """Made once, left once."""

    def __init__(self, config: ServerConfig, ground: ServerGround, log: ServerLog) -> None:
        """`config`: with its values filled in."""
        self._config = config
        self._ground = ground
        self._log = log
        self._process: ServerProcess | None = None
        self.link: ServerLink | None = None

    @property
    def is_open(self) -> bool:
        return self.link is not None and self.link.is_open

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.exit_code is None else None

    async def meet(self, listeners: Listeners, known: Manifest | None) -> tuple[ServerLink, Manifest]:
        """Connects, and asks for all that it offers unless that is known. Raises `ServerFault`; leaves then."""
        greeting = known.greeting if known is not None else None
        seconds = self._config.start_timeout
        try:
            link = self.link = await self._made(listeners, greeting)
            async with asyncio.timeout(seconds):
                met = await link.open()
                if known is None or met != greeting:
                    known = await offers_of(link, met)
        except TimeoutError:
            await self.leave()
            raise ServerFault(f"it did not answer within {seconds:g} s{self._last_words()}") from None
        except SignInNeeded:
            await self.leave()
            raise
        except (ServerFault, CallRefused) as problem:
            why = await self.why(str(problem))
            await self.leave()
            raise ServerFault(why) from None
        except BaseException:
            await self.leave()
            raise
        return link, known

    async def _made(self, listeners: Listeners, known: Greeting | None) -> ServerLink:
        if self._config.url is not None:
            if self._ground.remote is None:
                raise ServerFault("servers on the network cannot be reached here")
            return ServerLink(self._ground.remote(self._config, self._log), listeners, known=known)
        self._process = await self._started()
        transport = StdioTransport(self._process)
        return ServerLink(transport, listeners, known=known, ended=transport.ended)

    async def _started(self) -> ServerProcess:
        config, folder = self._config, self._ground.folder()
        assert config.command is not None
        where = folder / config.cwd if config.cwd else folder
        try:
            command = CommandLine(
                argv=(config.command, *config.args),
                cwd=str(where),
                environment={**self._ground.environment(), **config.env},
                box=await self._ground.box(config),
            )
            return await ServerProcess.start(self._ground.processes(), command, self._log)
        except ToolError as problem:
            raise ServerFault(str(problem)) from None
        except BoxFailed as problem:
            raise ServerFault(f"the sandbox could not be made: {problem.strerror}") from None
        except OSError as problem:
            what = f"the folder {where}" if not where.is_dir() else config.command
            raise ServerFault(f"{what}: {problem.strerror}") from None

    async def why(self, said: str) -> str:
        """What a process did says more than that it is gone."""
        process = self._process
        if process is None:
            return said
        if process.fault:
            return process.fault
        code = await process.exited(_EXIT_SECONDS)
        if code is None:
            return said
        how = f"it exited with {code}" if code >= 0 else f"it was ended by signal {-code}"
        return f"{how}{self._last_words()}"

    def _last_words(self) -> str:
        return f' ("{self._log.last_line}")' if self._log.last_line else ""

    async def leave(self) -> None:
        closing = [asyncio.ensure_future(self.link.close())] if self.link is not None else []
        if self._process is not None:
            closing.append(asyncio.ensure_future(self._process.end()))
        if closing:
            await asyncio.wait(closing, timeout=LEAVE_SECONDS)


async def offers_of(link: ServerLink, greeting: Greeting) -> Manifest:
    """All that it offers. Raises `ServerFault` and `CallRefused`."""
    listed: dict[str, list[Any]] = {}
    for kind in ("tools", "prompts", "resources"):
        if kind in greeting.capabilities:
            listed[kind] = await link.everything(kind)
    if "resources" in greeting.capabilities:
        try:
            listed["templates"] = await link.everything("templates")
        except CallRefused:
            pass  # Older ones know resources, and no templates of them.
    return manifest_of(greeting, listed)


class Pauses:
    """How long a server is left alone that fails again and again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures: deque[float] = deque(maxlen=_FAILURES)
        self._pause = _PAUSE_SECONDS
        self._again_at = 0.0

    @property
    def seconds(self) -> float:
        """Until it is tried again."""
        return max(0.0, self._again_at - self._now())

    def failed(self) -> None:
        now = self._now()
        self._failures.append(now)
        if len(self._failures) == _FAILURES and now - self._failures[0] <= _WITHIN_SECONDS:
            self._again_at = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def forget(self) -> None:
        self._failures.clear()
        self._pause, self._again_at = _PAUSE_SECONDS, 0.0
