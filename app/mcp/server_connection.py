"""Connects to one MCP server through the official SDK. Besides this module only `http_transport`,
`stdio_process` and the sign-in modules import the SDK: on a thread, at the first contact.

A connection lives in its own task, since contexts of the SDK must be left in the task that entered them; a request runs
in its caller's. Values go in and out as the JSON on the wire, so that other modules do not need the SDK's types.
`managed_server` decides when to connect and how to treat a failure."""

import asyncio
import importlib
import logging
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from app.mcp.mcp_server_manifest import McpServerIntroduction, McpServerManifest, build_mcp_manifest
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_context import MCP_SERVER_STOP_TIMEOUT_SECONDS, McpServerContext, McpServerLog
from app.mcp.server_errors import (
    McpConnectionLost,
    McpRequestRefused,
    McpRequestTimedOut,
    McpServerSessionEnded,
    McpServerUnavailable,
    McpSignInRequired,
    describe_pydantic_error,
)
from app.mcp.stdio_process import EndSignallingStream, McpServerProcess, McpStdioTransport, McpTransport
from app.version import VERSION
from tools.box.guarded_paths_and_sockets import add_shared_files_to_policy, find_newly_hidden_paths
from tools.box.sandbox_policy import SandboxPolicy
from tools.file_and_process_operations import CommandLine
from tools.running.local_processes import SandboxStartFailed
from tools.text_sanitizing import one_line, remove_invisible_chars, show_invisible_chars
from tools.tool_definition import ToolError

if TYPE_CHECKING:
    from mcp.client.client import Client


McpListKind = Literal["tools", "prompts", "resources"]
MAX_LISTED_MCP_ITEMS: Final = 20_000
"""The most items listed per kind, so that a server that never ends its list cannot block bayou."""
MAX_MCP_REQUEST_SECONDS: Final = 30 * 60.0
"""The time limit of one request, even with constant progress."""
_MCP_CONNECTION_CLOSED_CODE = -32000
_MCP_SESSION_ENDED_ERROR = (-32600, "Session terminated")
"""The SDK's error for a server that does not know the session any more."""
_SSE_STREAM_FAILED_PREFIX = "SSE stream failed: "
_REASON_BY_LOST_ANSWER_TEXT = {
    "SSE stream ended without a response": "the event stream ended without an answer",
    "SSE stream ended and reconnection attempts were exhausted": "the event stream broke off repeatedly",
}
"""The SDK's errors for an answer that can no longer arrive in its stream of events."""
_SILENCED_SDK_LOGGERS = ("mcp", "client", "httpx2")


async def load_mcp_sdk() -> None:
    """Imports the MCP SDK on a thread: importing takes longer than a key press may wait."""
    await asyncio.to_thread(_import_sdk)


def _import_sdk() -> None:
    for name in _SILENCED_SDK_LOGGERS:
        logger = logging.getLogger(name)
        # otherwise Python's last-resort handler writes tracebacks over the full screen
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
    # Imported late: it costs more than a start may take, and most sessions never contact a server.
    importlib.import_module("mcp.client.client")
    import anyio.lowlevel  # noqa: PLC0415  (as above)

    anyio.run(
        anyio.lowlevel.checkpoint
    )  # loads its asyncio backend here; the first connection would load it on the event loop
    from mcp.shared.exceptions import MCPDeprecationWarning  # noqa: PLC0415  (as above)

    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)


async def _decline_elicitation(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "decline"}


class McpServerCallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """The functions called for elicitations, roots, log lines, changed lists and the loss of the connection."""

    on_elicitation: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] = _decline_elicitation
    """Answers a question to the user: takes the parameters as on the wire, returns the result."""
    list_roots: Callable[[], list[dict[str, str]]] = list
    on_log: Callable[[str, str], None] = lambda level, text: None
    on_list_changed: Callable[[McpListKind], None] = lambda kind: None
    on_connection_lost: Callable[[], None] = lambda: None


