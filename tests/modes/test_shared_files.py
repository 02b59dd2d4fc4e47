"""Files that people wrote for Claude Code, in whole processes: commands, skills, imports and nested instructions."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bayou.client import RpcClient, RpcError
from bayou.values import text_of
from tests.modes.processes import CALLS

ARGUMENTS = ["-e", CALLS, "--approve", "--permissions"]


def write(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def messages_of(client: RpcClient, prompt: str) -> list[Any]:
    """The messages that come of a prompt."""
    idle = asyncio.Event()
    leave = client.on_event(lambda data: idle.set() if data["type"] == "agent_settled" else None)
    before = len(await client.get_messages())
    await client.prompt(prompt)
    await asyncio.wait_for(idle.wait(), 60)
    leave()
    return list(await client.get_messages())[before:]


async def test_a_command_runs_its_shell_parts_reads_its_files_and_limits_its_run(tmp_path: Path) -> None:
    calls = json.dumps(
        [["bash", {"command": "echo $1"}], ["write", {"path": "no.txt", "content": "x"}], ["ls", {}]]
    )
    body = f"---\nallowed-tools: Bash(echo:*)\n---\n{calls}"
    write(tmp_path, ".claude/commands/web/greet.md", body)
    write(tmp_path, ".claude/commands/look.md", 'Branch !`printf "<%s>" "$1"`, style @style.md, $2')
    write(tmp_path, "style.md", "Use tabs.")
    async with RpcClient(cwd=tmp_path, arguments=[*ARGUMENTS, "full"]) as client:
        results = [
            text_of(one.content).strip()
            for one in await messages_of(client, "/web:greet hello")
            if type(one).__name__ == "ToolResultMessage"
        ]
        assert results[0] == "hello"
        assert results[1] == "/web:greet allows only Bash(echo:*) in this run"
        assert "style.md" in results[2]
        assert not (tmp_path / "no.txt").exists()
        (told,) = [
            text_of(one.content)
            for one in await messages_of(client, "/look '; touch hacked' fine")
            if type(one).__name__ == "UserMessage"
        ]
    assert told.startswith('Branch <; touch hacked>, style @style.md, fine\n\n<file path="style.md">')
    assert "Use tabs." in told
    assert not (tmp_path / "hacked").exists()


async def test_a_shell_part_that_permissions_refuse_sends_nothing(tmp_path: Path) -> None:
    write(tmp_path, ".claude/commands/push.md", "Now: !`git push origin main`")

    async def refuse(data: Any) -> None:
        return None

    arguments = [*ARGUMENTS, "ask"]
    async with RpcClient(cwd=tmp_path, arguments=arguments, answer_question=refuse) as client:
        before = await client.get_messages()
        with pytest.raises(RpcError, match="/push was not sent"):
            await client.prompt("/push")
        assert await client.get_messages() == before


async def test_skills_and_instructions_reach_the_model(tmp_path: Path) -> None:
    for name in ("notes", "style"):
        text = f"---\nname: {name}\ndescription: About {name}.\n---\nBody of {name}."
        write(tmp_path, f".claude/skills/{name}/SKILL.md", text)
    write(tmp_path, "CLAUDE.md", "See @docs/tone.md")
    write(tmp_path, "docs/tone.md", "Be kind.")
    write(tmp_path, "web/AGENTS.md", "Use tabs.")
    async with RpcClient(cwd=tmp_path, arguments=[*ARGUMENTS, "full"]) as client:
        calls = json.dumps([["write", {"path": "web/a.ts", "content": "x"}]])
        messages = await messages_of(client, calls)
        assert "Be kind." in str((await client.get_messages())[0])
        assert "Use tabs." in str([one for one in messages if type(one).__name__ == "CustomMessage"])
        (prompt,) = [
            text_of(one.content)
            for one in await messages_of(client, "[] $style then $notes")
            if type(one).__name__ == "UserMessage"
        ]
    assert [prompt.index(text) > 0 for text in ("Body of style.", "Body of notes.", "[] $style")] == [
        True
    ] * 3
