"""Hooks of a project in whole processes: nothing before trust, and nothing that changed since."""

import asyncio
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.assembly.trust_prompt import TRUST_FOLDER_LABEL
from app.exit_codes import USAGE_ERROR
from bayou.client import RpcClient
from bayou.values import text_of
from tests.extensions.published_hooks import faults
from tests.modes.processes import CALLS, results_of
from tests.support.warm_bayou import BAYOU


def write_project(folder: Path) -> Path:
    script = folder / ".claude" / "hooks" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\ntouch ran\ngrep -q danger && echo 'too dangerous' >&2 && exit 2\nexit 0\n")
    script.chmod(0o755)
    guard = {"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh"}
    tell = {"type": "command", "command": "cat > told.json"}
    table = {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}], "Notification": [{"hooks": [tell]}]}
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": table}))
    return script


async def test_a_projects_hooks_run_after_trust_and_block_once_they_have_changed(tmp_path: Path) -> None:
    script = write_project(tmp_path)
    asked: list[Mapping[str, Any]] = []
    may_answer = asyncio.Event()

    async def answer(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if data["method"] != "select":
            return None
        asked.append(data)
        await may_answer.wait()
        return {"value": TRUST_FOLDER_LABEL}

    arguments = ["-e", CALLS, "--permissions", "full"]
    async with RpcClient(cwd=tmp_path, arguments=arguments, answer_question=answer) as client:
        (before,) = await results_of(client, ("bash", {"command": "echo danger"}))
        assert text_of(before.content).strip() == "danger"
        assert not (tmp_path / "ran").exists()
        may_answer.set()
        async with asyncio.timeout(60):
            while "PreToolUse" not in await listed(client):  # noqa: ASYNC110  (another process says it)
                await asyncio.sleep(0.1)
        blocked, fine = await results_of(
            client, ("bash", {"command": "echo danger"}), ("bash", {"command": "echo fine"})
        )
        assert text_of(blocked.content) == "Blocked by a hook: too dangerous"
        assert text_of(fine.content).strip() == "fine"
        script.write_text("#!/bin/sh\nexit 0\n")
        (changed,) = await results_of(client, ("bash", {"command": "echo danger"}))
        assert "have changed since you trusted it; /trust" in text_of(changed.content)
    question = asked[0]["title"]
    assert (
        "hook .claude/settings.json PreToolUse Bash: $CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh" in question
    )
    assert "hook .claude/hooks/guard.sh named by a hook" in question


async def listed(client: RpcClient) -> str:
    """What `/hooks` says."""
    said: list[str] = []
    leave = client.on_event(
        lambda data: said.append(data["message"]) if data.get("method") == "notify" else None
    )
    await client.prompt("/hooks")
    leave()
    return "\n".join(said)


async def test_a_waiting_approval_is_a_notification(tmp_path: Path) -> None:
    write_project(tmp_path)

    async def answer(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        while not (tmp_path / "told.json").exists():  # noqa: ASYNC110  (another process writes it)
            await asyncio.sleep(0.05)
        return None

    arguments = ["-e", CALLS, "--permissions", "ask", "--approve"]
    async with RpcClient(cwd=tmp_path, arguments=arguments, answer_question=answer) as client:
        await results_of(client, ("bash", {"command": "make fine"}))
        async with asyncio.timeout(60):
            while not re.search(r"2\. Notification +passed at", said := await listed(client)):  # noqa: ASYNC110  (another process says it)
                await asyncio.sleep(0.05)
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["hook_event_name"], told["notification_type"]) == ("Notification", "permission_prompt")
    assert faults(told) == []
    assert "make fine" in told["message"]
    assert re.search(r"s +\.claude/settings\.json +cat > told\.json", said)


async def test_a_refused_prompt_ends_print_mode_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / ".bayou").mkdir()
    hook = {"type": "command", "command": "echo 'not on a Friday' >&2; exit 2"}
    table = {"UserPromptSubmit": [{"hooks": [hook]}]}
    (tmp_path / ".bayou" / "settings.json").write_text(json.dumps({"hooks": table}))
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "-p", "hello", "--approve", "--offline",
        cwd=tmp_path, env=dict(os.environ), stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, errors = await process.communicate()
    assert "A hook blocked this prompt: not on a Friday" in errors.decode()
    assert (output, process.returncode) == (b"", USAGE_ERROR)
