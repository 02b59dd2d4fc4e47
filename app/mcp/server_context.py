"""Holds what the MCP servers of a session share: processes, folder, variables, sandbox, stored manifests, and
a log for each server. Opens no connection, so that a session without contact to servers pays for none."""

import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.mcp.mcp_server_manifest import McpManifestStore
from app.mcp.server_config_entries import McpServerConfig
from tools.text_sanitizing import remove_invisible_chars, render_plain_output

if TYPE_CHECKING:
    from app.mcp.stdio_process import McpTransport
    from tools.box.sandbox_policy import SandboxPolicy
    from tools.running.local_processes import LocalProcesses

MAX_MCP_LOG_TAIL_BYTES = 20 * 1024
MAX_MCP_LOG_FILE_BYTES = 1_000_000
"""At this size the file is renamed to `NAME.log.1`, replacing the older one."""
_MAX_MCP_LOG_LINE_BYTES = 4_000


class McpServerLog:
    """The log of one MCP server: its last lines in memory, all of it in a file."""

    def __init__(self, path: Path | None = None, mask: Callable[[str], str] = str) -> None:
        """Creates an empty log. With `path` None, no file is written. `mask` hides secrets in a text."""
        self.path = path
        self._mask_secrets = mask
        self._last_lines: deque[str] = deque()
        self._tail_bytes = 0
        self._incomplete_line = b""

    @property
    def existing_file(self) -> Path | None:
        """The file with the complete log of the MCP server; None while the log is empty."""
        return self.path if self.path is not None and self.path.is_file() else None

    def add_bytes(self, data: bytes) -> None:
        """Adds bytes of the MCP server's standard error to the log as they arrive."""
        *lines, rest = (self._incomplete_line + data).split(b"\n")
        if len(rest) > _MAX_MCP_LOG_LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._incomplete_line = rest
        self._write_lines(line.decode("utf-8", "replace") for line in lines)

    def flush_last_line(self) -> None:
        """Adds the last line to the log even if it has no line feed."""
        rest, self._incomplete_line = self._incomplete_line, b""
        if rest:
            self.write_note(rest.decode("utf-8", "replace"))

    def write_note(self, text: str) -> None:
        self._write_lines((text,))

    def _write_lines(self, texts: Iterable[str]) -> None:
        """Adds lines that arrived together to the log, masked and cleaned, and writes them to the file in one step."""
        lines = [
            line
            for text in texts
            if (
                line := self._mask_secrets(remove_invisible_chars(render_plain_output(text)).rstrip())[
                    :_MAX_MCP_LOG_LINE_BYTES
                ]
            ).strip()
        ]
        for line in lines:
            self._last_lines.append(line)
            self._tail_bytes += len(line)
            while self._tail_bytes > MAX_MCP_LOG_TAIL_BYTES and len(self._last_lines) > 1:
                self._tail_bytes -= len(self._last_lines.popleft())
        if lines:
            self._write_to_file("\n".join(lines))

    def last_lines(self, most: int = 20) -> tuple[str, ...]:
        return tuple(self._last_lines)[-most:]

    @property
    def last_line(self) -> str:
        return self._last_lines[-1].strip()[:300] if self._last_lines else ""

    def _write_to_file(self, line: str) -> None:
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.path.is_file() and self.path.stat().st_size > MAX_MCP_LOG_FILE_BYTES:
                self.path.replace(self.path.with_name(self.path.name + ".1"))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass  # An unwritable log is no reason to stop; the last lines are in memory.


MCP_SERVER_STOP_TIMEOUT_SECONDS = 1.0
"""The time limit for ending one server."""


async def _no_sandbox(config: McpServerConfig) -> "SandboxPolicy | None":
    return None


async def _watch_nothing(config: McpServerConfig, box: "SandboxPolicy") -> None: ...


async def _keep_config(config: McpServerConfig) -> McpServerConfig:
    return config


class McpServerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the MCP servers of a session share: processes, folder, variables, sandbox, manifests, logs."""

    processes: "Callable[[], LocalProcesses]"
    working_folder: Callable[[], Path]
    """The session's working folder."""
    added_folders: Callable[[], tuple[Path, ...]] = tuple
    """The folders that the session works in besides that."""
    environment: Callable[[], Mapping[str, str]]
    """The variables of bayou that servers may see."""
    resolve_config: Callable[[McpServerConfig], Awaitable[McpServerConfig]] = _keep_config
    """Fills in the variables and commands in a server's values. Raises `UserError`."""
    remote_transport: "Callable[[McpServerConfig, McpServerLog], Callable[[], McpTransport]] | None" = None
    """Makes the transport of a server on the network."""
    sandbox_for: "Callable[[McpServerConfig], Awaitable[SandboxPolicy | None]]" = _no_sandbox
    watch_sandbox: "Callable[[McpServerConfig, SandboxPolicy], Awaitable[None]]" = _watch_nothing
    """Called before a server starts in a sandbox, to compare the places that the sandbox cannot protect."""
    ask_elicitation: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None
    manifests: McpManifestStore = msgspec.field(default_factory=lambda: McpManifestStore(None))
    log_folder: Path | None = None
    mask_secrets: Callable[[str], str] = str
    now: Callable[[], float] = time.monotonic
