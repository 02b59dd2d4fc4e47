"""The right third of a wide page: what changed, text of the item, what runs. Where there is no room, it goes."""

from app.providers.scripted import ScriptedModel, call, say
from tests.support.photographs import Photographs
from tests.support.screens import Screen, text_of
from tests.support.sizes import resize

PHASES = [
    {"name": "Survey", "tasks": ["Read boats/fleet.py", "Count the oars"]},
    {"name": "Change", "tasks": ["Give every boat four oars", "Tell the harbour", "Paint the names"]},
]


async def test_the_right_third(screen: Screen, photographs: Photographs) -> None:
    """Hidden while empty, filled, and with more than fits; below 120 columns the todos are above the editor again."""
    script = ScriptedModel(
        [
            call("todo", op="set", phases=PHASES)
            + call("write", path="boats/sail.py", content="def sail() -> str:\n    return 'off'\n")
            + call(
                "edit",
                path="boats/fleet.py",
                edits=[{"oldText": "oars: int = 2", "newText": "oars: int = 4"}],
            ),
            call("todo", op="done", tasks=["Read", "Count"]),
            call("todo", op="block", note="the harbour's master is away"),
            call("bash", command="echo building; sleep 600"),
            say("Four oars, and a sail. Shall I go on?"),
        ]
    )
    app = screen.app(theme=photographs.theme, script=script, is_kept=True)
    async with photographs.of(app) as tour:
        await resize(tour.pilot, 120, 40)
        assert not app.page.side_panel.display
        assert app.assembled.effective_settings.settings.display.side_panel == "auto"
        await tour.say("four oars, please")
        await tour.until("│ building")
        await tour.press("ctrl+b")
        await tour.idle()
        await tour.until("Changed  2 files")
        await tour.until("1 running")
        await tour.photograph("side")
        await tour.photograph_small("side", (200, 60))
        await tour.photograph_small("side", (120, 12))
        assert "Changed  2 files" not in text_of(app) and "Give every boat four oars" in text_of(app)
        await tour.press("alt+i")
        assert "needs 100 columns; this terminal has 80" in text_of(app)
        await resize(tour.pilot, 120, 40)
        await app.session.jobs.close()
        await tour.until("✗ echo building")
        await tour.press("alt+i")
        assert "1 running" not in text_of(app) and not app.page.side_panel.display
