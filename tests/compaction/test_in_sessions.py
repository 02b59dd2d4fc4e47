"""Compaction in whole sessions: when it happens, what it leaves, who may stop it, and the way back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.agent.abort_signal import AbortSignal
from app.compaction.compaction_plan import CompactionPlan, NothingToCompact
from app.compaction.context_meter import ContextLimits
from app.compaction.summary_requests import SUMMARY_SYSTEM_PROMPT
from app.engine.context.summariser import SummaryCancelled
from app.engine.core.hook_results import CompactionOverride
from app.engine.core.hooks import Hooks
from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, ScriptedModel, call, fail, say
from app.sessions.session_log import SessionLog
from app.values.content import text_of
from app.values.entries import CompactionEntry, MessageEntry
from app.values.events import (
    CompactionEnd,
    CompactionProgress,
    CompactionResult,
    CompactionStart,
    Notice,
    SummarizationRetryScheduled,
)
from app.values.messages import CompactionSummaryMessage, Message, SystemMessage, ToolResultMessage
from tests.agent.scripted_loop import echo
from tests.engine.scripted_session import ScriptedSession
from tests.support.sessions import parts_of
from tools.builtin.write import make_write_tool

LONG = "many words " * 300
"""About 825 tokens."""

TWO_PARTS = (say("a summary"), say("and of the turn that is cut in two"))


class Model:
    """Answers prompts with long texts and requests for summaries with numbered ones."""

    def __init__(self, answer: ScriptedAnswer | None = None) -> None:
        self.answer = answer or say(LONG)
        self.summaries: list[str] = []
        self.prompts = 0

    def __call__(self, context: RequestContext, count: int) -> ScriptedAnswer:
        if context.system_prompt == SUMMARY_SYSTEM_PROMPT:
            self.summaries.append(text_of(context.messages[0].content))  # type: ignore[union-attr]
            return say(f"## Goal\nSummary {len(self.summaries)}")
        self.prompts += 1
        return self.answer


def play_of(
    folder: Path, *responses: Any, window: int = 4_000, keep: int = 500, **more: Any
) -> ScriptedSession:
    harness = ScriptedSession(folder, *responses, context_window=window, **more)
    harness.effective_settings.set("compaction.reserveTokens", 1_000)
    harness.effective_settings.set("compaction.keepRecentTokens", keep)
    return harness


def reasons(harness: ScriptedSession) -> list[str]:
    return [event.reason for event in harness.all(CompactionStart)]


def texts(messages: Sequence[Message]) -> list[str]:
    return [text_of(getattr(message, "content", "") or "") for message in messages]


def summary_of(harness: ScriptedSession) -> str:
    [message] = [one for one in harness.session.messages if isinstance(one, CompactionSummaryMessage)]
    return message.summary


async def test_five_compactions_then_resumed_then_back_before_the_first_and_on(tmp_path: Path) -> None:
    model = Model()
    writes = call("write", path="kept.md", content="") + say(LONG)
    responses = [writes, *([model] * 80)]
    harness = play_of(tmp_path, *responses, tools=[make_write_tool()])
    count = 0
    while len(harness.all(CompactionEnd)) < 5:
        count += 1
        await harness.prompt(f"prompt {count}")
        assert count < 40, "the window never filled"
    session = harness.session
    assert all(event.result is not None for event in harness.all(CompactionEnd))
    entries = [entry for entry in session.log.path_to() if isinstance(entry, CompactionEntry)]
    assert len(entries) == 5
    assert all("kept.md" in entry.summary for entry in entries), "a changed file is never forgotten"
    assert all(f"Summary {len(model.summaries)}" not in text for text in texts(session.messages)[:1])
    assert session.state.context_tokens < 4_000
    before, path = session.messages, session.log.path
    assert path is not None
    await session.close()

    again = play_of(tmp_path, *([model] * 20), log=SessionLog.open(path))
    assert again.session.messages == before, "what the model reads is the same from disk"
    await again.prompt("after resuming")
    first = entries[0]
    assert first.parent_id is not None
    await again.session.branches.go_to_entry(first.parent_id)
    assert not any(isinstance(message, CompactionSummaryMessage) for message in again.session.messages)
    assert "prompt 1" in texts(again.session.messages)
    await again.prompt("on from there")
    assert again.session.last_answer is not None
    assert again.session.last_answer.stop_reason == "stop"
    await again.session.close()


async def test_kept_messages_are_identical_after_compaction(tmp_path: Path) -> None:
    harness = play_of(tmp_path, *([Model()] * 4))
    await harness.prompt("one")
    await harness.prompt("two")
    before = harness.session.messages
    result = await harness.session.compaction.compact()
    after = harness.session.messages
    kept = [message for message in after if not isinstance(message, CompactionSummaryMessage)]
    entries = [entry.id for entry in harness.session.log.entries if isinstance(entry, MessageEntry)]
    at = entries.index(result.first_kept_entry_id)
    expected = [message for message in before if message.id in entries[at:]]
    assert [message.id for message in kept][-len(expected) :] == [message.id for message in expected]
    assert isinstance(kept[0], SystemMessage), "prompt and tools stay in force"


async def test_one_huge_result_does_not_jump_the_threshold(tmp_path: Path) -> None:
    seen: list[int] = []

    def next_request(context: RequestContext, count: int) -> ScriptedAnswer:
        if context.system_prompt == SUMMARY_SYSTEM_PROMPT:
            return say("a summary")
        seen.append(sum(len(text) for text in texts(context.messages)) // 4)
        return say("done")

    huge = "x" * 6_000
    harness = play_of(
        tmp_path, say(LONG), say(LONG), call("echo", text=huge), *([next_request] * 4), tools=[echo()]
    )
    await harness.prompt("one")
    await harness.prompt("two")
    await harness.prompt("three")
    assert reasons(harness) == ["threshold"]
    assert seen and max(seen) < 3_000, "the request behind the result was made smaller before it was sent"
    results = [one for one in harness.session.messages if isinstance(one, ToolResultMessage)]
    assert [text_of(one.content) for one in results] == [f"echo: {huge}"], "the result stands with its call"


async def test_off_means_never_and_that_is_reported_beside_the_failure(tmp_path: Path) -> None:
    harness = play_of(
        tmp_path, say(LONG), say(LONG), say(LONG), say(LONG), fail("prompt is too long", status=400)
    )
    harness.effective_settings.set("compaction.mode", "off")
    for number in range(5):
        await harness.prompt(f"prompt {number}")
    assert not reasons(harness)
    [told] = [notice for notice in harness.all(Notice) if notice.level == "warning"]
    assert "compaction is switched off" in told.text
    assert "/tree" in told.text and "The largest parts" in told.text


async def test_remind_tells_once_and_does_nothing(tmp_path: Path) -> None:
    harness = play_of(tmp_path, *([Model()] * 6))
    harness.effective_settings.set("compaction.mode", "remind")
    for number in range(5):
        await harness.prompt(f"prompt {number}")
    told = [notice for notice in harness.all(Notice) if notice.about == "contextFull"]
    assert len(told) == 1 and "/compact --preview" in told[0].text
    assert not reasons(harness)


async def test_an_overflow_is_recovered_from_once_and_then_stops_with_words(tmp_path: Path) -> None:
    too_long = fail("prompt is too long", status=400)
    harness = play_of(tmp_path, say(LONG), say(LONG), too_long, *TWO_PARTS, too_long, window=100_000)
    await harness.prompt("one")
    await harness.prompt("two")
    await harness.prompt("three")
    assert reasons(harness) == ["overflow"]
    assert harness.all(CompactionEnd)[0].will_retry
    told = [notice.text for notice in harness.all(Notice) if notice.level == "error"]
    assert len(told) == 1 and told[0].startswith("Context overflow recovery failed after one")


async def test_after_an_overflow_the_run_goes_on_by_itself(tmp_path: Path) -> None:
    harness = play_of(
        tmp_path,
        say(LONG),
        say(LONG),
        fail("prompt is too long"),
        *TWO_PARTS,
        say("at last"),
        window=99_999,
    )
    for text in ("one", "two", "three"):
        await harness.prompt(text)
    assert harness.session.last_answer is not None
    assert harness.session.last_answer.text == "at last"
    assert "three" in texts(harness.session.messages)


async def test_a_loop_is_guarded_against_with_what_fills_the_window(tmp_path: Path) -> None:
    model = Model(say("word " * 2_800))
    harness = play_of(tmp_path, *([model] * 12), keep=3_000)
    await harness.prompt("one")
    await harness.prompt("two")
    told = [notice.text for notice in harness.all(Notice) if "still nearly full" in notice.text]
    assert len(told) == 1
    assert "no further automatic compaction" in told[0] and "The largest parts: “word word" in told[0]
    assert len(harness.all(CompactionStart)) <= 2


async def test_limits_of_one_model_hold_for_it_alone(tmp_path: Path) -> None:
    harness = play_of(tmp_path, *([Model()] * 8))
    effective_settings, own = harness.effective_settings, {"reserveTokens": 10, "keepRecentTokens": 10}
    effective_settings.set("compaction.modelOverrides", {"scripted/script": own})
    assert parts_of(harness.session).context.compactor.context_limits == ContextLimits(
        reserve_tokens=10, keep_recent_tokens=10
    )
    effective_settings.set("compaction.modelOverrides", {"scripted/other": own})
    assert parts_of(harness.session).context.compactor.context_limits.reserve_tokens == 1_000


async def test_a_cheaper_model_writes_and_its_tokens_are_counted(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say(LONG))
    session = harness.session
    for text in ("one", "two"):
        await harness.prompt(text)
    cheap = cheap_model(harness, *TWO_PARTS)
    before = session.stats.usage.output
    result = await session.compaction.compact()
    assert cheap.request_count == 2 and harness.script.request_count == 2
    assert result.usage is not None and result.usage.output > 0
    assert session.stats.usage.output >= before + result.usage.output


async def test_what_the_cheaper_model_cannot_read_the_sessions_own_summarises(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say(LONG), *TWO_PARTS)
    for text in ("one", "two"):
        await harness.prompt(text)
    cheap = cheap_model(harness, *TWO_PARTS, window=1_100)
    await harness.session.compaction.compact()
    assert cheap.request_count < 2 and "a summary" in summary_of(harness)
    told = [notice.text for notice in harness.all(Notice) if "does not fit into the window of" in notice.text]
    assert told and "the window of cheap/cheap" in told[0] and "scripted/script writes" in told[0]


def cheap_model(harness: ScriptedSession, *responses: ScriptedAnswer, window: int = 9_000) -> ScriptedModel:
    """Registers another script as a separate provider, which the settings name for summaries."""
    script = ScriptedModel(responses)
    harness.registry.register_adapter("cheap", script.adapter, owner="cheap")
    entry = {
        "api": "cheap",
        "baseUrl": "http://cheap.test",
        "models": [{"id": "cheap", "name": "Cheap", "contextWindow": window}],
    }
    harness.choice.catalogue.add_provider("cheap", entry, owner="cheap")
    harness.effective_settings.set("compaction.model", "cheap/cheap")
    return script


async def test_a_failed_request_for_a_summary_is_tried_again(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say(LONG), fail("overloaded"), *TWO_PARTS)
    for text in ("one", "two"):
        await harness.prompt(text)
    await harness.session.compaction.compact()
    assert [event.attempt for event in harness.all(SummarizationRetryScheduled)] == [1]
    assert "a summary" in summary_of(harness)


async def test_a_summary_streams_and_can_be_stopped(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = play_of(tmp_path, say(LONG), say(LONG), say("half a summary", gate=gate))
    for text in ("one", "two"):
        await harness.prompt(text)
    before = harness.session.messages
    work = asyncio.create_task(harness.session.compaction.compact())
    await harness.until(lambda: bool(harness.all(CompactionProgress)))
    await harness.session.abort()
    with pytest.raises(SummaryCancelled):
        await work
    assert harness.all(CompactionEnd)[-1].aborted
    assert harness.session.messages == before


async def test_the_full_history_comes_back_and_stays(tmp_path: Path) -> None:
    harness = play_of(tmp_path, *([Model()] * 12))
    while not harness.all(CompactionEnd):
        await harness.prompt("and on")
    await harness.session.compaction.undo_compaction()
    assert not any(isinstance(one, CompactionSummaryMessage) for one in harness.session.messages)
    await harness.prompt("more")
    assert len(harness.all(CompactionStart)) == 1, "it is not compacted by itself again"


async def test_a_draft_of_a_branch_that_was_left_does_not_count(tmp_path: Path) -> None:
    harness = play_of(tmp_path, *([Model()] * 6))
    await harness.prompt("one")
    await harness.prompt("two")
    draft = await harness.session.compaction.draft_summary()
    await harness.session.branches.go_to_entry(None)
    with pytest.raises(NothingToCompact, match="not on this branch"):
        await harness.session.compaction.compact_with_draft(draft)


async def test_an_extension_writes_changes_or_stops_a_summary_a_previewed_one_too(tmp_path: Path) -> None:
    model = Model()
    replies = [
        CompactionOverride(is_cancelled=True),
        CompactionOverride(instructions="Only the colours."),
    ]
    given: list[CompactionPlan] = []

    class Opinionated(Hooks):
        async def before_compaction(
            self, preparation: CompactionPlan, reason: str, instructions: str | None, will_retry: bool
        ) -> CompactionOverride:
            given.append(preparation)
            return replies.pop(0)

    harness = play_of(tmp_path, *([model] * 8), hooks=Opinionated())
    session = harness.session
    await harness.prompt("one")
    await harness.prompt("two")
    with pytest.raises(SummaryCancelled):
        await session.compaction.draft_summary()
    await session.compaction.draft_summary("All of it.")
    assert "Only the colours." in model.summaries[-1] and "All of it." not in model.summaries[-1]
    assert given[0].kept_messages and given[0].discarded_messages
    first = given[0].first_kept_entry_id or ""
    own = CompactionResult(summary="mine", first_kept_entry_id=first, tokens_before=1, details={"by": "me"})
    replies.append(CompactionOverride(result=own))
    result = await session.compaction.compact()
    assert result.summary == "mine"
    [entry] = [one for one in session.log.path_to() if isinstance(one, CompactionEntry)]
    assert entry.from_hook and entry.details["by"] == "me" and "modifiedFiles" in entry.details


async def test_a_stopped_run_stops_its_compaction(tmp_path: Path) -> None:
    gate = asyncio.Event()
    harness = play_of(tmp_path, say(LONG), say(LONG), say(LONG), say("never", gate=gate))
    run = asyncio.create_task(
        parts_of(harness.session).context.compactor.compact("threshold", run=(abort := AbortSignal()))
    )
    with pytest.raises(NothingToCompact):
        await run
    await harness.prompt("one")
    await harness.prompt("two")
    harness.script.responses[:] = [say("never", gate=gate)]
    run = asyncio.create_task(parts_of(harness.session).context.compactor.compact("threshold", run=abort))
    await harness.until(lambda: bool(harness.all(CompactionProgress)))
    abort.set()
    with pytest.raises(SummaryCancelled):
        await run


async def test_a_full_window_that_cannot_be_compacted_lists_its_largest_parts(
    tmp_path: Path,
) -> None:
    harness = play_of(tmp_path, say("I see."), window=40_000, keep=20_000)
    harness.effective_settings.set("compaction.mode", "off")
    await harness.prompt("anchor " * 8_000)
    with pytest.raises(NothingToCompact):
        await harness.session.compaction.compact()
    told = harness.all(CompactionEnd)[-1].error_message or ""
    assert told.startswith(
        "Nothing can be summarised: everything belongs to the last turn. The largest parts: “anchor anchor"
    )
    assert told.endswith("/context drops single results.")
