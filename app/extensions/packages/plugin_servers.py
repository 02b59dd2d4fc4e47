"""The MCP servers of installed plugins, for a session and for `bayou mcp`."""

from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import installed_package_parts
from app.extensions.packages.plugin_contents import read_plugin_mcp_servers
from app.mcp.server_config import ProvidedMcpServer
from app.resources.paths import BayouPaths


def installed_plugin_mcp_servers(paths: BayouPaths) -> tuple[ProvidedMcpServer, ...]:
    """Returns the servers of all plugins; those of a file that cannot be read are left out."""
    found: list[ProvidedMcpServer] = []
    try:
        files = installed_package_parts(paths).servers
    except PackageError:
        return ()
    for plugin, file in files:
        try:
            servers = read_plugin_mcp_servers(plugin, file)
        except PackageError:
            continue
        found += [ProvidedMcpServer(one.name, one.entry, "plugin") for one in servers]
    return tuple(found)
