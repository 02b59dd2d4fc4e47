"""Questions beside the run, and what a new session is handed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.engine.models.side_question import NoSideQuestionAnswer, omit_unanswered_tool_calls
from app.providers.scripted import call, fail, say
from app.values.content import Text, ToolCall
from app.values.entries import UsageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, user_message
from tests.agent.scripted_loop import plain, tool
from tests.engine.scripted_session import ScriptedSession
from tools.tool_definition import ToolContext
from tools.tool_result_values import ToolResult, text_result


async def test_a_question_and_its_answer_enter_nothing(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path, say("The oars are two."), say("Because of the race."), say("Four now.")
    )
    await harness.prompt("count the oars")
    before, count = harness.session.messages, len(harness.events)
    heard: list[str] = []
    assert (
        await harness.session.side_questions.ask_side_question("why four?", heard.append)
        == "Because of the race."
    )
    assert "".join(heard) == "Because of the race."
    assert harness.session.messages == before
    assert len(harness.events) == count + 1  # what it cost
    asked = [plain(message) for message in harness.script.received_contexts[1].messages]
    assert asked[:2] == ["count the oars", "The oars are two."]
    assert asked[2].endswith("\n\nwhy four?")
    await harness.prompt("go on")
    assert [plain(message) for message in harness.script.received_contexts[2].messages] == [
        "count the oars",
        "The oars are two.",
        "go on",
    ]


async def test_its_cost_is_kept_and_counted(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("One."), say("Two."))
    await harness.prompt("go")
    before = harness.session.stats.usage.output
    await harness.session.side_questions.ask_side_question("really?")
    entry = harness.session.log.entries[-1]
    assert isinstance(entry, UsageEntry) and entry.kind == "beside"
    assert harness.session.stats.usage.output == before + entry.usage.output > before


async def test_it_is_asked_while_a_tool_runs(tmp_path: Path) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def waits(arguments: Any, context: ToolContext) -> ToolResult:
        begun.set()
        await done.wait()
        return text_result("ok")

    harness = ScriptedSession(
        tmp_path, call("slow"), say("Beside."), say("Done."), tools=[tool("slow", waits)]
    )
    await harness.session.prompt("go")
    async with asyncio.timeout(10):
        await begun.wait()
    assert await harness.session.side_questions.ask_side_question("how long?") == "Beside."
    asked = harness.script.received_contexts[1].messages
    assert len(asked) == 2 and plain(asked[0]) == "go"
    done.set()
    await harness.session.wait_until_idle()
    assert plain(harness.session.messages[-1]) == "Done."


async def test_what_cannot_be_answered_is_reported(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("Hm."), fail("overloaded"), call("read", path="a"))
    await harness.prompt("go")
    with pytest.raises(NoSideQuestionAnswer, match="overloaded"):
        await harness.session.side_questions.ask_side_question("why?")
    with pytest.raises(NoSideQuestionAnswer, match="tried to call tools"):
        await harness.session.side_questions.ask_side_question("why?")
    with pytest.raises(NoSideQuestionAnswer, match="There is no question"):
        await harness.session.side_questions.ask_side_question("  ")


async def test_cancelling_stops_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = ScriptedSession(tmp_path, say("So", gate=gate))
    begun = asyncio.Event()
    asking = asyncio.ensure_future(
        harness.session.side_questions.ask_side_question("why?", lambda text: begun.set())
    )
    async with asyncio.timeout(10):
        await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_the_handoff_prompt_is_written_for_its_goal(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path, say("The oars are two."), say("Give every boat four oars: boats/fleet.py.")
    )
    with pytest.raises(NoSideQuestionAnswer, match="no messages to hand over"):
        await harness.session.side_questions.draft_handoff("four oars")
    await harness.prompt("count the oars")
    with pytest.raises(NoSideQuestionAnswer, match="There is no goal"):
        await harness.session.side_questions.draft_handoff(" ")
    assert (
        await harness.session.side_questions.draft_handoff("four oars")
        == "Give every boat four oars: boats/fleet.py."
    )
    assert plain(harness.script.received_contexts[1].messages[-1]).endswith("Goal: four oars")


async def test_secrets_in_what_is_asked_beside_the_work_stay_here(tmp_path: Path) -> None:
    key = "ghp_" + "Ab3d" * 9
    harness = ScriptedSession(tmp_path, say("Two. " * 4_000), say("Yes."), say("Begin."), say("Summary."))
    await harness.prompt("count the oars")
    await harness.session.side_questions.ask_side_question(f"is {key} one of them?", lambda text: None)
    await harness.session.side_questions.draft_handoff(f"publish with {key}", lambda text: None)
    harness.effective_settings.set("compaction.keepRecentTokens", 1)
    await harness.session.compaction.compact(f"keep {key}")
    asked = [plain(context.messages[-1]) for context in harness.script.received_contexts[1:]]
    assert len(asked) == 3
    assert all("[secret:github-token:" in text and key not in text for text in asked)


def test_calls_without_results_are_left_out():
    def asks(*ids: str) -> AssistantMessage:
        return AssistantMessage(content=tuple(ToolCall(id=one, name="x", arguments={}) for one in ids))

    def result(call_id: str) -> ToolResultMessage:
        return ToolResultMessage(tool_call_id=call_id, tool_name="x", content=(Text(text="r"),))

    begun = [user_message("a"), asks("1"), result("1")]
    assert omit_unanswered_tool_calls(begun) == begun
    assert omit_unanswered_tool_calls([*begun, asks("2", "3"), result("2")]) == begun
    assert omit_unanswered_tool_calls([]) == []
