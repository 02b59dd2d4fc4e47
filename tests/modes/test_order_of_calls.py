"""Calls of one answer begin in their order, and those that share a state keep it. In whole processes."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient
from bayou.values import text_of
from tests.modes.processes import CALLS, results_of, write_settings

HERE = Path(__file__).parent / "extensions"
ANSWERS = 15
CALLS_EACH = 5
FILE = "x" * 40_000
"""What a call says takes time to be looked through for secrets, and not every call's as long."""


async def answers(
    folder: Path, *calls: tuple[str, dict[str, Any]], options: Sequence[str] = ()
) -> list[list[str]]:
    """The texts of the results of each answer: these calls, made again and again in one session."""
    flags = ["-e", CALLS, "--permissions", "full", "--no-session", *options]
    async with RpcClient(cwd=folder, arguments=flags) as client:
        return [
            [text_of(one.content).strip() for one in await results_of(client, *calls)] for _ in range(ANSWERS)
        ]


def notes(name: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, {"number": number, "said": FILE[: 9_000 * (number % 3)]}) for number in range(CALLS_EACH)]


def out_of_order(found: list[list[str]]) -> int:
    """In how many answers a call began before one that was made earlier. Each result is `begun:made`."""
    return sum([text.partition(":")[2] for text in sorted(one, key=begun)] != made(one) for one in found)


def begun(text: str) -> int:
    return int(text.partition(":")[0])


def made(one: list[str]) -> list[str]:
    return sorted(text.partition(":")[2] for text in one)


async def test_calls_of_an_extension_begin_in_their_order(tmp_path: Path) -> None:
    found = await answers(tmp_path, *notes("note"), options=["-e", str(HERE / "order_tools.py")])
    assert out_of_order(found) == 0


@pytest.mark.parametrize("exposure", ["direct", "search"])
async def test_calls_to_one_server_arrive_in_their_order(tmp_path: Path, exposure: str) -> None:
    server = {"command": sys.executable, "args": [str(HERE / "order_server.py")], "exposure": exposure}
    write_settings({}).with_name("mcp.json").write_text(json.dumps({"mcpServers": {"order": server}}))
    calls = notes("mcp__order__note")
    if exposure == "search":
        calls = [("mcp_call", {"server": "order", "tool": "note", "arguments": one}) for _, one in calls]
    found = await answers(tmp_path, *calls)
    assert out_of_order(found) == 0


async def test_cells_of_one_answer_build_on_each_other(tmp_path: Path) -> None:
    cells = [
        ("eval", {"code": "n = 0"}),
        *(("eval", {"code": f"n = n * 10 + {n}; {FILE[: 9_000 * (n % 3)]!r}; n"}) for n in (1, 2, 3)),
    ]
    found = await answers(tmp_path, *cells)
    assert [one[-1] for one in found] == ["Out: 123"] * ANSWERS


async def test_commands_in_one_shell_build_on_each_other(tmp_path: Path) -> None:
    write_settings({"bash": {"persistentShell": True}})
    steps = [f"n=${{n}}{n} # {FILE[: 9_000 * (n % 3)]}" for n in (1, 2, 3)]
    calls = [("bash", {"command": one}) for one in ("n=", *steps, "echo $n")]
    found = await answers(tmp_path, *calls)
    assert [one[-1] for one in found] == ["123"] * ANSWERS


async def test_reads_of_one_answer_still_run_side_by_side(tmp_path: Path) -> None:
    """Two commands that wait for each other end only where both run at once."""
    (tmp_path / "a").write_text("a")
    wait = "while [ ! -e {} ]; do sleep 0.02; done"
    calls = [
        ("bash", {"command": f"touch one; {wait.format('two')}; echo met"}),
        ("bash", {"command": f"touch two; {wait.format('one')}; echo met"}),
    ]
    flags = ["-e", CALLS, "--permissions", "full", "--no-session"]
    async with RpcClient(cwd=tmp_path, arguments=flags) as client:
        found = await results_of(client, *calls)
    assert [text_of(one.content).strip() for one in found] == ["met", "met"]
