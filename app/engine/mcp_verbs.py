"""What faces do with a session's MCP servers: see how they stand, try, restart and switch them, use what they offer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from app.engine.mcp_servers import McpServers
from app.values.servers import PromptView, ServerView
from tools.text import one_line

if TYPE_CHECKING:
    from app.engine.server_changes import ServerChanges
    from app.mcp.entries import Exposure
    from app.mcp.server import ServerLife


class McpVerbs:
    """Of one session. All that asks something of a server raises `Unable` when that cannot be done."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with what is written of them."""
        self._servers.hub()
        return self._servers.problems

    def servers(self) -> tuple[ServerView, ...]:
        hub = self._servers.hub()
        return tuple(map(hub.view, hub.servers)) if hub is not None else ()

    def server(self, name: str) -> ServerView:
        return self._servers.hub_with(name).view(self._life(name))

    def begin(self) -> None:
        """Asks those that nobody has asked yet, beside whatever goes on."""
        self._servers.begin()

    def follow(self) -> None:
        """What is written of them, or whether it counts, may have changed."""
        self._servers.follow()

    async def test(self, name: str) -> ServerView:
        """Connects anew and asks everything."""
        return await self._servers.hub_with(name).test(name)

    async def restart(self, name: str) -> ServerView:
        """Forgets its failures, too; it is connected when it is needed."""
        await self._life(name).restart()
        return self.server(name)

    def set_enabled(self, name: str, is_on: bool) -> None:
        """For this session."""
        self._servers.say(name, enabled=is_on)

    def set_exposure(self, name: str, exposure: "Exposure") -> None:
        """For this session; what the model is told of changes with the next prompt."""
        self._servers.say(name, exposure=exposure)

    def prompts(self) -> tuple[PromptView, ...]:
        """As far as they are known: nobody is asked."""
        hub = self._servers.hub()
        return hub.prompts() if hub is not None else ()

    def commands(self) -> list[dict[str, Any]]:
        """Prompts as `/name` calls them, as `get_commands` answers them."""
        return [
            {
                "name": f"{prompt.server}:{prompt.name}",
                "description": one_line(prompt.description or prompt.title),
                "source": "prompt",
                "sourceInfo": {
                    "path": f"mcp:{prompt.server}",
                    "source": "mcp",
                    "scope": "temporary",
                    "origin": "top-level",
                },
            }
            for prompt in self.prompts()
        ]

    def resources(self) -> "tuple[tuple[str, str, str], ...]":
        """Server, URI and name of each, as far as they are known."""
        hub = self._servers.hub()
        if hub is None:
            return ()
        return tuple(
            (life.config.name, one.uri, one.name)
            for life in hub.usable
            if life.manifest is not None
            for one in life.manifest.resources
        )

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """The answer as it is on the wire."""
        return await self._life(server).prompt(name, arguments)

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        """As above."""
        return await self._life(server).read(uri)

    async def complete(
        self, server: str, ref: Mapping[str, str], argument: str, value: str, context: Mapping[str, str]
    ) -> dict[str, Any]:
        """As above."""
        return await self._life(server).complete(ref, argument, value, context)

    def bring(self, name: str, entry: Mapping[str, Any] | None) -> None:
        """A server of an extension's, as it would stand in a file; None: it is taken away."""
        self._servers.bring(name, entry)

    @property
    def changes(self) -> "ServerChanges":
        """What a person changes for good, and signing in."""
        from app.engine.server_changes import ServerChanges  # noqa: PLC0415  (few change servers)

        return ServerChanges(self._servers)

    def _life(self, name: str) -> "ServerLife":
        return self._servers.hub_with(name).server(name)
