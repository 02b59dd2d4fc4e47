"""Of the sender's library only the parts that send are loaded, and whoever wants the rest of it gets it."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from app.providers.senders import http_library
from app.providers.senders.choice import close_connections
from tests.providers.loopback import Loopback, Reply
from tests.providers.wires import ANSWERS, ask, model_for

ROOT = Path(__file__).parents[2]
API = "openai-completions"
UNNEEDED = (
    "anyio._core",
    "anyio._backends",
    "csv",
    "email.parser",
    "httpcore2._async.http_proxy",
    "httpcore2._async.socks_proxy",
    "httpcore2._backends.anyio",
    "httpcore2._backends.mock",
    "httpcore2._sync",
    "importlib.metadata",
    "socksio",
    "zipfile",
)
SENT = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from app.providers.senders.http import fetch
from app.providers.contract import StreamOptions
from app.providers.transport import HttpRequest
from app.values.models import Model
async def send():
    request = HttpRequest(base_url=sys.argv[2], path="/", body=b"", method="GET")
    return await fetch(request, StreamOptions())
print(asyncio.run(send())[0])
print(*sys.modules)
"""
WHOLE = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from app.providers.senders import http_library
import httpcore2
assert type(httpcore2) is not type(sys)
found = []
def ask():
    found.append((httpcore2.ConnectionPool.__module__, httpcore2.AsyncSOCKSProxy, httpcore2.__version__))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert type(httpcore2) is type(sys)
assert httpcore2.AsyncConnectionPool is http_library.AsyncConnectionPool
assert httpcore2.ReadError is http_library.ReadError
print(len(set(found)), *found[0][::2])
"""


async def test_a_request_loads_the_parts_that_send(server: Loopback, tmp_path: Path):

    server.reply(Reply(body=b"there"))
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", SENT, str(ROOT), server.url),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, complaint = await program.communicate()
    assert program.returncode == 0, complaint.decode()
    status, loaded = out.decode().split("\n")[:2]
    assert status == "200"
    names = loaded.split()
    assert [
        name
        for name in names
        if any(name == unneeded or name.startswith(f"{unneeded}.") for unneeded in UNNEEDED)
    ] == []


def test_the_whole_package_is_there_for_whoever_asks_from_any_thread(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", WHOLE, str(ROOT)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    count, module, version = done.stdout.split()
    assert (count, module) == ("1", "httpcore2")
    assert version.split(".")[0].isdigit()


@pytest.mark.parametrize("first", ["ours", "theirs"])
async def test_both_ways_of_sending_live_in_one_process(first: str, server: Loopback):
    server.reply(Reply(body=ANSWERS[API]()))
    for turn in range(4):
        if (turn % 2 == 0) is (first == "ours"):
            assert (await ask(model_for(API, server.url))).stop_reason == "toolUse"
        else:
            async with httpx2.AsyncClient(trust_env=False) as client:
                assert (await client.get(server.url)).status_code == 200
    await close_connections()


def test_nothing_else_of_anyio_is_wanted_where_asyncio_stands_in():
    module = sys.modules["httpcore2._synchronization"]
    assert module.__file__ is not None
    wanted = {
        node.attr
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "anyio"
    }
    for_http2 = {"Semaphore", "WouldBlock"}
    assert wanted - for_http2 == {*http_library.OWN, "fail_after"}
