"""Exposes MCP tools to the model: tools in the toolbox, a section in the prompt, and the decision which tools are
declared, persisted so that resumed and forked sessions declare the same ones.

Imported with the first server of a session. `app.mcp` decides whether a tool is declared or found by a search."""

from collections.abc import Callable, Mapping

import msgspec

from app.engine.core.conversation import Conversation
from app.engine.core.event_bus import EventBus
from app.engine.core.session_options import SessionOptions
from app.engine.core.toolbox import Toolbox, ToolChoice
from app.engine.models.model_requests import ModelRequests
from app.mcp.mcp_tools import SEARCH, McpTools
from app.mcp.server_registry import ExposureSettings, ServerRegistry, configured_exposure, server_summary
from app.values.entries import CustomEntry, Entry
from app.values.events import EntryAppended
from app.values.mcp_servers import ExposureDecision
from tools.base import Tool

EXPOSURE_ENTRY_TYPE = "bayou.mcp"
"""Type of the entry that stores the decision; pi keeps such entries without showing them."""
FIRST_PROMPT_TIMEOUT = 10.0
"""Seconds that a first prompt waits for new servers whose tools are declared."""
MCP_TOOLS_OWNER = "mcp"


def exposure_options(options: SessionOptions) -> ExposureSettings:
    """Returns the settings about exposure."""
    settings = options.effective_settings.settings.mcp
    return ExposureSettings(exposure=settings.exposure, direct_tokens=settings.direct_tokens)


class McpExposure:
    """Declares the tools of a session's servers to the model."""

    def __init__(
        self,
        hub: ServerRegistry,
        *,
        is_on: Callable[[], bool],
        choice: Callable[[], ToolChoice],
        conversation: Conversation,
        toolbox: Toolbox,
        requests: ModelRequests,
        event_bus: EventBus,
        options: SessionOptions,
    ) -> None:
        """`is_on`: whether servers are used at all. `choice`: the tools chosen by command line and settings."""
        self._hub = hub
        self._is_on = is_on
        self._choice = choice
        self._conversation = conversation
        self._toolbox = toolbox
        self._requests = requests
        self._event_bus = event_bus
        self._options = options
        self._tools = McpTools(hub)
        self._section: Mapping[str, str] = {}
        self._declared: set[str] = set()
        self._ignores_stored = False
        """Whether the user chose another exposure after the decision was stored."""
        for tool in self._tools.own():
            toolbox.register(tool, owner=MCP_TOOLS_OWNER)
        own = {tool.name for tool in self._tools.own()}
        toolbox.withhold(lambda tools: () if self._section and is_on() else own)
        options.effective_settings.subscribe(lambda before: self._set_section(self._section))
        toolbox.reach(self._searchable_tools)
        toolbox.choose(choice())

    def draft(self) -> None:
        """Makes the prompt's section follow the known servers until the exposure is decided."""
        if not self._hub.is_decided:
            self._set_section(servers_section(self._hub))

    async def before_prompt(self) -> None:
        """Decides the exposure with the first prompt; it stays for the session."""
        hub = self._hub
        hub.connect_new_servers()
        if not hub.is_decided:
            wishes = exposure_options(self._options)
            await hub.met(
                FIRST_PROMPT_TIMEOUT, lambda life: configured_exposure(life.config, wishes) == "direct"
            )
            self._decide()
        self.declare()

    def reset_decision(self) -> None:
        """Decides again with the next prompt, since the user chose another exposure."""
        self._ignores_stored = True
        self._hub.reset_decision()

    def declare(self) -> None:
        """Updates the toolbox to the tools that are declared one by one."""
        wanted = {tool.name: tool for tool in self._tools.direct()} if self._is_on() else {}
        known = {tool.name: tool for tool in self._toolbox.all() if tool.name in self._declared}
        for name in self._declared - wanted.keys():
            self._toolbox.unregister(name)
        for name, tool in wanted.items():
            if known.get(name) != tool:
                if name in self._declared:
                    self._toolbox.unregister(name)
                self._toolbox.register(tool, owner=MCP_TOOLS_OWNER)
        if self._declared != wanted.keys():
            self._toolbox.choose(self._choice())
        self._declared = set(wanted)

    def _decide(self) -> None:
        kept = stored_exposure(self._conversation)
        decided = self._hub.decide(None if self._ignores_stored else kept)
        self._ignores_stored = False
        self._set_section(servers_section(self._hub))
        if decided != kept and (entry := store_exposure(self._conversation, decided)) is not None:
            self._event_bus.publish_now(EntryAppended(entry=entry))
        self.declare()

    def _set_section(self, servers_section: Mapping[str, str]) -> None:
        """Sets the prompt section and the tools that come with it."""
        for name in self._section:
            self._requests.add_section(name, None)
        self._section = servers_section
        for name, text in servers_section.items() if self._is_on() else ():
            self._requests.add_section(name, text)
        self._toolbox.changed()

    def _searchable_tools(self) -> Mapping[str, Tool]:
        if not self._is_on():
            return {}
        return self._tools.reachable() if SEARCH in self._toolbox.active() else self._tools.readers()


def stored_exposure(conversation: Conversation) -> ExposureDecision | None:
    """Returns the last decision in the session's file, on any branch; None where it cannot be decoded."""
    for entry in reversed(conversation.log.entries):
        if isinstance(entry, CustomEntry) and entry.custom_type == EXPOSURE_ENTRY_TYPE:
            try:
                return msgspec.convert(entry.data, ExposureDecision)
            except msgspec.ValidationError:
                return None
    return None


def store_exposure(conversation: Conversation, decided: ExposureDecision) -> Entry | None:
    """Records the decision; returns None where the session is read-only."""
    if conversation.log.is_read_only:
        return None
    return conversation.note(EXPOSURE_ENTRY_TYPE, msgspec.to_builtins(decided))


SERVERS_SECTION = "mcp_servers"
_HEAD = "MCP servers whose tools are found with mcp_search and called with mcp_call:"


def servers_section(hub: ServerRegistry) -> dict[str, str]:
    """Returns the prompt's section about servers: a line each, unchanged for the whole session."""
    lines = [
        f"- {life.config.name}{f': {line}' if (line := server_summary(life)) else ''}"
        for life in hub.usable
        if hub.reach(life) != "hidden" and is_searched(hub, life.config.name)
    ]
    return {SERVERS_SECTION: "\n".join((_HEAD, *lines))} if lines else {}


def is_searched(hub: ServerRegistry, name: str) -> bool:
    """Whether a server has something that only a search finds: tools, resources, or unknown contents."""
    life = hub.server(name)
    if life.manifest is None:
        return True
    if life.manifest.resources or life.manifest.templates:
        return True
    return any(entry.reach == "search" for entry in hub.entries().values() if entry.life is life)
