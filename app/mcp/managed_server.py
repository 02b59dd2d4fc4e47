"""Manages one MCP server of a session: its state, when it is connected, and the requests to it.

A connection is made at the first request, once for all simultaneous callers. The next request after a loss connects
again; after repeated failures the server is left alone for a while. A request that was sent is never sent twice."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from app.mcp.mcp_server_manifest import McpServerManifest, mcp_manifest_file_key
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_context import MCP_SERVER_STOP_TIMEOUT_SECONDS, McpServerContext, McpServerLog
from app.mcp.server_errors import (
    McpConnectionLost,
    McpRequestRefused,
    McpRequestTimedOut,
    McpServerSessionEnded,
    McpServerUnavailable,
    McpSignInRequired,
)
from app.values.mcp_servers import ServerState
from app.values.user_errors import UserError
from tools.text_sanitizing import find_hidden_character

if TYPE_CHECKING:
    from app.mcp.server_connection import (
        McpConnectionAttempt,
        McpListKind,
        McpServerCallbacks,
        McpServerConnection,
    )
    from tools.box.sandbox_policy import SandboxPolicy


_MCP_LIST_TIMEOUT_SECONDS = 30.0
_MCP_RELIST_DEBOUNCE_SECONDS = 0.3
"""Changes in quick succession are handled together."""
_IGNORED_MCP_LOG_LEVELS = frozenset({"debug"})


class ManagedMcpServer:
    """An MCP server of a session with its state and connection. Requests work in every state: they connect if
    needed, or raise an error with the reason."""

    def __init__(
        self,
        config: McpServerConfig,
        ground: McpServerContext,
        changed: Callable[[], None],
        *,
        is_trusted: bool = True,
    ) -> None:
        self.config = config
        self.is_trusted = is_trusted
        """Whether the source of the configuration may start programs here."""
        self._context = ground
        self._on_changed = changed
        self.manifest_key = mcp_manifest_file_key(mcp_connection_values(config))
        self.manifest: McpServerManifest | None = ground.manifests.load_manifest(self.manifest_key)
        path = ground.log_folder / f"{config.name}.log" if ground.log_folder is not None else None
        self.log = McpServerLog(path, ground.mask_secrets)
        self.failure_reason = ""
        """The reason of the last failure, until the server works again."""
        self._needs_sign_in = False
        self._contact_task: McpConnectionAttempt | None = None
        self._start_task: asyncio.Task[McpServerConnection] | None = None
        self._relist_task: asyncio.Task[None] | None = None
        self._changed_lists: set[McpListKind] = set()
        self._backoff = McpConnectionBackoff(ground.now)
        self._is_ending = False

    # State

    @property
    def state(self) -> ServerState:
        if self.config.problem:
            return "error"
        if not self.config.enabled:
            return "off"
        if not self.is_trusted:
            return "untrusted"
        if self._start_task is not None and not self._start_task.done():
            return "starting"
        if self._contact_task is not None and self._contact_task.is_open:
            return "ready"
        if self._needs_sign_in:
            return "sign-in"
        if self.failure_reason and (self.seconds_until_retry > 0 or self.manifest is None):
            return "failed"
        return "known" if self.manifest is not None else "new"

    async def current_sandbox(self) -> "SandboxPolicy | None":
        """Returns the sandbox that the server would get now; None if it is not a local program, or runs without a
        sandbox."""
        return await self._context.sandbox_for(self.config) if self.config.command is not None else None

    def comparable_sandbox_policy(self, now: "SandboxPolicy") -> "SandboxPolicy":
        """Returns the sandbox policy of now in a form that can be compared with the policy under which the server was
        started."""
        return self._contact_task.comparable_sandbox_policy(now) if self._contact_task is not None else now

    def paths_newly_hidden_by_sandbox(self, now: "SandboxPolicy | None") -> tuple[str, ...]:
        """Returns secret paths that a new sandbox would hide and the running server's does not; each is reported once
        per start."""
        return (
            self._contact_task.paths_newly_hidden_by_sandbox(now)
            if self._contact_task is not None and now is not None
            else ()
        )

    @property
    def is_usable(self) -> bool:
        """Whether the server is enabled and its configuration is valid."""
        return self.config.enabled and self.is_trusted and not self.config.problem

    @property
    def seconds_until_retry(self) -> float:
        """The seconds until the next automatic attempt to connect to a failed server."""
        return self._backoff.seconds_until_retry

    @property
    def pid(self) -> int | None:
        return self._contact_task.pid if self._contact_task is not None else None

    # Connecting

    async def connect_if_needed(self) -> "McpServerConnection":
        """Returns the connection to the MCP server, and connects first if there is none. Raises
        `McpServerUnavailable` with a text for the model."""
        self._require_usable()
        if (
            self._contact_task is not None
            and self._contact_task.is_open
            and self._contact_task.connection is not None
        ):
            return self._contact_task.connection
        if self._start_task is None or self._start_task.done():
            if self.seconds_until_retry > 0:
                raise McpServerUnavailable(self.failure_text())
            self._start_task = asyncio.ensure_future(self._connect_in_task())
            self._start_task.add_done_callback(_mark_exception_seen)
            self._on_changed()
        try:
            return await asyncio.shield(self._start_task)
        except McpSignInRequired:
            raise
        except McpServerUnavailable:
            raise McpServerUnavailable(self.failure_text()) from None

    def failure_text(self) -> str:
        """Returns why the MCP server is not available and when it is tried again: `docs is not available: it
        exited with 3 ("no config"). Tried again in 28 s.`"""
        again = (
            f" Next attempt in {round(self.seconds_until_retry)} s." if self.seconds_until_retry > 0 else ""
        )
        return (
            f"{self.config.name} is not available: {self.failure_reason or 'it could not be started'}.{again}"
        )

    def _require_usable(self) -> None:
        name = self.config.name
        if self._is_ending:
            raise McpServerUnavailable(f"{name} is not available: the session is ending.")
        match self.state:
            case "off":
                raise McpServerUnavailable(f'Server "{name}" is disabled. Run /mcp enable {name} first.')
            case "untrusted":
                raise McpServerUnavailable(
                    f'Server "{name}" belongs to this project, which is not trusted. The user can run /trust.'
                )
            case "error":
                raise McpServerUnavailable(f"{name} is not available: {self.config.problem}")
            case _:
                pass

    async def _connect_in_task(self) -> "McpServerConnection":
        try:
            link, manifest = await self._connect()
        except UserError as problem:
            self._record_failure(problem)
            raise (
                problem if isinstance(problem, McpServerUnavailable) else McpServerUnavailable(str(problem))
            ) from None
        finally:
            asyncio.get_running_loop().call_soon(self._on_changed)
        self.failure_reason, self._needs_sign_in = "", False
        self._backoff.forget_failures()
        self._store_manifest(manifest)
        return link

    async def _connect(self) -> "tuple[McpServerConnection, McpServerManifest]":
        from app.mcp.server_connection import load_mcp_sdk  # noqa: PLC0415  (sessions whose servers are only known do without)

        await self._disconnect()
        await load_mcp_sdk()
        config = await self._context.resolve_config(self.config)
        try:
            return await self._connect_and_list(config, self.manifest)
        except McpSignInRequired:
            raise
        except McpServerUnavailable:
            if self.manifest is None:
                raise
        # The command may start another server by now, so it is asked for its identity.
        return await self._connect_and_list(config, None)

    async def _connect_and_list(
        self, config: McpServerConfig, known: McpServerManifest | None
    ) -> "tuple[McpServerConnection, McpServerManifest]":
        from app.mcp.server_connection import McpConnectionAttempt  # noqa: PLC0415  (as above)

        self._contact_task = McpConnectionAttempt(config, self._context, self.log)
        return await self._contact_task.connect_and_list(self._make_connection_callbacks(), known)

    def _make_connection_callbacks(self) -> "McpServerCallbacks":
        from app.mcp.server_connection import McpServerCallbacks  # noqa: PLC0415  (as above)

        def roots() -> list[dict[str, str]]:
            folders = (self._context.working_folder(), *self._context.added_folders())
            return [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]

        def logged(level: str, text: str) -> None:
            if level not in _IGNORED_MCP_LOG_LEVELS:
                self.log.write_note(f"[{level}] {text}")

        def lost() -> None:
            if not self._is_ending:
                self._on_changed()

        elicit = (
            partial(self._context.ask_elicitation, self.config.name)
            if self._context.ask_elicitation
            else McpServerCallbacks().on_elicitation
        )
        return McpServerCallbacks(
            on_elicitation=elicit,
            list_roots=roots,
            on_log=logged,
            on_list_changed=self._schedule_relisting,
            on_connection_lost=lost,
        )

    def _record_failure(self, problem: UserError) -> None:
        self.failure_reason = str(problem).rstrip(".")
        self._needs_sign_in = isinstance(problem, McpSignInRequired)
        self.log.write_note(f"[bayou] {self.failure_reason}")
        if not self._needs_sign_in:
            self._backoff.record_failure()

    # Offers

    def _store_manifest(self, manifest: McpServerManifest) -> None:
        if manifest != self.manifest:
            self.manifest = manifest
            self._context.manifests.store_manifest(self.manifest_key, manifest)
            self._on_changed()

    def _schedule_relisting(self, kind: "McpListKind") -> None:
        self._changed_lists.add(kind)
        if self._relist_task is None or self._relist_task.done():
            self._relist_task = asyncio.ensure_future(self._relist())

    async def _relist(self) -> None:
        from app.mcp.server_connection import fetch_mcp_server_manifest  # noqa: PLC0415  (as above)

        await asyncio.sleep(_MCP_RELIST_DEBOUNCE_SECONDS)
        while (
            self._changed_lists
            and self._contact_task is not None
            and self._contact_task.is_open
            and self.manifest is not None
        ):
            self._changed_lists.clear()
            link = self._contact_task.connection
            assert link is not None
            try:
                async with asyncio.timeout(_MCP_LIST_TIMEOUT_SECONDS):
                    self._store_manifest(await fetch_mcp_server_manifest(link, self.manifest.greeting))
            except (TimeoutError, UserError) as problem:
                self.log.write_note(f"[bayou] its lists changed and could not be read: {problem}")
                return

    # Requests

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        progressed: Callable[[float, float | None, str | None], None] = lambda done, total, message: None,
    ) -> dict[str, Any]:
        """Calls a tool of the MCP server and returns its result. Raises `UserError`. It never sends a call
        twice: a lost call may have been carried out."""
        link = await self.connect_if_needed()
        try:
            try:
                return await link.call_tool(
                    tool, arguments, silence=self.config.timeout, progressed=progressed
                )
            except McpServerSessionEnded:  # the server refused the call without carrying it out
                link = await self.connect_if_needed()
                return await link.call_tool(
                    tool, arguments, silence=self.config.timeout, progressed=progressed
                )
        except McpSignInRequired as problem:
            self._record_failure(problem)
            self._on_changed()
            raise
        except McpConnectionLost as problem:
            raise McpConnectionLost(await self._disconnection_text(str(problem))) from None
        except McpRequestTimedOut as problem:
            raise McpRequestTimedOut(
                f"{self.config.name} failed: {problem}; the call was cancelled."
            ) from None
        except McpRequestRefused as problem:
            raise McpRequestRefused(f"{self.config.name}: {problem}", problem.code) from None

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return await self._request_with_retry(
            lambda link: link.read_resource(uri, silence=self.config.timeout)
        )

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        return await self._request_with_retry(
            lambda link: link.get_prompt(name, arguments, silence=self.config.timeout)
        )

    async def complete_argument(
        self, ref: Mapping[str, str], argument: str, value: str, context: Mapping[str, str]
    ) -> dict[str, Any]:
        """Requests completions of an argument; values with hidden characters are left out."""
        answer = await self._request_with_retry(
            lambda link: link.complete_argument(ref, argument, value, context, silence=10)
        )
        found = answer["completion"]
        return {
            **answer,
            "completion": {
                **found,
                "values": [each for each in found["values"] if not find_hidden_character(each)],
            },
        }

    async def _request_with_retry(
        self, work: "Callable[[McpServerConnection], Awaitable[dict[str, Any]]]"
    ) -> dict[str, Any]:
        """Runs a request to the MCP server that only reads; after a lost connection it is repeated once over a
        new one."""
        name = self.config.name
        for is_last in (False, True):
            link = await self.connect_if_needed()
            try:
                return await work(link)
            except McpConnectionLost as problem:
                if is_last:
                    raise McpConnectionLost(await self._disconnection_text(str(problem))) from None
            except McpRequestTimedOut as problem:
                raise McpRequestTimedOut(f"{name} failed: {problem}.") from None
            except McpRequestRefused as problem:
                raise McpRequestRefused(f"{name}: {problem}", problem.code) from None
        raise AssertionError("unreachable")

    async def _disconnection_text(self, said: str) -> str:
        why = await self._contact_task.explain_failure(said) if self._contact_task is not None else said
        self._record_failure(McpConnectionLost(why))
        return (
            f"{self.config.name} disconnected during the call: {why}. The call may have been carried "
            "out; check before you call again."
        )

    # End

    async def reset_connection(self) -> None:
        """Ends the connection to the MCP server and forgets failures, so that the next request starts it
        afresh. A start in progress is ended first: the next request would wait for it and fail with it."""
        await self._disconnect()
        if self._start_task is not None and not self._start_task.done():
            await asyncio.wait({self._start_task})
            await self._disconnect()
        self._backoff.forget_failures()
        self.failure_reason, self._needs_sign_in = "", False
        self._on_changed()

    async def disconnect(self) -> None:
        self._is_ending = True
        for task in (self._start_task, self._relist_task):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=MCP_SERVER_STOP_TIMEOUT_SECONDS)
        await self._disconnect()

    async def _disconnect(self) -> None:
        contact, self._contact_task = self._contact_task, None
        if contact is not None:
            await contact.close_connection()


def _mark_exception_seen(start: "asyncio.Task[McpServerConnection]") -> None:
    """Retrieves the exception of a failed start of an MCP server, so that asyncio does not report it as never
    retrieved: the caller may have stopped waiting, and `reason` holds the failure."""
    if not start.cancelled():
        start.exception()


def mcp_connection_values(config: McpServerConfig) -> Mapping[str, Any]:
    """Returns the configured values that say how an MCP server is reached: command, arguments, folder, address,
    variables, headers."""
    return {
        "command": config.command,
        "args": config.args,
        "cwd": config.cwd,
        "url": config.url,
        "env": config.env,
        "headers": config.headers,
    }


_MAX_CONNECTION_FAILURES, _FAILURE_WINDOW_SECONDS = 3, 60.0
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 30.0, 300.0


class McpConnectionBackoff:
    """Computes the pause before an MCP server that failed repeatedly is tried again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failure_times: deque[float] = deque(maxlen=_MAX_CONNECTION_FAILURES)
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._next_attempt_at = 0.0

    @property
    def seconds_until_retry(self) -> float:
        """The seconds until a server that failed repeatedly is tried again."""
        return max(0.0, self._next_attempt_at - self._now())

    def record_failure(self) -> None:
        now = self._now()
        self._failure_times.append(now)
        if (
            len(self._failure_times) == _MAX_CONNECTION_FAILURES
            and now - self._failure_times[0] <= _FAILURE_WINDOW_SECONDS
        ):
            self._next_attempt_at = now + self._pause_seconds
            self._pause_seconds = min(2 * self._pause_seconds, _MAX_PAUSE_SECONDS)

    def forget_failures(self) -> None:
        self._failure_times.clear()
        self._pause_seconds, self._next_attempt_at = _FIRST_PAUSE_SECONDS, 0.0
