"""Connections of the shared client: all bytes in order, and the correct error at the end."""

import asyncio
import importlib
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.providers.adapter_registry import AdapterRegistry
from app.providers.failure_kinds import classify_failure
from app.providers.model_stream import StreamOptions
from app.providers.senders import client as shared
from app.providers.senders.client import SharedClientTransport, close_connections, shared_http_client
from app.providers.senders.http_exchange import fetch_http_response, send_http_request
from app.providers.transport import HttpRequest
from app.values.messages import user_message
from tests.providers.loopback import Loopback, Reply
from tests.providers.raw_wire import API, BODY, WHOLE, failed, is_whole, wire
from tests.providers.test_network import Proxy, certificate, port_of, proxy_to, tls_server
from tests.providers.wire_formats import ANSWERS, ask, context, model_for, options

__all__ = ["certificate"]

MUCH = bytes(range(256)) * 4 * 8192


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What came, when all of it is there."""
    await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(len(MUCH))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_a_large_body_goes_and_comes_in_its_order(is_encrypted: bool, certificate: tuple[Path, Path]):
    tls = None
    if is_encrypted:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
    async with wire(echo, tls) as server:
        request = HttpRequest(base_url=server.url, path="/", body=MUCH)
        async with send_http_request(request, StreamOptions(ca_bundle=str(certificate[0]))) as answer:
            assert b"".join([piece async for piece in answer.body_chunks()]) == MUCH


async def test_the_next_address_is_tried_and_a_failure_names_the_first(monkeypatch: pytest.MonkeyPatch):
    loop = asyncio.get_running_loop()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.request(reader)
        writer.write(WHOLE)
        await writer.drain()

    async def found(*_: Any, **__: Any) -> list[Any]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [(*kind, ("127.0.0.2", port)), (*kind, ("127.0.0.1", port))]

    async with wire(talk) as server:
        port = int(server.url.rpartition(":")[2])
        monkeypatch.setattr(loop, "getaddrinfo", found)
        assert is_whole(await ask(model_for(API, f"http://two.test:{port}")))
    message = await ask(model_for(API, f"http://two.test:{port}"))
    failed(message, "two.test", "127.0.0.2")
    assert "127.0.0.1" not in (message.error_message or "")


async def test_encryption_within_encryption(certificate: tuple[Path, Path]):
    """A proxy that is spoken to over TLS, and through it a server that is, too."""
    async with tls_server(certificate) as server, proxy_to(port_of(server)) as inner:
        server.sse(BODY)
        async with encrypted(inner, certificate) as address:
            how = options(proxy=address, ca_bundle=str(certificate[0]))
            assert is_whole(await ask(model_for(API, "https://models.test/v1"), how=how))
            assert inner.targets == ["CONNECT models.test:443"]
            assert is_whole(await ask(model_for(API, "https://models.test/v1"), how=how))
            assert len(inner.targets) == 1, "its connection is kept"
            await close_connections()


@pytest.mark.parametrize("is_helper", [False, True])
async def test_the_end_of_a_session_leaves_the_answers_of_others_alone(is_helper: bool, server: Loopback):
    continues = asyncio.Event()

    async def answer_late(_: object) -> Reply:
        await continues.wait()
        return Reply(body=BODY)

    lasting = AdapterRegistry()
    ending = lasting.with_same_adapters() if is_helper else AdapterRegistry()
    model = model_for(API, server.url)
    server.reply(Reply(body=BODY), answer_late)
    await ending.stream_answer(model, context(), options()).final_message()
    running = lasting.stream_answer(model, context(), options())
    while len(server.requests) < 2:
        server.answering.clear()
        await server.answering.wait()
    await ending.close_connections()
    continues.set()
    assert is_whole(await running.final_message())
    await lasting.close_connections()


@asynccontextmanager
async def encrypted(inner: Proxy, certificate: tuple[Path, Path]) -> AsyncIterator[str]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certificate)

    async def unwrap(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", int(inner.url.rpartition(":")[2]))
        await asyncio.gather(pumped(reader, back), pumped(there, writer))

    listener = await asyncio.start_server(unwrap, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()


async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("api", ["openai-completions", "anthropic-messages"])
async def test_providers_sdks_and_mcp_share_one_client_and_its_connections(api: str, server: Loopback):
    importlib.import_module(api.partition("-")[0])  # the connection would not wait for that
    server.reply(Reply(body=ANSWERS[api]()))
    assert (await ask(model_for(api, server.url))).stop_reason == "toolUse"
    async with httpx2.AsyncClient(transport=SharedClientTransport()) as client:
        assert (await client.get(server.url)).status_code == 200
    assert (await ask(model_for(api, server.url, transport="sdk"))).stop_reason == "toolUse"
    assert shared_http_client() is shared_http_client()
    assert (len(server.requests), server.connections) == (3, 1)


async def test_a_short_exchange_closes_its_own_connection_and_no_other(server: Loopback):
    server.reply(Reply(body=b"data: {}\n\n", then_hang=True), Reply(body=b"there"))
    request = HttpRequest(base_url=server.url, path="/", body=b"", method="GET")
    async with send_http_request(request, StreamOptions()) as open_one:
        pieces = open_one.body_chunks()
        assert await anext(pieces)
        assert await fetch_http_response(request, StreamOptions()) == (200, b"there")
        assert server.requests[1].headers["connection"] == "close"
        assert not server.client_left.is_set(), "what else is under way goes on"


async def test_cookies_are_not_kept(server: Loopback):
    server.reply(Reply(body=BODY, headers={"Set-Cookie": "id=1", "Content-Type": "text/event-stream"}))
    for _ in range(2):
        assert is_whole(await ask(model_for(API, server.url)))
    assert all("cookie" not in request.headers for request in server.requests)


async def test_a_request_that_is_given_up_while_it_is_written_leaves_nothing_behind():
    begun, gone = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        await asyncio.sleep(0)
        try:
            while await reader.read(2**20):
                pass
        except ConnectionError:
            pass
        gone.set()

    async with wire(talk) as server:
        task = asyncio.create_task(ask(model_for(API, server.url), context(user_message("x" * 30_000_000))))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await gone.wait()


async def test_a_server_that_never_ends_to_encrypt_is_given_up(monkeypatch: pytest.MonkeyPatch):
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    monkeypatch.setattr(shared, "HTTP_CONNECT_TIMEOUT_SECONDS", 0.3)
    async with wire(silent) as server:
        message = await ask(model_for(API, server.url.replace("http:", "https:")))
        assert "timed out" in (message.error_message or "") and classify_failure(message).is_retryable
        await gone.wait()


@pytest.mark.parametrize("api", sorted(ANSWERS))
def test_modules_of_the_first_request_can_be_loaded_early(api: str):
    program = (
        "import sys; from app.providers.adapter_registry import AdapterRegistry; from app.values.models import Model\n"
        f"AdapterRegistry().load_modules_for_model(Model(id='m', name='m', api={api!r}, provider='mine', base_url='http://x.test'))\n"
        "print('app.providers.senders.http_exchange' in sys.modules, 'anyio._backends._asyncio' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"], done.stderr
