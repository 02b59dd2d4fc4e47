"""What a person changes about a session's MCP servers for good: written where it belongs, and counting at once."""

from typing import TYPE_CHECKING

from app.engine.mcp_servers import McpServers, ServerPlaces
from app.mcp.server_values import ServerValues
from app.mcp.sign_ins import sign_ins_of
from app.mcp.writing import name_in, remove_server, say_of
from app.resources.server_files import user_servers_file
from app.values.unable import Unable

if TYPE_CHECKING:
    from app.mcp.entries import Exposure, ServerConfig
    from app.mcp.server import ServerLife
    from app.providers.signin.interface import SignInUi


class ServerChanges:
    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    def config(self, name: str) -> "ServerConfig":
        return self._life(name).config

    def enable(self, name: str, is_on: bool) -> str:
        """Gives what to tell of it."""
        config = self.config(name)
        self._servers.say(name, enabled=is_on)
        word = "enabled" if is_on else "disabled"
        return f'Server "{config.name}" is {word}{self._kept(config, "enabled", is_on)}.'

    def expose(self, name: str, exposure: "Exposure") -> str:
        config = self.config(name)
        self._servers.say(name, exposure=exposure)
        kept = self._kept(config, "exposure", exposure)
        return f'The tools of "{config.name}" are {exposure}{kept}. It counts from the next prompt on.'

    def remove(self, name: str) -> str:
        config = self.config(name)
        there = name_in(config.file, config.name) if config.file is not None else None
        if config.file is None or there is None:
            raise Unable(f'Server "{config.name}" stands in no file; whoever brought it takes it away.')
        remove_server(config.file, there)
        own = user_servers_file(self._found_in.paths)
        if config.file != own and (wish := name_in(own, config.name)) is not None:
            remove_server(own, wish)
        self._servers.follow()
        return f'Removed "{config.name}" from {config.file}.'

    async def sign_in(self, name: str, ui: "SignInUi") -> str:
        """With the person, and then a connection with what came of it."""
        from app.mcp.link import load_sdk  # noqa: PLC0415  (heavy)

        life = self._life(name)
        if life.config.url is None:
            raise Unable(
                f'"{life.config.name}" is a program of this machine; there is nothing to sign in to.'
            )
        if not life.is_usable:
            raise Unable(f'Server "{life.config.name}" is {life.state}. See /mcp.')
        await load_sdk()
        from app.mcp.http import signed_in  # noqa: PLC0415  (behind the SDK)

        config = await ServerValues(self._found_in.env).resolved(life.config)
        told = await signed_in(config, sign_ins_of(self._found_in.paths), ui, self._found_in.proxy())
        await life.restart()
        return told

    async def sign_out(self, name: str) -> str:
        life = self._life(name)
        config = await ServerValues(self._found_in.env).resolved(life.config)
        found = sign_ins_of(self._found_in.paths).forget(config.name, config.url or "")
        await life.restart()
        return f'Signed out of "{config.name}".' if found else f'Nobody was signed in to "{config.name}".'

    async def is_signed_in(self, name: str) -> bool:
        config = self.config(name)
        if config.url is None:
            return False
        try:
            resolved = await ServerValues(self._found_in.env).resolved(config)
            return sign_ins_of(self._found_in.paths).of(config.name, resolved.url or "") is not None
        except Unable:
            return False

    @property
    def _found_in(self) -> ServerPlaces:
        assert self._servers.found_in is not None  # else there is no server to be named
        return self._servers.found_in

    def _kept(self, config: "ServerConfig", key: str, value: object) -> str:
        """In which file; what stands in none counts for this session."""
        try:
            file = say_of(self._found_in.paths, config, key, value)
        except Unable as problem:
            return f" for this session ({problem})"
        self._servers.follow()
        return f" ({file})"

    def _life(self, name: str) -> "ServerLife":
        return self._servers.hub_with(name).server(name)
