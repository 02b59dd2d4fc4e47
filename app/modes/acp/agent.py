"""The methods that a client calls, in one table, and the sessions that it has open.

The SDK's own router knows neither `session/delete` nor `$/cancel_request`, and lets `_meta` overwrite
parameters: `Agent.carry_out` is the handler of its connection instead."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from acp import RequestError
from acp.schema import (
    AuthenticateRequest,
    CancelNotification,
    CancelRequestNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ForkSessionRequest,
    ForkSessionResponse,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from pydantic import BaseModel, ValidationError

from app.assembly.options import Options
from app.modes.acp.abilities import answer_to_initialize
from app.modes.acp.client import Abilities, Client
from app.modes.acp.faults import (
    CANCELLED,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    failed,
    fault,
    invalid,
    invalid_parameters,
)
from app.modes.acp.transport import INVALID_REQUEST, REQUEST_ID
from app.printing import print_problem
from app.resources.paths import Paths
from app.values.user_errors import UserError

if TYPE_CHECKING:
    from app.modes.acp.living import LivingSession

Handler = Callable[[Any], Awaitable[BaseModel | None]]
_BEFORE_INITIALIZE = ("initialize", "$/cancel_request")


class OptionRequest(BaseModel):
    """`session/set_config_option`, whose value has the type of the option."""

    sessionId: str
    configId: str
    value: Any


class Agent:
    """One client's sessions, each with its own folder, in one process."""

    def __init__(self, options: Options, paths: Paths) -> None:
        self._options = options
        self._paths = paths
        self._client: Client | None = None
        self._is_initialised = False
        self._open: dict[str, LivingSession] = {}
        self._opening = asyncio.Lock()
        self._running: dict[Any, asyncio.Task[Any]] = {}
        """The tasks of requests, by request id."""
        self._prompts: dict[Any, LivingSession] = {}
        """The sessions of prompts, by request id."""
        self._methods: Mapping[str, tuple[type[BaseModel], Handler]] = {
            "initialize": (InitializeRequest, self._initialize),
            "authenticate": (AuthenticateRequest, self._authenticate),
            "session/new": (NewSessionRequest, self._new),
            "session/load": (LoadSessionRequest, self._load),
            "session/resume": (ResumeSessionRequest, self._resume),
            "session/fork": (ForkSessionRequest, self._fork),
            "session/list": (ListSessionsRequest, self._list),
            "session/close": (CloseSessionRequest, self._close),
            "session/delete": (DeleteSessionRequest, self._delete),
            "session/set_mode": (SetSessionModeRequest, self._set_mode),
            "session/set_config_option": (OptionRequest, self._set_option),
            "session/prompt": (PromptRequest, self._prompt),
            "session/cancel": (CancelNotification, self._cancel),
            "$/cancel_request": (CancelRequestNotification, self._cancel_request),
        }

    def connect(self, client: Client) -> None:
        self._client = client

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def carry_out(self, method: str, parameters: Any, is_notification: bool) -> Any:
        """Answers a request. Raises only `RequestError`."""
        try:
            return await self._carry_out(method, parameters)
        except RequestError as problem:
            if is_notification:
                print_problem(f"{method}: {problem}")
                return None
            raise

    async def _carry_out(self, method: str, parameters: Any) -> Any:
        known = self._methods.get(method)
        if known is None:
            raise fault(METHOD_NOT_FOUND, f"bayou has no method {method}")
        if not self._is_initialised and method not in _BEFORE_INITIALIZE:
            raise fault(INVALID_REQUEST, f"{method} came before initialize")
        model, handler = known
        request_id = REQUEST_ID.get()
        task = asyncio.current_task()
        if request_id is not None and task is not None:
            self._running[request_id] = task
        try:
            request = model.model_validate(parameters if parameters is not None else {})
            return await handler(request)
        except ValidationError as problem:
            raise invalid_parameters(method, problem) from None
        except UserError as problem:
            raise failed(str(problem)) from None
        except asyncio.CancelledError:
            raise fault(CANCELLED, "The request was cancelled") from None
        except RequestError:
            raise
        except Exception as problem:  # noqa: BLE001  (a fault in one request must not end the connection)
            print_problem(f"{method}: {type(problem).__name__}: {problem}")
            raise failed(f"{type(problem).__name__}: {problem}") from None
        finally:
            if self._running.get(request_id) is task:
                self._running.pop(request_id, None)

    # The connection

    async def _initialize(self, request: InitializeRequest) -> InitializeResponse:
        if self._is_initialised:
            raise fault(INVALID_REQUEST, "initialize came twice")
        self._is_initialised = True
        self.client.abilities = Abilities.declared(request.client_capabilities)
        return answer_to_initialize(request)

    async def _authenticate(self, request: AuthenticateRequest) -> None:
        """Does nothing: keys are in the environment, or were stored by `bayou auth login`."""

    # Sessions

    async def _new(self, request: NewSessionRequest) -> NewSessionResponse:
        living = await self._begin(request, self._options)
        living.introduce()
        return NewSessionResponse(session_id=living.id, modes=living.modes(), config_options=living.options())

    async def _load(self, request: LoadSessionRequest) -> LoadSessionResponse:
        living = await self._reopen(request)
        living.replay()
        living.introduce()
        return LoadSessionResponse(modes=living.modes(), config_options=living.options())

    async def _resume(self, request: ResumeSessionRequest) -> ResumeSessionResponse:
        living = await self._reopen(request)
        living.introduce()
        return ResumeSessionResponse(modes=living.modes(), config_options=living.options())

    async def _fork(self, request: ForkSessionRequest) -> ForkSessionResponse:
        from app.modes.acp.listing import file_of  # noqa: PLC0415  (with the sessions' files)

        file = await asyncio.to_thread(file_of, self._options, self._paths, request.session_id)
        options = msgspec.structs.replace(self._options, fork=str(file))
        living = await self._begin(request, options)
        living.introduce()
        return ForkSessionResponse(
            session_id=living.id, modes=living.modes(), config_options=living.options()
        )

    async def _list(self, request: ListSessionsRequest) -> ListSessionsResponse:
        from app.modes.acp.listing import listed  # noqa: PLC0415  (with its database, when it is asked for)

        return await listed(self._options, self._paths, request)

    async def _close(self, request: CloseSessionRequest) -> CloseSessionResponse:
        living = self._living(request.session_id)
        del self._open[living.id]
        await living.close()
        return CloseSessionResponse()

    async def _delete(self, request: DeleteSessionRequest) -> DeleteSessionResponse:
        from app.modes.acp.listing import delete  # noqa: PLC0415  (with the sessions' files)

        living = self._open.pop(request.session_id, None)
        if living is not None:
            await living.close()
        await delete(self._options, self._paths, request.session_id)
        return DeleteSessionResponse()

    async def _reopen(self, request: LoadSessionRequest | ResumeSessionRequest) -> "LivingSession":
        """Returns the session if it is open, or opens it."""
        from app.modes.acp.listing import file_of  # noqa: PLC0415  (with the sessions' files)

        living = self._open.get(request.session_id)
        if living is not None:
            living.bring(request.mcp_servers or ())
            return living
        file = await asyncio.to_thread(file_of, self._options, self._paths, request.session_id)
        options = msgspec.structs.replace(self._options, session=str(file))
        return await self._begin(request, options)

    async def _begin(self, request: Any, options: Options) -> "LivingSession":
        from app.modes.acp.living import LivingSession  # noqa: PLC0415  (the engine, with the first session)

        folder = _folder(request.cwd)
        async with self._opening:
            options = msgspec.structs.replace(options, cwd=str(folder))
            paths = Paths.from_env(os.environ, folder)
            living = await LivingSession.begin(options, paths, self.client, request.mcp_servers or ())
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

    async def _set_mode(self, request: SetSessionModeRequest) -> SetSessionModeResponse:
        self._living(request.session_id).set_mode(request.mode_id)
        return SetSessionModeResponse()

    async def _set_option(self, request: OptionRequest) -> SetSessionConfigOptionResponse:
        living = self._living(request.sessionId)
        await living.set_option(request.configId, request.value)
        return SetSessionConfigOptionResponse(config_options=living.options())

    async def _prompt(self, request: PromptRequest) -> PromptResponse:
        living = self._living(request.session_id)
        request_id = REQUEST_ID.get()
        self._prompts[request_id] = living
        await self.client.transport.room()
        try:
            return await living.prompt(request.prompt, request.field_meta or {})
        finally:
            self._prompts.pop(request_id, None)

    async def _cancel(self, request: CancelNotification) -> None:
        living = self._open.get(request.session_id)
        if living is not None:
            await living.cancel()

    async def _cancel_request(self, request: CancelRequestNotification) -> None:
        living = self._prompts.get(request.request_id)
        if living is not None:
            await living.cancel()
        elif (task := self._running.get(request.request_id)) is not None:
            task.cancel()

    async def end(self) -> None:
        """Ends all sessions at once; each open prompt is answered."""
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(living.close() for living in sessions))
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=0.5)


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
