"""What extensions ask while the agent works, and a person may be writing: no writing answers it."""

from pathlib import Path

from textual.pilot import Pilot

from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.messages import ToolResultMessage
from tests.agent.scripted_loop import echo
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs

GATE = """
    def extension(api):
        @api.on("tool_call")
        async def gate(event, context):
            ui = context.ui
            if not await ui.confirm("Launch?", "It may rain."):
                return {"block": True, "reason": "not launched"}
            boat = await ui.select("Which boat?", ["Ada", "Grace"])
            oars = await ui.input("How many oars?")
            return {"block": True, "reason": f"{boat} with {oars}"}
"""


def app_of(home: Path) -> ScriptedApp:
    return make_app(home, call("echo", text="x"), say("done"), tools=[echo()], extension=GATE)


async def asked(app: ScriptedApp, pilot: Pilot[int], text: str) -> None:
    await app.settling_until(
        pilot, lambda: app.approval_bar.asked is not None and text in app.approval_bar.asked.question
    )
    await pilot.pause()
    await pilot.pause()


def wait(app: ScriptedApp) -> None:
    for _ in range(10):
        app.time.now += 0.1
        app.approval_bar.arming.update_armed(app.time.now)


def result(app: ScriptedApp) -> str:
    return next(text_of(one.content) for one in app.session.messages if isinstance(one, ToolResultMessage))


async def test_writing_goes_on_and_answers_nothing(tmp_path: Path) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=(90, 28)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "go")
        await asked(app, pilot, "Launch?")
        wait(app)
        await pilot.press(*"yes y", "space", "n", "1", "tab", "up", "down")
        await pilot.click(app.approval_bar)
        assert app.approval_bar.asked is not None and app.focused is app.editor
        assert app.editor.text.startswith("yes y n1")
        app.editor.set_text("")
        wait(app)
        await pilot.press("alt+x")
        await wait_for_runs(app, pilot)
    assert "not launched" in result(app)


async def test_its_keys_answer_once_it_has_stood_there(tmp_path: Path) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=(90, 28)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "go")
        await asked(app, pilot, "Launch?")
        await pilot.press("alt+a")
        assert app.approval_bar.asked is not None, "it had just appeared"
        wait(app)
        await pilot.press("alt+a")
        await asked(app, pilot, "Which boat?")
        wait(app)
        await pilot.press("alt+a")
        await pilot.pause()
        assert app.focused is app.approval_bar
        for key in ("down", "enter"):
            wait(app)
            await pilot.press(key)
        await asked(app, pilot, "How many oars?")
        assert len(app.screen_stack) == 1, "a line to type in does not come up by itself"
        wait(app)
        await pilot.press("alt+a")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"four", "enter")
        await wait_for_runs(app, pilot)
    assert "Grace with four" in result(app)


async def test_an_abort_takes_it_away(tmp_path: Path) -> None:
    app = app_of(tmp_path)
    async with app.run_test(size=(90, 28)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "go")
        await asked(app, pilot, "Launch?")
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        assert app.approval_bar.asked is None
