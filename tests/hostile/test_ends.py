"""Ends and crowds: a signal in RPC, and a hundred commands at once."""

import asyncio
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.hostile.setups import MODEL, piece, use_model_at
from tests.modes.processes import COLD_RPC, lines_until, put, start
from tests.providers.loopback import Reply, loopback, sse
from tests.tools.conftest import ToolCaller
from tools.session_workspace import SessionWorkspace

TRIES = 4
"""A busy machine spoils one; the best of them counts."""


@pytest.mark.parametrize("what", ["nothing", "an answer", "a command"])
async def test_sigterm_ends_rpc_without_waiting_for_a_limit(tmp_path: Path, what: str):
    taken: list[float] = []
    async with loopback() as server:
        use_model_at(server)
        server.reply(Reply(body=(sse(piece("I begin.")),), then_hang=True))
        for _ in range(TRIES):
            process = await start(tmp_path, *MODEL, "--no-session", command=COLD_RPC)
            if what == "an answer":
                put(process, type="prompt", message="Say it")
                await lines_until(process, type="message_update")
            elif what == "a command":
                put(process, type="bash", command="echo up; sleep 100")
                await lines_until(process, type="bash_execution_update")
            else:
                put(process, type="get_state")
                await lines_until(process, command="get_state")
            began = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 143
            taken.append(time.perf_counter() - began)
    assert min(taken) < 1.0, "the shortest limit that could be waited for"


async def test_a_hundred_commands_at_once_cost_little_more_than_their_shells(tmp_path: Path):
    workspace = SessionWorkspace(tmp_path)
    hands = ToolCaller(workspace)
    await hands("bash", command="true")
    ratios: list[float] = []
    for _ in range(TRIES):
        began = time.perf_counter()
        await asyncio.to_thread(a_hundred_shells)
        bare = time.perf_counter() - began
        began = time.perf_counter()
        texts = await asyncio.gather(*(hands.text("bash", command=f"echo {n}") for n in range(100)))
        ratios.append((time.perf_counter() - began) / bare)
        assert texts == [str(number) for number in range(100)]
    assert min(ratios) < 6
    workspace.close()


def a_hundred_shells() -> None:
    shells = [subprocess.Popen(["bash", "-c", f"echo {n}"], stdout=subprocess.DEVNULL) for n in range(100)]
    for shell in shells:
        shell.wait()
