"""The methods that a client calls, in one table, and the sessions that it has open."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from app.assembly.options import Options
from app.modes.acp.blocks import words_of
from app.modes.acp.client import Abilities, Client, answer_to_initialize
from app.modes.acp.connection import Call, RequestId
from app.modes.acp.faults import (
    CANCELLED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RequestError,
    failed,
    fault,
    invalid,
)
from app.modes.acp.requests import (
    Authenticate,
    CancelRequest,
    Initialize,
    ListSessions,
    NamedSession,
    NewSession,
    OpenSession,
    Prompt,
    ProvidedServer,
    SetMode,
    SetOption,
    value_at,
)
from app.modes.acp.responses import Done, OpenedSession, PresentOptions, PromptEnd, SessionPage
from app.printing import print_problem
from app.resources.paths import Paths
from app.sessions.errors import SessionLocked
from app.values.user_errors import UserError

if TYPE_CHECKING:
    from app.modes.acp.living import LivingSession

Handler = Callable[[Any], Awaitable[Any]]
_BEFORE_INITIALIZE = ("initialize", "$/cancel_request")


class _RunningCall(msgspec.Struct, frozen=True):
    task: "asyncio.Task[Any] | None"
    prompted: str
    """The session that a prompt is for; empty for any other call."""


class Agent:
    """One client's sessions, each with its own folder, in one process."""

    def __init__(self, options: Options, paths: Paths, client: Client) -> None:
        self._options = options
        self._paths = paths
        self._client = client
        self._is_initialised = False
        self._open: dict[str, LivingSession] = {}
        self._opening = asyncio.Lock()
        self._running: dict[RequestId, _RunningCall] = {}
        self._methods: Mapping[str, tuple[type[msgspec.Struct], Handler]] = {
            "initialize": (Initialize, self._initialize),
            "authenticate": (Authenticate, self._authenticate),
            "session/new": (NewSession, self._new),
            "session/load": (OpenSession, self._load),
            "session/resume": (OpenSession, self._resume),
            "session/fork": (OpenSession, self._fork),
            "session/list": (ListSessions, self._list),
            "session/close": (NamedSession, self._close),
            "session/delete": (NamedSession, self._delete),
            "session/set_mode": (SetMode, self._set_mode),
            "session/set_config_option": (SetOption, self._set_option),
            "session/prompt": (Prompt, self._prompt),
            "session/cancel": (NamedSession, self._cancel),
            "$/cancel_request": (CancelRequest, self._cancel_request),
        }

    async def carry_out(self, call: Call) -> Any:
        """Returns the result of a call. Raises only `RequestError`."""
        try:
            return await self._carry_out(call)
        except RequestError as problem:
            if call.is_notification:
                print_problem(f"{call.method}: {problem}")
                return None
            raise

    async def _carry_out(self, call: Call) -> Any:
        known = self._methods.get(call.method)
        if known is None:
            raise fault(METHOD_NOT_FOUND, f"bayou has no method {call.method}")
        if not self._is_initialised and call.method not in _BEFORE_INITIALIZE:
            raise fault(INVALID_REQUEST, f"{call.method} came before initialize")
        kind, handler = known
        try:
            request = msgspec.convert(call.parameters if call.parameters is not None else {}, kind)
        except msgspec.ValidationError as problem:
            raise fault(INVALID_PARAMS, f"Invalid parameters of {call.method}", str(problem)) from None
        prompted = request.session_id if isinstance(request, Prompt) else ""
        running = _RunningCall(asyncio.current_task(), prompted)
        if not call.is_notification:
            self._running[call.id] = running
        try:
            return await handler(request)
        except SessionLocked as problem:
            remedy = "Close it there first, or continue with a copy: session/fork."
            raise failed(f"The session is open elsewhere: {problem.what}", remedy) from None
        except UserError as problem:
            raise failed(str(problem)) from None
        except asyncio.CancelledError:
            raise fault(CANCELLED, "The request was cancelled") from None
        except RequestError:
            raise
        except Exception as problem:  # noqa: BLE001  (a fault in one request must not end the connection)
            print_problem(f"{call.method}: {type(problem).__name__}: {problem}")
            raise failed(f"{type(problem).__name__}: {problem}") from None
        finally:
            if self._running.get(call.id) is running:
                del self._running[call.id]

    # The connection

    async def _initialize(self, request: Initialize) -> Any:
        if self._is_initialised:
            raise fault(INVALID_REQUEST, "initialize came twice")
        self._is_initialised = True
        self._client.abilities = Abilities.declared(request.client_capabilities)
        return answer_to_initialize(self._client.abilities)

    async def _authenticate(self, request: Authenticate) -> Done:
        """Does nothing: keys are in the environment, or were stored by `bayou auth login`."""
        return Done()

    # Sessions

    async def _new(self, request: NewSession) -> OpenedSession:
        living = await self._begin(request, self._options)
        living.introduce()
        return _opened(living, session_id=living.id)

    async def _load(self, request: OpenSession) -> OpenedSession:
        living = await self._reopen(request)
        living.replay()
        living.introduce()
        return _opened(living)

    async def _resume(self, request: OpenSession) -> OpenedSession:
        living = await self._reopen(request)
        living.introduce()
        return _opened(living)

    async def _fork(self, request: OpenSession) -> OpenedSession:
        from app.modes.acp.listing import file_of  # noqa: PLC0415  (with the sessions' files)

        file = await asyncio.to_thread(file_of, self._options, self._paths, request.session_id)
        options = msgspec.structs.replace(self._options, fork=str(file))
        living = await self._begin(request, options)
        living.introduce()
        return _opened(living, session_id=living.id)

    async def _list(self, request: ListSessions) -> SessionPage:
        from app.modes.acp.listing import listed  # noqa: PLC0415  (with its database, when it is asked for)

        return await listed(self._options, self._paths, request)

    async def _close(self, request: NamedSession) -> Done:
        living = self._living(request.session_id)
        del self._open[living.id]
        await living.close()
        return Done()

    async def _delete(self, request: NamedSession) -> Done:
        from app.modes.acp.listing import delete  # noqa: PLC0415  (with the sessions' files)

        living = self._open.pop(request.session_id, None)
        if living is not None:
            await living.close()
        await delete(self._options, self._paths, request.session_id)
        return Done()

    async def _reopen(self, request: OpenSession) -> "LivingSession":
        """Returns the session if it is open, or opens it."""
        from app.modes.acp.listing import file_in, require_folder  # noqa: PLC0415  (with the sessions' files)

        folder = _folder(request.cwd)
        living = self._open.get(request.session_id)
        if living is not None:
            require_folder(living.id, str(living.cwd), folder)
            living.bring(_entries_of(request))
            living.add_folders(request.additional_directories or ())
            return living
        file = await asyncio.to_thread(file_in, self._options, self._paths, request.session_id, folder)
        options = msgspec.structs.replace(self._options, session=str(file))
        return await self._begin(request, options)

    async def _begin(self, request: NewSession | OpenSession, options: Options) -> "LivingSession":
        from app.modes.acp.living import LivingSession  # noqa: PLC0415  (the engine, with the first session)

        folder = _folder(request.cwd)
        async with self._opening:
            added = tuple(str(_folder(one)) for one in request.additional_directories or ())
            options = msgspec.structs.replace(options, cwd=str(folder), add_dir=(*options.add_dir, *added))
            paths = Paths.from_env(os.environ, folder)
            living = await LivingSession.begin(options, paths, self._client, _entries_of(request))
            self._open[living.id] = living
        return living

    def _living(self, session_id: str) -> "LivingSession":
        living = self._open.get(session_id)
        if living is None:
            raise fault(
                RESOURCE_NOT_FOUND,
                f"the session {session_id} is not open",
                "Open it with session/load or session/resume.",
            )
        return living

    # One session

    async def _set_mode(self, request: SetMode) -> Done:
        self._living(request.session_id).set_mode(request.mode_id)
        return Done()

    async def _set_option(self, request: SetOption) -> PresentOptions:
        living = self._living(request.session_id)
        await living.set_option(request.config_id, request.value)
        return PresentOptions(config_options=living.options())

    async def _prompt(self, request: Prompt) -> PromptEnd:
        living = self._living(request.session_id)
        await self._client.connection.room()
        delivery = value_at(request.meta, "bayou", "delivery")
        return await living.prompt(words_of(request.prompt), delivery)

    async def _cancel(self, request: NamedSession) -> None:
        living = self._open.get(request.session_id)
        if living is not None:
            await living.cancel()

    async def _cancel_request(self, request: CancelRequest) -> None:
        running = self._running.get(request.request_id)
        if running is None:
            return
        living = self._open.get(running.prompted)
        if living is not None:
            await living.cancel()
        elif running.task is not None:
            running.task.cancel()

    async def end(self) -> None:
        """Ends all sessions at once; each open prompt is answered."""
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(living.close() for living in sessions))
        running = {call.task for call in self._running.values() if call.task is not None}
        if running:
            await asyncio.wait(running, timeout=0.5)


