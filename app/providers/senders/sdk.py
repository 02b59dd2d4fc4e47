"""Sends through a vendor's SDK, for who asks for it (`"transport": "sdk"`): its client over the shared connections, its
retries set to none, its raw stream instead of an object for every chunk. Keys and addresses are always given, so that
nothing is taken from the environment unasked. Importing an SDK costs half a second and more: `choice` sees to it that
only they pay.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from app.providers.contract import StreamOptions
from app.providers.errors import ProviderError, error_from_response
from app.providers.senders.client import CONNECT_SECONDS, ThroughSharedClient
from app.providers.senders.connection_errors import connection_error
from app.providers.transport import HttpRequest, Send, ServerResponse

_NO_KEY = "none"
"""SDKs insist on a key; the header they make of this one is not sent."""
_TRANSPORT_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "accept", "accept-encoding", "connection", "content-type")
)


class SdkRequest(msgspec.Struct, frozen=True):
    """The request that is under way in this task: the SDKs offer no other way through to their hooks."""

    request: HttpRequest
    options: StreamOptions


_exchange: ContextVar[SdkRequest | None] = ContextVar("exchange", default=None)


def sender_of(library: str) -> Send:
    """Imports the SDK with what its first request needs. Raises `ImportError`."""
    if library == "anthropic":
        import anthropic.resources  # noqa: PLC0415  (costs more than a second)

        return _sender(anthropic, anthropic.AsyncAnthropic)
    import openai.resources  # noqa: PLC0415  (costs most of a second)

    return _sender(openai, openai.AsyncOpenAI)


def _sender(sdk: Any, make_client: Callable[..., Any]) -> Send:
    @asynccontextmanager
    async def send(request: HttpRequest, options: StreamOptions) -> AsyncIterator[ServerResponse]:
        http = _client_for(sdk, options)
        client = make_client(
            api_key=_NO_KEY, base_url=request.base_url, max_retries=0, http_client=http, timeout=http.timeout
        )
        token = _exchange.set(SdkRequest(request, options))
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
            raise await _status_error(problem.response) from problem
        except Exception as problem:
            raise connection_error(problem, request.url) from problem
        finally:
            _exchange.reset(token)
        try:
            yield SdkResponse(stream.response)
        finally:
            await stream.response.aclose()

    return send


def _client_for(sdk: Any, options: StreamOptions) -> Any:
    """Of the SDK's own kind, over the shared connections."""
    return sdk.DefaultAsyncHttpxClient(
        transport=ThroughSharedClient(options.proxy, options.ca_bundle),
        trust_env=False,
        # A redirect would take the headers along, and with them the key.
        follow_redirects=False,
        event_hooks={"request": [_before_request], "response": [_after_headers]},
        timeout=sdk.Timeout(None, connect=CONNECT_SECONDS),
    )


async def _before_request(request: Any) -> None:
    """The last word on the headers: what the adapter gave, and what the transport needs. An SDK's own headers,
    and those it takes from the environment for one particular vendor, do not reach other servers.
    """
    current = _exchange.get()
    if current is None:
        return
    wanted = {name.lower(): value for name, value in current.request.headers.items()}
    for name in list(request.headers):
        if name.lower() not in _TRANSPORT_HEADERS and name.lower() not in wanted:
            del request.headers[name]
    for name, value in current.request.headers.items():
        request.headers[name] = value
    hook = current.options.hooks.on_headers
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


async def _after_headers(response: Any) -> None:
    current = _exchange.get()
    if current is not None and current.options.hooks.on_response is not None:
        await current.options.hooks.on_response(response.status_code, dict(response.headers))


class SdkResponse:
    """A `ServerResponse` over a response of the library that the SDKs send with."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except Exception as problem:
            raise connection_error(problem, str(self._response.request.url)) from problem


async def _status_error(response: Any) -> ProviderError:
    try:
        body = await response.aread()
    except Exception:  # noqa: BLE001  (the status alone is an error already; its text could not be read)
        body = b""
    return error_from_response(response.status_code, response.headers, body)
