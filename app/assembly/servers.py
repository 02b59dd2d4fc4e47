"""Collects a session's MCP servers from files, command line and extensions, as far as the project is
trusted."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.assembly.options import Options, UsageError
from app.assembly.tool_names import tool_choice
from app.assembly.trusting import TrustInProject
from app.engine.mcp.servers import ServerSources
from app.resources.paths import Paths
from app.resources.settings.in_force import InForce
from tools.files.presence import is_file

if TYPE_CHECKING:
    from app.mcp.config import ConfiguredServers
    from app.mcp.entries import ServerConfig
    from app.mcp.process import Transport

_FILES = ("mcp.json", ".mcp.json")


def server_places(
    paths: Paths,
    project: TrustInProject,
    in_force: InForce,
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
        """Returns the configuration files of the user and the project, or the named one."""
        if options.no_mcp:
            return ()
        if options.mcp_config:
            return (Path(options.mcp_config).expanduser(),)
        own = (paths.agent_dir / "mcp.json", paths.project_dir / "mcp.json")
        return (*own, *(paths.cwd / name for name in _FILES))

    def find(brought: Mapping[str, Mapping[str, Any]]) -> "ConfiguredServers":
        # Imported late: sessions without servers begin without it.
        from app.mcp.config import ConfiguredServers, GivenServer, configured  # noqa: PLC0415

        if options.no_mcp:
            return ConfiguredServers()
        given = [GivenServer(name, entry) for name, entry in brought.items()]
        return configured(paths, is_trusted=project.counts(), named_file=named_file(), given=given)

    def proxy() -> str | None:
        return in_force.settings.network.http_proxy

    def remote(config: "ServerConfig", log: object) -> "Callable[[], Transport]":
        # Imported after the SDK, which a first contact loads on a thread.
        from app.mcp.http import http_transport  # noqa: PLC0415
        from app.mcp.sign_ins import sign_ins_of  # noqa: PLC0415  (as above)

        return http_transport(config, sign_ins_of(paths), proxy)

    return ServerSources(
        paths=paths,
        files=files,
        find=find,
        choice=lambda: tool_choice(options, in_force.settings),
        env=os.environ,
        remote=remote,
        proxy=proxy,
    )
