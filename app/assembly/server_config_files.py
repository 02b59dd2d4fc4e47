"""Collects a session's MCP servers from files, command line and extensions, as far as the project is
trusted."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.assembly.live_trust import LiveTrust
from app.assembly.options import Options, UsageError
from app.assembly.tool_names import tool_choice
from app.engine.mcp.session_servers import AddedServer, ServerSources
from app.extensions.packages.package_installer import has_servers, package_list_file
from app.resources.paths import Paths
from app.resources.settings.effective_settings import EffectiveSettings
from tools.files.existence import is_file

if TYPE_CHECKING:
    from app.mcp.config_entries import ServerConfig
    from app.mcp.server_config import ConfiguredServers
    from app.mcp.stdio_process import Transport

_PROJECT_FILES = ("mcp.json", ".mcp.json")


def server_config_files(
    paths: Paths,
    project: LiveTrust,
    effective_settings: EffectiveSettings,
    options: Options,
) -> ServerSources:
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
        packages = (package_list_file(paths),) if not options.safe and has_servers(paths) else ()
        return (*own, *(paths.cwd / name for name in _PROJECT_FILES), *packages)

    def find(brought: Mapping[str, AddedServer]) -> "ConfiguredServers":
        # Imported late: sessions without servers begin without it.
        from app.extensions.packages.plugin_servers import installed_servers  # noqa: PLC0415
        from app.mcp.server_config import ConfiguredServers, ProvidedServer, merge_configured_servers  # noqa: PLC0415

        if options.no_mcp:
            return ConfiguredServers()
        given = [ProvidedServer(name, one.configuration, one.origin) for name, one in brought.items()]
        return merge_configured_servers(
            paths,
            is_trusted=project.is_trusted(),
            named_file=named_file(),
            plugins=installed_servers(paths) if not options.safe else (),
            given=given,
        )

    def proxy() -> str | None:
        return effective_settings.settings.network.http_proxy

    def remote(config: "ServerConfig", log: object) -> "Callable[[], Transport]":
        # Imported after the SDK, which a first contact loads on a thread.
        from app.mcp.http_transport import make_http_transport  # noqa: PLC0415
        from app.mcp.token_store import open_token_store  # noqa: PLC0415  (as above)

        return make_http_transport(config, open_token_store(paths), proxy)

    return ServerSources(
        paths=paths,
        config_files=files,
        find_servers=find,
        tool_choice=lambda: tool_choice(options, effective_settings.settings),
        environment=os.environ,
        make_remote_transport=remote,
        proxy_url=proxy,
    )
