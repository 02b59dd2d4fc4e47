"""Real programs in a terminal above the page: they are seen, typed into, resized, and ended by Escape."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from app.providers.scripted import call, say
from app.values.content import Text
from app.values.messages import BashExecutionMessage, ToolResultMessage
from tests.support.sizes import resize
from tests.tui.scripted_app import ScriptedApp, make_app
from widgets.emulator.terminal_view import TerminalScreen


@asynccontextmanager
async def running(
    tmp_path: Path, command: str, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ScriptedApp, Pilot]]:
    app = make_app(tmp_path, call("bash", command=command, pty=True), say("done"))
    async with app.run_test(size=size) as pilot:
        app.editor.set_text("go")
        await pilot.press("enter")
        await shown(app, pilot, lambda: isinstance(app.screen, TerminalScreen))
        yield app, pilot


async def shown(app: ScriptedApp, pilot: Pilot, condition: "Callable[[], bool] | str") -> None:
    """Waits for the effect of a program, which sends no notification: checks the screen after each drawing."""
    is_there = condition if callable(condition) else lambda: condition in app.screen_text
    async with asyncio.timeout(20):
        while not is_there():
            await pilot.pause(0.01)


def result(app: ScriptedApp) -> str:
    found = [m for m in app.session.messages if isinstance(m, ToolResultMessage)]
    return "".join(block.text for block in found[-1].content if isinstance(block, Text))


async def over(app: ScriptedApp, pilot: Pilot) -> str:
    await shown(app, pilot, lambda: app.settled_count == 1 and not isinstance(app.screen, TerminalScreen))
    assert app.editor.has_focus
    return result(app)


async def test_a_python_prompt_is_typed_into(tmp_path: Path) -> None:
    async with running(tmp_path, "python3 -q -i") as (app, pilot):
        await shown(app, pilot, ">>>")
        await pilot.press(*"6*7", "enter")
        await shown(app, pilot, "42")
        await pilot.press("ctrl+d")
        assert (await over(app, pilot)).split("\n")[:2] == [">>> 6*7", "42"]


async def test_control_c_is_the_programs(tmp_path: Path) -> None:
    async with running(tmp_path, "trap 'echo caught; exit 3' INT; echo up; while :; do sleep 0.05; done") as (
        app,
        pilot,
    ):
        await shown(app, pilot, "\nup")  # the title has the word, too
        await pilot.press("ctrl+c")
        assert (await over(app, pilot)).endswith("caught\n\nCommand exited with code 3")


async def test_a_pager_fills_the_screen_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "long.txt").write_text("".join(f"row {n} of many\n" for n in range(1, 200)))
    async with running(tmp_path, "echo before; LESS= less long.txt") as (app, pilot):
        await shown(app, pilot, "row 20 of many")
        await pilot.press("space")
        await shown(app, pilot, "row 40 of many")
        await pilot.press("slash", *"199", "enter")
        await shown(app, pilot, "row 199 of many")
        await pilot.press("q")
        assert await over(app, pilot) == "before"


async def test_an_editor_is_resized_and_saves(tmp_path: Path) -> None:
    async with running(tmp_path, "vi -u NONE note.txt") as (app, pilot):
        await shown(app, pilot, "~")
        await resize(pilot, 60, 15)
        await shown(app, pilot, lambda: app.screen_text.count("\n~") == 11)
        await pilot.press("i", *"hello", "f12", *":wq", "enter")
        await over(app, pilot)
    assert (tmp_path / "project" / "note.txt").read_text() == "hello\n"


async def test_escape_ends_the_program_and_all_that_it_started(tmp_path: Path) -> None:
    async with running(tmp_path, "echo up; trap '' TERM; (setsid sleep 602.1 &); sleep 602.1") as (
        app,
        pilot,
    ):
        await shown(app, pilot, "\nup")  # the title has the word, too
        await pilot.press("escape")
        text = await over(app, pilot)
    assert text == "up\n\nCommand aborted"


async def test_two_programs_take_turns(tmp_path: Path) -> None:
    one, two = (call("bash", command=f"read -p 'question {n}? ' x; echo $x", pty=True) for n in (1, 2))
    app = make_app(tmp_path, one + two, say("done"))
    async with app.run_test(size=(80, 24)) as pilot:
        app.editor.set_text("go")
        await pilot.press("enter")
        await shown(app, pilot, "question 1?")
        await pilot.press("a", "enter")
        await shown(app, pilot, "question 2?")
        await pilot.press("b", "enter")
        await over(app, pilot)


async def test_a_program_that_writes_without_end_leaves_the_screen_alive(tmp_path: Path) -> None:
    async with running(tmp_path, "yes") as (app, pilot):
        await shown(app, pilot, "\ny\ny")
        await pilot.press("ctrl+c")
        assert "ended by SIGINT" in await over(app, pilot)


async def test_what_was_done_in_it_can_be_taken_back(tmp_path: Path) -> None:
    made = tmp_path / "project" / "made.txt"
    async with running(tmp_path, "cat > made.txt") as (app, pilot):
        await pilot.press(*"typed by a person", "enter", "ctrl+d")
        await over(app, pilot)
        assert made.read_text() == "typed by a person\n"
        await shown(app, pilot, "made.txt +1")
        await pilot.press("alt+z")
        await shown(app, pilot, "is deleted")
        await pilot.press("enter")
        await shown(app, pilot, lambda: not made.exists())


async def test_a_persons_own_program_has_every_key_and_f12_ends_it(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.editor.set_text("!python3 -q -i")
        await pilot.press("enter")
        await shown(app, pilot, ">>>")
        await pilot.press("escape")  # an editor lives on it: it reaches the program, and does not end it
        await pilot.press("ctrl+u", *"print(6*7)", "enter")
        await shown(app, pilot, "42")
        assert isinstance(app.screen, TerminalScreen)
        assert "f12 stop program" in app.screen_text
        await pilot.press("ctrl+d")
        await shown(app, pilot, lambda: not isinstance(app.screen, TerminalScreen))
        app.editor.set_text("!python3 -q -i")
        await pilot.press("enter")
        await shown(app, pilot, ">>>")
        await pilot.press("f12")
        await shown(app, pilot, lambda: not isinstance(app.screen, TerminalScreen))
        ran = [message for message in app.session.messages if isinstance(message, BashExecutionMessage)]
        assert "42" in ran[0].output and ran[0].exit_code == 0
