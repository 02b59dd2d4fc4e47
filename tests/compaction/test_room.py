"""What a summary may take, what counts as overflow, and how a person hears that there is no room to be made."""

from pathlib import Path

import msgspec
import pytest

from app.engine.core.hook_results import NavigationOptions
from app.providers.failure_kinds import classify_failure
from app.providers.model_stream import AssistantStream, RequestContext, StreamOptions
from app.providers.scripted import fail, say
from app.values.events import CompactionEnd, CompactionStart, Notice
from app.values.models import Model
from app.values.usage import Usage
from tests.compaction.test_in_sessions import LONG, TWO_PARTS, play_of
from tests.engine.scripted_session import ScriptedSession


def noting(harness: ScriptedSession) -> list[StreamOptions]:
    """The options that the model is asked with from now on."""
    asked: list[StreamOptions] = []

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        asked.append(options)
        await harness.script.adapter(model, context, options, stream)

    harness.registry.register_adapter("scripted", adapter, owner="test")
    return asked


def counting(harness: ScriptedSession, tokens: int) -> None:
    """The server says that so many tokens were read, from now on."""

    async def adapter(
        model: Model, context: RequestContext, options: StreamOptions, stream: AssistantStream
    ) -> None:
        await harness.script.adapter(model, context, options, stream)
        stream.draft.usage = Usage(input=tokens, output=5, total_tokens=tokens + 5)

    harness.registry.register_adapter("scripted", adapter, owner="test")


async def test_a_summary_may_take_a_share_of_the_reserve(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say(LONG), *TWO_PARTS, window=100_000)
    await harness.prompt("one")
    await harness.prompt("two")
    asked = noting(harness)
    await harness.session.compaction.compact()
    assert [options.max_tokens for options in asked] == [800, 500], (
        "of 1,000: the history, a turn's beginning"
    )
    assert [options.thinking_budgets["high"] for options in asked] == [400, 250], "thoughts leave half of it"


async def test_a_reserve_of_nothing_sets_no_limit(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say(LONG), *TWO_PARTS, window=100_000)
    harness.effective_settings.set("compaction.reserveTokens", 0)
    await harness.prompt("one")
    await harness.prompt("two")
    asked = noting(harness)
    await harness.session.compaction.compact()
    assert [options.max_tokens for options in asked] == [None, None]


async def test_the_summary_of_a_branch_has_its_own_reserve(tmp_path: Path) -> None:
    harness = play_of(tmp_path, say(LONG), say("of the branch"), window=100_000)
    harness.effective_settings.set("branchSummary.reserveTokens", 2_000)
    await harness.prompt("one")
    asked = noting(harness)
    await harness.session.branches.go_to_entry(None, NavigationOptions(should_summarise=True))
    assert [options.max_tokens for options in asked] == [1_600]


async def test_an_answer_to_more_than_the_window_is_an_overflow_and_stands(tmp_path: Path) -> None:
    """The server dropped the beginning without a word."""
    harness = play_of(
        tmp_path,
        say(LONG),
        say(LONG),
        say("half of it was read"),
        *TWO_PARTS,
        window=100_000,
        classify=classify_failure,
    )
    await harness.prompt("one")
    await harness.prompt("two")
    counting(harness, 100_001)
    await harness.prompt("three")
    assert [event.reason for event in harness.all(CompactionStart)] == ["overflow"]
    [ended] = harness.all(CompactionEnd)
    assert ended.result is not None and not ended.will_retry
    assert harness.session.last_answer is not None
    assert harness.session.last_answer.text == "half of it was read"


async def test_a_silent_overflow_ends_the_wish_for_the_whole_history(tmp_path: Path) -> None:
    harness = play_of(
        tmp_path,
        say(LONG),
        say(LONG),
        *TWO_PARTS,
        say("x"),
        *TWO_PARTS,
        window=100_000,
        classify=classify_failure,
    )
    await harness.prompt("one")
    await harness.prompt("two")
    await harness.session.compaction.compact()
    await harness.session.compaction.undo_compaction()
    counting(harness, 100_001)
    await harness.prompt("three")
    assert [event.reason for event in harness.all(CompactionStart)] == ["manual", "overflow"]


HELPS = ("/context", "/new", "/model")


async def test_what_cannot_be_compacted_is_said_once_with_what_helps(tmp_path: Path) -> None:
    harness = play_of(
        tmp_path, *([say("short")] * 6), window=1_100, sections=lambda: {"preamble": "word " * 600}
    )
    for number in range(5):
        await harness.prompt(f"prompt {number}")
    told = [notice for notice in harness.all(Notice) if "compaction failed" in notice.text.lower()]
    assert [notice.level for notice in told] == ["warning"]
    assert all(word in told[0].text for word in HELPS)
    assert not harness.all(CompactionEnd), "nothing begins that cannot be done"
    assert not [notice for notice in harness.all(Notice) if notice.level == "error"]


async def test_it_is_said_again_after_there_was_room(tmp_path: Path) -> None:
    harness = play_of(
        tmp_path, *([say("short")] * 6), window=1_100, sections=lambda: {"preamble": "word " * 600}
    )
    await harness.prompt("one")
    roomy = msgspec.structs.replace(harness.script.model, id="roomy", context_window=100_000)
    await harness.session.models.use_model(roomy)
    await harness.prompt("two")
    await harness.session.models.use_model(harness.script.model)
    await harness.prompt("three")
    assert sum("compaction failed" in notice.text.lower() for notice in harness.all(Notice)) == 2


@pytest.mark.parametrize("times", [1, 3])
async def test_an_overflow_that_nothing_helps_keeps_its_answer(tmp_path: Path, times: int) -> None:
    too_long = fail("prompt is too long", status=400)
    harness = play_of(tmp_path, *([too_long] * times), window=100_000)
    for number in range(times):
        await harness.prompt(f"prompt {number}")
    assert harness.session.last_answer is not None
    assert harness.session.last_answer.error_message == "prompt is too long"
    assert sum("compaction failed" in notice.text.lower() for notice in harness.all(Notice)) == 1
    assert not harness.all(CompactionEnd)


async def test_a_small_window_is_not_full_before_anything_is_said(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("short"), say("short"), context_window=8_000)
    await harness.prompt("one")
    await harness.prompt("two")
    assert not harness.all(Notice) and not harness.all(CompactionStart)
