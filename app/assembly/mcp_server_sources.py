"""Collects a session's MCP servers from files, command line and extensions, as far as the project is
trusted."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.project_trust_checker import ProjectTrustChecker
from app.assembly.tool_selection import selected_tools
from app.engine.mcp.session_servers import AddedMcpServer, McpServerSources
from app.extensions.packages.package_installer import have_plugins_mcp_servers, package_list_file
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from tools.files.path_existence import is_file

if TYPE_CHECKING:
    from app.mcp.server_config import ConfiguredMcpServers
    from app.mcp.server_config_entries import McpServerConfig
    from app.mcp.stdio_process import McpTransport

_PROJECT_MCP_FILE_NAMES = ("mcp.json", ".mcp.json")


def mcp_server_sources(
    paths: BayouPaths,
    project: ProjectTrustChecker,
    effective_settings: EffectiveSettings,
    options: CommandLineOptions,
) -> McpServerSources:
    def named_file() -> Path | None:
        if options.no_mcp or not options.mcp_config:
            return None
        file = Path(options.mcp_config).expanduser()
        if not is_file(file):
            raise UsageError(f"--mcp-config {options.mcp_config}: there is no such file.")
        return file

    named_file()

    def files() -> tuple[Path, ...]:
        """Returns the files that configure MCP servers: the user's and the project's, or the one named on the
        command line."""
        if options.no_mcp:
            return ()
        if options.mcp_config:
            return (Path(options.mcp_config).expanduser(),)
        own = (paths.agent_dir / "mcp.json", paths.project_dir / "mcp.json")
        packages = (package_list_file(paths),) if not options.safe and have_plugins_mcp_servers(paths) else ()
        return (*own, *(paths.cwd / name for name in _PROJECT_MCP_FILE_NAMES), *packages)

    def find(brought: Mapping[str, AddedMcpServer]) -> "ConfiguredMcpServers":
        # Imported late: sessions without servers begin without it.
        from app.extensions.packages.plugin_servers import installed_plugin_mcp_servers  # noqa: PLC0415
        from app.mcp.server_config import (  # noqa: PLC0415
            ConfiguredMcpServers,
            ProvidedMcpServer,
            merge_configured_mcp_servers,
        )

        if options.no_mcp:
            return ConfiguredMcpServers()
        given = [ProvidedMcpServer(name, one.configuration, one.origin) for name, one in brought.items()]
        return merge_configured_mcp_servers(
            paths,
            is_trusted=project.is_trusted(),
            named_file=named_file(),
            plugins=installed_plugin_mcp_servers(paths) if not options.safe else (),
            given=given,
        )

    def proxy() -> str | None:
        return effective_settings.settings.network.http_proxy

    def remote(config: "McpServerConfig", log: object) -> "Callable[[], McpTransport]":
        # Imported after the SDK, which a first contact loads on a thread.
        from app.mcp.http_transport import make_mcp_http_transport  # noqa: PLC0415
        from app.mcp.mcp_token_store import open_mcp_token_store  # noqa: PLC0415  (as above)

        return make_mcp_http_transport(config, open_mcp_token_store(paths), proxy)

    return McpServerSources(
        paths=paths,
        config_files=files,
        find_servers=find,
        selected_tools=lambda: selected_tools(options, effective_settings.settings),
        environment=os.environ,
        make_remote_transport=remote,
        proxy_url=proxy,
    )
