"""The session tree over a real session: going, forking, cloning, merging, labels, comparing, and what it shows."""

from pathlib import Path
from typing import Any

import pytest

from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, call, fail, say
from app.resources.settings.effective_settings import EffectiveSettings
from app.tui.entry_texts import session_entry_title
from app.tui.features.review.page import ChangeReviewPage
from app.tui.features.tree.entries import SessionTreeEntries, full_session_entry_text, session_entry_heading
from app.tui.features.tree.page import SessionTreePage
from app.tui.features.undo.page import FileRestorePage
from app.values.cells import CELL_ENTRY_TYPE
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry, CustomMessageEntry
from tests.engine.scripted_session import ScriptedSession
from tests.tui.pages.person import Person, at_the_keyboard
from tools.tool_registry import builtin_tools
from widgets.screens.preview_pane import Preview
from widgets.status.input_guard import MIN_QUESTION_VISIBLE_SECONDS

SIZE = (120, 40)


def tree_of(
    harness: ScriptedSession, person: Person, effective_settings: EffectiveSettings | None = None
) -> SessionTreePage:
    counts = effective_settings or harness.effective_settings
    return SessionTreePage(
        harness.session,
        person.ask,
        person.say,
        person.write,
        person.copy,
        files=FileRestorePage(harness.session, person.ask, person.say),
        review=ChangeReviewPage(
            harness.session, person.ask, person.say, person.copy, open_in_editor=lambda path, line: ""
        ).open,
        show_progress=person.show_progress.append,
        settings=lambda: counts.settings,
        clock=person.clock,
    )


def entry_of(harness: ScriptedSession, title: str) -> str:
    return next(one.id for one in harness.session.log.entries if session_entry_title(one) == title)


async def two_branches(folder: Path, *answers: Any) -> ScriptedSession:
    """`first`, then `second`; back before `second`, and `third` in its place."""
    harness = ScriptedSession(folder, *(answers or (say("a"), say("b"), say("c"))), tools=builtin_tools())
    await harness.prompt("first")
    await harness.prompt("second")
    await harness.session.branches.go_to_entry(entry_of(harness, "you: second"))
    await harness.prompt("third")
    return harness


async def test_a_session_in_which_nothing_was_said_has_no_tree(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        await tree_of(ScriptedSession(tmp_path), person).open()
        assert person.heard == ["This session is empty."]


async def test_an_answer_is_forked_from_before_its_prompt(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path, say("a"), say("b"), say("the third answer"))
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("f")
        await person.sees_soon("Fork from here")
        question = person.sees.split("Starts a new session before this prompt")[1]
        assert "third" in question and "the third answer" not in question
        person.clock.now += MIN_QUESTION_VISIBLE_SECONDS
        await person.press("escape", "escape")


async def test_the_preview_shows_the_whole_exchange(tmp_path: Path) -> None:
    harness = ScriptedSession(
        tmp_path,
        call("write", path="sail.py", content="a\nb\n"),
        call("read", path="none.py"),
        say("It **sails**.\n\n- one\n- two"),
        say("later"),
        tools=builtin_tools(),
    )
    await harness.prompt("let it `sail`")
    await harness.prompt("another")
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        preview = person.terminal.screen.query_one(Preview)
        for key in ("home", "down", "down", "down"):  # the prompt, both results, the answer
            await person.press(key)
            await person.sees_soon(
                "let it sail", "write sail.py", "read none.py · failed", "It sails.", "• one"
            )
            told = [part.text for part in preview.shown.parts]
            assert "another" not in told and "later" not in told
        await person.press("up")
        assert preview.shown.title.startswith("read, failed")
        await person.press("escape")


async def test_a_fork_is_asked_for_and_begins_a_new_file(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path)
    before = harness.session.log.path
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(harness, person).open()):
            await person.press("k", "f")
            assert "Fork from here" in person.sees
            await person.press("escape")
            assert "Fork from here" in person.sees  # it takes no key for a moment
            person.clock.now += MIN_QUESTION_VISIBLE_SECONDS
            await person.press("escape")
            assert "Session tree" in person.sees and harness.session.log.path == before
            await person.press("f")
            person.clock.now += MIN_QUESTION_VISIBLE_SECONDS
            await person.press("1")
        await person.until(lambda: harness.session.log.path != before)
        await person.until(lambda: person.written == ["third"])


async def test_a_typed_word_never_forks(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path)
    before = harness.session.log.path
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("f")
        await person.sees_soon("Fork from here")
        await person.press("i")
        await person.until(lambda: "Fork from here" not in person.sees)
        await person.press(*"rst")
        assert harness.session.log.path == before
        assert "/ first" in person.sees and "1 of " in person.sees
        await person.press("escape", "escape")


async def test_escape_at_the_question_of_a_summary_returns_to_the_tree(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path)
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("home", "enter")
        await person.sees_soon("Leave this branch")
        await person.press("escape")
        await person.sees_soon("Session tree")
        await person.press("escape")


async def test_two_branches_are_compared_side_by_side(tmp_path: Path) -> None:
    writes = call("write", path="notes.md", content="x") + say("writing")
    harness = await two_branches(tmp_path, say("a"), writes, say("done"), say("c"))
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("d", "left_square_bracket", "left_square_bracket", "j", "j", "d")
        rows = person.sees.splitlines()
        headings = rows[next(at for at, row in enumerate(rows) if "Two branches" in row) + 1]
        assert "third" in headings and "second" in headings
        assert "± notes.md" in person.sees
        assert "the branches split at: a" in person.sees
        await person.press("escape", "escape")


