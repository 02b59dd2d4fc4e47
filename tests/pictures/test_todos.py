"""The list of todos above the editor, folded, and when it is changed by hand; a plan that is proposed."""

from app.providers.scripted import ScriptedModel, call, say
from app.tui.features.todos.page import ProposedPlanScreen, TodosScreen
from tests.support.photographs import Photographs
from tests.support.screens import Screen

PHASES = [
    {"name": "Survey", "tasks": ["Read boats/fleet.py", "Count the oars"]},
    {
        "name": "Change",
        "tasks": ["Give every boat four oars", "Tell the harbour", "Run the tests", "Paint the names"],
    },
]


async def test_todos(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [
            call("todo", op="set", phases=PHASES),
            call("todo", op="done", tasks=["Read", "Count"]),
            call("todo", op="done"),
            call("todo", op="block", note="the harbour's master is away"),
            say("Shall I go on?"),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("four oars, please")
        await tour.idle()
        await tour.photograph("list")
        await tour.photograph_small("list")
        await tour.press("alt+l")
        await tour.photograph("folded")
        await tour.say("/todos")
        await tour.until(lambda: isinstance(app.screen, TodosScreen))
        await tour.photograph("changed-by-hand")
        await tour.photograph_small("changed-by-hand")


PLAN = """The boats have two oars each; the race wants four.

## Look
1. Read `boats/fleet.py` and find who uses `oars`

## Change
2. `oars: int = 4` in **boats/fleet.py**
3. Tell `launch` about it

Checked by `pytest -q`.
"""


async def test_a_plan(screen: Screen, photographs: Photographs) -> None:
    script = ScriptedModel(
        [call("propose_plan", title="Four oars for every boat", plan=PLAN), say("I begin.")]
    )
    app = screen.app("--permissions", "ask", theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("/plan")
        await tour.photograph("plan-mode")
        await tour.say("four oars, please")
        await tour.until(lambda: isinstance(app.screen, ProposedPlanScreen))
        await tour.photograph("proposed")
        await tour.photograph_small("proposed")
        await tour.press("escape")
