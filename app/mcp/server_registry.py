"""Holds the servers of a session: their configuration, the exposure of their tools, and their end. `tools`
makes the tools.

Each tool is declared directly, found by search, or hidden. The hub decides this once, from what is known when
a session begins, and keeps the decision as long as the session lives: tool definitions stand in front of the
prompt, so changing them would make the next request pay for the whole prompt again.
"""

import asyncio
import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from app.mcp.managed_server import ManagedMcpServer, mcp_connection_values
from app.mcp.mcp_server_manifest import McpServerManifest, McpToolDescription
from app.mcp.server_config_entries import McpServerConfig, McpToolExposure, mcp_server_display_address
from app.mcp.server_context import MCP_SERVER_STOP_TIMEOUT_SECONDS, McpServerContext
from app.mcp.server_errors import McpServerUnavailable
from app.values.mcp_servers import (
    AutoExposure,
    McpExposureDecision,
    PromptView,
    ServerView,
    ToolReach,
    ToolView,
)
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

MAX_AUTO_DIRECT_MCP_TOOLS = 40
"""The most tools that `auto` declares: some providers accept only 128 in all."""


MAX_RETAINED_DIRECT_MCP_TOOLS = 100
"""The most tools that stay declared from an earlier decision, when servers have added tools since."""


class McpExposureSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings for the exposure of tools."""

    exposure: McpToolExposure = "auto"
    max_direct_tokens: int = 3_000


def exposure_of_mcp_server(config: McpServerConfig, wishes: McpExposureSettings) -> McpToolExposure:
    return config.exposure or wishes.exposure


def decide_mcp_auto_exposure(
    servers: Iterable[tuple[McpServerConfig, McpServerManifest | None]], wishes: McpExposureSettings
) -> AutoExposure:
    """Decides whether the exposure `auto` declares tools directly or leaves them to the search. A server not
    contacted yet may have any number of tools, so it counts as too many."""
    found: list[McpToolDescription] = []
    for config, manifest in servers:
        if exposure_of_mcp_server(config, wishes) != "auto":
            continue
        if manifest is None:
            return "search"
        found += _tools_with_auto_exposure(config, manifest)
    is_little = (
        sum(tool.token_estimate for tool in found) <= wishes.max_direct_tokens
        and len(found) <= MAX_AUTO_DIRECT_MCP_TOOLS
    )
    return "direct" if is_little else "search"


def may_tools_stay_direct(
    servers: Iterable[tuple[McpServerConfig, McpServerManifest | None]], wishes: McpExposureSettings
) -> bool:
    """Whether an earlier decision to declare tools directly still holds, given their present number."""
    counts = [
        len(_tools_with_auto_exposure(config, manifest))
        for config, manifest in servers
        if manifest is not None and exposure_of_mcp_server(config, wishes) == "auto"
    ]
    return sum(counts) <= MAX_RETAINED_DIRECT_MCP_TOOLS


def _tools_with_auto_exposure(
    config: McpServerConfig, manifest: McpServerManifest
) -> list[McpToolDescription]:
    return [tool for tool in manifest.tools if config.configured_exposure_of(tool.name) in (None, "auto")]


def mcp_tool_reach(
    tool: McpToolDescription, config: McpServerConfig, server: ToolReach, auto: ToolReach
) -> ToolReach:
    """Returns how a tool is reached. `server` is the decision for its server; an entry for the tool itself
    takes precedence."""
    said = config.configured_exposure_of(tool.name)
    if said is None or said == config.exposure:
        return server
    return auto if said == "auto" else said


MAX_PARALLEL_FIRST_SERVER_CONTACTS = 4
"""How many new servers are contacted at the same time."""


class OfferedMcpTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a server, and how the model reaches it."""

    managed_server: ManagedMcpServer
    tool: McpToolDescription
    full_name: str
    reach: ToolReach

    @property
    def server(self) -> str:
        return self.managed_server.config.name