class McpServerConnection:
    """An open connection to an MCP server, until it is lost or closed."""

    def __init__(
        self,
        transport: Callable[[], McpTransport],
        listeners: McpServerCallbacks,
        *,
        known: McpServerIntroduction | None = None,
        ended: asyncio.Event | None = None,
    ) -> None:
        """Prepares a connection. `known` is the server's introduction from an earlier connection. `ended` is set by a
        transport that has received its last data."""
        self._transport = transport
        self._callbacks = listeners
        self._known_introduction = known
        self._ended = ended or asyncio.Event()
        self._closing = asyncio.Event()
        self._client: Client | None = None
        self._introduction: asyncio.Future[McpServerIntroduction] = asyncio.get_running_loop().create_future()
        self._client_task: asyncio.Task[None] | None = None
        self._fault = McpServerUnavailable("the connection was closed")
        self._questions = 0
        """The number of open questions: while a person answers, no request times out."""

    @property
    def is_open(self) -> bool:
        return self._client is not None and not self._closing.is_set() and not self._ended.is_set()

    async def open_connection(self) -> McpServerIntroduction:
        """Connects to the MCP server and returns its introduction. Raises `McpServerUnavailable`. To stop
        waiting, cancel the call and then close the connection."""
        self._client_task = asyncio.ensure_future(self._run_client())
        return await asyncio.shield(self._introduction)

    async def close_connection(self) -> None:
        self._closing.set()
        if self._client_task is not None and not self._introduction.done():
            self._client_task.cancel()
        if self._client_task is not None:
            await asyncio.wait({self._client_task})
        if self._introduction.done() and not self._introduction.cancelled():
            self._introduction.exception()  # Marks the exception as seen, for a caller that stopped waiting.

    async def _run_client(self) -> None:
        try:
            async with self._make_client() as client:
                greeting = _read_introduction(client)
                self._client = client
                self._introduction.set_result(greeting)
                await self._wait_until_end(client, greeting)
        except asyncio.CancelledError:
            self._record_end_reason(McpServerUnavailable("the request was cancelled"))
        except BaseException as problem:  # noqa: BLE001  (any error of the SDK, also in groups, ends only this connection)
            self._record_end_reason(to_server_unavailable_error(problem))
        finally:
            self._client = None
            self._callbacks.on_connection_lost()

    def _record_end_reason(self, fault: McpServerUnavailable) -> None:
        self._fault = fault
        if not self._introduction.done():
            self._introduction.set_exception(fault)

    @asynccontextmanager
    async def _watch_connection(self) -> AsyncGenerator[Any]:
        async with self._transport() as (heard, said):
            yield EndSignallingStream(heard, self._ended), said

    def _make_client(self) -> "Client":
        from mcp.client.client import Client  # noqa: PLC0415  (see `load_mcp_sdk`)
        from mcp_types import DiscoverResult, Implementation  # noqa: PLC0415  (as above)

        known = self._known_introduction
        mode, prior = "auto", None
        if known is not None and known.discover is not None:
            mode, prior = known.era, DiscoverResult.model_validate(known.discover)
        elif known is not None:
            mode = "legacy"
        return Client(
            self._watch_connection(),  # pyright: ignore[reportArgumentType]  (its protocol, without its types)
            mode=mode,
            prior_discover=prior,
            client_info=Implementation(name="bayou", version=VERSION),
            elicitation_callback=self._ask_user,  # pyright: ignore[reportArgumentType]  (late types)
            list_roots_callback=self._list_roots,  # pyright: ignore[reportArgumentType]  (as above)
            logging_callback=self._handle_log_message,  # pyright: ignore[reportArgumentType]  (as above)
            message_handler=self._handle_message,  # pyright: ignore[reportArgumentType]  (as above)
            log_level="warning",
            cache=None,
        )

    async def _wait_until_end(self, client: "Client", greeting: McpServerIntroduction) -> None:
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._closing, self._ended)]
        listening = None
        if greeting.discover is not None and (kinds := _announced_list_changes(greeting.capabilities)):
            listening = asyncio.ensure_future(self._subscribe_to_changes(client, kinds))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*waiting, *([listening] if listening else [])):
                task.cancel()
            if listening is not None:
                await asyncio.wait({listening})

    # Notifications and requests of the server

    async def _subscribe_to_changes(self, client: "Client", kinds: set[McpListKind]) -> None:
        """Subscribes to changes of the server's lists in the newer protocol; does nothing for a server that does not
        support it."""
        from mcp.shared.subscriptions import (  # noqa: PLC0415  (see `load_mcp_sdk`)
            PromptsListChanged,
            ResourcesListChanged,
            ToolsListChanged,
        )

        names: dict[type, McpListKind] = {
            ToolsListChanged: "tools",
            PromptsListChanged: "prompts",
            ResourcesListChanged: "resources",
        }
        try:
            async with client.listen(
                tools_list_changed="tools" in kinds,
                prompts_list_changed="prompts" in kinds,
                resources_list_changed="resources" in kinds,
            ) as changes:
                async for change in changes:
                    if (kind := names.get(type(change))) is not None:
                        self._callbacks.on_list_changed(kind)
        except Exception as problem:  # noqa: BLE001  (what it says of itself is not worth the connection)
            self._callbacks.on_log(
                "warning", f"its change notifications do not arrive: {to_server_unavailable_error(problem)}"
            )

    async def _handle_message(self, message: Any) -> None:
        names: dict[str, McpListKind] = {
            "notifications/tools/list_changed": "tools",
            "notifications/prompts/list_changed": "prompts",
            "notifications/resources/list_changed": "resources",
        }
        if (kind := names.get(getattr(message, "method", ""))) is not None:
            self._callbacks.on_list_changed(kind)

    async def _handle_log_message(self, params: Any) -> None:
        data = params.data if isinstance(params.data, str) else msgspec.json.encode(params.data).decode()
        self._callbacks.on_log(params.level, data)

    async def _list_roots(self, context: Any) -> Any:
        from mcp_types import ListRootsResult  # noqa: PLC0415  (see `load_mcp_sdk`)

        return ListRootsResult.model_validate({"roots": self._callbacks.list_roots()})

    async def _ask_user(self, context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult  # noqa: PLC0415  (see `load_mcp_sdk`)

        self._questions += 1
        try:
            answer = await self._callbacks.on_elicitation(_to_json(params))
        finally:
            self._questions -= 1
        return ElicitResult.model_validate(answer)

    # Requests to the server

    async def list_all_items(self, kind: Literal["tools", "prompts", "resources", "templates"]) -> list[Any]:
        """Returns the items of a kind (tools, prompts, resources) that the MCP server lists, page by page up
        to a limit. Raises `McpServerUnavailable` and `McpRequestRefused`."""
        client = self._open_client()
        ask = {
            "tools": client.list_tools,
            "prompts": client.list_prompts,
            "resources": client.list_resources,
            "templates": client.list_resource_templates,
        }[kind]
        field = "resourceTemplates" if kind == "templates" else kind
        found: list[Any] = []
        cursor, seen = None, set[str]()
        while len(found) < MAX_LISTED_MCP_ITEMS:
            page = _to_json(await self._convert_errors(ask(cursor=cursor)))
            found += page.get(field, [])
            cursor = page.get("nextCursor")
            if not cursor or cursor in seen:
                break
            seen.add(cursor)
        return found[:MAX_LISTED_MCP_ITEMS]

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        silence: float,
        progressed: Callable[[float, float | None, str | None], None],
    ) -> dict[str, Any]:
        """Calls a tool of the MCP server. `silence`: the seconds allowed without progress. Raises
        `McpConnectionLost`, `McpRequestTimedOut` and `McpRequestRefused`; cancelling the task cancels the call at the
        server."""
        client, patience = self._open_client(), _IdleTimeout(silence)

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            patience.restart_countdown()
            progressed(progress, total, message)

        work = client.call_tool(tool, dict(arguments), progress_callback=hear)
        return _to_json(await self._convert_errors(patience.await_answer(work, lambda: self._questions > 0)))

    async def read_resource(self, uri: str, *, silence: float) -> dict[str, Any]:
        work = self._open_client().read_resource(uri)
        answer = _IdleTimeout(silence).await_answer(work, lambda: self._questions > 0)
        return _to_json(await self._convert_errors(answer))

    async def get_prompt(self, name: str, arguments: Mapping[str, str], *, silence: float) -> dict[str, Any]:
        work = self._open_client().get_prompt(name, dict(arguments))
        answer = _IdleTimeout(silence).await_answer(work, lambda: self._questions > 0)
        return _to_json(await self._convert_errors(answer))

    async def complete_argument(
        self, ref: Mapping[str, str], argument: str, value: str, context: Mapping[str, str], *, silence: float
    ) -> dict[str, Any]:
        from mcp_types import PromptReference, ResourceTemplateReference  # noqa: PLC0415  (see `load_mcp_sdk`)

        kind = PromptReference if ref.get("type") == "ref/prompt" else ResourceTemplateReference
        asked = {"name": argument, "value": value}
        work = self._open_client().complete(kind.model_validate(dict(ref)), asked, dict(context) or None)
        return _to_json(await self._convert_errors(_IdleTimeout(silence).await_answer(work, lambda: False)))

    def _open_client(self) -> "Client":
        if self._client is None or not self.is_open:
            raise McpConnectionLost("the connection is closed")
        return self._client

    async def _wait_for_close_reason(self, known: str) -> McpServerUnavailable:
        """Returns the error that says why the connection ended, which may arrive a moment later; `known` is the reason
        if only the answer's own stream ended."""
        if known:
            return McpConnectionLost(known)
        if self._client_task is not None:
            await asyncio.wait({self._client_task}, timeout=1.0)
        return (
            self._fault if isinstance(self._fault, McpSignInRequired) else McpConnectionLost(str(self._fault))
        )

    async def _convert_errors(self, work: Awaitable[Any]) -> Any:
        """Awaits a request to the MCP server and returns its result; exceptions of the SDK are raised as those
        of `server_errors`."""
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415  (see `load_mcp_sdk`)

        try:
            return await work
        except (asyncio.CancelledError, McpRequestTimedOut):
            raise
        except MCPError as problem:
            if problem.code == _MCP_CONNECTION_CLOSED_CODE:
                self._closing.set()
                raise await self._wait_for_close_reason(_stream_end_reason(problem.message)) from None
            if (problem.code, problem.message) == _MCP_SESSION_ENDED_ERROR:
                self._closing.set()
                raise McpServerSessionEnded("the server ended the session") from None
            raise McpRequestRefused(show_invisible_chars(one_line(problem.message)), problem.code) from None
        except McpSignInRequired:
            raise
        except BaseException as problem:  # noqa: BLE001  (as in `_live`)
            fault = to_server_unavailable_error(problem)
            if not self.is_open:
                raise McpConnectionLost(str(fault)) from None
            raise McpRequestRefused(str(fault)) from None


