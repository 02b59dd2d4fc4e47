"""What operations make of a list of todos."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.planning.todo_changes import (
    MAX_TODO_ITEMS,
    TodoChange,
    TodoRefused,
    apply_todo_change,
    normalise_todo_phases,
)
from app.values.content import Text
from app.values.messages import AssistantMessage
from app.values.todos import (
    Phases,
    TodoItem,
    TodoPhase,
    append_todo_list_to_summary,
    current_todo_item,
    open_todo_items,
    remove_todo_list_from_summary,
    todo_items_of_phases,
    todo_progress_text,
    todos_text,
)

PLAN = [("Survey", ["Read the parser", "Read the tests"]), ("Change", ["Rename the flag"])]


def planned() -> Phases:
    return apply_todo_change((), TodoChange(op="set", phases=PLAN))


def after(phases: Phases, op: str, *tasks: str, **more: str) -> Phases:
    return apply_todo_change(phases, TodoChange(op=op, tasks=tasks, **more))  # pyright: ignore[reportArgumentType]


def states(phases: Phases) -> dict[str, str]:
    return {item.content: item.status for item in todo_items_of_phases(phases)}


def test_a_new_list_begins_with_its_first_item():
    assert states(planned()) == {
        "Read the parser": "in_progress",
        "Read the tests": "pending",
        "Rename the flag": "pending",
    }
    assert [phase.id for phase in planned()] == ["phase-1", "phase-2"]


def test_done_closes_the_current_item_and_begins_the_next_across_phases():
    phases = after(after(planned(), "done"), "done", "read the tests")
    assert states(phases)["Rename the flag"] == "in_progress"
    assert todo_progress_text(phases) == "2 of 3 closed. Change:\n- [>] Rename the flag"
    assert todo_progress_text(after(phases, "done")) == "All 3 items are closed."


def test_an_item_is_named_by_the_beginning_of_its_text():
    assert states(after(planned(), "drop", "Ren"))["Rename the flag"] == "abandoned"
    with pytest.raises(TodoRefused, match="beginning of several items: “Read the parser”, “Read the tests”"):
        after(planned(), "done", "Read")


def test_an_unknown_item_is_refused_with_the_list():
    with pytest.raises(TodoRefused, match=r"no item “2”.*Open items: “Read the parser”, “Read the tests”"):
        after(planned(), "done", "2")
    with pytest.raises(TodoRefused, match=r"nothing is in progress\. There are no open items"):
        after((), "done")


def test_nothing_open_vanishes_by_rewriting():
    with pytest.raises(
        TodoRefused, match=r"not in the new list: “Read the tests”, “Rename the flag”\. Nothing was"
    ):
        apply_todo_change(planned(), TodoChange(op="set", phases=[("Survey", ["Read the parser", "More"])]))


def test_rewriting_keeps_what_was_done_and_drops_what_is_closed():
    phases = after(after(planned(), "done"), "drop", "Rename the flag")
    again = apply_todo_change(
        phases, TodoChange(op="set", phases=[("All", ["Read the parser", "Read the tests", "New"])])
    )
    assert states(again) == {
        "Read the parser": "completed",
        "Read the tests": "in_progress",
        "New": "pending",
    }


def test_a_blocked_item_waits_and_the_next_goes_on():
    phases = after(planned(), "block", note="the server is down")
    assert states(phases)["Read the parser"] == "pending"
    assert current_todo_item(phases) == todo_items_of_phases(phases)[1]
    assert "- [ ] Read the parser (blocked: the server is down)" in todos_text(phases)
    assert todo_items_of_phases(after(phases, "start", "Read the parser"))[0].blocked is None


def test_items_are_added_to_a_named_or_the_current_phase():
    phases = after(planned(), "add", "Ask", "Think", phase="change")
    assert [item.content for item in phases[1].tasks] == ["Rename the flag", "Ask", "Think"]
    assert [item.content for item in after(phases, "add", "Here")[0].tasks][-1] == "Here"
    assert after(phases, "add", "Last", phase="Check")[2].name == "Check"
    assert after((), "add", "Only")[0].name == "Todos"


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        (["Read the parser"], "“Read the parser” would be in the list twice"),
        (["  "], "An item has no text"),
        ([f"item {number}" for number in range(1_000)], f"has at most {MAX_TODO_ITEMS} items and phases"),
    ],
)
def test_what_makes_no_list_changes_nothing(tasks: list[str], words: str):
    with pytest.raises(TodoRefused, match=words):
        after(planned(), "add", *tasks)


def test_a_list_from_elsewhere_is_put_in_order():
    phases = normalise_todo_phases(
        [
            TodoPhase(name="", tasks=(TodoItem(content=" a\n b ", status="in_progress", id="x"),)),
            TodoPhase(name="Two", tasks=(TodoItem(content="c", status="in_progress", id="x"),)),
        ]
    )
    assert [(item.content, item.status) for item in todo_items_of_phases(phases)] == [
        ("a b", "in_progress"),
        ("c", "pending"),
    ]
    assert phases[0].name == "Todos"
    assert len({item.id for item in todo_items_of_phases(phases)}) == 2


def test_a_summary_has_the_list_once_and_word_for_word():
    once = append_todo_list_to_summary("## Goal\nShip", planned())
    assert once.endswith("<todo-list>\n" + todos_text(planned()) + "\n</todo-list>")
    later = after(planned(), "done")
    assert append_todo_list_to_summary(once, later) == append_todo_list_to_summary("## Goal\nShip", later)
    assert remove_todo_list_from_summary(once) == "## Goal\nShip"


@pytest.mark.parametrize(
    ("answer", "asks"),
    [
        ("Done. Which of the two shall I take?", True),
        ("I have two ways:\n\n1. **this?**\n2. that", True),
        ("Why did it fail? Because of the port.\n\nI go on.", False),
        ("", False),
    ],
)
def test_a_question_to_the_person_is_seen(answer: str, asks: bool):
    assert AssistantMessage(content=(Text(text=answer),)).asks_something is asks


names = st.sampled_from([f"item {letter}" for letter in "abcdef"] + ["a", "item", "", "ITEM A"])
operations = st.builds(
    TodoChange,
    op=st.sampled_from(["set", "start", "done", "drop", "block", "add", "view"]),
    phases=st.lists(st.tuples(st.sampled_from(["One", "Two", ""]), st.lists(names, max_size=4)), max_size=2),
    tasks=st.lists(names, max_size=2),
    phase=st.sampled_from([None, "One", "Two"]),
)


@given(st.lists(operations, max_size=30))
def test_items_are_only_closed_by_name_and_one_is_current(asked: list[TodoChange]):
    phases: Phases = ()
    for change in asked:
        before = {item.content for item in open_todo_items(phases)}
        try:
            phases = apply_todo_change(phases, change)
        except TodoRefused:
            continue
        items = todo_items_of_phases(phases)
        gone = before - {item.content for item in open_todo_items(phases)}
        assert len(gone) <= (max(1, len(change.tasks)) if change.op in ("done", "drop") else 0)
        assert sum(item.status == "in_progress" for item in items) <= 1
        assert len({item.content for item in items}) == len({item.id for item in items}) == len(items)
        if any(item.blocked is None for item in open_todo_items(phases)):
            assert current_todo_item(phases) is not None


def test_phases_have_a_bound_too() -> None:
    with pytest.raises(TodoRefused, match="items and phases"):
        normalise_todo_phases([TodoPhase(name=f"Phase {number}") for number in range(MAX_TODO_ITEMS + 1)])
