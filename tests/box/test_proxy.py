"""Hosts are let through by name, one by one; where a name leads is looked at: nothing of this machine is reached."""

import asyncio
import base64
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.permits.command_place import CommandPlace
from app.permits.permit_rules import PermitRule, parse_permit_rule, permit_rule_matches, rule_names_host
from app.permits.risk_classes import ToolCallPart
from app.providers.scripted import call, say
from app.values.events import QuestionAsked
from tests.box.conftest import skip_below
from tests.permits.test_gate import decisions, gated_session, questions_asked, results
from tests.support.sessions import parts_of
from tools.box.host_groups import hosts_in_host_group
from tools.box.sandbox_proxy import (
    SandboxProxy,
    find_address_refusal_reason,
    parse_proxy_request,
    proxy_environment_variables,
)

ROOT = Path(__file__).parents[2]
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
        self.callers: list[str] = []
        self.far = Far()
        self.allowed = {*ADDRESSES, "127.0.0.1", "169.254.169.254", "localhost"}
        self.listed: set[str] = set()
        self.port = 0

    async def allow(self, host: str, port: int, caller: str) -> bool:
        self.callers.append(caller)
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
    proxy = SandboxProxy(
        made.allow,
        is_listed=lambda host, port: host in made.listed,
        resolve=resolve,
        connect=made.far.connect,
        is_own=lambda address: address == "203.0.113.7",
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


@pytest.mark.parametrize("line", [b"CONNECT good.example:443 HTTP/1.1", b"GET http://good.example/ HTTP/1.1"])
async def test_the_proxy_is_told_which_call_asks(serving: Serving, line: bytes) -> None:
    (variable,) = {value for name, value in proxy_environment_variables(1, "one7") if name == "https_proxy"}
    user = variable.removeprefix("http://").partition("@")[0].encode()
    header = b"Proxy-Authorization: Basic " + base64.b64encode(user)
    assert b"200" in await serving.say(line + b"\r\n" + header + b"\r\n\r\n")
    assert serving.callers == ["one7"]


@pytest.mark.parametrize(
    "value", [b"Basic !!", b"Basic " + base64.b64encode(b"me:one7"), b"Bearer one7", b"Basic"]
)
async def test_another_name_at_the_proxy_is_no_call(serving: Serving, value: bytes) -> None:
    await serving.say(b"CONNECT good.example:443 HTTP/1.1\r\nProxy-Authorization: " + value + b"\r\n\r\n")
    assert serving.callers == [""]


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


def test_a_name_that_leads_to_another_interface_of_this_machine_is_refused() -> None:
    skip_below("namespaces")
    program = [sys.executable, "-m", "tests.box.own_interface"]
    done = subprocess.run(
        ["unshare", "-Urn", *program], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    bridge, mapped, neighbour = done.stdout.splitlines() or pytest.fail(done.stderr)
    assert bridge.startswith("HTTP/1.1 403") and "172.17.0.1, which is this machine" in bridge
    assert mapped.startswith("HTTP/1.1 403") and "which is this machine" in mapped
    assert neighbour.startswith("HTTP/1.1 502") and "another machine" in neighbour


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
    assert parse_proxy_request(head) is None


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "169.254.1.1", "100.100.100.200", "224.0.0.1", "::1",
        "::", "fe80::1", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254",
        "203.0.113.7", "ff02::1", "240.0.0.1", "168.63.129.16", "2600::5efe:7f00:1", "2600::5efe:a9fe:a9fe",
    ],
)  # fmt: skip
def test_where_no_name_may_lead(address: str) -> None:
    assert find_address_refusal_reason(address, lambda one: one == "203.0.113.7")


@pytest.mark.parametrize("address", ["93.184.215.14", "10.1.2.3", "2606:2800:21f::1"])
def test_where_names_may_lead(address: str) -> None:
    assert find_address_refusal_reason(address, lambda one: False) == ""


def fetching(*addresses: str) -> str:
    lines = "".join(
        f"try: print(u.urlopen('{address}').status)\nexcept Exception as e: print(e)\n"
        for address in addresses
    )
    return f"python3 - <<'E'\nimport urllib.request as u\n{lines}E"


HOST = "http://unknown.example.invalid/"
LOOK = fetching(HOST)


async def test_a_host_is_asked_about_by_default_with_the_command_and_a_no_is_reported(tmp_path: Path) -> None:
    skip_below("namespaces")
    harness = gated_session(tmp_path, call("bash", command=LOOK), say("ok"), mode="auto-edit")
    asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
    (question,) = asked
    assert question.approval is not None
    assert question.approval.tool_name == "network"
    assert question.approval.parts[0].text == "unknown.example.invalid:80"
    assert question.approval.why.startswith("python3 - <<'E' import urllib.request")
    assert [rule.text for rule in question.approval.rules] == [
        "net: unknown.example.invalid:80",
        "net: *.example.invalid:80",
    ]
    assert "403" in results(harness)[0]
    assert "Sandbox: reaching unknown.example.invalid:80 was refused" in results(harness)[0]


