"""Sessions over ACP are the files of the terminal: listed, loaded with their history, resumed, forked and deleted."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acp.peers import AcpClient, AcpError, bayou, choosing
from tests.support.warm_bayou import BAYOU


async def history(client: AcpClient, session: str, cwd: Path) -> list[Mapping[str, Any]]:
    """The updates that `session/load` sends before it is answered."""
    client.updates.clear()
    await client.call("session/load", sessionId=session, cwd=str(cwd), mcpServers=[])
    return client.told_before


async def continued(session: str, cwd: Path) -> tuple[int | None, str]:
    """Continues a session in print mode; returns the exit code, and what is wrong."""
    process = await asyncio.create_subprocess_exec(
        *BAYOU, "--session", session, "-p", "read a.txt", cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, problem = await process.communicate()
    return process.returncode, "" if process.returncode == 0 else problem.decode()


async def test_a_session_is_listed_closed_loaded_forked_and_deleted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with bayou(answer=choosing("Allow once")) as client:
        capabilities = (await client.initialize())["agentCapabilities"]
        session = await client.new(tmp_path)
        await client.prompt(session, "change one to two in a.txt")
        assert (tmp_path / "a.txt").read_text() == "two\n"
        [diff] = [
            part
            for update in client.of("tool_call_update")
            for part in update.get("content", ())
            if part["type"] == "diff"
        ]
        assert (diff["path"], diff["oldText"], diff["newText"]) == (str(tmp_path / "a.txt"), "one\n", "two\n")

        assert set(capabilities["sessionCapabilities"]) == {
            *("list", "resume", "fork", "close", "delete", "additionalDirectories"),
        }
        [listed] = (await client.call("session/list", cwd=str(tmp_path)))["sessions"]
        assert (listed["sessionId"], listed["cwd"]) == (session, str(tmp_path))
        assert "change one to two" in listed["title"]

        await client.call("session/close", sessionId=session)
        with pytest.raises(AcpError, match="is not open"):
            await client.prompt(session, "hello")
        shown = await history(client, session, tmp_path)
        assert shown[0] == {
            "sessionUpdate": "user_message_chunk",
            "content": {"type": "text", "text": "change one to two in a.txt"},
            "messageId": shown[0]["messageId"],
        }
        assert diff in [part for one in client.of("tool_call") for part in one["content"]]
        await client.call("session/close", sessionId=session)
        assert await history(client, session, tmp_path) == shown, "byte for byte"

        client.updates.clear()
        await client.call("session/close", sessionId=session)
        await client.call("session/resume", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert client.of("user_message_chunk") == [], "without its history"
        forked = await client.call("session/fork", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert await client.prompt(forked["sessionId"], "read a.txt") == "end_turn"
        assert len((await client.call("session/list"))["sessions"]) == 2
        await client.call("session/delete", sessionId=forked["sessionId"])
        assert [one["sessionId"] for one in (await client.call("session/list"))["sessions"]] == [session]
        with pytest.raises(AcpError, match="there is no session"):
            await client.call("session/delete", sessionId=forked["sessionId"])

        # another program goes on with it, but not while it is open here
        code, problem = await continued(session, tmp_path)
        assert code != 0 and "is writing to this session" in problem
        async with bayou() as other:
            await other.initialize()
            with pytest.raises(AcpError, match="open elsewhere: process") as refused:
                await other.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
            assert "session/fork" in refused.value.data["details"]
        for state in ("open", "closed"):
            with pytest.raises(AcpError, match=f"belongs to the folder {tmp_path}, not to /") as refused:
                await client.call("session/load", sessionId=session, cwd="/", mcpServers=[])
            assert "session/fork" in refused.value.data["details"], state
            if state == "open":
                await client.call("session/close", sessionId=session)
        assert await continued(session, tmp_path) == (0, "")
        assert len(await history(client, session, tmp_path)) > len(shown)


async def test_options_modes_and_commands_change_the_session_and_are_told(tmp_path: Path) -> None:
    async with bayou() as client:
        await client.initialize()
        begun = await client.call("session/new", cwd=str(tmp_path), mcpServers=[])
        session = begun["sessionId"]
        assert [one["id"] for one in begun["configOptions"]][:2] == ["mode", "model"]
        assert begun["modes"]["currentModeId"] == "ask"
        answer = await client.call(
            "session/set_config_option", sessionId=session, configId="mode", value="read-only"
        )
        assert answer["configOptions"][0]["currentValue"] == "read-only"
        await client.call("session/set_mode", sessionId=session, modeId="plan")
        await client.until(
            lambda: (
                client.of("current_mode_update")
                and client.of("current_mode_update")[-1]["currentModeId"] == "plan"
            )
        )
        await client.call("session/set_mode", sessionId=session, modeId="full")
        assert await client.prompt(session, "run echo hello") == "end_turn"
        assert "hello" in str(client.of("tool_call_update")[-1]["content"])
        for wrong in ({"configId": "mode", "value": "none"}, {"configId": "none", "value": "x"}):
            with pytest.raises(AcpError, match="there is no"):
                await client.call("session/set_config_option", sessionId=session, **wrong)
        names = [one["name"] for one in client.of("available_commands_update")[-1]["availableCommands"]]
        assert {"compact", "model", "session", "mcp"} <= set(names)
        assert await client.prompt(session, "/name A name") == "end_turn"
        assert client.of("session_info_update")[-1]["title"] == "A name"
        assert await client.prompt(session, "/session") == "end_turn"
        assert f"Session: {session}" in client.text()


async def test_a_goal_is_worked_on_until_its_check_passes(tmp_path: Path) -> None:
    async with bayou() as client:
        await client.initialize()
        session = (await client.call("session/new", cwd=str(tmp_path), mcpServers=[]))["sessionId"]
        await client.call("session/set_mode", sessionId=session, modeId="full")
        assert await client.prompt(session, "/goal nothing to check") == "end_turn"
        assert "A goal needs a check" in client.text()
        assert await client.prompt(session, "/goal run touch made check: test -e made") == "end_turn"
        assert "Goal met.\n✓ test -e made (exit 0" in client.text()
        assert await client.prompt(session, "/goal") == "end_turn"
        assert "Goal met at " in client.text()


async def test_additional_directories_are_folders_of_the_session(tmp_path: Path) -> None:
    work, library = tmp_path / "work", tmp_path / "library"
    for folder in (work, library):
        folder.mkdir()
    (library / "a.txt").write_text("one\n")
    async with bayou(answer=choosing("Allow once")) as client:
        await client.initialize()
        made = await client.call(
            "session/new", cwd=str(work), mcpServers=[], additionalDirectories=[str(library)]
        )
        await client.call("session/close", sessionId=made["sessionId"])
        with pytest.raises(AcpError, match="not a folder"):
            await client.call(
                "session/new", cwd=str(work), mcpServers=[], additionalDirectories=[str(library / "a.txt")]
            )
        with pytest.raises(AcpError, match="contains the session's folder"):
            await client.call(
                "session/new", cwd=str(work), mcpServers=[], additionalDirectories=[str(tmp_path)]
            )
