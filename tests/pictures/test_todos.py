"""The list of todos above the editor, folded, and when it is changed by hand."""

from app.providers.scripted import Scripted, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen
from widgets.screens.todos import TodosScreen

PHASES = [
    {"name": "Survey", "tasks": ["Read boats/fleet.py", "Count the oars"]},
    {
        "name": "Change",
        "tasks": ["Give every boat four oars", "Tell the harbour", "Run the tests", "Paint the names"],
    },
]


async def test_todos(screen: Screen, photographs: Photographs) -> None:
    script = Scripted(
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
