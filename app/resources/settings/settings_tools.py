"""The settings of tools, MCP servers, editors and the shell; `settings` composes them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from app.resources.settings.settings_agent import SettingsGroup


class AutoBackgroundSettings(SettingsGroup, frozen=True, kw_only=True):
    """When a long command becomes a background job."""

    threshold_ms: Annotated[
        int,
        Meta(
            ge=0,
            title="Move to background after",
            description="Milliseconds after which a running command becomes a background job, so that the "
            "agent can continue; its result is delivered later. The default applies to the full "
            "screen only, not to `-p`, JSON and RPC; 0: never.",
        ),
    ] = 120_000


class BashInterceptorRule(SettingsGroup, frozen=True, kw_only=True):
    pattern: str
    tool: str
    message: str
    ignore_case: bool = False


class BashInterceptorSettings(SettingsGroup, frozen=True, kw_only=True):
    """Answers to shell commands that have a better tool."""

    enabled: Annotated[
        bool,
        Meta(
            title="Redirect shell commands",
            description="Refuse `cat`, `grep`, `find`, `sed -i` and output redirections, "
            "and name the tool to use instead.",
        ),
    ] = False
    rules: Annotated[
        tuple[BashInterceptorRule, ...],
        Meta(
            title="Redirection rules",
            description="Your own rules, checked before the built-in ones: a regular expression for the start of a "
            "command, the required tool, and the message to the model.",
        ),
    ] = ()


class BashSettings(SettingsGroup, frozen=True, kw_only=True):
    """The tool that runs shell commands."""

    auto_background: AutoBackgroundSettings = AutoBackgroundSettings()
    interceptor: BashInterceptorSettings = BashInterceptorSettings()
    default_timeout_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=3600,
            title="Command timeout",
            description="Seconds after which a foreground command without its own timeout is stopped; "
            "0: no limit.",
        ),
    ] = 600
    persistent_shell: Annotated[
        bool,
        Meta(
            title="Persistent shell",
            description="Use one shell per session, so that `cd`, exports and functions last between "
            "commands.",
        ),
    ] = False
    own_shell: Annotated[
        bool,
        Meta(
            title="Your shell's aliases",
            description="Give commands the aliases, functions and options of your bash or zsh. Its startup "
            "files are read once per session, within five seconds.",
        ),
    ] = False
    pty: Annotated[
        bool,
        Meta(
            title="Terminal for programs",
            description="Let the model run a program in a terminal that you can see and type into.",
        ),
    ] = True


class EvalSettings(SettingsGroup, frozen=True, kw_only=True):
    """The Python kernel of the eval tool and of `$` in the editor."""

    python: Annotated[
        str | None,
        Meta(
            title="Python interpreter",
            description="Python for cells, as a path or name; null: VIRTUAL_ENV, then the folder's `.venv` "
            "or `venv`, then python3. Needs 3.8 or newer.",
            extra={"runs": True},
        ),
    ] = None
    default_timeout_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=3600,
            title="Cell timeout",
            description="Seconds after which a cell of the model without its own timeout is stopped; 0: "
            "no limit.",
        ),
    ] = 600
    idle_minutes: Annotated[
        int,
        Meta(
            ge=0,
            le=1440,
            title="Stop idle Python after",
            description="Minutes without a cell after which the Python kernel ends; 0: never.",
        ),
    ] = 15


class MermaidSettings(SettingsGroup, frozen=True, kw_only=True):
    """The tool that draws Mermaid diagrams."""

    enabled: Annotated[
        bool,
        Meta(
            title="Mermaid tool",
            description="Give the model the tool `render_mermaid`, which draws Mermaid diagrams as text.",
        ),
    ] = False


class WebSettings(SettingsGroup, frozen=True, kw_only=True):
    """Web pages that the model may read."""

    fetch: Annotated[
        bool,
        Meta(
            title="Web fetch tool",
            description="Give the model the tool `web_fetch`, which reads https pages.",
        ),
    ] = True
    search: Annotated[
        Literal["off", "provider", "brave", "tavily"],
        Meta(
            title="Web search service",
            description="Search service of the tool `web_search`. "
            "`provider`: the built-in search of the model's provider "
            "(Anthropic, OpenAI, Google). `brave`, `tavily`: that service, with a key of `bayou auth login "
            "brave` or "
            "`BRAVE_API_KEY`. `off`, or without such a model or key: the tool is not offered.",
            extra={"global_only": True},
        ),
    ] = "provider"
    search_url: Annotated[
        str | None,
        Meta(
            title="Web search address",
            description="Another address for the search service, such as a gateway; null: the service itself.",
            extra={"global_only": True},
        ),
    ] = None
    allow_http: Annotated[
        bool,
        Meta(
            title="Allow http pages",
            description="Let `web_fetch` also read unencrypted http pages.",
            extra={"global_only": True},
        ),
    ] = False
    private_hosts: Annotated[
        tuple[str, ...],
        Meta(
            title="Private web hosts",
            description="Your own servers with private addresses that `web_fetch` may read: "
            "`localhost:3000`, `*.internal`.",
            extra={"global_only": True},
        ),
    ] = ()


class HelperAgentSettings(SettingsGroup, frozen=True, kw_only=True):
    """Helper agents, and the limits of each."""

    enabled: Annotated[
        bool,
        Meta(
            title="Helper agents",
            description="Give the model the tool `task`, with which it starts helper agents.",
        ),
    ] = True
    width: Annotated[
        int,
        Meta(
            ge=1,
            le=16,
            title="Helpers at once",
            description="How many helpers work at the same time; others wait.",
        ),
    ] = 4
    max_per_prompt: Annotated[
        int,
        Meta(
            ge=1,
            title="Helpers per prompt",
            description="How many helpers may be started for one prompt of yours.",
        ),
    ] = 16
    max_tokens: Annotated[
        int,
        Meta(ge=1, title="Helper tokens", description="Tokens that a helper may send and receive."),
    ] = 400_000
    max_cost: Annotated[
        float,
        Meta(
            ge=0,
            title="Helper cost",
            description="US dollars that a helper may cost, where prices are known; `0`: no limit.",
        ),
    ] = 0.0
    max_turns: Annotated[
        int,
        Meta(ge=1, title="Helper turns", description="Requests that a helper may make."),
    ] = 60
    max_minutes: Annotated[
        float,
        Meta(gt=0, title="Helper time limit", description="Minutes that a helper may work."),
    ] = 30.0


class DiagnosticSettings(SettingsGroup, frozen=True, kw_only=True):
    """Linters and type checkers for files that the agent changed."""

    when: Annotated[
        Literal["off", "turn", "edit"],
        Meta(
            title="Run linters",
            description="When linters check the changed files. `turn`: before the agent stops. `edit`: also "
            "after each batch of edits. `off`: never.",
        ),
    ] = "off"
    commands: Annotated[
        dict[str, str | tuple[str, ...]],
        Meta(
            title="Linters by file type",
            description="Linters by glob: `ruff`, `eslint`, `tsc`, or a command that prints `path:line:col: "
            "text`, where `{files}` stands for the files; several as a list.",
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
        int,
        Meta(ge=1, le=600, title="Linter timeout", description="Seconds after which a linter is stopped."),
    ] = 60


class McpSettings(SettingsGroup, frozen=True, kw_only=True):
    """MCP servers and their tools."""

    enabled: Annotated[bool, Meta(title="MCP servers", description="Use the configured MCP servers.")] = True
    exposure: Annotated[
        Literal["auto", "direct", "search", "hidden"],
        Meta(
            title="MCP tool exposure",
            description="How the model finds tools of MCP servers. `direct`: all in its tool list. `search`: "
            "through mcp_search. `hidden`: not at all. `auto`: direct while they are few.",
        ),
    ] = "auto"
    direct_tokens: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            title="MCP direct token limit",
            description="Maximum tokens for which exposure `auto` lists MCP tools directly, for all servers together.",
        ),
    ] = 3_000
    sandbox: Annotated[
        Literal["auto", "off"],
        Meta(
            title="MCP server sandbox",
            description="Where local MCP servers run. `auto`: in the sandbox, with network access. `off`: "
            "without a sandbox.",
        ),
    ] = "auto"


class AcpSettings(SettingsGroup, frozen=True, kw_only=True):
    """Prompts of editors, which speak the Agent Client Protocol (docs/acp.md)."""

    queue: Annotated[
        Literal["followUp", "steer", "refuse"],
        Meta(
            title="Prompt during a run",
            description="What happens to a prompt that an editor sends during a run. "
            "`followUp`: it waits for the end of the run. `steer`: it is sent with the run's next request. "
            "`refuse`: it fails with an error.",
        ),
    ] = "followUp"


class ShellSettings(SettingsGroup, frozen=True, kw_only=True):
    """The shell that runs commands, and its environment variables."""

    shell_path: Annotated[
        str | None,
        Meta(
            title="Shell program",
            description="Shell that runs commands; null: SHELL, then bash, then sh.",
            extra={"runs": True},
        ),
    ] = None
    shell_command_prefix: Annotated[
        str | None,
        Meta(
            title="Command prefix",
            description="Text put before every command, such as `source ~/.profile;`.",
            extra={"runs": True},
        ),
    ] = None
    shell_pass_environment: Annotated[
        tuple[str, ...],
        Meta(
            title="Environment for commands",
            description="Environment variables that commands get although they look secret, such as "
            "`GITHUB_TOKEN` or `AWS_*`.",
            extra={"is_merged_list": True, "runs": True},
        ),
    ] = ()


class GoalSettings(SettingsGroup, frozen=True, kw_only=True):
    """Goals with a check (`/goal`)."""

    max_checks: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            title="Failed checks of a goal",
            description="How many failed checks end the work on a goal; `/goal continue` starts the count again.",
        ),
    ] = 25
    check_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=86_400,
            title="Time limit of a check",
            description="Seconds after which a command that checks a goal is stopped and counts as failed.",
        ),
    ] = 600
