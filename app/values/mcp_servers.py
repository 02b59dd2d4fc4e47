"""MCP servers, their tools and prompts as plain values for pages, lists and RPC."""

from typing import Literal

import msgspec

from app.values.wire import Wire

ServerState = Literal["off", "untrusted", "error", "new", "known", "starting", "ready", "sign-in", "failed"]
AutoExposure = Literal["direct", "search"]
ToolReach = Literal["direct", "search", "hidden"]
ToolExposure = Literal["auto", "direct", "search", "hidden"]


class McpExposureDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded meaning of the exposure `auto` and the servers it applies to, so that a resumed session
    keeps it."""

    auto: AutoExposure
    servers: tuple[str, ...] = ()


class ToolView(Wire, frozen=True, kw_only=True):
    """A tool of an MCP server."""

    name: str
    full_name: str
    """The name of the tool that the model, rules and records use: prefixed with the server."""
    reach: ToolReach
    title: str = ""
    description: str = ""
    tokens: int = 0
    """The estimated number of tokens of the tool's declaration, if it is declared to the model."""
    says_read_only: bool = False
    says_destructive: bool = False


class PromptView(Wire, frozen=True, kw_only=True):
    """A prompt of an MCP server."""

    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


class ServerView(Wire, frozen=True, kw_only=True):
    """An MCP server with its state, tools and counts."""

    name: str
    state: ServerState
    reason: str = ""
    """The reason why the server is not ready; empty if it is."""
    exposure: ToolExposure
    reach: ToolReach
    """The exposure that applies to the server's tools in this session, as `exposure` may be `auto`."""
    origin: str = ""
    """The file or extension that defines the server."""
    address: str = ""
    """The command or URL of the server, without secrets."""
    description: str = ""
    era: str = ""
    version: str = ""
    tools: tuple[ToolView, ...] = ()
    omissions: tuple[str, ...] = ()
    """A sentence for each tool, prompt or resource of the server that is left out because of hidden characters."""
    prompt_count: int = 0
    resource_count: int = 0
    tokens: int = 0
    """The estimated number of tokens that the server's tools add to every request."""
    stderr: tuple[str, ...] = ()
    log: str = ""
    """The path of the file with the server's whole error output."""
    process: int | None = None


class McpServerState(Wire, frozen=True, kw_only=True):
    """The state of an MCP server."""

    name: str
    state: str
    reason: str = ""
    tool_count: int = 0


class McpServersChange(Wire, frozen=True, kw_only=True, tag_field="type", tag="mcp_servers_change"):
    """An MCP server changed its state or its tools, prompts or resources."""

    servers: tuple[McpServerState, ...]
