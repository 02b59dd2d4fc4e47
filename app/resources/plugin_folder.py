"""The folder of an installed plugin, which its files name by a variable."""

from pathlib import Path
from typing import Any

import msgspec


class PluginFolder(msgspec.Struct, frozen=True, kw_only=True):
    """An installed plugin, whose files name its folder as `${CLAUDE_PLUGIN_ROOT}` or `${BAYOU_PLUGIN_ROOT}`."""

    name: str
    root: Path

    @property
    def variables(self) -> dict[str, str]:
        return dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "BAYOU_PLUGIN_ROOT"), str(self.root))

    def expand(self, value: Any) -> Any:
        """Returns JSON data in which the variables for the plugin's folder are replaced by its path."""
        if isinstance(value, str):
            for name, folder in self.variables.items():
                value = value.replace(f"${{{name}}}", folder)
            return value
        if isinstance(value, dict):
            return {key: self.expand(one) for key, one in value.items()}
        return [self.expand(one) for one in value] if isinstance(value, list) else value
