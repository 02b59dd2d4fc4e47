"""Settings while a session runs: those that are set here hold at once, and files that changed are read again. Files in
which MCP servers may come to be written are looked at with them."""

from app.engine.core.event_bus import EventBus
from app.engine.mcp.servers import McpServers
from app.resources.settings.in_force import InForce
from app.resources.settings.settings import SettingRefused


class SettingsWatch:
    def __init__(self, in_force: InForce, servers: McpServers, telling: EventBus) -> None:
        self._in_force = in_force
        self._servers = servers
        self._telling = telling

    def keep(self, name: str, value: object) -> None:
        """Raises `SettingRefused` when the value does not fit; a file that cannot be written is told."""
        self._in_force.set(name, value)
        try:
            self._in_force.keep(name, value)
        except SettingRefused as problem:
            self._telling.notify(f"{name} holds for this session only: {problem}", "warning")

    def look(self) -> None:
        for problem in self._in_force.follow():
            self._telling.notify(str(problem), "warning")
        if self._servers.files.are_others():
            self._servers.follow()
