"""The MCP servers of a session, for interfaces and extensions: their state, connections, prompts and resources.

The configuration is read when it is first needed, and `app.mcp` is imported then, after the first paint: a
session without servers pays nothing. `exposure` decides what the model sees of servers."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from app.engine.core.prompt_intake import PromptInput
from app.engine.core.session_core import SessionCore
from app.engine.core.toolbox import EnabledToolPatterns
from app.engine.models.model_requests import ModelRequests
from app.engine.permissions.permission_gate import PermissionGate
from app.engine.questions.form_questions import UserFormQuestions
from app.engine.secrets.session_mask import SessionSecretMask
from app.resources.paths import BayouPaths
from app.values.mcp_servers import McpServersChange, McpServerState, PromptView, ServerView
from app.values.user_errors import UserError
from tools.files.watched_files import WatchedFiles
from tools.text_sanitizing import one_line

if TYPE_CHECKING:
    from app.engine.mcp.mcp_commands import McpServerChanges
    from app.engine.mcp.mcp_exposure import McpExposure
    from app.engine.mcp.server_prompts import McpServerQuestions
    from app.mcp.managed_server import ManagedMcpServer
    from app.mcp.server_config import ConfiguredMcpServers
    from app.mcp.server_config_entries import McpServerConfig, McpToolExposure
    from app.mcp.server_context import McpServerLog
    from app.mcp.server_registry import McpServerRegistry
    from app.mcp.stdio_process import McpTransport
    from tools.box.sandbox_policy import SandboxPolicy
    from tools.running.local_processes import LocalProcesses

_MCP_CHANGES_PUBLISH_DELAY = 0.05
"""The number of seconds within which changes of servers are published as one event."""

MakeRemoteTransport = Callable[["McpServerConfig", "McpServerLog"], Callable[[], "McpTransport"]]
AnswerElicitation = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class AddedMcpServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server that no file defines: an extension or the client added it."""

    configuration: Mapping[str, Any]
    origin: Literal["extension", "client"] = "extension"
    """The part that added the server: an extension, or `client`, the editor that uses bayou."""


