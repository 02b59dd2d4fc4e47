"""Handles the methods that an ACP client calls, in one table, and holds the sessions that the client has open."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.assembly.command_line_options import CommandLineOptions
from app.modes.acp.client import AcpClient, AcpClientCapabilities, make_initialize_result
from app.modes.acp.content_blocks import prompt_content_from_blocks
from app.modes.acp.json_rpc_connection import AcpClientCall, RequestId
from app.modes.acp.request_errors import (
    CANCELLED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    AcpRequestError,
    make_internal_error,
    make_invalid_params_error,
    make_request_error,
)
from app.modes.acp.request_params import (
    AuthenticateParams,
    CancelRequestParams,
    ClientMcpServer,
    InitializeParams,
    ListSessionsParams,
    NewSessionParams,
    OpenSessionParams,
    PromptParams,
    SessionIdParams,
    SetModeParams,
    SetOptionParams,
    nested_value,
)
from app.modes.acp.request_results import (
    EmptyRequestResult,
    ListSessionsResult,
    OpenedSessionResult,
    PromptRequestResult,
    SetOptionResult,
)
from app.printing import print_problem
from app.resources.paths import BayouPaths
from app.sessions.errors import SessionLocked
from app.values.user_errors import UserError
from app.values.wire import convert

if TYPE_CHECKING:
    from app.modes.acp.acp_session import AcpSession

MethodHandler = Callable[[Any], Awaitable[Any]]
_METHODS_BEFORE_INITIALIZE = ("initialize", "$/cancel_request")


class _RunningCall(msgspec.Struct, frozen=True):
    task: "asyncio.Task[Any] | None"
    prompted_session_id: str
    """The session that a prompt is for; empty for any other call."""


class AcpAgent:
    """One client's sessions, each with its own folder, in one process."""

    def __init__(self, options: CommandLineOptions, paths: BayouPaths, client: AcpClient) -> None:
        self._options = options
        self._paths = paths
        self._client = client
        self._is_initialised = False
        self._open: dict[str, AcpSession] = {}
        self._opening = asyncio.Lock()
        self._running: dict[RequestId, _RunningCall] = {}
        self._methods: Mapping[str, tuple[type[msgspec.Struct], MethodHandler]] = {
            "initialize": (InitializeParams, self._initialize),
            "authenticate": (AuthenticateParams, self._authenticate),
            "session/new": (NewSessionParams, self._new_session),
            "session/load": (OpenSessionParams, self._load_session),
            "session/resume": (OpenSessionParams, self._resume_session),
            "session/fork": (OpenSessionParams, self._fork_session),
            "session/list": (ListSessionsParams, self._list_sessions),
            "session/close": (SessionIdParams, self._close_session),
            "session/delete": (SessionIdParams, self._delete_session),
            "session/set_mode": (SetModeParams, self._set_mode),
            "session/set_config_option": (SetOptionParams, self._set_option),
            "session/prompt": (PromptParams, self._run_prompt),
            "session/cancel": (SessionIdParams, self._cancel_prompt),
            "$/cancel_request": (CancelRequestParams, self._cancel_request),
        }

    async def handle_client_call(self, call: AcpClientCall) -> Any:
        """Returns the result of a call. Raises only `AcpRequestError`."""
        try:
            return await self._run_method(call)
        except AcpRequestError as problem:
            if call.is_notification:
                print_problem(f"{call.method}: {problem}")
                return None
            raise

    async def _run_method(self, call: AcpClientCall) -> Any:
        known = self._methods.get(call.method)
        if known is None:
            raise make_request_error(METHOD_NOT_FOUND, f"bayou has no method {call.method}")
        if not self._is_initialised and call.method not in _METHODS_BEFORE_INITIALIZE:
            raise make_request_error(INVALID_REQUEST, f"{call.method} was called before initialize")
        kind, handler = known
        try:
            request = convert(call.parameters if call.parameters is not None else {}, kind)
        except msgspec.ValidationError as problem:
            raise make_request_error(
                INVALID_PARAMS, f"Invalid parameters of {call.method}", str(problem)
            ) from None
        prompted = request.session_id if isinstance(request, PromptParams) else ""
        running = _RunningCall(asyncio.current_task(), prompted)
        if not call.is_notification:
            self._running[call.id] = running
        try:
            return await handler(request)
        except SessionLocked as problem:
            remedy = "Close it there first, or continue with a copy: session/fork."
            raise make_internal_error(f"The session is open elsewhere: {problem.what}", remedy) from None
        except UserError as problem:
            raise make_internal_error(str(problem)) from None
        except asyncio.CancelledError:
            raise make_request_error(CANCELLED, "The request was cancelled") from None
        except AcpRequestError:
            raise
        except Exception as problem:  # noqa: BLE001  (a fault in one request must not end the connection)
            print_problem(f"{call.method}: {type(problem).__name__}: {problem}")
            raise make_internal_error(f"{type(problem).__name__}: {problem}") from None
        finally:
            if self._running.get(call.id) is running:
                del self._running[call.id]

    # The connection

    async def _initialize(self, request: InitializeParams) -> Any:
        if self._is_initialised:
            raise make_request_error(INVALID_REQUEST, "initialize was called twice")
        self._is_initialised = True
        self._client.abilities = AcpClientCapabilities.from_capabilities(request.client_capabilities)
        return make_initialize_result(self._client.abilities)

    async def _authenticate(self, request: AuthenticateParams) -> EmptyRequestResult:
        """Does nothing: keys are in the environment, or were stored by `bayou auth login`."""
        return EmptyRequestResult()

    # Sessions

    async def _new_session(self, request: NewSessionParams) -> OpenedSessionResult:
        living = await self._begin_session(request, self._options)
        living.send_initial_session_updates()
        return _opened_session(living, session_id=living.id)

    async def _load_session(self, request: OpenSessionParams) -> OpenedSessionResult:
        living = await self._reopen_session(request)
        living.replay_stored_conversation()
        living.send_initial_session_updates()
        return _opened_session(living)

    async def _resume_session(self, request: OpenSessionParams) -> OpenedSessionResult:
        living = await self._reopen_session(request)
        living.send_initial_session_updates()
        return _opened_session(living)

    async def _fork_session(self, request: OpenSessionParams) -> OpenedSessionResult:
        from app.modes.acp.session_listing import find_acp_session_file  # noqa: PLC0415  (with the sessions' files)

        file = await asyncio.to_thread(find_acp_session_file, self._options, self._paths, request.session_id)
        options = msgspec.structs.replace(self._options, fork=str(file))
        living = await self._begin_session(request, options)
        living.send_initial_session_updates()
        return _opened_session(living, session_id=living.id)

    async def _list_sessions(self, request: ListSessionsParams) -> ListSessionsResult:
        from app.modes.acp.session_listing import list_session_page  # noqa: PLC0415  (with its database, when it is asked for)

        return await list_session_page(self._options, self._paths, request)

    async def _close_session(self, request: SessionIdParams) -> EmptyRequestResult:
        living = self._find_session(request.session_id)
        del self._open[living.id]
        await living.close()
        return EmptyRequestResult()

    async def _delete_session(self, request: SessionIdParams) -> EmptyRequestResult:
        from app.modes.acp.session_listing import delete_client_session  # noqa: PLC0415  (with the sessions' files)

        living = self._open.pop(request.session_id, None)
        if living is not None:
            await living.close()
        await delete_client_session(self._options, self._paths, request.session_id)
        return EmptyRequestResult()

    async def _reopen_session(self, request: OpenSessionParams) -> "AcpSession":
        """Returns the session if it is open, or opens it."""
        from app.modes.acp.session_listing import find_session_file_in_folder, require_session_folder  # noqa: PLC0415  (with the sessions' files)

        folder = _check_folder(request.cwd)
        living = self._open.get(request.session_id)
        if living is not None:
            require_session_folder(living.id, str(living.cwd), folder)
            living.add_mcp_servers(_server_entries(request))
            living.add_folders(request.additional_directories or ())
            return living
        file = await asyncio.to_thread(
            find_session_file_in_folder, self._options, self._paths, request.session_id, folder
        )
        options = msgspec.structs.replace(self._options, session=str(file))
        return await self._begin_session(request, options)

    async def _begin_session(
        self, request: NewSessionParams | OpenSessionParams, options: CommandLineOptions
    ) -> "AcpSession":
        from app.modes.acp.acp_session import AcpSession  # noqa: PLC0415  (the engine, with the first session)

        folder = _check_folder(request.cwd)
        async with self._opening:
            added = tuple(str(_check_folder(one)) for one in request.additional_directories or ())
            options = msgspec.structs.replace(options, cwd=str(folder), add_dir=(*options.add_dir, *added))
            paths = BayouPaths.from_env(os.environ, folder)
            living = await AcpSession.open_session(options, paths, self._client, _server_entries(request))
            self._open[living.id] = living
        return living

    def _find_session(self, session_id: str) -> "AcpSession":
        living = self._open.get(session_id)
        if living is None:
            raise make_request_error(
                RESOURCE_NOT_FOUND,
                f"the session {session_id} is not open",
                "Open it with session/load or session/resume.",
            )
        return living

    # One session

    async def _set_mode(self, request: SetModeParams) -> EmptyRequestResult:
        self._find_session(request.session_id).set_mode(request.mode_id)
        return EmptyRequestResult()

    async def _set_option(self, request: SetOptionParams) -> SetOptionResult:
        living = self._find_session(request.session_id)
        await living.set_option(request.config_id, request.value)
        return SetOptionResult(config_options=living.options())

    async def _run_prompt(self, request: PromptParams) -> PromptRequestResult:
        living = self._find_session(request.session_id)
        await self._client.connection.wait_for_output_space()
        delivery = nested_value(request.meta, "bayou", "delivery")
        return await living.run_prompt(prompt_content_from_blocks(request.prompt), delivery)

    async def _cancel_prompt(self, request: SessionIdParams) -> None:
        living = self._open.get(request.session_id)
        if living is not None:
            await living.cancel()

    async def _cancel_request(self, request: CancelRequestParams) -> None:
        running = self._running.get(request.request_id)
        if running is None:
            return
        living = self._open.get(running.prompted_session_id)
        if living is not None:
            await living.cancel()
        elif running.task is not None:
            running.task.cancel()

    async def end_sessions(self) -> None:
        """Ends all sessions at once; each open prompt is answered."""
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(living.close() for living in sessions))
        running = {call.task for call in self._running.values() if call.task is not None}
        if running:
            await asyncio.wait(running, timeout=0.5)


