"""MCP servers, their tools and prompts as people and programs see them: plain values for pages, lists and RPC."""

from typing import Literal

import msgspec

from app.values.wire import Wire

ServerState = Literal["off", "untrusted", "error", "new", "known", "starting", "ready", "sign-in", "failed"]
AutoReach = Literal["direct", "search"]
ToolReach = Literal["direct", "search", "hidden"]
ToolExposure = Literal["auto", "direct", "search", "hidden"]


class ExposureDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What `auto` was decided to mean, and for which servers: in the session's file, so that it stays so."""

    auto: AutoReach
    servers: tuple[str, ...] = ()


class ToolView(Wire, frozen=True, kw_only=True):
    name: str
    full_name: str
    """What the model, rules and records call it."""
    reach: ToolReach
    title: str = ""
    description: str = ""
    tokens: int = 0
    """What its declaration takes of the window, about, where it is declared."""
    says_read_only: bool = False
    says_destructive: bool = False


class PromptView(Wire, frozen=True, kw_only=True):
    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


class ServerView(Wire, frozen=True, kw_only=True):
    name: str
    state: ServerState
    reason: str = ""
    """Why it is not ready, in words."""
    exposure: ToolExposure
    reach: ToolReach
    """What that means in this session."""
    origin: str = ""
    """Where it is written: a file, or who brought it."""
    address: str = ""
    """Its command or URL, without what is secret."""
    description: str = ""
    era: str = ""
    version: str = ""
    tools: tuple[ToolView, ...] = ()
    prompt_count: int = 0
    resource_count: int = 0
    tokens: int = 0
    """Of the window, about, with every request."""
    stderr: tuple[str, ...] = ()
    log: str = ""
    """The file with all that it said."""
    process: int | None = None


class McpServerState(Wire, frozen=True, kw_only=True):
    """How an MCP server stands."""

    name: str
    state: str
    reason: str = ""
    tool_count: int = 0


class McpServersChange(Wire, frozen=True, kw_only=True, tag_field="type", tag="mcp_servers_change"):
    """An MCP server stands otherwise, or offers something else."""

    servers: tuple[McpServerState, ...]
