"""Proxies, certificates, headers: what holds for every way of sending."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from app.providers.senders.client import close_connections, proxy_by_address_pattern
from tests.providers.loopback import Loopback, loopback
from tests.providers.wire_formats import ANSWERS, ask, model_for, options

every_api = pytest.mark.parametrize("api", sorted(ANSWERS))


def port_of(server: Loopback) -> int:
    return int(server.url.rpartition(":")[2])


class Proxy:
    def __init__(self) -> None:
        self.url = ""
        self.targets: list[str] = []


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy that connects every host to the server at `port`."""
    proxy = Proxy()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readline()
        method, target, _ = first.decode().split(" ", 2)
        proxy.targets.append(f"{method} {target}")
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", port)
        if method == "CONNECT":
            while (await reader.readline()).strip():
                pass
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            upstream.write(f"{method} {path} HTTP/1.1\r\n".encode())
        await asyncio.gather(_pump(reader, upstream), _pump(upstream_reader, writer))

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        listener.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


@every_api
async def test_a_proxy_from_the_settings(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    async with proxy_to(port_of(server)) as proxy:
        message = await ask(model_for(api, "http://models.test/base"), how=options(proxy=proxy.url))
        assert message.stop_reason == "toolUse", message.error_message
        assert proxy.targets[0].startswith("POST http://models.test/base/")
        await close_connections()


@every_api
async def test_a_proxy_from_the_environment(api: str, server: Loopback, monkeypatch: pytest.MonkeyPatch):
    server.sse(ANSWERS[api]())
    async with proxy_to(port_of(server)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        message = await ask(model_for(api, "http://models.test"))
        assert message.stop_reason == "toolUse", message.error_message
        assert len(proxy.targets) == 1
        await close_connections()


class Named(httpx2.AsyncBaseTransport):
    """Answers every request with its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, text=self._name)


async def proxy_for(url: str, configured_proxy: str | None, environment: dict[str, str]) -> str:
    found = proxy_by_address_pattern(configured_proxy, environment)
    mounts = {pattern: Named(address) if address else None for pattern, address in found.items()}
    async with httpx2.AsyncClient(transport=Named(""), mounts=mounts) as client:
        return (await client.get(url)).text


PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("excepted", "direct", "proxied"),
    [
        ("", ["http://localhost:11434", "http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:8080"], ["http://a.test"]),
        ("internal.example, .corp", ["https://a.internal.example", "https://x.corp/"], ["https://notcorp"]),
        ("10.0.0.0/8", ["https://10.1.2.3/v1"], ["https://11.1.2.3/v1"]),
        ("fd00::/8", ["https://[fd00::7]/v1"], ["https://[fe80::7]/v1"]),
        ("odd.test:8443", ["https://odd.test:8443/"], ["https://odd.test/"]),
        ("*.wild.test", ["https://a.wild.test/"], ["https://nowild.test/"]),
        ("http://with.scheme", ["https://with.scheme"], ["https://other.scheme"]),
        ("*", ["https://api.openai.com/v1"], []),
        ("[, 10.0.0.0/99, ://, a b", [], ["https://api.openai.com/v1"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["settings", "environment"])
async def test_no_proxy_names_hosts_networks_and_ports(
    how: str, excepted: str, direct: list[str], proxied: list[str]
):
    configured_proxy = PROXY if how == "settings" else None
    environment = {"no": excepted} if how == "settings" else {"http": PROXY, "https": PROXY, "no": excepted}
    for url in direct:
        assert await proxy_for(url, configured_proxy, environment) == ""
    for url in proxied:
        assert await proxy_for(url, configured_proxy, environment) == PROXY


async def test_a_proxy_for_all_schemes_and_none_at_all():
    assert await proxy_for("https://a.test", None, {"all": "socks5://s:1080"}) == "socks5://s:1080"
    assert await proxy_for("https://a.test", None, {"http": PROXY}) == ""


@pytest.mark.parametrize("proxy", ["gopher://me:secret@host:70", "http://", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_named_without_its_password(proxy: str, server: Loopback):
    server.sse(ANSWERS["openai-completions"]())
    message = await ask(model_for("openai-completions", "http://models.test"), how=options(proxy=proxy))
    told = message.error_message or ""
    assert told.startswith("The proxy ") and "cannot be used" in told and "secret" not in told
    message = await ask(model_for("openai-completions", server.url), how=options(proxy=proxy))
    assert message.stop_reason == "toolUse", "a server on this machine needs none"


@every_api
async def test_a_proxy_without_a_scheme_is_taken_for_http(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    async with proxy_to(port_of(server)) as proxy:
        bare = proxy.url.removeprefix("http://")
        assert (
            await ask(model_for(api, "http://models.test"), how=options(proxy=bare))
        ).stop_reason == "toolUse"
        await close_connections()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=IP:127.0.0.1,DNS:models.test"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext {names}"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem", folder / "key.pem"


@asynccontextmanager
async def tls_server(certificate: tuple[Path, Path]) -> AsyncIterator[Loopback]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    async with loopback(context) as server:
        yield server
        await close_connections()


@every_api
async def test_an_untrusted_certificate(api: str, certificate: tuple[Path, Path]):
    async with tls_server(certificate) as server:
        server.sse(ANSWERS[api]())
        message = await ask(model_for(api, server.url))
        assert message.stop_reason == "error" and "TLS error" in (message.error_message or "")
        assert "SSL_CERT_FILE" in (message.error_message or "")
        assert message.diagnostics[0]["details"]["kind"] == "tls"


@every_api
@pytest.mark.parametrize("how", ["option", "variable"])
async def test_a_private_certificate_file(
    api: str, how: str, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    async with tls_server(certificate) as server:
        server.sse(ANSWERS[api]())
        if how == "variable":
            monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(certificate[0]))
        bundle = str(certificate[0]) if how == "option" else None
        message = await ask(model_for(api, server.url), how=options(ca_bundle=bundle))
        assert message.stop_reason == "toolUse", message.error_message


@every_api
@pytest.mark.parametrize("how", ["settings", "variable"])
async def test_an_encrypted_connection_through_a_proxy(
    api: str, how: str, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    async with tls_server(certificate) as server, proxy_to(port_of(server)) as proxy:
        server.sse(ANSWERS[api]())
        if how == "variable":
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            monkeypatch.setenv("https_proxy", proxy.url)
        given = options(ca_bundle=str(certificate[0]), proxy=proxy.url if how == "settings" else None)
        message = await ask(model_for(api, "https://models.test/v"), how=given)
        assert message.stop_reason == "toolUse", message.error_message
        assert proxy.targets == ["CONNECT models.test:443"], "the proxy sees no more than the host"
        await close_connections()


@every_api
async def test_a_certificate_file_that_is_not_there_is_named(api: str, server: Loopback):
    message = await ask(model_for(api, server.url), how=options(ca_bundle="/no/such/file.pem"))
    assert "/no/such/file.pem" in (message.error_message or "")


@every_api
async def test_a_connection_is_used_again(api: str, server: Loopback):
    server.sse(ANSWERS[api]())
    for _ in range(3):
        assert (await ask(model_for(api, server.url))).stop_reason == "toolUse"
    assert len(server.requests) == 3 and server.connections == 1


def test_importing_the_package_loads_no_client_and_no_sdk():
    program = (
        "import sys, app.providers.adapter_registry, app.providers.models.catalogue, app.providers.credentials,"
        " app.providers.models.model_names, app.providers.failure_kinds\n"
        "print([name for name in sys.modules if name.split('.')[0] in"
        " ('httpcore2', 'httpx2', 'anthropic', 'openai', 'pydantic', 'botocore', 'jiter', 'ssl', 'filelock')"
        " and name != 'ssl'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def _socks(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, asked: list[str]
) -> None:
    """A minimal SOCKS5 server that connects every host to `port`."""
    _, count = await reader.readexactly(2)
    await reader.readexactly(count)
    writer.write(b"\x05\x00")
    head = await reader.readexactly(5)
    name = await reader.readexactly(head[4])
    asked.append(f"{name.decode()}:{int.from_bytes(await reader.readexactly(2), 'big')}")
    upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
    await asyncio.gather(_pump(reader, upstream), _pump(upstream_reader, writer))


async def test_a_socks_proxy_gets_the_host_name_and_resolves_it(server: Loopback):
    api, asked = "openai-completions", list[str]()
    server.sse(ANSWERS[api]())
    port = int(server.url.rpartition(":")[2])
    listener = await asyncio.start_server(lambda r, w: _socks(r, w, port, asked), "127.0.0.1", 0)
    proxy = f"socks5h://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    message = await ask(model_for(api, "http://models.test/v1"), how=options(proxy=proxy))
    assert message.stop_reason == "toolUse", message.error_message
    assert asked == ["models.test:80"]
    await close_connections()
    listener.close()
