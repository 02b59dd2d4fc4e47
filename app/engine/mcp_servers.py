"""A session's MCP servers: read when they are first needed, given to the model as tools, told of when they change.

Nothing of `app.mcp` is imported before: a session without servers does not pay for them, and one with servers not
before the first paint. What a server is, and how it is reached, is `app.mcp`'s business.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.engine.boxes import Boxes
from app.engine.conversation import Conversation
from app.engine.intake import Words
from app.engine.kept_reach import keep_reach, reach_kept
from app.engine.masking import Masking
from app.engine.options import SessionOptions
from app.engine.requests import Requests
from app.engine.telling import Telling
from app.engine.toolbox import Toolbox, ToolChoice
from app.resources.paths import Paths
from app.values.events import EntryAppended
from app.values.servers import McpServersChange, McpServerState
from app.values.unable import Unable
from tools.files.watched import WatchedFiles

if TYPE_CHECKING:
    from app.mcp.config import ConfiguredServers
    from app.mcp.entries import Exposure, ServerConfig
    from app.mcp.hub import Hub
    from app.mcp.server_log import ServerLog
    from app.mcp.streams import Transport
    from app.mcp.tools import McpTools
    from tools.box.policy import Box
    from tools.running.process import LocalProcesses

FIRST_PROMPT_SECONDS = 10.0
"""A first prompt waits so long for servers whose tools are declared and that nobody has asked yet."""
_JOIN_SECONDS = 0.05
OWNER = "mcp"

Remote = Callable[["ServerConfig", "ServerLog"], Callable[[], "Transport"]]
Elicit = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class ServerPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where servers are found, and what is handed to them."""

    paths: Paths
    files: Callable[[], Sequence[Path]]
    """Those that may name some."""
    find: Callable[[Mapping[str, Mapping[str, Any]]], "ConfiguredServers"]
    """Those that the files say, with those that extensions bring."""
    choice: Callable[[], ToolChoice] = ToolChoice
    """What command line and settings say of tools."""
    env: Mapping[str, str] = os.environ
    remote: Remote | None = None
    proxy: Callable[[], str | None] = lambda: None