class _IdleTimeout:
    """The time limit for an MCP server's answer, which starts again with each progress notification."""

    def __init__(self, silence: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._silence_seconds = silence
        self._final_deadline = self._loop.time() + MAX_MCP_REQUEST_SECONDS
        self._deadline = 0.0
        self.restart_countdown()

    def restart_countdown(self) -> None:
        self._deadline = min(self._loop.time() + self._silence_seconds, self._final_deadline)

    async def await_answer(self, work: Any, is_asking: Callable[[], bool]) -> Any:
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=max(0.0, self._deadline - self._loop.time()))
                if not task.done() and is_asking():
                    self.restart_countdown()
                elif not task.done() and self._loop.time() >= self._deadline:
                    raise McpRequestTimedOut(f"no answer or progress for {self._silence_seconds:g} s")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=1)


def _stream_end_reason(said: str) -> str:
    """Returns why the stream that should bring an answer ended, from the SDK's error text; empty when the whole
    connection ended."""
    return _REASON_BY_LOST_ANSWER_TEXT.get(said, "") or (
        said.removeprefix(_SSE_STREAM_FAILED_PREFIX) if said.startswith(_SSE_STREAM_FAILED_PREFIX) else ""
    )


def _to_json(value: Any) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def _read_introduction(client: "Client") -> McpServerIntroduction:
    discover, about = client.session.discover_result, client.server_info
    return McpServerIntroduction(
        era=client.protocol_version,
        name=one_line(remove_invisible_chars((about.title or about.name) if about else ""))[:100],
        version=one_line(remove_invisible_chars(about.version if about else ""))[:40],
        instructions=client.instructions or "",
        capabilities=_to_json(client.server_capabilities),
        discover=_to_json(discover) if discover is not None else None,
    )


