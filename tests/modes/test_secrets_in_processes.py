"""No secret leaves a whole process: not over RPC, not as JSON lines, not into the session's file or an export."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient, RpcError
from tests.masking.examples import PRIVATE_KEY, SHAPED, random_text
from tests.modes.processes import lines_until, put, start
from tests.support import warm_bayou

TOKEN = SHAPED["github-token"]
OWN = random_text(40, 8)
MINE = random_text(32, 9)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".env").write_text(f"API_TOKEN={OWN}\nDB_PASSWORD=hunter2\nPORT=3000\n")
    (folder / "out.txt").write_text(
        f"one {TOKEN}\ntwo {OWN}\nthree {MINE}\n{PRIVATE_KEY}four DB_PASSWORD=hunter2\n"
    )
    monkeypatch.setenv("SERVICE_TOKEN", MINE)
    return folder


def clean(text: str) -> bool:
    return not any(one in text for one in (TOKEN, OWN, MINE, "hunter2", PRIVATE_KEY.splitlines()[3]))


async def said(client: RpcClient, text: str) -> None:
    settled = asyncio.Event()
    leave = client.on_event(lambda data: settled.set() if data["type"] == "agent_settled" else None)
    await client.prompt(text)
    await asyncio.wait_for(settled.wait(), 60)
    leave()


async def test_over_rpc(project: Path) -> None:
    seen: list[Any] = []
    async with RpcClient(cwd=project) as client:
        client.on_event(seen.append)
        await said(client, "run cat out.txt")
        await said(client, "run for i in 1 2 3; do cat out.txt; sleep 0.2; done")
        shown = await client.bash("cat out.txt")
        written = await client.bash("sed -n 3p out.txt | cut -c7- | od -An -v -tx1 | tr -d '\\n' | tr ' ' %")
        assert re.fullmatch(r"\[secret:SERVICE_TOKEN:\w+\]%0a", written["output"])
        await said(client, f"say {TOKEN}")
        secrets = await client.get_secrets()
        state = await client.get_state()
        page = Path(await client.export_html("page.html"))
        assert clean(str(seen)) and clean(shown["output"]) and clean(page.read_text())
        assert {one["kind"] for one in secrets} >= {
            "github-token",
            "API_TOKEN",
            "SERVICE_TOKEN",
            "private-key",
        }
        assert any("your prompt masked" in str(data.get("text")) for data in seen if data["type"] == "notice")
        assert clean(Path(state.get("sessionFile", "")).read_text())

        token = next(one for one in secrets if one["kind"] == "github-token")
        await client.call_no_secret(token["digest"])
        assert TOKEN in (await client.bash("cat out.txt"))["output"]
        with pytest.raises(RpcError, match="no masked secret"):
            await client.call_no_secret("0123456789")


async def test_a_prompt_is_sent_as_it_is_when_it_says_so(project: Path) -> None:
    process = await start(project, "--no-session")
    put(process, id="1", type="prompt", message=f"say {TOKEN}", asItIs=True)
    lines = await lines_until(process, type="agent_settled")
    assert TOKEN in json.dumps(lines)
    put(process, id="2", type="prompt", message=f"say {OWN}")
    assert OWN not in json.dumps(await lines_until(process, type="agent_settled"))
    put(process, id="3", type="unmask")
    assert OWN in json.dumps(await lines_until(process, type="agent_settled"))
    put(process, id="4", type="unmask")
    answer = (await lines_until(process, type="response", id="4"))[-1]
    assert answer["success"] is False and "No prompt of this session was masked" in answer["error"]
    process.kill()
    await process.wait()


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json", "-p")])
def test_in_print_and_json(project: Path, mode: tuple[str, ...]) -> None:
    done = warm_bayou.run(*mode, f"run cat out.txt; echo {TOKEN}", cwd=project)
    assert "[secret:" in done.stdout
    assert clean(done.stdout) and clean(done.stderr)
    assert "your prompt masked" in done.stderr + done.stdout


def test_an_export_of_an_older_session(project: Path, tmp_path: Path) -> None:
    lines = [
        {"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": str(project)},
        {"type": "message", "id": "aaaaaaaa", "parentId": None, "timestamp": "2025-01-01T00:00:00.000Z",
         "message": {"role": "user", "content": f"{TOKEN} and `{OWN}`\n{PRIVATE_KEY}", "timestamp": 1}},
    ]  # fmt: skip
    old = tmp_path / "old.jsonl"
    old.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for ending in ("html", "md", "jsonl"):
        target = tmp_path / f"out.{ending}"
        done = warm_bayou.run("--export", str(old), str(target), cwd=project)
        assert done.returncode == 0, done.stderr
        assert clean(target.read_text()) and "[secret:" in target.read_text()