class McpServers:
    """Those of one session."""

    def __init__(
        self,
        places: ServerPlaces | None,
        *,
        conversation: Conversation,
        toolbox: Toolbox,
        requests: Requests,
        boxes: Boxes,
        masking: Masking,
        telling: Telling,
        options: SessionOptions,
        elicit: Elicit | None = None,
    ) -> None:
        self._places = self.found_in = places
        self._conversation = conversation
        self._toolbox = toolbox
        self._requests = requests
        self._boxes = boxes
        self._masking = masking
        self._telling = telling
        self._options = options
        self._elicit = elicit
        self._hub: Hub | None = None
        self._tools: McpTools | None = None
        self._section: Mapping[str, str] = {}
        self._declared: set[str] = set()
        self._brought: dict[str, Mapping[str, Any]] = {}
        self._said: dict[str, dict[str, Any]] = {}
        """What a person said of servers in this session."""
        self._is_wished_anew = False
        """A person wants it otherwise than it was decided in this session."""
        self._is_stale = False
        """Extensions brought or took away some since: looked at when they are needed, so that a reload ends none."""
        self.problems: tuple[str, ...] = ()
        """What is wrong with the files as they were read last."""
        self._processes: LocalProcesses | None = None
        self._telling_soon: asyncio.TimerHandle | None = None
        self.files = _watched(places)
        """Those that may come to name some, as long as none does."""
        self.may_be_there = places is not None and _are_written(places)
        """Whether a prompt has to ask: files name some, or extensions have brought some."""

    @property
    def is_on(self) -> bool:
        return self._places is not None and self._options.in_force.settings.mcp.enabled

    def hub(self) -> "Hub | None":
        """None where there are no servers. Reads the files the first time."""
        if not self.is_on:
            return None
        places = self._places
        if self._hub is None and places is not None and (self._brought or _are_written(places)):
            self._make(places)
        elif self._hub is not None and self._is_stale:
            self._use(self._hub)
        return self._hub

    def hub_with(self, name: str) -> "Hub":
        """The same for who names a server. Raises `Unable` where there are none."""
        hub = self.hub()
        if hub is None:
            raise Unable(f'Server "{name}" not found.\nTip: Run /mcp list to see available servers.')
        return hub

    # Beginning

    def begin(self) -> None:
        """Behind the first paint, or with the first prompt: those that nobody has asked yet are asked now."""
        hub = self.hub()
        if hub is not None:
            hub.meet_new()

    async def before_prompt(self) -> None:
        """How servers are reached is decided with the first prompt, and stays so."""
        hub = self.hub()
        if hub is None:
            self._declare()
            return
        hub.meet_new()
        if not hub.is_decided:
            from app.mcp.exposure import wish  # noqa: PLC0415  (see above)

            await hub.met(FIRST_PROMPT_SECONDS, lambda life: wish(life.config, self._wishes()) == "direct")
            self._decide(hub)
        self._declare()

    async def meant(self, words: Words) -> Words:
        """With the prompts and resources of servers that they name. Raises `Unable`."""
        if self._elicit is None or self.hub() is None:
            return words
        from app.engine.server_prompts import ServerPrompts  # noqa: PLC0415  (most words name none)

        return await ServerPrompts(self, self._elicit).meant(words)

    def follow(self) -> None:
        """Files, trust or extensions have changed: connections of servers that did not change stay."""
        if self._places is None:
            return
        if self._hub is not None:
            self._use(self._hub)
            return
        self.files = _watched(self._places)
        self.may_be_there = self.may_be_there or _are_written(self._places)
        self.hub()

    def _make(self, places: ServerPlaces) -> None:
        from app.mcp.hub import Hub  # noqa: PLC0415  (most sessions have no servers)
        from app.mcp.tools import SEARCH, McpTools  # noqa: PLC0415  (as above)

        hub = Hub(self._ground(places), self._wishes, self._changed)
        self.may_be_there, self.files = True, WatchedFiles()
        self._hub, self._tools = hub, McpTools(hub)
        for tool in self._tools.own():
            self._toolbox.register(tool, owner=OWNER)
        own = {tool.name for tool in self._tools.own()}
        self._toolbox.withhold(lambda tools: () if self._section and self.is_on else own)
        self._options.in_force.subscribe(lambda before: self._tell_model(self._section))
        self._toolbox.reach(lambda: self._reachable(SEARCH))
        self._toolbox.choose(places.choice())
        self._use(hub)
        self._draft(hub)

    def _ground(self, places: ServerPlaces) -> Any:
        from app.mcp.ground import ServerGround  # noqa: PLC0415  (as above)
        from app.mcp.manifest import Manifests  # noqa: PLC0415  (as above)

        def environment() -> Mapping[str, str]:
            from app.mcp.process import server_variables  # noqa: PLC0415  (with the first contact)

            return server_variables(places.env)

        async def resolved(config: "ServerConfig") -> "ServerConfig":
            """Anew each time: what a command printed, a token say, may be outdated."""
            from app.mcp.server_values import ServerValues, secrets_in  # noqa: PLC0415  (as above)
            from tools.masking.known import KnownValue  # noqa: PLC0415  (as above)

            found = await ServerValues(places.env).resolved(config)
            known = (KnownValue(f"{config.name}-{name}", value) for name, value in secrets_in(found) if value)
            self._masking.known.learn(f"MCP server {config.name}", known)
            return found

        return ServerGround(
            processes=self._local_processes,
            folder=lambda: self._toolbox.workspace.cwd,
            environment=environment,
            resolved=resolved,
            remote=places.remote,
            box=self.box,
            elicit=self._elicit,
            manifests=Manifests(places.paths.cache_dir / "mcp"),
            logs=places.paths.agent_dir / "mcp-logs",
            mask=lambda text: self._masking.text(text, ""),
        )

    def _wishes(self) -> Any:
        from app.mcp.exposure import Wishes  # noqa: PLC0415  (as above)

        said = self._options.in_force.settings.mcp
        return Wishes(exposure=said.exposure, direct_tokens=said.direct_tokens)

    async def box(self, config: "ServerConfig") -> "Box | None":
        """The sandbox that this server runs in."""
        if self._options.in_force.settings.mcp.sandbox == "off":
            return None
        return await self._boxes.of_server()

    def _local_processes(self) -> "LocalProcesses":
        """Servers run on this machine, also where an extension has commands run elsewhere."""
        local = self._toolbox.workspace.local_processes
        if local is not None:
            return local
        if self._processes is None:
            from tools.running.process import LocalProcesses  # noqa: PLC0415  (seldom)

            self._processes = LocalProcesses(self._toolbox.workspace.abilities)
        return self._processes

    def _use(self, hub: "Hub") -> None:
        assert self._places is not None
        self._is_stale = False
        found = self._places.find(self._brought)
        told = tuple(str(problem) for problem in found.problems)
        for text in told:
            if text not in self.problems:
                self._telling.warn(text)
        self.problems = told
        servers = [
            msgspec.structs.replace(config, **self._said.get(config.name, {})) for config in found.servers
        ]
        hub.use(servers, found.untrusted)

    # For the model

    def _tell_model(self, section: Mapping[str, str]) -> None:
        """What of them is in the prompt; the tools for them go with it."""
        for name in self._section:
            self._requests.add_section(name, None)
        self._section = section
        for name, text in section.items() if self.is_on else ():
            self._requests.add_section(name, text)
        self._toolbox.changed()

    def _draft(self, hub: "Hub") -> None:
        from app.mcp.section import section  # noqa: PLC0415  (as above)

        if not hub.is_decided:
            self._tell_model(section(hub))

    def _decide(self, hub: "Hub") -> None:
        from app.mcp.section import section  # noqa: PLC0415  (as above)

        kept = reach_kept(self._conversation)
        decided = hub.decide(None if self._is_wished_anew else kept)
        self._is_wished_anew = False
        self._tell_model(section(hub))
        if decided != kept and (entry := keep_reach(self._conversation, decided)) is not None:
            self._telling.publish_now(EntryAppended(entry=entry))
        self._declare()

    def resume(self) -> None:
        """Another session is open, in which something else may have been decided."""
        if self._hub is not None and self._hub.is_decided:
            self._hub.decide_anew()

    def _declare(self) -> None:
        """The tools that are declared one by one: as they are now."""
        if self._tools is None or self._places is None:
            return
        wanted = {tool.name: tool for tool in self._tools.direct()} if self.is_on else {}
        known = {tool.name: tool for tool in self._toolbox.all() if tool.name in self._declared}
        for name in self._declared - wanted.keys():
            self._toolbox.unregister(name)
        for name, tool in wanted.items():
            if known.get(name) != tool:
                if name in self._declared:
                    self._toolbox.unregister(name)
                self._toolbox.register(tool, owner=OWNER)
        if self._declared != wanted.keys():
            self._toolbox.choose(self._places.choice())
        self._declared = set(wanted)

    def _reachable(self, search: str) -> Mapping[str, Any]:
        if self._tools is None or not self.is_on:
            return {}
        return self._tools.reachable() if search in self._toolbox.active() else self._tools.readers()

    # For people

    def say(self, name: str, *, enabled: bool | None = None, exposure: "Exposure | None" = None) -> None:
        """For this session. Raises `Unable`."""
        hub = self.hub_with(name)
        name = hub.server(name).config.name
        said = self._said.setdefault(name, {})
        if enabled is not None:
            said["enabled"] = enabled
        if exposure is not None:
            said["exposure"] = exposure
        self._use(hub)
        if exposure is not None:
            self._is_wished_anew = True
            hub.decide_anew()
        if enabled:
            hub.meet_new()

    def bring(self, name: str, entry: Mapping[str, Any] | None) -> None:
        """An extension's server; None: it takes it away again."""
        if entry is None:
            self._brought.pop(name, None)
        else:
            self._brought[name] = entry
            self.may_be_there = True
        self._is_stale = True

    def _changed(self) -> None:
        hub = self._hub
        if hub is None:
            return
        self._draft(hub)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # Nobody listens yet.
        if self._telling_soon is None:
            self._telling_soon = loop.call_later(_JOIN_SECONDS, self._tell)

    def _tell(self) -> None:
        self._telling_soon = None
        if self._hub is None:
            return
        views = map(self._hub.view, self._hub.servers)
        self._telling.publish_now(
            McpServersChange(
                servers=tuple(
                    McpServerState(
                        name=view.name, state=view.state, reason=view.reason, tool_count=len(view.tools)
                    )
                    for view in views
                )
            )
        )

    async def end(self) -> None:
        if self._telling_soon is not None:
            self._telling_soon.cancel()
        if self._hub is not None:
            await self._hub.end()
        if self._processes is not None:
            self._processes.close()


def _are_written(places: ServerPlaces) -> bool:
    """Looked at without reading them; links that lead nowhere too."""
    return any(os.path.lexists(path) for path in places.files())


def _watched(places: ServerPlaces | None) -> WatchedFiles:
    watched = WatchedFiles()
    for path in places.files() if places is not None else ():
        watched.note(path)
    return watched
