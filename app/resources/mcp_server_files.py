"""Reads the files that configure MCP servers, without interpreting the entries; faults are reported with line
and column. `app.mcp` interprets the entries; `project_servers` lists those that need trust."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.values.json_comments import JsonSyntaxError, json_value_positions, parse_json_with_comments
from app.values.user_errors import FileError

MCP_SERVERS_KEY = "mcpServers"
ServerOrigin = Literal["user", "project", "flag", "extension", "client", "plugin"]


class McpConfigFile(msgspec.Struct, frozen=True):
    """A file that may configure servers."""

    path: Path
    origin: ServerOrigin


class UncheckedMcpServers(msgspec.Struct, frozen=True, kw_only=True):
    """The unchecked server entries of one file, by name."""

    path: Path
    entries: Mapping[str, Any] = {}
    text: str = ""
    fault: str = ""
    """The reason why no entry of the file is used; empty if entries are."""
    fault_line: int = 0

    def line_of(self, *keys: str | int) -> int:
        """Returns the line of a value below `mcpServers`, or of its nearest parent."""
        found, path = json_value_positions(self.text), (MCP_SERVERS_KEY, *keys)
        while path not in found:
            path = path[:-1]
        return found[path].line


def user_mcp_servers_file(paths: BayouPaths) -> Path:
    return paths.agent_dir / "mcp.json"


def project_mcp_server_files(paths: BayouPaths) -> tuple[Path, ...]:
    """Returns the project's server files in ascending precedence."""
    return (paths.cwd / "mcp.json", paths.cwd / ".mcp.json", paths.project_dir / "mcp.json")


def read_mcp_server_file(path: Path, *, symlink_escape: str = "") -> UncheckedMcpServers:
    """Reads a file and never raises: an unreadable file has a fault and no entries. A missing file is not a
    fault."""
    if symlink_escape:
        return UncheckedMcpServers(path=path, fault=f"{symlink_escape}.")
    try:
        text = read_text(path)
    except FileError as problem:
        return UncheckedMcpServers(path=path, fault=f"{problem.what}.")
    if text is None or not text.strip():
        return UncheckedMcpServers(path=path)
    try:
        data = parse_json_with_comments(text)
    except JsonSyntaxError as problem:
        words = f"column {problem.column}: {problem.message}. None of its servers are used."
        return UncheckedMcpServers(path=path, text=text, fault=words, fault_line=problem.line)

    def broken(words: str, line: int) -> UncheckedMcpServers:
        return UncheckedMcpServers(path=path, text=text, fault=words, fault_line=line)

    if not isinstance(data, dict):
        return broken(f'must be an object: {{ "{MCP_SERVERS_KEY}": {{ … }} }}.', 1)
    if MCP_SERVERS_KEY not in data:
        if isinstance(data.get("servers"), dict) and data["servers"]:
            return broken(
                f"servers are expected under `{MCP_SERVERS_KEY}`, but the file has `servers`: rename the key.",
                1,
            )
        return UncheckedMcpServers(path=path, text=text)
    entries = data[MCP_SERVERS_KEY]
    if not isinstance(entries, dict):
        line = json_value_positions(text)[(MCP_SERVERS_KEY,)].line
        return broken(
            f'`{MCP_SERVERS_KEY}` must be an object of servers by name: {{ "NAME": {{ … }} }}.', line
        )
    return UncheckedMcpServers(path=path, entries=entries, text=text)