def _opened(living: "LivingSession", session_id: str | None = None) -> OpenedSession:
    return OpenedSession(session_id=session_id, modes=living.modes(), config_options=living.options())


def _entries_of(request: NewSession | OpenSession) -> dict[str, dict[str, Any]]:
    """Returns the client's MCP servers by name, as entries of a configuration file. Raises a `RequestError` for a
    kind that bayou does not offer."""
    return {server.name: _entry_of(server) for server in request.mcp_servers or ()}


def _entry_of(server: ProvidedServer) -> dict[str, Any]:
    if server.type == "acp":
        raise invalid(f"the MCP server {server.name} is to be reached over ACP, which bayou does not do")
    if server.type == "stdio":
        if not server.command:
            raise invalid(f"the MCP server {server.name} has no command")
        env = {one.name: one.value for one in server.env}
        return {"command": server.command, "args": list(server.args), "env": env}
    if not server.url:
        raise invalid(f"the MCP server {server.name} has no url")
    headers = {one.name: one.value for one in server.headers}
    return {"type": server.type, "url": server.url, "headers": headers}


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute():
        raise invalid(f"cwd is not an absolute path: {cwd}")
    try:
        is_folder = folder.is_dir()
    except ValueError:
        is_folder = False
    if not is_folder:
        raise invalid(f"cwd is no folder: {cwd}")
    return folder
