"""Reads the files that configure MCP servers, without interpreting the entries; faults are reported with line
and column. `app.mcp` interprets the entries; `brought_servers` lists those that need trust."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.files import read_text
from app.resources.paths import Paths
from app.values.json_comments import JsonFault, parse, places
from app.values.unable import FileFault

KEY = "mcpServers"
ServerOrigin = Literal["user", "project", "flag", "extension", "client"]


class ServerPlace(msgspec.Struct, frozen=True):
    """A file that may configure servers."""

    path: Path
    origin: ServerOrigin


class WrittenServers(msgspec.Struct, frozen=True, kw_only=True):
    """The unchecked server entries of one file, by name."""

    path: Path
    entries: Mapping[str, Any] = {}
    text: str = ""
    fault: str = ""
    """Why no entry of the file is used."""
    fault_line: int = 0

    def line_of(self, *keys: str | int) -> int:
        """Returns the line of a value below `mcpServers`, or of its nearest parent."""
        found, path = places(self.text), (KEY, *keys)
        while path not in found:
            path = path[:-1]
        return found[path].line


def user_servers_file(paths: Paths) -> Path:
    return paths.agent_dir / "mcp.json"


def project_server_files(paths: Paths) -> tuple[Path, ...]:
    """Returns the project's server files in ascending precedence."""
    return (paths.cwd / "mcp.json", paths.cwd / ".mcp.json", paths.project_dir / "mcp.json")


def read_servers(path: Path, *, way_out: str = "") -> WrittenServers:
    """Reads a file and never raises: an unreadable file has a fault and no entries. A missing file is not a
    fault."""
    if way_out:
        return WrittenServers(path=path, fault=f"{way_out}.")
    try:
        text = read_text(path)
    except FileFault as problem:
        return WrittenServers(path=path, fault=f"{problem.what}.")
    if text is None or not text.strip():
        return WrittenServers(path=path)
    try:
        data = parse(text)
    except JsonFault as problem:
        words = f"column {problem.column}: {problem.message}. None of its servers are used."
        return WrittenServers(path=path, text=text, fault=words, fault_line=problem.line)

    def broken(words: str, line: int) -> WrittenServers:
        return WrittenServers(path=path, text=text, fault=words, fault_line=line)

    if not isinstance(data, dict):
        return broken(f'must be an object: {{ "{KEY}": {{ … }} }}.', 1)
    if KEY not in data:
        if isinstance(data.get("servers"), dict) and data["servers"]:
            return broken(
                f"servers are expected under `{KEY}`, but the file has `servers`: rename the key.", 1
            )
        return WrittenServers(path=path, text=text)
    entries = data[KEY]
    if not isinstance(entries, dict):
        line = places(text)[(KEY,)].line
        return broken(f'`{KEY}` must be an object of servers by name: {{ "NAME": {{ … }} }}.', line)
    return WrittenServers(path=path, entries=entries, text=text)
