"""Exposes MCP tools to the model: tools in the toolbox, a section in the prompt, and the decision which tools
are declared, persisted so that resumed and forked sessions declare the same ones.

Imported with the first server of a session. `app.mcp` decides whether a tool is declared or found by a search."""

from collections.abc import Callable, Mapping

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import EnabledToolPatterns, Toolbox
from app.engine.models.model_requests import ModelRequests
from app.mcp.mcp_tools import SEARCH_TOOL_NAME, McpTools
from app.mcp.server_registry import (
    McpExposureSettings,
    McpServerRegistry,
    exposure_of_mcp_server,
    mcp_server_summary,
)
from app.values.entries import CustomEntry, Entry
from app.values.events import EntryAppended
from app.values.mcp_servers import McpExposureDecision
from app.values.wire import convert
from tools.tool_definition import Tool

MCP_EXPOSURE_ENTRY_TYPE = "bayou.mcp"
"""The type of the entry that stores the decision on exposed tools; pi keeps such entries without showing them."""
MCP_FIRST_PROMPT_TIMEOUT = 10.0
"""The maximum number of seconds that a first prompt waits for new servers whose tools are declared."""
MCP_TOOLS_OWNER = "mcp"


def mcp_exposure_settings(options: SessionOptions) -> McpExposureSettings:
    """Returns the settings that decide which MCP tools are declared to the model."""
    settings = options.effective_settings.settings.mcp
    return McpExposureSettings(exposure=settings.exposure, max_direct_tokens=settings.direct_tokens)


class McpExposure:
    """Declares the tools of a session's MCP servers to the model."""

    def __init__(
        self,
        hub: McpServerRegistry,
        *,
        is_on: Callable[[], bool],
        choice: Callable[[], EnabledToolPatterns],
        conversation: Conversation,
        toolbox: Toolbox,
        requests: ModelRequests,
        event_bus: EventBus,
        options: SessionOptions,
    ) -> None:
        """Creates it undecided. `is_on` returns whether servers are used at all. `choice` has the tools chosen by
        command line and settings."""
        self._registry = hub
        self._is_enabled = is_on
        self._choice = choice
        self._conversation = conversation
        self._toolbox = toolbox
        self._requests = requests
        self._event_bus = event_bus
        self._options = options
        self._tools = McpTools(hub)
        self._section: Mapping[str, str] = {}
        self._declared_tools: set[str] = set()
        self._ignores_stored = False
        """Whether the user chose another exposure after the decision was stored."""
        for tool in self._tools.mcp_gateway_tools():
            toolbox.register_tool(tool, owner=MCP_TOOLS_OWNER)
        own = {tool.name for tool in self._tools.mcp_gateway_tools()}
        toolbox.add_withhold_rule(lambda tools: () if self._section and is_on() else own)
        options.effective_settings.subscribe(lambda before: self._set_prompt_sections(self._section))
        toolbox.add_unlisted_source(self._searchable_tools)
        toolbox.choose_tools(choice())

    def watch_servers(self) -> None:
        """Keeps the prompt's section about MCP servers up to date until the exposure is decided."""
        if not self._registry.has_exposure_decision:
            self._set_prompt_sections(mcp_servers_section(self._registry))

    async def decide_before_prompt(self) -> None:
        """Decides with the first prompt which MCP tools are declared; the decision stays for the session."""
        hub = self._registry
        hub.connect_new_servers()
        if not hub.has_exposure_decision:
            wishes = mcp_exposure_settings(self._options)
            await hub.wait_for_first_contact(
                MCP_FIRST_PROMPT_TIMEOUT, lambda life: exposure_of_mcp_server(life.config, wishes) == "direct"
            )
            self._decide_exposures()
        self.update_toolbox()

    def reset_decision(self) -> None:
        """Makes the next prompt decide again which MCP tools are declared, since the user chose another
        exposure."""
        self._ignores_stored = True
        self._registry.reset_exposure_decision()

    def update_toolbox(self) -> None:
        """Updates the toolbox to the MCP tools that are declared one by one."""
        wanted = {tool.name: tool for tool in self._tools.direct_tools()} if self._is_enabled() else {}
        known = {tool.name: tool for tool in self._toolbox.all_tools() if tool.name in self._declared_tools}
        for name in self._declared_tools - wanted.keys():
            self._toolbox.unregister_tool(name)
        for name, tool in wanted.items():
            if known.get(name) != tool:
                if name in self._declared_tools:
                    self._toolbox.unregister_tool(name)
                self._toolbox.register_tool(tool, owner=MCP_TOOLS_OWNER)
        if self._declared_tools != wanted.keys():
            self._toolbox.choose_tools(self._choice())
        self._declared_tools = set(wanted)

    def _decide_exposures(self) -> None:
        kept = load_mcp_exposure(self._conversation)
        decided = self._registry.decide_exposures(None if self._ignores_stored else kept)
        self._ignores_stored = False
        self._set_prompt_sections(mcp_servers_section(self._registry))
        if decided != kept and (entry := store_mcp_exposure(self._conversation, decided)) is not None:
            self._event_bus.publish_now(EntryAppended(entry=entry))
        self.update_toolbox()

    def _set_prompt_sections(self, mcp_servers_section: Mapping[str, str]) -> None:
        """Sets the prompt sections about MCP servers and the tools that come with them."""
        for name in self._section:
            self._requests.set_prompt_section(name, None)
        self._section = mcp_servers_section
        for name, text in mcp_servers_section.items() if self._is_enabled() else ():
            self._requests.set_prompt_section(name, text)
        self._toolbox.recompute_active_tools()

    def _searchable_tools(self) -> Mapping[str, Tool]:
        if not self._is_enabled():
            return {}
        return (
            self._tools.callable_tools()
            if SEARCH_TOOL_NAME in self._toolbox.active_tools()
            else self._tools.resource_readers()
        )


