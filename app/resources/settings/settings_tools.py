"""The settings of tools that have more than a switch; `settings` composes them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from app.resources.settings.settings_agent import SettingsGroup


class AutoBackground(SettingsGroup, frozen=True, kw_only=True):
    """Long commands that go to the background by themselves."""

    threshold_ms: Annotated[
        int,
        Meta(
            ge=0,
            description="A command that runs longer becomes a background job: the agent hears what you write "
            "meanwhile, and its result by itself. Two minutes let most tests and builds end in their place. "
            "The default counts at the full screen alone, never for scripts (`-p`, JSON, RPC); 0 never.",
        ),
    ] = 120_000


class InterceptorRule(SettingsGroup, frozen=True, kw_only=True):
    pattern: str
    tool: str
    message: str
    ignore_case: bool = False


class Interceptor(SettingsGroup, frozen=True, kw_only=True):
    """Pointing shell commands to the better tool."""

    enabled: Annotated[
        bool,
        Meta(
            description="Answer `cat`, `grep`, `find`, `sed -i` and redirections with the tool to use instead."
        ),
    ] = False
    rules: Annotated[
        tuple[InterceptorRule, ...],
        Meta(
            description="Rules of your own, before these: a regular expression for the beginning of a command, the "
            "tool that the model has to have, and what it is told."
        ),
    ] = ()


class BashSettings(SettingsGroup, frozen=True, kw_only=True):
    """The bash tool."""

    auto_background: AutoBackground = AutoBackground()
    interceptor: Interceptor = Interceptor()
    default_timeout_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=3600,
            description="Time limit of a command that names none and runs neither in the background nor in a "
            "terminal; 0 means none.",
        ),
    ] = 600
    persistent_shell: Annotated[
        bool,
        Meta(description="One shell per session, so that `cd`, exports and functions last between calls."),
    ] = False
    own_shell: Annotated[
        bool,
        Meta(
            description="Commands have the aliases, functions and options of your bash or zsh: its start-up files are "
            "read once in a session, for five seconds at most."
        ),
    ] = False
    pty: Annotated[
        bool,
        Meta(description="Let the model run a command in a terminal that you see and can type into."),
    ] = True


class EvalSettings(SettingsGroup, frozen=True, kw_only=True):
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


class MermaidSettings(SettingsGroup, frozen=True, kw_only=True):
    """Diagrams drawn by the agent."""

    enabled: Annotated[
        bool, Meta(description="Give the model the tool `render_mermaid`, which draws Mermaid as text.")
    ] = False


class WebSettings(SettingsGroup, frozen=True, kw_only=True):
    """The model's reading of pages of the web."""

    fetch: Annotated[
        bool, Meta(description="Give the model the tool `web_fetch`, which reads https pages.")
    ] = True
    allow_http: Annotated[
        bool,
        Meta(description="Let `web_fetch` read unencrypted http pages too.", extra={"global_only": True}),
    ] = False
    private_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Your own servers that `web_fetch` may read although their addresses are private: "
            "`localhost:3000`, `*.internal`.",
            extra={"global_only": True},
        ),
    ] = ()


class DiagnosticSettings(SettingsGroup, frozen=True, kw_only=True):
    """What linters and type checkers newly say of files that the agent changed."""

    when: Annotated[
        Literal["off", "turn", "edit"],
        Meta(
            description="When they are asked: once, when the agent would stop (turn), also behind each batch of calls "
            "that changed files (edit), or never."
        ),
    ] = "off"
    commands: Annotated[
        dict[str, str | tuple[str, ...]],
        Meta(
            description="By glob, who looks at a file: `ruff`, `eslint`, `tsc`, or a command that prints "
            "`path:line:col: text`, in which `{files}` stands for the files. Several as a list.",
            extra={"runs": True},
        ),
    ] = msgspec.field(
        default_factory=lambda: {
            "*.{py,pyi}": "ruff",
            "*.{ts,tsx,mts,cts}": ("tsc", "eslint"),
            "*.{js,jsx,mjs,cjs,vue,svelte}": "eslint",
        }
    )
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=600, description="How long one start of a program may take, in seconds.")
    ] = 60


class McpSettings(SettingsGroup, frozen=True, kw_only=True):
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