async def test_one_command_asks_about_a_host_once(tmp_path: Path) -> None:
    skip_below("namespaces")
    harness = gated_session(
        tmp_path, call("bash", command=fetching(HOST, HOST, HOST)), say("ok"), mode="auto-edit"
    )
    assert len(await questions_asked(harness, ApprovalReply(is_allowed=False))) == 1


async def test_a_yes_counts_for_its_command_and_always_writes_the_narrow_rule(tmp_path: Path) -> None:
    skip_below("namespaces")
    go = call("bash", command=fetching(HOST, HOST))
    harness: Any = gated_session(tmp_path, go, go, go, say("ok"), mode="auto-edit")
    always = ApprovalReply(is_allowed=True, rule="net: unknown.example.invalid:80", rule_scope="project")
    assert len(await questions_asked(harness, ApprovalReply(is_allowed=True), always)) == 2
    assert all("502" in text or "Bad Gateway" in text for text in results(harness))
    (rules,) = harness.effective_settings.settings.permissions.allow_in.values()
    assert rules == ("net: unknown.example.invalid:80",)


async def test_a_network_command_reaches_the_hosts_it_was_let_run_with_and_no_others(tmp_path: Path) -> None:
    skip_below("namespaces")
    command = "curl -s http://one.example.invalid/; curl -s http://one.example.invalid/ -x '' --noproxy '*'"
    harness = gated_session(tmp_path, call("bash", command=command), say("ok"), mode="auto-edit")
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True))
    assert len(asked) == 1 and asked[0].approval is not None and asked[0].approval.tool_name == "bash"
    assert "one.example.invalid:80 could not be reached" in results(harness)[0], "the proxy tried it"
    command = "curl -s http://one.example.invalid/ && true; python3 x.py"
    harness = gated_session(tmp_path / "two", call("bash", command=command), say("ok"), mode="auto-edit")
    (harness.session.cwd / "x.py").write_text(
        fetching("http://other.example.invalid/").split("\n", 1)[1].rsplit("E", 1)[0]
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True), ApprovalReply(is_allowed=False))
    assert [one.approval.parts[0].text for one in asked[1:] if one.approval] == ["other.example.invalid:80"]


async def test_without_a_user_a_host_is_refused_with_an_explanation(tmp_path: Path) -> None:
    skip_below("namespaces")
    harness = gated_session(tmp_path, call("bash", command=LOOK), say("ok"), asks="none", mode="auto-edit")
    assert await questions_asked(harness) == []
    assert "reaching unknown.example.invalid:80 was refused" in results(harness)[0]


async def test_a_package_manager_asks_once_for_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_below("namespaces")
    pip = tmp_path / "programs" / "pip"
    pip.parent.mkdir()
    pip.write_text("#!/bin/sh\necho installed")
    pip.chmod(0o755)
    monkeypatch.setenv("PATH", f"{pip.parent}:{os.environ['PATH']}")
    install = call("bash", command="pip install thing")
    harness: Any = gated_session(tmp_path, install, install, say("ok"), mode="auto-edit")
    asked = await questions_asked(
        harness, ApprovalReply(is_allowed=True, rule="net: python packages", rule_scope="project")
    )
    assert asked[0].approval is not None
    assert asked[0].approval.rules[0].text == "net: python packages"
    assert len(asked) == 1 and results(harness) == ["installed"] * 2


