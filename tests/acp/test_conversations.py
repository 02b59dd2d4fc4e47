"""A conversation over ACP: sessions, prompts, what the client is shown, and how a turn ends."""

import asyncio
from pathlib import Path

import pytest

from tests.acp.peers import AcpError, bayou, scripted_client


async def test_a_session_is_made_asked_and_answers_in_pieces(tmp_path: Path) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        assert await client.prompt(session, "words 300") == "end_turn"
        assert client.text().split() == [f"word{index}" for index in range(300)]
        assert len({one["messageId"] for one in client.of("agent_message_chunk")}) == 1
        assert client.of("usage_update")[-1]["used"] > 0
        assert client.of("available_commands_update")
        assert await client.close() == 0


async def test_a_tool_call_goes_from_pending_to_completed_with_its_file_and_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('hello')\n")
    async with bayou() as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await client.prompt(session, "read a.py") == "end_turn"
        [begun] = client.of("tool_call")
        states = [begun, *client.of("tool_call_update")]
        assert [one["status"] for one in states] == ["pending", "pending", "in_progress", "completed"]
        assert (begun["kind"], states[-1]["title"]) == ("read", "read a.py")
        assert states[-1]["locations"] == [{"path": str(tmp_path / "a.py")}]
        assert "print('hello')" in states[-1]["content"][0]["content"]["text"]


async def test_a_cancelled_prompt_is_answered_as_cancelled_and_the_session_goes_on(tmp_path: Path) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        waiting = asyncio.ensure_future(client.prompt(session, "hang"))
        await client.until(lambda: "I begin." in client.text())
        client.notify("session/cancel", sessionId=session)
        assert await waiting == "cancelled"
        assert await client.prompt(session, "and on") == "end_turn"
        assert client.text().endswith("and on")


async def test_a_failed_answer_is_an_error_with_the_providers_words(tmp_path: Path) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        with pytest.raises(AcpError) as failed:
            await client.prompt(session, "fail-here")
        assert failed.value.code == -32603
        assert "The provider is overloaded." in failed.value.data["reason"]
        assert await client.prompt(session, "again") == "end_turn"


async def test_an_answer_that_was_cut_off_says_so(tmp_path: Path) -> None:
    async with scripted_client() as client:
        assert await client.prompt(await client.new(tmp_path), "cut") == "max_tokens"


async def test_a_second_prompt_waits_behind_the_first_and_each_has_its_own_end(tmp_path: Path) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        order: list[str] = []

        async def ask(words: str) -> None:
            assert await client.prompt(session, words) == "end_turn"
            order.append(words)

        first, second = asyncio.ensure_future(ask("words 2000")), asyncio.ensure_future(ask("second"))
        await first
        await second
        assert order == ["words 2000", "second"]
        assert client.text().endswith("second")


async def test_cancelling_answers_what_was_queued_too_and_drops_it(tmp_path: Path) -> None:
    async with scripted_client() as client:
        session = await client.new(tmp_path)
        first, second = (
            asyncio.ensure_future(client.prompt(session, "hang")),
            asyncio.ensure_future(client.prompt(session, "second")),
        )
        await client.until(lambda: "I begin." in client.text())
        client.notify("session/cancel", sessionId=session)
        assert (await first, await second) == ("cancelled", "cancelled")
        assert await client.prompt(session, "third") == "end_turn"
        assert "second" not in client.text()
