"""Whole bayou processes for the tests of this folder."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bayou.client import RpcClient
from tests.support.warm_bayou import BAYOU

STAGE = str(Path(__file__).parent / "extensions" / "stage.py")
COLD_RPC = (sys.executable, "-P", "-m", "app", "--mode", "rpc")
"""For what is read or set in the very process that was started."""


def write_settings(values: Mapping[str, Any]) -> Path:
    file = Path(os.environ["BAYOU_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(values))
    return file


@asynccontextmanager
async def scripted_client(cwd: Path, *arguments: str, **options: Any) -> AsyncIterator[RpcClient]:
    """With the model and the commands of `extensions/stage.py`."""
    async with RpcClient(cwd=cwd, arguments=["-e", STAGE, *arguments], **options) as client:
        yield client


async def start(
    cwd: Path, *arguments: str, command: Iterable[str] | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(command or (*BAYOU, "--mode", "rpc")), *arguments, cwd=cwd,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=256 * 1024 * 1024,
    )  # fmt: skip


async def lines_until(process: asyncio.subprocess.Process, **wanted: Any) -> list[dict[str, Any]]:
    """Everything that comes, until a line with these fields."""
    assert process.stdout is not None
    lines: list[dict[str, Any]] = []
    async with asyncio.timeout(30):
        while line := await process.stdout.readline():
            lines.append(json.loads(line))
            if wanted.items() <= lines[-1].items():
                return lines
    raise AssertionError(f"{wanted} did not come; the last line was {lines[-1:]}")


def put(process: asyncio.subprocess.Process, **fields: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(fields).encode() + b"\n")


CALLS = str(Path(__file__).parent / "extensions" / "calls.py")


async def results_of(
    client: RpcClient, *calls: tuple[str, Mapping[str, Any]], seconds: float = 60
) -> list[Any]:
    """The results, in the order of the calls, of one answer that makes these calls. With the model of `CALLS`."""
    idle = asyncio.Event()
    leave = client.on_event(lambda data: idle.set() if data["type"] == "agent_settled" else None)
    before = len(await client.get_messages())
    await client.prompt(json.dumps(calls))
    await asyncio.wait_for(idle.wait(), seconds)
    leave()
    messages = (await client.get_messages())[before:]
    return [one for one in messages if type(one).__name__ == "ToolResultMessage"]
