"""Applies settings while a session runs: changed settings take effect at once, changed files are read again,
together with files that configure MCP servers."""

from app.engine.core.event_bus import EventBus
from app.engine.mcp.session_servers import McpServers
from app.resources.settings.effective_settings import EffectiveSettings
from app.resources.settings.settings import SettingRefused


class SettingsWatch:
    def __init__(
        self, effective_settings: EffectiveSettings, servers: McpServers, event_bus: EventBus
    ) -> None:
        self._effective_settings = effective_settings
        self._servers = servers
        self._event_bus = event_bus

    def save_setting(self, name: str, value: object) -> None:
        """Sets a setting's value and saves it. Raises `SettingRefused` when the value is invalid; reports a file
        that cannot be written."""
        self._effective_settings.set(name, value)
        try:
            self._effective_settings.save_value(name, value)
        except SettingRefused as problem:
            self._event_bus.notify(f"{name} applies to this session only: {problem}", "warning")

    def reload_if_changed(self) -> None:
        self._event_bus.warn_of_each(self._effective_settings.reload_changed_files())
        if self._servers.files.has_any_file_changed():
            self._servers.reload_configuration()
