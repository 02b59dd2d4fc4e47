"""Sends with httpx alone."""

from collections.abc import AsyncIterator
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
from app.providers.transport import Answer, Request


def warm() -> None:
    import httpx  # noqa: F401, PLC0415  (imported ahead of the first request)


def _make(arguments: dict[str, Any]) -> Any:
    import httpx  # noqa: PLC0415  (only requests need it)

    return httpx.AsyncClient(**arguments, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))


@asynccontextmanager
async def send(request: Request, options: StreamOptions) -> AsyncIterator[Answer]:
    client = await client_for("httpx", options, request.url, _make)
    with exchange(request, options):
        built = client.build_request(
            request.method, request.url, content=request.body or None, headers=dict(request.headers)
        )
        try:
            response = await client.send(built, stream=True)
        except Exception as problem:
            raise connection_error(problem, request.url) from problem
    try:
        if response.status_code >= 400:
            raise await status_error(response)
        yield HttpAnswer(response)
    finally:
        await response.aclose()
