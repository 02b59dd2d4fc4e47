"""`/goal`."""

from pathlib import Path

from app.providers.scripted import say
from app.tui.features.goal.page import GoalPage
from app.values.todos import GoalView
from tests.engine.scripted_session import ScriptedSession
from tests.engine.test_goals import CHECK, RIGHT, now, reach, working
from tests.tui.pages.person import Person, at_the_keyboard


def page_of(harness: ScriptedSession, person: Person) -> GoalPage:
    return GoalPage(harness.session, person.ask, person.say, spawn=person.spawn)


async def test_a_goal_without_a_check_asks_for_one(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    async with at_the_keyboard() as person:
        async with person.asked(page_of(harness, person).run_goal_command("Right.")):
            assert "Which command checks it?" in person.sees
            await person.press("enter")
            await person.sees_soon("a goal needs a command that checks it")
            await person.press(*CHECK, "enter")
        await harness.session.wait_until_idle()
    assert now(harness).status == "done" and now(harness).text == "Right."


async def test_escape_sets_no_goal(tmp_path: Path) -> None:
    harness = working(tmp_path)
    async with at_the_keyboard() as person:
        async with person.asked(page_of(harness, person).run_goal_command("Right.")):
            await person.press("escape")
        assert harness.session.goal.goal_view is None and "No goal was set." in person.heard[-1]


async def test_the_page_shows_the_checks_and_removes_the_goal(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    await reach(harness, CHECK, "true")
    (tmp_path / "work" / "answer.txt").write_text("right or wrong")
    async with at_the_keyboard(size=(120, 30)) as person:
        async with person.asked(page_of(harness, person).run_goal_command("")):
            assert "stale: answer.txt changed since" in person.sees
            assert f"✓ {CHECK}" in person.sees and "exit 0" in person.sees
            await person.press("x")
        assert harness.session.goal.goal_view is None


async def test_the_open_page_shows_that_the_proof_became_stale(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    await reach(harness)
    async with (
        at_the_keyboard(size=(120, 30)) as person,
        person.asked(page_of(harness, person).run_goal_command("")),
    ):
        assert "met at" in person.sees and "stale" not in person.sees
        (tmp_path / "work" / "answer.txt").write_text("right or wrong")
        await harness.session.goal.check_goal_staleness()
        await person.sees_soon("stale: answer.txt changed since")
        await person.press("escape")


async def test_the_page_checks_again(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    await reach(harness)
    (tmp_path / "work" / "answer.txt").write_text("right or wrong")
    async with at_the_keyboard(size=(120, 30)) as person:
        async with person.asked(page_of(harness, person).run_goal_command("")):
            assert "stale" in person.sees
            await person.press("c")
        await person.until(
            lambda: (
                now(harness).proof is not None
                and not (harness.session.goal.goal_view is None or harness.session.goal.goal_view.is_stale)
            )
        )


async def test_the_page_goes_on_with_a_stopped_goal(tmp_path: Path) -> None:
    harness = working(tmp_path, say("BLOCKED: no key"), RIGHT, say("Done."))
    await reach(harness)
    assert now(harness).status == "blocked"
    async with at_the_keyboard(size=(120, 30)) as person:
        async with person.asked(page_of(harness, person).run_goal_command("")):
            await person.press("g")
        await harness.session.wait_until_idle()
    assert now(harness).status == "done"


async def test_what_was_typed_beside_a_check_needs_no_question(tmp_path: Path) -> None:
    harness = working(tmp_path, RIGHT, say("Done."))
    async with at_the_keyboard() as person:
        await page_of(harness, person).run_goal_command(f"Right. check: {CHECK}")
        await harness.session.wait_until_idle()
        view: GoalView | None = harness.session.goal.goal_view
        assert view is not None and view.goal.checks[0].command == CHECK and view.goal.text == "Right."
