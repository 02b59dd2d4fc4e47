"""The session tree over a real session: going, forking, cloning, merging, labels, comparing, and what it shows."""

from pathlib import Path

import pytest

from app.assembly.options import Options
from app.providers.contract import Context
from app.providers.scripted import Answer, call, say
from app.tui.pages.entry_texts import entry_title
from app.tui.pages.tree_entries import TreeEntries
from app.values.content import text_of
from app.values.entries import BranchSummaryEntry
from tests.agent.stage import echo
from tests.tui.stage import StageApp, make_app, settled, submit
from widgets.screens.dialogs import GRACE


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def two_branches(app: StageApp, pilot) -> None:
    """`first`, then `second`; back before `second`, and `third` in its place."""
    await submit(app, pilot, "first")
    await settled(app, pilot)
    await submit(app, pilot, "second")
    await settled(app, pilot, 2)
    prompts = [one for one in app.session.log.path_to() if entry_title(one) == "you: second"]
    await app.session.go_to(prompts[0].id)
    await submit(app, pilot, "third")
    await settled(app, pilot, 3)


def kept(home: Path, *answers, **more) -> StageApp:
    return make_app(home, *answers, options=Options(use_theme="bayou-dark"), **more)


async def opened(app: StageApp, pilot) -> None:
    await submit(app, pilot, "/tree")
    async with app.settling(pilot):
        while "Session tree" not in app.screen_text:
            await pilot.pause()


async def test_an_answer_is_forked_from_before_its_prompt(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("the third answer"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        await opened(app, pilot)
        await pilot.press("f")
        await app.settling_until(pilot, lambda: "Fork from here" in app.screen_text)
        question = app.screen_text.split("A new session ends before this prompt")[1]
        assert "third" in question and "the third answer" not in question


async def test_a_fork_is_asked_for_and_begins_a_new_file(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("c"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        before = app.session.log.path
        await opened(app, pilot)
        await pilot.press("k", "f")
        await pilot.pause()
        assert "Fork from here" in app.screen_text
        await pilot.press("escape")
        assert "Fork from here" in app.screen_text  # it takes no key for a moment
        app.time.now += GRACE
        await pilot.press("escape")
        await pilot.pause()
        assert "Session tree" in app.screen_text and app.session.log.path == before
        await pilot.press("f")
        app.time.now += GRACE
        await pilot.press("1")
        await app.settling_until(pilot, lambda: app.session.log.path != before)
        await app.settling_until(pilot, lambda: app.editor.text == "third")


async def test_a_typed_word_never_forks(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("c"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        before = app.session.log.path
        await opened(app, pilot)
        await pilot.press("f")
        async with app.settling(pilot):
            while "Fork from here" not in app.screen_text:
                await pilot.pause()
        await pilot.press("i")
        async with app.settling(pilot):
            while "Fork from here" in app.screen_text:
                await pilot.pause()
        await pilot.press(*"rst")
        await pilot.pause()
        assert app.session.log.path == before
        assert "/ first" in app.screen_text and "1 of " in app.screen_text


async def test_escape_at_the_question_of_a_summary_returns_to_the_tree(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("c"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        await opened(app, pilot)
        await pilot.press("home", "enter")
        await pilot.pause()
        assert "Leave this branch" in app.screen_text
        await pilot.press("escape")
        await pilot.pause()
        assert "Session tree" in app.screen_text


async def test_two_branches_are_compared_side_by_side(home: Path) -> None:
    writes = call("write", path="notes.md", content="x") + say("writing")
    app = kept(home, say("a"), writes, say("done"), say("c"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        await opened(app, pilot)
        await pilot.press("d", "left_square_bracket", "left_square_bracket", "j", "j", "d")
        await pilot.pause()
        text = app.screen_text
        headings = text.splitlines()[1]
        assert "third" in headings and "second" in headings
        assert "± notes.md" in text
        assert "they part at: a " in text
        await pilot.press("escape", "escape")


async def test_what_a_branch_did_is_told_in_badges(home: Path) -> None:
    app = kept(home, call("write", path="notes.md", content="x") + say("writing"), say("done"))
    async with app.run_test(size=(120, 40)) as pilot:
        await submit(app, pilot, "write it")
        await settled(app, pilot)
        entries = TreeEntries(app.session.log)
        badges = [badge.text for bare in entries.bare() for badge in entries.described(bare).badges]
        assert "± notes.md" in badges


async def test_a_label_is_set_and_found(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("c"), tools=[echo()])
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        await opened(app, pilot)
        await pilot.press("L")
        await pilot.pause()
        await pilot.press(*"good start", "enter")
        await pilot.pause()
        assert "[good start]" in app.screen_text
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert "1 of " in app.screen_text
        await pilot.press("escape")


async def test_a_branch_is_merged_as_a_summary(home: Path) -> None:
    app = kept(home, say("a"), say("b"), say("c"), say("what the other branch found"))
    async with app.run_test(size=(120, 40)) as pilot:
        await two_branches(app, pilot)
        await opened(app, pilot)
        await pilot.press("left_square_bracket", "left_square_bracket", "m")
        app.time.now += GRACE
        await pilot.press("1")
        app.transcript.open_all(tools=True)
        await app.settling_until(pilot, lambda: "what the other branch found" in app.screen_text)


@pytest.mark.parametrize(
    ("keys", "wants", "focus"),
    [((), False, ""), (("down",), True, ""), (("down", "down"), True, "Only the colours.")],
    ids=["none", "summary", "as I say"],
)
async def test_leaving_a_branch_asks_what_goes_along(home: Path, keys, wants: bool, focus: str) -> None:
    asked: list[str] = []

    def summarise(context: Context, count: int) -> Answer:
        asked.append(text_of(context.messages[0].content))  # type: ignore[union-attr]
        return say("what I left")

    app = kept(home, say("a"), say("b"), summarise)
    async with app.run_test(size=(120, 40)) as pilot:
        for number, text in enumerate(("first", "second")):
            await submit(app, pilot, text)
            await settled(app, pilot, number + 1)
        old = app.session.log.leaf_id
        [second] = [one.id for one in app.session.log.entries if entry_title(one) == "you: second"]
        app.tasks.spawn(app.pages.tree.go_to(second))
        await app.settling_until(pilot, lambda: "Leave this branch" in app.screen_text)
        await pilot.press(*keys, "enter")
        if focus:
            await app.settling_until(pilot, lambda: "What should the summary say?" in app.screen_text)
            await pilot.press(*focus, "enter")
        await app.settling_until(pilot, lambda: app.editor.text == "second")
        summaries = [entry for entry in app.session.log.entries if isinstance(entry, BranchSummaryEntry)]
        if not wants:
            assert not summaries and not asked
            return
        [entry] = summaries
        assert entry.from_id == old and entry.from_hook is False and entry.usage is not None
        assert entry.details == {"readFiles": [], "modifiedFiles": []}
        assert entry.summary.endswith("what I left")
        assert entry.parent_id == app.session.log.parent(second)
        assert (f"Additional focus: {focus}" in asked[0]) is bool(focus)
        assert "[User]: second" in asked[0] and "[User]: first" not in asked[0]
