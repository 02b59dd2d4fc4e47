"""Describes, for the trust question, what a project's MCP servers would start or contact: one line per
server.

A line has the whole command line or address. Variables and headers appear by name only, because their
values may be secrets. Commands that provide a value are shown, and the variables that are read."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from app.resources.mcp_server_files import MCP_SERVERS_KEY, UncheckedMcpServers

_MAX_LISTED_MCP_SERVERS = 100
_ENVIRONMENT_VARIABLE_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")


class ProjectMcpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server's line in the trust question."""

    detail: str
    content: str
    """The whole entry of the server, from which its fingerprint is computed."""
    exceeded_limit: str = ""


def project_servers(written: UncheckedMcpServers) -> Iterator[ProjectMcpServer]:
    """Yields each server of a file, or a single item if the file is unusable."""
    if written.fault:
        yield ProjectMcpServer(detail=f"cannot be used: {written.fault}", content=written.text)
        return
    if len(written.entries) > _MAX_LISTED_MCP_SERVERS:
        count = f"{len(written.entries):,} servers"
        yield ProjectMcpServer(detail=f"{MCP_SERVERS_KEY} …", content=written.text, exceeded_limit=count)
        return
    for name, entry in written.entries.items():
        content = json.dumps([name, entry], ensure_ascii=False, sort_keys=True)
        yield ProjectMcpServer(detail=f"{name}: {_server_text(entry)}", content=content)


def _server_text(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "is not a valid server"
    parts = [_transport_text(entry)]
    if entry.get("cwd"):
        parts.append(f"in {entry['cwd']}")
    for key, words in (("env", "sets"), ("headers", "sends")):
        values = entry.get(key)
        if isinstance(values, dict) and values:
            parts.append(f"{words} {', '.join(map(str, values))}")
    reads = sorted(
        {name for text in _texts_in(entry) for name in _ENVIRONMENT_VARIABLE_REFERENCE.findall(text)}
    )
    if reads:
        parts.append(f"reads {', '.join(f'${name}' for name in reads)}")
    runnable = _texts_in([entry.get(key) for key in ("env", "headers", "url", "oauth")])
    commands = sorted({text for text in runnable if text.startswith("!")})
    if commands:
        parts.append(f"runs {', '.join(commands)}")
    if entry.get("trustHints"):
        parts.append("trusts its tool descriptions")
    return "; ".join(part for part in parts if part)


def _transport_text(entry: dict[str, Any]) -> str:
    command, url = entry.get("command"), entry.get("url")
    if command:
        arguments = entry.get("args")
        words = [command, *arguments] if isinstance(arguments, list) else [command]
        return shlex.join(map(str, words))  # quoted as in a shell, so that two words are not taken for one
    if url:
        return str(url)
    changes = {key: entry[key] for key in ("enabled", "exposure", "tools") if key in entry}
    return f"changes {json.dumps(changes, ensure_ascii=False)}" if changes else "has no details"


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)
