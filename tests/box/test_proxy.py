"""Hosts are let through by name, one by one; where a name leads is looked at: nothing of this machine is reached."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.permits import ApprovalReply
from app.providers.scripted import call, say
from tests.box.conftest import skip_below
from tests.permits.test_gate import answered, results, stage
from tools.box.proxy import HostProxy, forbidden, wanted_by

ADDRESSES = {
    "good.example": ["93.184.215.14"],
    "evil.example": ["127.0.0.1"],
    "sly.example": ["93.184.215.14", "::1"],
}


class Far:
    """What would be reached: a server that answers with what it was sent."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, int]] = []

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.reached.append((address, port))
        here, there = asyncio.StreamReader(), None
        server = await asyncio.start_server(self._echo, "127.0.0.1", 0)
        here, there = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        server.close()
        return here, there

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + line.split()[0][:3])
        await writer.drain()
        writer.close()


async def resolve(host: str, port: int) -> list[str]:
    if host in ADDRESSES:
        return ADDRESSES[host]
    return [host]


class Serving:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.far = Far()
        self.allowed = {*ADDRESSES, "127.0.0.1", "169.254.169.254", "localhost"}
        self.listed: set[str] = set()
        self.port = 0

    async def allow(self, host: str, port: int) -> bool:
        self.asked.append(f"{host}:{port}")
        return host in self.allowed

    async def say(self, text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text)
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(4096), 10)
        writer.close()
        return answer


@pytest.fixture
async def serving() -> AsyncIterator[Serving]:
    import socket

    made = Serving()
    proxy = HostProxy(
        made.allow,
        is_listed=lambda host, port: host in made.listed,
        resolve=resolve,
        connect=made.far.connect,
        own_addresses=lambda: frozenset({"203.0.113.7"}),
    )
    listening = socket.create_server(("127.0.0.1", 0))
    made.port = listening.getsockname()[1]
    await proxy.serve(listening)
    yield made
    proxy.close()


async def test_an_allowed_host_is_reached_by_the_address_that_was_looked_at(serving: Serving) -> None:
    answer = await serving.say(b"CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n")
    assert b"200" in answer
    assert serving.far.reached == [("93.184.215.14", 443)]


async def test_a_plain_request_is_handed_on_without_what_is_the_proxy_s(serving: Serving) -> None:
    answer = await serving.say(
        b"GET http://good.example/a?b HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n"
    )
    assert answer.endswith(b"GET")
    assert serving.far.reached == [("93.184.215.14", 80)]


@pytest.mark.parametrize("host", ["evil.example", "sly.example", "127.0.0.1", "169.254.169.254", "localhost"])
async def test_names_that_lead_to_this_machine_or_its_metadata_are_refused(
    serving: Serving, host: str
) -> None:
    if host == "localhost":
        ADDRESSES.setdefault("localhost", ["127.0.0.1"])
    answer = await serving.say(f"CONNECT {host}:80 HTTP/1.1\r\n\r\n".encode())
    assert b"403" in answer and b"sandbox" in answer
    assert serving.far.reached == []


async def test_who_wrote_down_this_very_host_means_it(serving: Serving) -> None:
    serving.listed.add("evil.example")
    assert b"200" in await serving.say(b"CONNECT evil.example:5432 HTTP/1.1\r\n\r\n")


async def test_others_are_refused(serving: Serving) -> None:
    assert b"403" in await serving.say(b"CONNECT unknown.example:443 HTTP/1.1\r\n\r\n")
    assert serving.far.reached == []


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"CONNECT good.example HTTP/1.1\r\n\r\n",
        b"CONNECT good.example:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT good.example\x00:443 HTTP/1.1\r\n\r\n",
        b"CONNECT \xff\xfe:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [::1:443 HTTP/1.1\r\n\r\n",
        b"GET ftp://good.example/ HTTP/1.1\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
    ],
)
def test_what_is_no_request(head: bytes) -> None:
    assert wanted_by(head) is None


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "169.254.1.1", "100.100.100.200", "224.0.0.1", "::1",
        "::", "fe80::1", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254",
        "203.0.113.7", "ff02::1", "240.0.0.1",
    ],
)  # fmt: skip
def test_where_no_name_may_lead(address: str) -> None:
    assert forbidden(address, frozenset({"203.0.113.7"}))


@pytest.mark.parametrize("address", ["93.184.215.14", "10.1.2.3", "2606:2800:21f::1"])
def test_where_names_may_lead(address: str) -> None:
    assert forbidden(address, frozenset()) == ""


LOOK = (
    "python3 - <<'E'\nimport urllib.request as u\n"
    "try: print(u.urlopen('http://unknown.example.invalid/').status)\nexcept Exception as e: print(e)\nE"
)


async def test_a_new_host_is_a_question_and_a_no_is_told(tmp_path: Path) -> None:
    skip_below("namespaces")
    play = stage(tmp_path, call("bash", command=LOOK), say("ok"), mode="auto-edit")
    play.in_force.set("sandbox.network", "listed")
    asked = await answered(play, ApprovalReply(allows=False))
    (question,) = asked
    assert question.approval is not None
    assert question.approval.tool_name == "network"
    assert question.approval.parts[0].text == "unknown.example.invalid:80"
    assert [rule.text for rule in question.approval.rules] == [
        "net: unknown.example.invalid:80",
        "net: *.example.invalid:80",
    ]
    assert "403" in results(play)[0]


async def test_a_rule_answers_and_a_killed_network_harms_nobody(tmp_path: Path) -> None:
    skip_below("namespaces")
    play: Any = stage(tmp_path, call("bash", command=LOOK), say("ok"), mode="auto-edit")
    play.in_force.set("sandbox.network", "listed")
    play.session.permissions.allow("net: unknown.example.invalid:80")
    assert await answered(play) == []
    assert "502" in results(play)[0] or "Bad Gateway" in results(play)[0], "let through, and not there"