def load_mcp_exposure(conversation: Conversation) -> McpExposureDecision | None:
    """Returns the last decision on MCP tools in the session's file, on any branch; None where it cannot be
    decoded."""
    for entry in reversed(conversation.log.entries):
        if isinstance(entry, CustomEntry) and entry.custom_type == MCP_EXPOSURE_ENTRY_TYPE:
            try:
                return convert(entry.data, McpExposureDecision)
            except msgspec.ValidationError:
                return None
    return None


def store_mcp_exposure(conversation: Conversation, decided: McpExposureDecision) -> Entry | None:
    """Records the decision which MCP tools are declared; returns None where the session is read-only."""
    if conversation.log.is_read_only:
        return None
    return conversation.record_custom_entry(MCP_EXPOSURE_ENTRY_TYPE, msgspec.to_builtins(decided))


MCP_SERVERS_SECTION = "mcp_servers"
_MCP_SERVERS_SECTION_HEADING = "MCP servers whose tools are found with mcp_search and called with mcp_call:"


def mcp_servers_section(hub: McpServerRegistry) -> dict[str, str]:
    """Returns the system prompt's section about MCP servers: a line each, unchanged for the whole session."""
    lines = [
        f"- {life.config.name}{f': {line}' if (line := mcp_server_summary(life)) else ''}"
        for life in hub.usable_servers
        if hub.reach_of_server(life) != "hidden" and is_mcp_search_needed(hub, life.config.name)
    ]
    return {MCP_SERVERS_SECTION: "\n".join((_MCP_SERVERS_SECTION_HEADING, *lines))} if lines else {}


def is_mcp_search_needed(hub: McpServerRegistry, name: str) -> bool:
    """Whether an MCP server has something that only a search finds: tools, resources, or unknown contents."""
    life = hub.require_server(name)
    if life.manifest is None:
        return True
    if life.manifest.resources or life.manifest.templates:
        return True
    return any(entry.reach == "search" for entry in hub.all_tools().values() if entry.managed_server is life)
