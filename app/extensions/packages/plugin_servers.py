"""The MCP servers of installed plugins, for a session and for `bayou mcp`."""

from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import installed_parts
from app.extensions.packages.plugin_contents import plugin_servers
from app.mcp.server_config import ProvidedServer
from app.resources.paths import Paths


def installed_servers(paths: Paths) -> tuple[ProvidedServer, ...]:
    """Returns the servers of all plugins; those of a file that cannot be read are left out."""
    found: list[ProvidedServer] = []
    try:
        files = installed_parts(paths).servers
    except PackageError:
        return ()
    for plugin, file in files:
        try:
            servers = plugin_servers(plugin, file)
        except PackageError:
            continue
        found += [ProvidedServer(one.name, one.entry, "plugin") for one in servers]
    return tuple(found)
