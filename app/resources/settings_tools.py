"""The settings of single tools that have more than a switch. Like those beside it, composed in `settings`."""

from typing import Annotated, Literal

from msgspec import Meta

from app.resources.settings_agent import Group


class EvalSettings(Group, frozen=True, kw_only=True):
    """Python that stays: the eval tool, and `$` in the editor."""

    python: Annotated[
        str | None,
        Meta(
            description="Interpreter of cells, a path or a name; null takes VIRTUAL_ENV, `.venv` or `venv` of the "
            "folder, then python3. 3.8 is the oldest that works.",
            extra={"runs": True},
        ),
    ] = None
    default_timeout_seconds: Annotated[
        int, Meta(ge=0, le=3600, description="Time limit of the model's cells that name none; 0 means none.")
    ] = 600
    idle_minutes: Annotated[
        int, Meta(ge=0, le=1440, description="The kernel ends when no cell ran for so long; 0 never.")
    ] = 15


class MermaidSettings(Group, frozen=True, kw_only=True):
    """Diagrams drawn by the agent."""

    enabled: Annotated[
        bool, Meta(description="Give the model the tool `render_mermaid`, which draws Mermaid as text.")
    ] = False


class McpSettings(Group, frozen=True, kw_only=True):
    """Servers with tools of other people's (MCP)."""

    enabled: Annotated[bool, Meta(description="Use MCP servers that are configured.")] = True
    exposure: Annotated[
        Literal["auto", "direct", "search", "hidden"],
        Meta(
            description="How the model reaches tools of servers that say nothing of it: each declared, found by "
            "mcp_search, not at all; auto declares them while they are few."
        ),
    ] = "auto"
    direct_tokens: Annotated[
        int, Meta(ge=0, le=100_000, description="What auto may declare of all servers together, in tokens.")
    ] = 3_000
    sandbox: Annotated[
        Literal["auto", "off"],
        Meta(
            description="Where servers that are programs run: auto in the sandbox of commands, with the network open; "
            "off as you would run them."
        ),
    ] = "auto"