async def test_a_failed_answer_says_why(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("the key is not valid", status=401))
    await harness.prompt("go")
    entry = harness.session.log.path_to()[-1]
    assert full_session_entry_text(entry) == "failed: the key is not valid"
    assert session_entry_title(entry) == "answer failed: the key is not valid"


async def test_badges_summarise_a_branch(tmp_path: Path) -> None:
    writes = call("write", path="notes.md", content="x") + say("writing")
    harness = ScriptedSession(tmp_path, writes, say("done"), tools=builtin_tools())
    await harness.prompt("write it")
    entries = SessionTreeEntries(harness.session.log, harness.session.tools)
    badges = [
        badge.text
        for bare in entries.tree_entries_without_texts()
        for badge in entries.tree_entry_with_text(bare).badges
    ]
    assert "± notes.md" in badges


async def test_a_label_is_set_and_found(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path)
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("L")
        await person.press(*"good start", "enter")
        assert "[good start]" in person.sees
        await person.press("ctrl+l")
        assert "1 of " in person.sees
        await person.press("escape")


async def test_an_entry_is_copied(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path)
    async with at_the_keyboard(size=SIZE) as person, person.asked(tree_of(harness, person).open()):
        await person.press("y")
        await person.until(lambda: bool(person.copied))
        assert person.copied == [("c", "entry")]
        await person.press("escape")


async def test_a_branch_is_merged_as_a_summary(tmp_path: Path) -> None:
    harness = await two_branches(tmp_path, say("a"), say("b"), say("c"), say("what the other branch found"))
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(harness, person).open()):
            await person.press("left_square_bracket", "left_square_bracket", "m")
            person.clock.now += MIN_QUESTION_VISIBLE_SECONDS
            await person.press("1")
        await person.until(lambda: person.show_progress == [""])
        [entry] = [one for one in harness.session.log.path_to() if isinstance(one, BranchSummaryEntry)]
        assert entry.summary.endswith("what the other branch found")


@pytest.mark.parametrize(
    ("keys", "wants", "focus"),
    [((), False, ""), (("down",), True, ""), (("down", "down"), True, "Only the colours.")],
    ids=["none", "summary", "as I say"],
)
async def test_leaving_a_branch_asks_about_files_and_summary(
    tmp_path: Path, keys, wants: bool, focus: str
) -> None:
    asked: list[str] = []

    def summarise(context: RequestContext, count: int) -> ScriptedAnswer:
        asked.append(text_of(context.messages[0].content))  # type: ignore[union-attr]
        return say("what I left")

    harness = ScriptedSession(tmp_path, say("a"), say("b"), summarise)
    await harness.prompt("first")
    await harness.prompt("second")
    old = harness.session.log.leaf_id
    async with at_the_keyboard(size=SIZE) as person:
        async with person.asked(tree_of(harness, person).move_to_entry(entry_of(harness, "you: second"))):
            assert "Leave this branch" in person.sees
            await person.press(*keys, "enter")
            if focus:
                await person.sees_soon("What should the summary focus on?")
                await person.press(*focus, "enter")
        assert person.written == ["second"]
    summaries = [entry for entry in harness.session.log.entries if isinstance(entry, BranchSummaryEntry)]
    if not wants:
        assert not summaries and not asked
        return
    [entry] = summaries
    assert entry.from_id == old and entry.from_hook is False and entry.usage is not None
    assert entry.details == {"readFiles": [], "modifiedFiles": []}
    assert entry.summary.endswith("what I left")
    assert entry.parent_id == harness.session.log.parent(entry_of(harness, "you: second"))
    assert (f"Additional focus: {focus}" in asked[0]) is bool(focus)
    assert "[User]: second" in asked[0] and "[User]: first" not in asked[0]


@pytest.mark.parametrize(
    ("keys", "is_left", "summaries"), [(["1"], True, 1), (["2"], True, 0), (["3"], False, 0)]
)
async def test_a_summary_that_fails_is_tried_again_or_left_out(
    tmp_path: Path, keys: list[str], is_left: bool, summaries: int
) -> None:
    refused = fail("no such model", status=400)
    harness = ScriptedSession(tmp_path, say("a"), say("b"), refused, say("what I left"))
    await harness.prompt("first")
    await harness.prompt("second")
    old = harness.session.log.leaf_id
    async with (
        at_the_keyboard(size=SIZE) as person,
        person.asked(tree_of(harness, person).move_to_entry(entry_of(harness, "you: second"))),
    ):
        await person.press("2")
        await person.sees_soon("The summary of the branch failed")
        await person.press(*keys)
    assert any("no such model" in str(one) for one in person.heard)
    assert (harness.session.log.leaf_id != old) is is_left
    entries = harness.session.log.entries
    assert len([entry for entry in entries if isinstance(entry, BranchSummaryEntry)]) == summaries


async def test_with_summaries_off_no_question_is_asked(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("a"), say("b"))
    await harness.prompt("first")
    await harness.prompt("second")
    effective_settings = EffectiveSettings()
    effective_settings.set("branchSummary.skipPrompt", True)
    async with at_the_keyboard() as person:
        await tree_of(harness, person, effective_settings).move_to_entry(entry_of(harness, "you: second"))
        assert person.written == ["second"]


def test_what_bayou_wrote_for_the_model_is_no_extensions_and_a_cell_is_the_persons() -> None:
    def said(kind: str) -> str:
        entry = CustomMessageEntry(id="a", parent_id=None, custom_type=kind, content="x", display=True)
        return session_entry_heading(entry).split(" · ")[0]

    assert (said(CELL_ENTRY_TYPE), said("file-map")) == ("Your cell", "Hidden message to the model")