def _announced_list_changes(capabilities: Mapping[str, Any]) -> set[McpListKind]:
    kinds: tuple[McpListKind, ...] = ("tools", "prompts", "resources")
    return {kind for kind in kinds if (capabilities.get(kind) or {}).get("listChanged")}


def to_server_unavailable_error(problem: BaseException) -> McpServerUnavailable:
    """Converts an exception, or the first one of a group, to a `McpServerUnavailable`."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, McpServerUnavailable):
        return problem
    return McpServerUnavailable(show_invisible_chars(one_line(_error_text(problem)[:500])))


def _error_text(problem: BaseException) -> str:
    if type(problem).__name__ == "ValidationError":
        return f"its message does not follow the protocol: {describe_pydantic_error(problem)}"
    if type(problem).__name__ == "MCPError":
        return str(problem.args[1])
    if type(problem).__name__ == "HTTPStatusError":
        answer = problem.response  # pyright: ignore[reportAttributeAccessIssue]  (httpx2's, as above)
        return f"the server answered {answer.status_code} {answer.reason_phrase}".rstrip()
    if isinstance(problem, OSError):
        return problem.strerror or str(problem)
    return str(problem) or type(problem).__name__


_MCP_EXIT_CODE_TIMEOUT_SECONDS = 0.5


class McpConnectionAttempt:
    """One attempt to reach an MCP server: its process or address, the connection over it, and the reason of a
    failure. Used once."""

    def __init__(self, config: McpServerConfig, ground: McpServerContext, log: McpServerLog) -> None:
        """Prepares an attempt. `config` has its values filled in."""
        self._config = config
        self._context = ground
        self._log = log
        self._process: McpServerProcess | None = None
        self.connection: McpServerConnection | None = None
        self._sandbox: SandboxPolicy | None = None
        self._reported_hidden: set[str] = set()

    def comparable_sandbox_policy(self, now: SandboxPolicy) -> SandboxPolicy:
        """Returns the sandbox policy of now, adjusted so that it can be compared with the one under which the server
        was started."""
        return add_shared_files_to_policy(now, self._sandbox)

    def paths_newly_hidden_by_sandbox(self, now: SandboxPolicy) -> tuple[str, ...]:
        """Returns the paths that a sandbox made now would hide and the one of this attempt does not; each once."""
        if self._sandbox is None:
            return ()
        new = tuple(
            path for path in find_newly_hidden_paths(now, self._sandbox) if path not in self._reported_hidden
        )
        self._reported_hidden.update(new)
        return new

    @property
    def is_open(self) -> bool:
        return self.connection is not None and self.connection.is_open

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.exit_code is None else None

    async def connect_and_list(
        self, listeners: McpServerCallbacks, known: McpServerManifest | None
    ) -> tuple[McpServerConnection, McpServerManifest]:
        """Connects to the MCP server, and lists all that it offers unless `known` has it. On a failure it
        closes the connection and raises `McpServerUnavailable`."""
        greeting = known.greeting if known is not None else None
        seconds = self._config.start_timeout
        try:
            link = self.connection = await self._make_connection(listeners, greeting)
            async with asyncio.timeout(seconds):
                met = await link.open_connection()
                if known is None or met != greeting:
                    known = await fetch_mcp_server_manifest(link, met)
        except TimeoutError:
            await self.close_connection()
            raise McpServerUnavailable(
                f"the server did not answer within {seconds:g} s{self._last_stderr_line()}"
            ) from None
        except McpSignInRequired:
            await self.close_connection()
            raise
        except (McpServerUnavailable, McpRequestRefused) as problem:
            why = await self.explain_failure(str(problem))
            await self.close_connection()
            raise McpServerUnavailable(why) from None
        except BaseException:
            await self.close_connection()
            raise
        return link, known

    async def _make_connection(
        self, listeners: McpServerCallbacks, known: McpServerIntroduction | None
    ) -> McpServerConnection:
        if self._config.url is not None:
            if self._context.remote_transport is None:
                raise McpServerUnavailable("remote servers cannot be reached from this session")
            # On a thread: the transport's imports would hold up key presses.
            transport = await asyncio.to_thread(self._context.remote_transport, self._config, self._log)
            return McpServerConnection(transport, listeners, known=known)
        self._process = await self._start_process()
        pipes = McpStdioTransport(self._process)
        return McpServerConnection(pipes, listeners, known=known, ended=pipes.ended)

    async def _start_process(self) -> McpServerProcess:
        config, folder = self._config, self._context.working_folder()
        assert config.command is not None
        where = folder / config.cwd if config.cwd else folder
        try:
            self._sandbox = await self._context.sandbox_for(config)
            if self._sandbox is not None:
                await self._context.watch_sandbox(config, self._sandbox)
            command = CommandLine(
                argv=(config.command, *config.args),
                cwd=str(where),
                environment={**self._context.environment(), **config.env},
                box=self._sandbox,
            )
            return await McpServerProcess.start_process(self._context.processes(), command, self._log)
        except ToolError as problem:
            raise McpServerUnavailable(str(problem)) from None
        except SandboxStartFailed as problem:
            raise McpServerUnavailable(f"the sandbox could not be created: {problem.strerror}") from None
        except OSError as problem:
            what = f"the folder {where}" if not where.is_dir() else config.command
            raise McpServerUnavailable(f"{what}: {problem.strerror}") from None

    async def explain_failure(self, said: str) -> str:
        """Returns the text of an error, improved by what the server's process reported, such as its exit code."""
        process = self._process
        if process is None:
            return said
        if process.output_fault:
            return process.output_fault
        code = await process.wait_for_exit_code(_MCP_EXIT_CODE_TIMEOUT_SECONDS)
        if code is None:
            return said
        how = (
            f"the program exited with code {code}"
            if code >= 0
            else f"the program was killed by signal {-code}"
        )
        return f"{how}{self._last_stderr_line()}"

    def _last_stderr_line(self) -> str:
        return f' ("{self._log.last_line}")' if self._log.last_line else ""

    async def close_connection(self) -> None:
        closing = (
            [asyncio.ensure_future(self.connection.close_connection())] if self.connection is not None else []
        )
        if self._process is not None:
            closing.append(asyncio.ensure_future(self._process.end_process()))
        if closing:
            await asyncio.wait(closing, timeout=MCP_SERVER_STOP_TIMEOUT_SECONDS)


async def fetch_mcp_server_manifest(
    link: McpServerConnection, greeting: McpServerIntroduction
) -> McpServerManifest:
    """Returns all that an MCP server lists: tools, prompts and resources. Raises `McpServerUnavailable` and
    `McpRequestRefused`."""
    listed: dict[str, list[Any]] = {}
    for kind in ("tools", "prompts", "resources"):
        if kind in greeting.capabilities:
            listed[kind] = await link.list_all_items(kind)
    if "resources" in greeting.capabilities:
        try:
            listed["templates"] = await link.list_all_items("templates")
        except McpRequestRefused:
            pass  # Older servers have resources without templates.
    return build_mcp_manifest(greeting, listed)