@pytest.mark.parametrize(
    ("command", "rule", "is_shown"),
    [
        ("pip install thing", "net: python packages", True),
        ("pip install -e .", "net: python packages", False),
        ("pip install x; ./x", "net: python packages", False),
        ("pip install -e . && echo done", "bash: pip install -e .", True),
        ("pip install -e .; python3 x.py", "bash: pip install -e .", False),
        ("grep -rs content ~; pip install -e . > /dev/null", "bash: pip install -e .", False),
    ],
)
async def test_a_rule_shows_credentials_only_to_the_commands_that_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, rule: str, is_shown: bool
) -> None:
    skip_below("namespaces")
    pip = tmp_path / "programs" / "pip"
    pip.parent.mkdir()
    pip.write_text("#!/bin/sh\ncat ~/.pypirc")
    pip.chmod(0o755)
    monkeypatch.setenv("PATH", f"{pip.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    harness: Any = gated_session(tmp_path, call("bash", command=command), say("ok"), mode="auto-edit")
    (tmp_path / "home" / ".pypirc").write_text("the content")
    harness.session.permissions.rules.add_allow_rule(rule)
    assert await questions_asked(harness) == []
    assert ("the content" in results(harness)[0]) is is_shown, results(harness)


async def test_a_command_beside_an_allowed_request_does_not_get_the_machines_network(tmp_path: Path) -> None:
    skip_below("namespaces")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        harness = gated_session(
            tmp_path,
            call("bash", command="python3 reach.py; ssh git.example.invalid"),
            say("ok"),
            mode="auto-edit",
        )
        text = f"import socket; socket.create_connection({server.getsockname()})"
        (harness.session.cwd / "reach.py").write_text(text)
        for rule in ("bash: python3 reach.py", "net: git.example.invalid:22"):
            harness.session.permissions.rules.add_allow_rule(rule)
        asked = await questions_asked(harness, ApprovalReply(is_allowed=False))
        assert len(asked) == 1
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_a_call_that_was_let_run_with_a_group_reaches_its_hosts_unasked(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, say("ok"), mode="auto-edit", asks="none")
    hosts = parts_of(harness.session).permission_gate.boxes.hosts
    assert hosts is not None
    name = hosts.register_caller("c", "pip install thing", frozenset(hosts_in_host_group("python packages")))
    assert await hosts.decide_connection("pypi.org", 443, name)
    assert not await hosts.decide_connection("evil.example", 443, name)
    assert not await hosts.decide_connection("pypi.org", 443, hosts.register_caller("d", "python x.py"))
    assert hosts.end_caller(name) == ("evil.example:443",)


async def test_the_name_of_a_command_that_has_ended_reaches_no_host_unasked(tmp_path: Path) -> None:
    harness = gated_session(tmp_path, say("ok"), mode="auto-edit")
    hosts = parts_of(harness.session).permission_gate.boxes.hosts
    assert hosts is not None
    answers = [True, False, True, False]

    def answer(event: Any) -> None:
        if isinstance(event, QuestionAsked):
            event.answer.set_result(ApprovalReply(is_allowed=answers.pop(0)))

    harness.session.subscribe(answer)
    for name in (hosts.register_caller("c", "pip install x", frozenset({"granted.example:443"})), ""):
        assert name == "" or await hosts.decide_connection("granted.example", 443, name)
        assert await hosts.decide_connection("once.example", 443, name)
        assert await hosts.decide_connection("once.example", 443, name)
        hosts.end_caller(name or hosts.register_caller("d", "another command"))
        assert not await hosts.decide_connection("once.example", 443, name)
        hosts.end_caller("")
    assert answers == []


async def test_a_command_asks_again_for_a_host_that_an_earlier_one_was_allowed(tmp_path: Path) -> None:
    skip_below("namespaces")
    later = (
        "import urllib.request as r; p = open('name').read().strip(); "
        "r.build_opener(r.ProxyHandler({'https': p})).open('https://once.example.invalid/')"
    )
    harness = gated_session(
        tmp_path,
        call("bash", command="echo $HTTPS_PROXY > name; curl -s https://once.example.invalid/"),
        call("bash", command=f'python3 -c "{later}"'),
        say("ok"),
        mode="auto-edit",
    )
    asked = await questions_asked(harness, ApprovalReply(is_allowed=True), ApprovalReply(is_allowed=False))
    assert [event.approval.tool_name for event in asked if event.approval] == ["bash", "network"]
    assert (harness.session.cwd / "name").read_text().startswith("http://bayou:")


async def test_an_allow_rule_written_while_a_host_is_asked_about_takes_the_question_back(
    tmp_path: Path,
) -> None:
    harness = gated_session(tmp_path, say("ok"), mode="auto-edit")
    hosts = parts_of(harness.session).permission_gate.boxes.hosts
    assert hosts is not None

    def allow(event: Any) -> None:
        if isinstance(event, QuestionAsked):
            harness.effective_settings.set("permissions.allow", ("net: late.example",))

    harness.session.subscribe(allow)
    assert await hosts.decide_connection("late.example", 443, hosts.register_caller("c", "python x.py"))
    assert [(one["tool"], one["decision"]) for one in decisions(harness)] == [("network", "run")]


def test_a_group_is_its_hosts_and_no_others() -> None:
    rule = parse_permit_rule("net: python packages", "allow", "user")
    assert isinstance(rule, PermitRule)
    for host, fits in (
        ("pypi.org:443", True),
        ("pypi.org:80", True),
        ("pypi.org:8080", False),
        ("evil.org:443", False),
    ):
        part = ToolCallPart(text="x", risk="contained", why="", named_hosts=(host,), uses_network=True)
        assert (
            permit_rule_matches(
                rule, part, "network", CommandPlace(workspace="/w", working_folder="/w", home_folder="/h")
            )
            is fits
        )
    assert not rule_names_host(rule, "pypi.org", 443), "its names may not lead to this machine"
    assert "groups python packages" in str(parse_permit_rule("net: snake packages", "allow", "user"))


async def test_a_rule_answers_and_a_killed_network_is_replaced(tmp_path: Path) -> None:
    skip_below("namespaces")
    harness: Any = gated_session(tmp_path, call("bash", command=LOOK), say("ok"), mode="auto-edit")
    harness.session.permissions.rules.add_allow_rule("net: unknown.example.invalid:80")
    assert await questions_asked(harness) == []
    assert "502" in results(harness)[0] or "Bad Gateway" in results(harness)[0], "let through, and not there"
