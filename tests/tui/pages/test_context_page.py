"""`/context` and `/compact`: what fills the window, dropping parts of it, a summary that is read before it counts."""

from pathlib import Path

import pytest

from app.engine.context.summariser import SummaryFailed
from app.providers.scripted import call, fail, say
from app.sessions.context_projection import project_context
from app.tui.features.context.page import ContextWindowPage
from app.values.entries import CompactionEntry
from app.values.messages import ToolResultMessage
from app.values.user_errors import UserError
from tests.agent.scripted_loop import echo
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard

LONG = "a long story " * 400
SUMMARY = "## Goal\nTo be read first"


def page_of(harness: ScriptedSession, person: Person) -> ContextWindowPage:
    return ContextWindowPage(
        harness.session,
        person.ask,
        person.say,
        person.write,
        person.key_label,
        show_progress=person.show_progress.append,
    )


async def talked(folder: Path, *answers, prompts: int = 2) -> ScriptedSession:
    """Only the last answer has to stay word for word."""
    harness = ScriptedSession(folder, *answers, tools=[echo()])
    harness.effective_settings.set("compaction.keepRecentTokens", 200)
    for number in range(prompts):
        await harness.prompt(f"prompt {number}")
    return harness


def compactions(harness: ScriptedSession) -> list[CompactionEntry]:
    return [entry for entry in harness.session.log.path_to() if isinstance(entry, CompactionEntry)]


async def test_a_summary_is_read_and_changed_before_it_counts(tmp_path: Path) -> None:
    harness = await talked(tmp_path, say(LONG), say("b"), say(SUMMARY))
    async with at_the_keyboard() as person:
        async with person.asked(page_of(harness, person).edit_compaction_summary("only the story")):
            await person.sees_soon("enter applies it", "To be read first")
            assert person.show_progress == ["Writing a summary", ""]
            assert not compactions(harness)
            await person.press(*"X", "enter")
        [entry] = compactions(harness)
        assert entry.summary.startswith("X") and "To be read first" in entry.summary
        assert "only the story" in str(harness.script.received_contexts[-1].messages[0])


async def test_escape_at_the_preview_leaves_everything_as_it_was(tmp_path: Path) -> None:
    harness = await talked(tmp_path, say(LONG), say("b"), say(SUMMARY))
    before = harness.session.messages
    async with at_the_keyboard() as person:
        async with person.asked(page_of(harness, person).edit_compaction_summary()):
            await person.sees_soon("enter applies it")
            await person.press("escape")
        assert person.heard == ["Nothing was compacted."]
    assert harness.session.messages == before


async def test_a_summary_that_cannot_be_had_is_reported_and_nothing_is_asked(tmp_path: Path) -> None:
    harness = await talked(tmp_path, say(LONG), say("b"), fail("the model is away", status=400))
    async with at_the_keyboard() as person:
        await page_of(harness, person).edit_compaction_summary()
        assert "the model is away" in person.heard[0] and person.show_progress[-1] == ""
        assert len(person.terminal.screen_stack) == 1


async def test_the_full_history_comes_back(tmp_path: Path) -> None:
    harness = await talked(tmp_path, say(LONG), say("b"), say(SUMMARY))
    before = harness.session.messages
    async with at_the_keyboard() as person:
        page = page_of(harness, person)
        await page.compact(None)
        assert harness.session.messages != before
        await page.undo_compaction()
        assert harness.session.messages == before
        assert person.heard[0].startswith("The full history is restored")


async def test_without_a_compaction_the_way_back_says_so(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        with pytest.raises(UserError, match="Nothing on this branch has been compacted"):
            await page_of(await talked(tmp_path, say("a"), prompts=1), person).undo_compaction()


async def test_a_large_result_is_dropped_and_put_back(tmp_path: Path) -> None:
    harness = await talked(tmp_path, call("echo", text=LONG) + say("so"), say("done"), prompts=1)
    before = harness.session.messages

    def results(messages) -> list[object]:
        return [one.content for one in messages if isinstance(one, ToolResultMessage)]

    async with at_the_keyboard(size=(120, 40)) as person, person.asked(page_of(harness, person).open()):
        await person.sees_soon("Large results", "tokens ·")
        await person.press("home", "ctrl+x")
        assert "only large results can be dropped" in person.sees
        await person.press("end", "ctrl+x")
        await person.sees_soon("dropped")
        assert "Taken out of the context by the user" in str(results(harness.session.messages))
        assert project_context(harness.session.log.path_to()).messages != before
        await person.press("ctrl+x")
        await person.sees_soon("restored")
        assert results(harness.session.messages) == results(before)
        await person.press("escape")


async def test_enter_opens_a_lines_content_and_returns_to_it(tmp_path: Path) -> None:
    harness = await talked(tmp_path, call("echo", text=LONG) + say("so"), say("the answer"), prompts=1)
    async with at_the_keyboard(size=(120, 40)) as person, person.asked(page_of(harness, person).open()):
        await person.press("end", "enter")
        await person.sees_soon("In full", "a long story a long story")
        await person.press("escape")
        await person.sees_soon("Large results")
        await person.press("home", "enter")
        await person.sees_soon("In full", "You are a test.")
        await person.press("escape", "escape")


async def test_the_keys_of_the_page_are_told_at_80_columns(tmp_path: Path) -> None:
    harness = await talked(tmp_path, call("echo", text=LONG) + say("so"), say("done"), prompts=1)
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(page_of(harness, person).open()):
        last = "".join(person.sees.splitlines()[-2:])
        for words in ("enter open", "drop/restore", "compact", "close"):
            assert words in last, words
        await person.press("escape")


async def test_the_bar_is_as_long_as_what_is_used_and_its_legend_is_whole(tmp_path: Path) -> None:
    harness = await talked(tmp_path, call("echo", text=LONG) + say("so"), say("done"), prompts=1)
    async with at_the_keyboard(size=(80, 24)) as person, person.asked(page_of(harness, person).open()):
        await person.sees_soon("░ free   ▒ reserved for the answer", "■ results")
        assert person.sees.count("█") == 1  # 1 % of the window, of four kinds
        await person.press("escape")


def test_what_a_summary_may_fail_with_is_for_the_person() -> None:
    assert issubclass(SummaryFailed, UserError)
