"""Sends through a vendor's SDK, for models with `"transport": "sdk"`: its client over the shared connections,
without its retries, and with its raw stream instead of an object per chunk. Keys and addresses are always
passed, so that the SDK takes none from the environment.

Importing an SDK takes half a second or more, so `sender_choice` imports it only for these models."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from app.providers.errors import ProviderError, error_from_response
from app.providers.model_stream import StreamOptions
from app.providers.senders.client import HTTP_CONNECT_TIMEOUT_SECONDS, SharedClientTransport
from app.providers.senders.connection_errors import explain_connection_error
from app.providers.transport import HttpRequest, Sender, ServerResponse

_PLACEHOLDER_API_KEY = "none"
"""A placeholder for the API key that SDKs require; it is not sent."""
_HEADERS_SET_BY_TRANSPORT = frozenset(
    ("host", "content-length", "transfer-encoding", "accept", "accept-encoding", "connection", "content-type")
)


class SdkRequest(msgspec.Struct, frozen=True):
    """The current task's request; the SDKs offer no other way to pass data to their hooks."""

    request: HttpRequest
    options: StreamOptions


_current_request: ContextVar[SdkRequest | None] = ContextVar("exchange", default=None)


def make_sdk_sender(library: str) -> Sender:
    """Imports the SDK and the modules that its first request needs. Raises `ImportError`."""
    if library == "anthropic":
        import anthropic.resources  # noqa: PLC0415  (costs more than a second)

        return _make_sender(anthropic, anthropic.AsyncAnthropic)
    import openai.resources  # noqa: PLC0415  (costs most of a second)

    return _make_sender(openai, openai.AsyncOpenAI)


def _make_sender(sdk: Any, make_client: Callable[..., Any]) -> Sender:
    @asynccontextmanager
    async def send(request: HttpRequest, options: StreamOptions) -> AsyncIterator[ServerResponse]:
        http = _make_sdk_client(sdk, options)
        client = make_client(
            api_key=_PLACEHOLDER_API_KEY,
            base_url=request.base_url,
            max_retries=0,
            http_client=http,
            timeout=http.timeout,
        )
        token = _current_request.set(SdkRequest(request, options))
        try:
            stream = await client.post(
                request.path,
                content=bytes(request.body),
                cast_to=object,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
                options={"headers": dict(request.headers), "params": dict(request.query)},
            )
        except sdk.APIStatusError as problem:
            raise await _error_of_status(problem.response) from problem
        except Exception as problem:
            raise explain_connection_error(problem, request.url) from problem
        finally:
            _current_request.reset(token)
        try:
            yield SdkResponse(stream.response)
        finally:
            await stream.response.aclose()

    return send


def _make_sdk_client(sdk: Any, options: StreamOptions) -> Any:
    """Returns a client of the SDK over the shared connections."""
    return sdk.DefaultAsyncHttpxClient(
        transport=SharedClientTransport(options.proxy, options.ca_bundle),
        trust_env=False,
        # A redirect would send the headers, and with them the key, to another server.
        follow_redirects=False,
        event_hooks={"request": [_replace_sdk_headers], "response": [_report_response_headers]},
        timeout=sdk.Timeout(None, connect=HTTP_CONNECT_TIMEOUT_SECONDS),
    )


async def _replace_sdk_headers(request: Any) -> None:
    """Replaces the SDK's headers by those of the adapter and the transport, so that headers that the SDK adds
    or takes from the environment for one vendor never reach other servers."""
    current = _current_request.get()
    if current is None:
        return
    wanted = {name.lower(): value for name, value in current.request.headers.items()}
    for name in list(request.headers):
        if name.lower() not in _HEADERS_SET_BY_TRANSPORT and name.lower() not in wanted:
            del request.headers[name]
    for name, value in current.request.headers.items():
        request.headers[name] = value
    hook = current.options.hooks.on_request_headers
    if hook is None:
        return
    before: dict[str, str | None] = dict(request.headers)
    after = dict(before)
    await hook(after)
    for name in before:
        if after.get(name) is None:
            del request.headers[name]
    for name, value in after.items():
        if value is not None and before.get(name) != value:
            request.headers[name] = value


async def _report_response_headers(response: Any) -> None:
    current = _current_request.get()
    if current is not None and current.options.hooks.on_response_headers is not None:
        await current.options.hooks.on_response_headers(response.status_code, dict(response.headers))


class SdkResponse:
    """A `ServerResponse` over a response of the HTTP library that the SDKs use."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def body_chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except Exception as problem:
            raise explain_connection_error(problem, str(self._response.request.url)) from problem


async def _error_of_status(response: Any) -> ProviderError:
    try:
        body = await response.aread()
    except Exception:  # noqa: BLE001  (the status alone is an error already; its text could not be read)
        body = b""
    return error_from_response(response.status_code, response.headers, body)
