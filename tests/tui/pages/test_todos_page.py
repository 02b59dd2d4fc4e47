"""`/todos`."""

from pathlib import Path

from app.tui.features.todos.page import TodosPage
from app.values.todos import TodoItem, TodoPhase
from tests.engine.scripted_session import ScriptedSession
from tests.todos.test_changes import states
from tests.tui.pages.person import Person, at_the_keyboard

WORK = TodoPhase(
    name="Work", tasks=(TodoItem(content="First", status="in_progress"), TodoItem(content="Second"))
)


def page_of(harness: ScriptedSession, person: Person) -> TodosPage:
    return TodosPage(harness.session, person.ask, person.say)


async def playing(folder: Path) -> ScriptedSession:
    harness = ScriptedSession(folder)
    await harness.session.todos.replace_by_user([WORK])
    return harness


async def test_states_texts_and_items_are_changed_and_count_at_enter(tmp_path: Path) -> None:
    harness = await playing(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        assert "Work" in person.sees and "◐ First" in person.sees and "0 of 2 closed" in person.sees
        await person.press("space")
        await person.sees_soon("✓ First", "1 of 2 closed")
        await person.press("down", "e", *" thing", "enter")
        await person.sees_soon("Second thing")
        await person.press("a", *"Third", "enter")
        await person.sees_soon("Third")
        await person.press("down", "d")
        await person.sees_soon("– Third")
        assert states(harness.session.todos.phases) == {"First": "in_progress", "Second": "pending"}
        await person.press("enter")
    assert states(harness.session.todos.phases) == {
        "First": "completed",
        "Second thing": "in_progress",
        "Third": "abandoned",
    }


async def test_one_key_clears_the_list(tmp_path: Path) -> None:
    harness = await playing(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        assert "clear all" in person.sees
        await person.press("c")
    assert harness.session.todos.phases == ()


async def test_escape_leaves_the_list_as_it_was(tmp_path: Path) -> None:
    harness = await playing(tmp_path)
    before = harness.session.todos.phases
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("space", "d")
        await person.sees_soon("– First")
        await person.press("escape")
    assert harness.session.todos.phases == before


async def test_an_item_that_is_there_twice_is_refused_in_the_title(tmp_path: Path) -> None:
    harness = await playing(tmp_path)
    async with at_the_keyboard(size=(160, 30)) as person, person.asked(page_of(harness, person).open()):
        await person.press("a", *"Second", "enter")
        await person.sees_soon("would be in the list twice")
        await person.press("escape")


async def test_an_empty_list_is_begun(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        assert "no items; a adds one" in person.sees
        await person.press("a", *"Tea", "enter")
        await person.sees_soon("Tea")
        await person.press("enter")
    assert states(harness.session.todos.phases) == {"Tea": "in_progress"}


async def test_todo_changes_of_the_agent_are_not_overwritten(tmp_path: Path) -> None:
    harness = await playing(tmp_path)
    async with at_the_keyboard() as person, person.asked(page_of(harness, person).open()):
        await person.press("space")
        await harness.session.todos.replace_by_user([])
        await person.press("enter")
    assert harness.session.todos.phases == ()
    assert person.warned == [
        "The agent changed the list in the meantime, so your change was not saved. /todos shows it."
    ]