class McpServerSources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of a session's MCP servers: configuration files, chosen tools, environment, transport and
    proxy."""

    paths: BayouPaths
    config_files: Callable[[], Sequence[Path]]
    """The files that may configure MCP servers."""
    find_servers: Callable[[Mapping[str, AddedMcpServer]], "ConfiguredMcpServers"]
    """A function that finds the servers of the files and those added by extensions or the client."""
    selected_tools: Callable[[], EnabledToolPatterns] = EnabledToolPatterns
    """The tools that command line and settings choose."""
    environment: Mapping[str, str] = os.environ
    make_remote_transport: MakeRemoteTransport | None = None
    proxy_url: Callable[[], str | None] = lambda: None


class McpServers:
    """The MCP servers of one session. Methods that contact a server raise `UserError` on failure."""

    def __init__(
        self,
        core: SessionCore,
        places: McpServerSources | None,
        requests: ModelRequests,
        permits: PermissionGate,
        masking: SessionSecretMask,
        forms: UserFormQuestions,
    ) -> None:
        self._core = core
        self._forms = forms
        self._places = self.server_sources = places
        self._requests = requests
        self._permissions = permits
        self._masking = masking
        self._event_bus = core.event_bus
        self._options = core.options
        self._questions: McpServerQuestions | None = None
        self._registry: McpServerRegistry | None = None
        self._exposure: McpExposure | None = None
        self._added_servers: dict[str, AddedMcpServer] = {}
        self._user_choices: dict[str, dict[str, Any]] = {}
        """The user's choices for servers in this session, by server."""
        self._is_stale = False
        """Whether extensions have added or removed servers since the last check. This is checked when servers are
        needed, so that reloading extensions ends no connection."""
        self._problems: tuple[str, ...] = ()
        self._processes: LocalProcesses | None = None
        self._publish_timer: asyncio.TimerHandle | None = None
        self.files = _watched_files(places)
        """The files that may configure servers, which are watched while none of them does."""
        self.may_have_servers = places is not None and _has_config_file(places)
        """Whether a prompt has to check for servers, because files or extensions may define some."""

    @property
    def are_servers_enabled(self) -> bool:
        return self._places is not None and self._options.effective_settings.settings.mcp.enabled

    def registry(self) -> "McpServerRegistry | None":
        """Returns the registry of MCP servers, reading the files the first time; None where there are no
        servers."""
        if not self.are_servers_enabled:
            return None
        places = self._places
        if (
            self._registry is None
            and places is not None
            and (self._added_servers or _has_config_file(places))
        ):
            self._make_registry(places)
        elif self._registry is not None and self._is_stale:
            self._configure_registry(self._registry)
        return self._registry

    def registry_for_server(self, name: str) -> "McpServerRegistry":
        """Returns the registry for a named MCP server. Raises `UserError` where there are no servers."""
        hub = self.registry()
        if hub is None:
            raise UserError(f'Server "{name}" not found.\nTip: Run /mcp list to see available servers.')
        return hub

    # Beginning

    def connect_new_servers(self) -> None:
        """Connects new MCP servers, after the first paint or with the first prompt."""
        hub = self.registry()
        if hub is not None:
            hub.connect_new_servers()

    async def decide_exposure_before_prompt(self) -> None:
        """Decides with the first prompt how MCP servers are exposed to the model."""
        if self.registry() is not None and self._exposure is not None:
            await self._exposure.decide_before_prompt()
        elif self._exposure is not None:
            self._exposure.update_toolbox()

    async def expand_prompt(self, words: PromptInput) -> PromptInput:
        """Expands the MCP prompts and resources in the user's input. Raises `UserError`."""
        if self.registry() is None:
            return words
        from app.engine.mcp.server_prompts import McpServerPrompts  # noqa: PLC0415  (most words name none)

        return await McpServerPrompts(self, self._elicit).expand_prompt(words)

    def reload_configuration(self) -> None:
        """Reloads the configuration of MCP servers after files, trust or extensions changed; unchanged servers
        stay connected."""
        if self._places is None:
            return
        if self._registry is not None:
            self._configure_registry(self._registry)
            return
        self.files = _watched_files(self._places)
        self.may_have_servers = self.may_have_servers or _has_config_file(self._places)
        self.registry()

    def adopt_stored_exposure(self) -> None:
        """Takes over the stored decision on MCP tools of another session."""
        if self._registry is not None and self._registry.has_exposure_decision:
            self._registry.reset_exposure_decision()

    def _make_registry(self, places: McpServerSources) -> None:
        from app.engine.mcp.mcp_exposure import McpExposure, mcp_exposure_settings  # noqa: PLC0415  (most sessions have no servers)
        from app.mcp.server_registry import McpServerRegistry  # noqa: PLC0415  (as above)

        hub = self._registry = McpServerRegistry(
            self._server_context(places), lambda: mcp_exposure_settings(self._options), self._on_server_change
        )
        self.may_have_servers, self.files = True, WatchedFiles()
        self._exposure = McpExposure(
            hub,
            is_on=lambda: self.are_servers_enabled,
            choice=places.selected_tools,
            conversation=self._core.conversation,
            toolbox=self._core.toolbox,
            requests=self._requests,
            event_bus=self._event_bus,
            options=self._options,
        )
        self._configure_registry(hub)
        self._exposure.watch_servers()

    def _server_context(self, places: McpServerSources) -> Any:
        from app.mcp.mcp_server_manifest import McpManifestStore  # noqa: PLC0415  (as above)
        from app.mcp.server_context import McpServerContext  # noqa: PLC0415  (as above)

        def environment() -> Mapping[str, str]:
            from app.mcp.stdio_process import environment_for_mcp_server  # noqa: PLC0415  (with the first contact)

            return environment_for_mcp_server(places.environment)

        async def resolved(config: "McpServerConfig") -> "McpServerConfig":
            """Resolves the server's variables each time, because the output of a command (a token) may expire."""
            from app.mcp.server_config import McpConfigValueResolver, secret_values_of_mcp_server  # noqa: PLC0415  (as above)
            from tools.masking.encoded_secret_forms import KnownSecret  # noqa: PLC0415  (as above)

            found = await McpConfigValueResolver(places.environment).resolve_config_values(config)
            known = (
                KnownSecret(f"{config.name}-{name}", value)
                for name, value in secret_values_of_mcp_server(found)
                if value
            )
            self._masking.known_secrets.add_values(f"MCP server {config.name}", known)
            return found

        async def watch(config: "McpServerConfig", box: "SandboxPolicy") -> None:
            await asyncio.to_thread(
                self._core.workspace.guard.watch_lasting_process, box, f"the MCP server {config.name}"
            )

        return McpServerContext(
            processes=self._local_processes,
            working_folder=lambda: self._core.workspace.cwd,
            added_folders=lambda: self._core.workspace.added.paths,
            environment=environment,
            resolve_config=resolved,
            remote_transport=places.make_remote_transport,
            sandbox_for=self.sandbox_for_server,
            watch_sandbox=watch,
            ask_elicitation=self._elicit,
            manifests=McpManifestStore(places.paths.cache_dir / "mcp"),
            log_folder=places.paths.agent_dir / "mcp-logs",
            mask_secrets=lambda text: self._masking.masked_text(text, ""),
        )

    async def _elicit(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        """Asks the user a question on behalf of an MCP server."""
        if self._questions is None:
            from app.engine.mcp.server_prompts import McpServerQuestions  # noqa: PLC0415  (few servers ask anything)

            self._questions = McpServerQuestions(self._forms, self._event_bus)
        return await self._questions.ask_user(server, params)

    async def sandbox_for_server(self, config: "McpServerConfig") -> "SandboxPolicy | None":
        """Returns the sandbox that an MCP server runs in."""
        if self._options.effective_settings.settings.mcp.sandbox == "off":
            return None
        return await self._permissions.boxes.box_for_server(f"{config.origin} {config.name}")

    def _local_processes(self) -> "LocalProcesses":
        """Returns the starter of MCP servers on this machine, also where an extension runs commands
        elsewhere."""
        local = self._core.workspace.local_processes
        if local is not None:
            return local
        if self._processes is None:
            from tools.running.local_processes import LocalProcesses  # noqa: PLC0415  (seldom)

            self._processes = LocalProcesses(self._core.workspace.abilities)
        return self._processes

    def _configure_registry(self, hub: "McpServerRegistry") -> None:
        assert self._places is not None
        self._is_stale = False
        found = self._places.find_servers(self._added_servers)
        told = tuple(str(problem) for problem in found.problems)
        for text in told:
            if text not in self._problems:
                self._event_bus.warn(text)
        self._problems = told
        servers = [
            msgspec.structs.replace(config, **self._user_choices.get(config.name, {}))
            for config in found.servers
        ]
        hub.set_servers(servers, found.untrusted)

    # For people

    @property
    def configuration_problems(self) -> tuple[str, ...]:
        """The errors in the configuration of MCP servers when it was last read."""
        self.registry()
        return self._problems

    def server_views(self) -> tuple[ServerView, ...]:
        hub = self.registry()
        return tuple(map(hub.server_view, hub.servers)) if hub is not None else ()

    def server_view(self, name: str) -> ServerView:
        return self.registry_for_server(name).server_view(self._managed_server(name))

    async def test_server(self, name: str) -> ServerView:
        """Reconnects to an MCP server and requests everything that it offers."""
        return await self.registry_for_server(name).test_server(name)

    async def restart_server(self, name: str) -> ServerView:
        """Disconnects an MCP server and forgets its failures; it is connected again when needed."""
        await self._managed_server(name).reset_connection()
        return self.server_view(name)

    def set_server_enabled(self, name: str, is_on: bool) -> None:
        """Enables or disables an MCP server for this session."""
        hub = self._override_setting(name, enabled=is_on)
        if is_on:
            hub.connect_new_servers()

    def set_exposure(self, name: str, exposure: "McpToolExposure") -> None:
        """Sets how an MCP server's tools reach the model in this session, from the next prompt on."""
        self._override_setting(name, exposure=exposure)
        if self._exposure is not None:
            self._exposure.reset_decision()

    def _override_setting(self, name: str, **said: Any) -> "McpServerRegistry":
        hub = self.registry_for_server(name)
        self._user_choices.setdefault(hub.require_server(name).config.name, {}).update(said)
        self._configure_registry(hub)
        return hub

    @property
    def server_configuration_changes(self) -> "McpServerChanges":
        """Returns the object that changes configuration files of MCP servers and signs in to servers."""
        from app.engine.mcp.mcp_commands import McpServerChanges  # noqa: PLC0415  (few change servers)

        return McpServerChanges(self)

    def known_prompts(self) -> tuple[PromptView, ...]:
        """Returns the known prompts of MCP servers without contacting servers."""
        hub = self.registry()
        return hub.prompt_views() if hub is not None else ()

    def prompt_commands(self) -> list[dict[str, Any]]:
        """Returns the prompts of MCP servers as `/server:name` commands, in the form of `get_commands`."""
        return [
            {
                "name": f"{prompt.server}:{prompt.name}",
                "description": one_line(prompt.description or prompt.title),
                "source": "prompt",
                "sourceInfo": {
                    "path": f"mcp:{prompt.server}",
                    "source": "mcp",
                    "scope": "temporary",
                    "origin": "top-level",
                },
            }
            for prompt in self.known_prompts()
        ]

    def known_resources(self) -> tuple[tuple[str, str, str], ...]:
        """Returns server, URI and name of the known MCP resources."""
        hub = self.registry()
        if hub is None:
            return ()
        return tuple(
            (life.config.name, one.uri, one.name)
            for life in hub.usable_servers
            if life.manifest is not None
            for one in life.manifest.resources
        )

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Requests a prompt from an MCP server and returns the answer in wire form."""
        return await self._managed_server(server).get_prompt(name, arguments)

    async def read_resource(self, server: str, uri: str) -> dict[str, Any]:
        """Reads a resource of an MCP server and returns the answer in wire form."""
        return await self._managed_server(server).read_resource(uri)

    async def complete_argument(
        self, server: str, ref: Mapping[str, str], argument: str, value: str, context: Mapping[str, str]
    ) -> dict[str, Any]:
        """Requests completions from an MCP server and returns the answer in wire form."""
        return await self._managed_server(server).complete_argument(ref, argument, value, context)

    def _managed_server(self, name: str) -> "ManagedMcpServer":
        return self.registry_for_server(name).require_server(name)

    def set_added_server(
        self,
        name: str,
        entry: Mapping[str, Any] | None,
        origin: Literal["extension", "client"] = "extension",
    ) -> None:
        """Adds an MCP server of an extension or of the client; None removes it."""
        if entry is None:
            self._added_servers.pop(name, None)
        else:
            self._added_servers[name] = AddedMcpServer(configuration=entry, origin=origin)
            self.may_have_servers = True
        self._is_stale = True

    def _on_server_change(self) -> None:
        if self._exposure is None:
            return
        self._exposure.watch_servers()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # Without an event loop there are no listeners yet.
        if self._publish_timer is None:
            self._publish_timer = loop.call_later(_MCP_CHANGES_PUBLISH_DELAY, self._publish_states)

    def _publish_states(self) -> None:
        self._publish_timer = None
        if self._registry is None:
            return
        views = map(self._registry.server_view, self._registry.servers)
        self._event_bus.publish_now(
            McpServersChange(
                servers=tuple(
                    McpServerState(
                        name=view.name, state=view.state, reason=view.reason, tool_count=len(view.tools)
                    )
                    for view in views
                )
            )
        )

    async def close(self) -> None:
        if self._publish_timer is not None:
            self._publish_timer.cancel()
        if self._registry is not None:
            await self._registry.end_servers()
        if self._processes is not None:
            self._processes.close()


def _has_config_file(places: McpServerSources) -> bool:
    """Whether one of the MCP configuration files exists, also as a broken link; the files are not read."""
    return any(os.path.lexists(path) for path in places.config_files())


def _watched_files(places: McpServerSources | None) -> WatchedFiles:
    watched = WatchedFiles()
    for path in places.config_files() if places is not None else ():
        watched.record_file_state(path)
    return watched
