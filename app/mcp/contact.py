"""One attempt at a server: its process or its address, the connection over it, why it failed, and how it is left."""

import asyncio
from typing import Any

from app.mcp.entries import ServerConfig
from app.mcp.faults import CallRefused, ServerFault, SignInNeeded
from app.mcp.ground import LEAVE_SECONDS, ServerGround
from app.mcp.link import Listeners, ServerLink
from app.mcp.manifest import Greeting, Manifest, manifest_of
from app.mcp.process import ServerProcess
from app.mcp.server_log import ServerLog
from app.mcp.streams import StdioTransport
from tools.base import ToolError
from tools.operations import CommandLine
from tools.running.process import BoxFailed

_EXIT_SECONDS = 0.5


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
            # On a thread: what it stands on is imported there, and a key does not wait for that.
            transport = await asyncio.to_thread(self._ground.remote, self._config, self._log)
            return ServerLink(transport, listeners, known=known)
        self._process = await self._started()
        pipes = StdioTransport(self._process)
        return ServerLink(pipes, listeners, known=known, ended=pipes.ended)

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
