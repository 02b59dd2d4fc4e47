"""The thinking level that bayou is started with: kept with the session, and stronger than what the session says."""

import json
from pathlib import Path

from bayou.client import RpcClient
from bayou.values import MessageEntry, ThinkingLevelChangeEntry
from tests.modes.processes import STAGE, write_settings
from tests.modes.test_print_and_json import bayou


async def level(cwd: Path, *arguments: str) -> str:
    async with RpcClient(cwd=cwd, arguments=["-e", STAGE, *arguments]) as client:
        return (await client.get_state())["thinkingLevel"]


async def test_a_level_given_at_start_survives_a_resume(tmp_path: Path) -> None:
    await bayou("-p", "-e", STAGE, "--thinking", "high", "one", cwd=tmp_path)
    assert await level(tmp_path, "-c") == "high"
    write_settings({"defaultThinkingLevel": "low"})
    assert await level(tmp_path, "-c") == "high"
    assert await level(tmp_path) == "low"


async def test_a_level_given_for_a_resumed_session_counts_and_is_kept(tmp_path: Path) -> None:
    await bayou("-p", "-e", STAGE, "--thinking", "high", "one", cwd=tmp_path)
    assert await level(tmp_path, "-c", "--thinking", "low") == "low"
    await bayou("-p", "-c", "-e", STAGE, "--thinking", "low", "two", cwd=tmp_path)
    assert await level(tmp_path, "-c") == "low"


async def test_an_unrequested_level_is_not_saved(tmp_path: Path) -> None:
    await bayou("-p", "-e", STAGE, "one", cwd=tmp_path)
    write_settings({"defaultThinkingLevel": "low"})
    assert await level(tmp_path, "-c") == "low"


async def test_it_stands_before_the_first_message(tmp_path: Path) -> None:
    done = await bayou("--mode", "json", "-e", STAGE, "--thinking", "high", "one", cwd=tmp_path)
    async with RpcClient(cwd=tmp_path, arguments=["-c", "-e", STAGE]) as client:
        entries = (await client.get_entries())["entries"]
    kinds = [type(entry) for entry in entries]
    assert kinds.index(ThinkingLevelChangeEntry) < kinds.index(MessageEntry)
    assert json.loads(done.out.splitlines()[0])["type"] == "session"
