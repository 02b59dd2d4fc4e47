"""Which MCP servers a session is opened with: what is configured, and what the command line says of that."""

from collections.abc import Sequence
from pathlib import Path

from app.assembly.options import Options, UsageError
from app.mcp.config import ConfiguredServers, GivenServer, configured
from app.resources.paths import Paths
from tools.files.presence import is_file


def servers_for(
    options: Options, paths: Paths, *, is_trusted: bool, given: Sequence[GivenServer] = ()
) -> ConfiguredServers:
    """Raises `UsageError` for a file that is named and not there."""
    if options.no_mcp:
        return ConfiguredServers()
    named = Path(options.mcp_config).expanduser() if options.mcp_config else None
    if named is not None and not is_file(named):
        raise UsageError(f"--mcp-config {named}: there is no such file.")
    return configured(paths, is_trusted=is_trusted, named_file=named, given=given)