class McpServerRegistry:
    """The servers of a session, their exposure, and lookups of their tools."""

    def __init__(
        self,
        ground: McpServerContext,
        wishes: Callable[[], McpExposureSettings] = McpExposureSettings,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._context = ground
        self._exposure_settings = wishes
        self._on_changed = changed
        self._managed_servers: dict[str, ManagedMcpServer] = {}
        self._auto_exposure: AutoExposure | None = None
        """The meaning of `auto`, once it is decided."""
        self._decided_reach_by_server: dict[str, ToolReach] = {}
        self._tools_by_full_name: dict[str, OfferedMcpTool] | None = None
        self._first_contact_tasks: dict[str, asyncio.Task[None]] = {}
        self._contact_slots = asyncio.Semaphore(MAX_PARALLEL_FIRST_SERVER_CONTACTS)
        self._closing_tasks: set[asyncio.Task[None]] = set()

    # Configured servers

    def set_servers(
        self, configs: Iterable[McpServerConfig], untrusted: Iterable[McpServerConfig] = ()
    ) -> None:
        """Replaces the configured servers. Connections of servers that did not change stay open."""
        wanted = {config.name: config for config in configs}
        before, self._managed_servers = self._managed_servers, {}
        for name, config in wanted.items():
            life = before.get(name)
            if (
                life is not None
                and life.is_trusted
                and mcp_connection_values(config) == mcp_connection_values(life.config)
            ):
                life.config = config
                self._managed_servers[name] = before.pop(name)
            else:
                self._managed_servers[name] = ManagedMcpServer(config, self._context, self._publish_change)
        for config in untrusted:
            if config.name not in self._managed_servers:
                self._managed_servers[config.name] = ManagedMcpServer(
                    config, self._context, self._publish_change, is_trusted=False
                )
        leaving = list(before.values())
        for life in self._managed_servers.values():
            if not life.config.enabled:
                leaving.append(life)
        for life in leaving:
            if life.pid is not None or life.state in ("ready", "starting"):
                stopped = (
                    life.reset_connection()
                    if self._managed_servers.get(life.config.name) is life
                    else life.disconnect()
                )
                task = asyncio.ensure_future(stopped)
                self._closing_tasks.add(task)
                task.add_done_callback(self._closing_tasks.discard)
        self._publish_change()

    @property
    def servers(self) -> tuple[ManagedMcpServer, ...]:
        return tuple(self._managed_servers[name] for name in sorted(self._managed_servers))

    @property
    def usable_servers(self) -> tuple[ManagedMcpServer, ...]:
        return tuple(life for life in self.servers if life.is_usable)

    def require_server(self, name: str) -> ManagedMcpServer:
        """Returns a server by name. Raises `UserError`."""
        found = self._managed_servers.get(name)
        if found is None:
            close = difflib.get_close_matches(name, self._managed_servers, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise UserError(f'Server "{name}" not found.{hint}\nTip: Run /mcp list to see available servers.')
        return found

    # Exposure of tools

    def decide_exposures(self, kept: McpExposureDecision | None = None) -> McpExposureDecision:
        """Decides the exposure of all servers and keeps it for present and later tools. `kept` is an earlier
        decision of this session."""
        if kept is not None and (
            kept.auto == "search"
            or may_tools_stay_direct(self._described_servers(), self._exposure_settings())
        ):
            names = {life.config.name for life in self.usable_servers} & set(kept.servers)
        else:
            kept, names = None, {life.config.name for life in self.usable_servers}
        auto = self._auto_exposure = kept.auto if kept is not None else self._current_auto_exposure()
        self._decided_reach_by_server = {
            name: self._configured_reach(self._managed_servers[name], auto) for name in names
        }
        self._tools_by_full_name = None
        return kept or McpExposureDecision(auto=auto, servers=tuple(sorted(names)))

    @property
    def has_exposure_decision(self) -> bool:
        return self._auto_exposure is not None

    def reset_exposure_decision(self) -> None:
        """Drops the decision, after the user changed a setting or opened another session."""
        self._auto_exposure, self._tools_by_full_name, self._decided_reach_by_server = None, None, {}
        self._publish_change()

    def _current_auto_exposure(self) -> AutoExposure:
        return decide_mcp_auto_exposure(self._described_servers(), self._exposure_settings())

    def _described_servers(self) -> list[tuple[McpServerConfig, McpServerManifest | None]]:
        return [(life.config, life.manifest) for life in self.usable_servers]

    def _configured_reach(self, life: ManagedMcpServer, auto: ToolReach) -> ToolReach:
        wished = exposure_of_mcp_server(life.config, self._exposure_settings())
        return auto if wished == "auto" else wished

    def reach_of_server(self, life: ManagedMcpServer) -> ToolReach:
        """Returns the exposure of a server. Servers that come after the decision are found by search, unless
        configured otherwise."""
        auto: ToolReach = self._auto_exposure or self._current_auto_exposure()
        late: ToolReach = "search" if self._auto_exposure is not None and auto == "direct" else auto
        return self._decided_reach_by_server.get(life.config.name) or self._configured_reach(life, late)

    def all_tools(self) -> Mapping[str, OfferedMcpTool]:
        """Returns all tools by full name, including hidden ones."""
        if self._tools_by_full_name is None:
            self._tools_by_full_name = {
                entry.full_name: entry for life in self.usable_servers for entry in self._tools_of(life)
            }
        return self._tools_by_full_name

    def _tools_of(self, life: ManagedMcpServer) -> list[OfferedMcpTool]:
        if life.manifest is None:
            return []
        names = full_mcp_tool_names(life.config.name, (tool.name for tool in life.manifest.tools))
        server, auto = self.reach_of_server(life), self._auto_exposure or self._current_auto_exposure()
        return [
            OfferedMcpTool(
                managed_server=life,
                tool=tool,
                full_name=names[tool.name],
                reach=mcp_tool_reach(tool, life.config, server, auto),
            )
            for tool in life.manifest.tools
        ]

    def callable_tools(self) -> Mapping[str, OfferedMcpTool]:
        return {name: entry for name, entry in self.all_tools().items() if entry.reach != "hidden"}

    def find_tool(self, server: str, tool: str) -> OfferedMcpTool | None:
        """Returns a tool by the server's own name for it or by the full name."""
        offered = [entry for entry in self.callable_tools().values() if entry.server == server]
        return next((entry for entry in offered if tool in (entry.tool.name, entry.full_name)), None)

    # Contact

    def connect_new_servers(self) -> None:
        """Contacts servers that were never contacted, in the background. Runs once."""
        for life in self.usable_servers:
            name = life.config.name
            if life.state == "new" and name not in self._first_contact_tasks:
                self._first_contact_tasks[name] = asyncio.ensure_future(self._contact_server(life))

    async def _contact_server(self, life: ManagedMcpServer) -> None:
        async with self._contact_slots:
            try:
                await life.connect_if_needed()
            except McpServerUnavailable:
                pass  # The server's state shows the failure.

    async def wait_for_first_contact(
        self, seconds: float, only: Callable[[ManagedMcpServer], bool] = lambda life: True
    ) -> None:
        """Waits until servers in their first contact have answered, or time is up."""
        waiting = [
            task
            for name, task in self._first_contact_tasks.items()
            if not task.done() and (life := self._managed_servers.get(name)) is not None and only(life)
        ]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)

    async def test_server(self, name: str) -> ServerView:
        """Opens a new connection and lists everything again. Raises `UserError` with a text for the user."""
        life = self.require_server(name)
        if not life.config.enabled:
            raise UserError(f'Server "{name}" is disabled. Run /mcp enable {name} first.')
        await life.reset_connection()
        life.manifest = None
        await life.connect_if_needed()
        return self.server_view(life)

    async def end_servers(self) -> None:
        for task in self._first_contact_tasks.values():
            task.cancel()
        ending = [asyncio.ensure_future(life.disconnect()) for life in self._managed_servers.values()]
        ending += self._closing_tasks
        if ending:
            await asyncio.wait(ending, timeout=2 * MCP_SERVER_STOP_TIMEOUT_SECONDS)

    # Views

    def server_view(self, life: ManagedMcpServer) -> ServerView:
        config, manifest = life.config, life.manifest
        entries = self._tools_of(life)
        tools = tuple(
            ToolView(
                name=entry.tool.name,
                full_name=entry.full_name,
                reach=entry.reach,
                title=entry.tool.title,
                description=entry.tool.description,
                tokens=entry.tool.token_estimate,
                says_read_only=entry.tool.says_read_only,
                says_destructive=entry.tool.says_destructive,
            )
            for entry in entries
        )
        return ServerView(
            name=config.name,
            state=life.state,
            reason=self._context.mask_secrets(mcp_server_unavailable_reason(life)),
            exposure=exposure_of_mcp_server(config, self._exposure_settings()),
            reach=self.reach_of_server(life),
            origin=str(config.file) if config.file else config.origin,
            address=self._context.mask_secrets(mcp_server_display_address(config)),
            description=mcp_server_summary(life),
            era=manifest.greeting.era if manifest else "",
            version=manifest.greeting.version if manifest else "",
            tools=tools,
            omissions=manifest.omissions if manifest else (),
            prompt_count=len(manifest.prompts) if manifest else 0,
            resource_count=len(manifest.resources) + len(manifest.templates) if manifest else 0,
            tokens=sum(tool.tokens for tool in tools if tool.reach == "direct"),
            stderr=life.log.last_lines(),
            log=str(life.log.existing_file or ""),
            process=life.pid,
        )

    def prompt_views(self) -> tuple[PromptView, ...]:
        return tuple(
            PromptView(
                server=life.config.name,
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=tuple(one.name for one in prompt.arguments),
                required=tuple(one.name for one in prompt.arguments if one.required),
            )
            for life in self.usable_servers
            if life.manifest is not None
            for prompt in life.manifest.prompts
        )

    def _publish_change(self) -> None:
        self._tools_by_full_name = None
        self._on_changed()


def mcp_server_summary(life: ManagedMcpServer) -> str:
    """Describes the purpose of an MCP server in one line."""
    said = life.config.description
    if not said and life.manifest is not None:
        said = life.manifest.instructions.strip().split("\n", 1)[0].lstrip("# ")
    return said.strip()[:160]


def mcp_server_unavailable_reason(life: ManagedMcpServer) -> str:
    if life.config.problem:
        return life.config.problem
    if life.state == "untrusted":
        return "the project is not trusted: /trust"
    if life.state == "failed" and life.seconds_until_retry > 0:
        return f"{life.failure_reason}; next attempt in {round(life.seconds_until_retry)} s"
    return life.failure_reason


MCP_TOOL_NAME_PREFIX = "mcp__"
MAX_MCP_TOOL_NAME_CHARS = 64
_INVALID_MCP_TOOL_NAME_CHARS_PATTERN = lazy_regex(r"[^A-Za-z0-9_-]")
_TOOL_NAME_HASH_CHARS = 6


def mcp_tool_prefix_of_server(server: str) -> str:
    return f"{MCP_TOOL_NAME_PREFIX}{_INVALID_MCP_TOOL_NAME_CHARS_PATTERN.sub('_', server)}__"


def full_mcp_tool_names(server: str, tools: Iterable[str]) -> Mapping[str, str]:
    """Returns full names by the server's own names. Names that are too long or taken end in part of a
    hash."""
    plain = {
        tool: mcp_tool_prefix_of_server(server) + (_INVALID_MCP_TOOL_NAME_CHARS_PATTERN.sub("_", tool) or "_")
        for tool in tools
    }
    count = Counter(plain.values())
    return {
        tool: name
        if len(name) <= MAX_MCP_TOOL_NAME_CHARS and count[name] == 1
        else _shorten_name_with_hash(name, server, tool)
        for tool, name in plain.items()
    }


def _shorten_name_with_hash(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[
        :_TOOL_NAME_HASH_CHARS
    ]
    return f"{name[: MAX_MCP_TOOL_NAME_CHARS - _TOOL_NAME_HASH_CHARS - 1]}_{digest}"
