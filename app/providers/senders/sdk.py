"""Sends through a vendor's SDK: its transport, its retries set to none, its raw stream instead of an object for
every chunk. Keys and addresses are always given, so that nothing is taken from the environment unasked.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from app.providers.contract import StreamOptions
from app.providers.senders.connections import (
    CONNECT_SECONDS,
    HttpAnswer,
    client_for,
    connection_error,
    exchange,
    status_error,
)
from app.providers.transport import Answer, Request, Send

_NO_KEY = "none"
"""SDKs insist on a key; the header they make of this one is not sent."""


def warm_anthropic() -> None:
    import anthropic.resources.messages  # noqa: F401, PLC0415  (imported ahead of the first request)


def warm_openai() -> None:
    import openai.resources  # noqa: F401, PLC0415  (imported ahead of the first request)


def _anthropic_http(arguments: dict[str, Any]) -> Any:
    import anthropic  # noqa: PLC0415  (costs more than a second)

    timeout = anthropic.Timeout(None, connect=CONNECT_SECONDS)
    return anthropic.DefaultAsyncHttpxClient(**arguments, timeout=timeout)


def _openai_http(arguments: dict[str, Any]) -> Any:
    import openai  # noqa: PLC0415  (costs most of a second)

    timeout = openai.Timeout(None, connect=CONNECT_SECONDS)
    return openai.DefaultAsyncHttpxClient(**arguments, timeout=timeout)


def _anthropic_client(http: Any, base_url: str) -> tuple[Any, Any]:
    import anthropic  # noqa: PLC0415  (loaded by now)

    client = anthropic.AsyncAnthropic(
        api_key=_NO_KEY, base_url=base_url, max_retries=0, http_client=http, timeout=http.timeout
    )
    return client, anthropic


def _openai_client(http: Any, base_url: str) -> tuple[Any, Any]:
    import openai  # noqa: PLC0415  (loaded by now)

    client = openai.AsyncOpenAI(
        api_key=_NO_KEY, base_url=base_url, max_retries=0, http_client=http, timeout=http.timeout
    )
    return client, openai


def _sender(
    library: str,
    make_http: Callable[[dict[str, Any]], Any],
    make_client: Callable[[Any, str], tuple[Any, Any]],
) -> Send:
    @asynccontextmanager
    async def send(request: Request, options: StreamOptions) -> AsyncIterator[Answer]:
        http = await client_for(library, options, request.url, make_http)
        client, sdk = make_client(http, request.base_url)
        stream_class = sdk.AsyncStream[object]
        with exchange(request, options):
            try:
                stream = await client.post(
                    request.path,
                    content=request.body,
                    cast_to=object,
                    stream=True,
                    stream_cls=stream_class,
                    options={"headers": dict(request.headers), "params": dict(request.query)},
                )
            except sdk.APIStatusError as problem:
                raise await status_error(problem.response) from problem
            except Exception as problem:
                raise connection_error(problem, request.url) from problem
        try:
            yield HttpAnswer(stream.response)
        finally:
            await stream.response.aclose()

    return send


send_with_anthropic = _sender("anthropic", _anthropic_http, _anthropic_client)
send_with_openai = _sender("openai", _openai_http, _openai_client)