def _opened_session(living: "AcpSession", session_id: str | None = None) -> OpenedSessionResult:
    return OpenedSessionResult(session_id=session_id, modes=living.modes(), config_options=living.options())


def _server_entries(request: NewSessionParams | OpenSessionParams) -> dict[str, dict[str, Any]]:
    """Returns the client's MCP servers by name, as entries of a configuration file. Raises an `AcpRequestError`
    for a kind that bayou does not offer."""
    return {server.name: _server_entry(server) for server in request.mcp_servers or ()}


def _server_entry(server: ClientMcpServer) -> dict[str, Any]:
    if server.type == "acp":
        raise make_invalid_params_error(
            f"the MCP server {server.name} uses the transport acp, which bayou does not support"
        )
    if server.type == "stdio":
        if not server.command:
            raise make_invalid_params_error(f"the MCP server {server.name} has no command")
        env = {one.name: one.value for one in server.env}
        return {"command": server.command, "args": list(server.args), "env": env}
    if not server.url:
        raise make_invalid_params_error(f"the MCP server {server.name} has no url")
    headers = {one.name: one.value for one in server.headers}
    return {"type": server.type, "url": server.url, "headers": headers}


def _check_folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute():
        raise make_invalid_params_error(f"cwd is not an absolute path: {cwd}")
    try:
        is_folder = folder.is_dir()
    except ValueError:
        is_folder = False
    if not is_folder:
        raise make_invalid_params_error(f"cwd is not a folder: {cwd}")
    return folder
