"""What extensions draw, ask and add in the full screen, from their code to the person's screen."""

import asyncio
from pathlib import Path

import pytest
from textual.events import AppFocus
from textual.pilot import Pilot

from app.assembly.command_line_options import CommandLineOptions
from app.providers.scripted import call, say
from tests.agent.scripted_loop import echo
from tests.tui.scripted_app import ScriptedApp, accept_trust, make_app
from widgets.screens.dialogs import ConfirmScreen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def until(app: ScriptedApp, pilot: Pilot[int], shown: str) -> str:
    """Until the screen shows a text; gives the screen."""
    try:
        async with asyncio.timeout(10):
            while shown not in app.screen_text:
                app.transcript.arriving.flush()
                await pilot.pause()
    except TimeoutError:
        pytest.fail(f"{shown!r} is not on the screen:\n{app.screen_text}")
    return app.screen_text


async def gone(app: ScriptedApp, pilot: Pilot[int], shown: str) -> None:
    async with asyncio.timeout(10):
        while shown in app.screen_text:
            await pilot.pause()


async def submit(app: ScriptedApp, pilot: Pilot[int], text: str) -> None:
    app.editor.set_text(text)
    await pilot.press("enter")


async def ready(app: ScriptedApp, pilot: Pilot[int]) -> None:
    async with asyncio.timeout(10):
        while app.connected_extensions is None:
            await pilot.pause()


REPORT = """
    from bayou import MarkdownBlock, TableBlock, TextBlock, View

    def extension(api):
        api.message_renderer("report", lambda message, expanded: View(
            title="report", summary="2 boats", level="warning", collapsed_lines=2,
            body=(TextBlock(text="one\\ntwo\\nthree"), TableBlock(header=("boat", "oars"), rows=(("Ada", "2"),))),
        ))
        api.entry_renderer("tally", lambda data, expanded: View(title=f"tally {data['count']}"))
        api.tool_renderer("echo", lambda arguments, result, usual: View(title=f"said {arguments.get('text')}"))
        api.markdown_transform(lambda text: text.replace("TM", "™"), kinds=("assistant", "user"))

        @api.command("report")
        async def report(arguments, context):
            await api.send_message("report", "for the model")
            await api.append_entry("tally", {"count": 3})
"""


async def test_a_view_is_a_card_with_its_first_lines_that_opens(home: Path) -> None:
    app = make_app(home, say("x"), extension=REPORT)
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/report")
        text = await until(app, pilot, "tally 3")
        assert any(line.split() == ["▪", "report", "2", "boats"] for line in text.split("\n"))
        assert "one" in text and "two" in text and "three" not in text
        assert "… 4 more lines" in text or "… 3 more lines" in text
        await pilot.press("ctrl+o")
        text = await until(app, pilot, "three")
        assert "boat" in text and "Ada" in text
        assert "more lines" not in text


async def test_tools_and_text_are_drawn_the_extensions_way(home: Path) -> None:
    app = make_app(home, call("echo", text="hello"), say("BayouTM it is"), tools=[echo()], extension=REPORT)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "what is itTM")
        text = await until(app, pilot, "Bayou™ it is")
        assert "said hello" in text
        assert "what is it™" in text
        assert app.session.last_answer is not None
        assert app.session.last_answer.text == "BayouTM it is"


async def test_what_was_said_before_is_drawn_again_when_extensions_come_and_go(home: Path) -> None:
    app = make_app(home, say("fineTM"), extension=REPORT)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/report")
        await submit(app, pilot, "go")
        await until(app, pilot, "fine™")
        code = home / ".bayou" / "agent" / "extensions" / "mine.py"
        code.write_text("def extension(api):\n    pass\n")
        await submit(app, pilot, "/reload")
        text = await until(app, pilot, "fineTM")
        assert "2 boats" not in text and "tally" not in text
        assert "for the model" in text


async def test_a_failing_renderer_is_reported_once_and_the_message_drawn_plainly(home: Path) -> None:
    code = """
        def extension(api):
            api.message_renderer("report", lambda message, expanded: 1 / 0)

            @api.command("report")
            async def report(arguments, context):
                await api.send_message("report", "plain words")
    """
    app = make_app(home, say("x"), extension=code)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/report")
        text = await until(app, pilot, "ZeroDivisionError")
        assert "plain words" in text


SHORTCUTS = """
    def extension(api):
        @api.shortcut("f9", description="Says hello")
        async def hello(context):
            context.ui.notify("hello from the key")

        @api.shortcut("shift+ctrl+f9", description="In another order")
        async def other(context):
            context.ui.notify("hello from three keys")

        @api.shortcut("ctrl+o", description="Would take bayou's own")
        async def never(context):
            context.ui.notify("never")

        async def boats(typed):
            return ["Ada", "Grace"]

        @api.command("launch", description="Launches a boat", complete=boats)
        async def launch(arguments, context):
            context.ui.set_status("fleet", f"{arguments} is afloat")
"""


async def test_shortcuts_arguments_and_states(home: Path) -> None:
    app = make_app(home, say("x"), extension=SHORTCUTS)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        text = await until(app, pilot, "belongs to bayou itself")
        await pilot.press("f9")
        text = await until(app, pilot, "hello from the key")
        await pilot.press("ctrl+shift+f9")
        text = await until(app, pilot, "hello from three keys")
        await pilot.press("ctrl+o")
        assert "never" not in text
        await pilot.press(*"/launch ")
        await until(app, pilot, "Grace")
        await pilot.press("down", "tab")
        await until(app, pilot, "/launch Grace")
        await pilot.press("enter")
        await until(app, pilot, "Grace is afloat")


async def test_what_is_loaded_and_what_went_wrong(home: Path) -> None:
    broken = home / ".bayou" / "agent" / "extensions" / "broken.py"
    broken.parent.mkdir(parents=True)
    broken.write_text("def extension(api):\n    raise ValueError('no engine')\n")
    app = make_app(home, say("x"), extension=SHORTCUTS)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/extensions")
        text = await until(app, pilot, "builtin:file-maps")
        assert "mine" in text and "1 problem" in text
        await pilot.press(*"broken")
        text = await until(app, pilot, "no engine")
        assert "1 problem" in text
        await pilot.press("escape", "escape")


async def test_a_reload_takes_the_keys_back(home: Path) -> None:
    app = make_app(home, say("x"), extension=SHORTCUTS)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        (home / ".bayou" / "agent" / "extensions" / "mine.py").write_text("def extension(api):\n    pass\n")
        await submit(app, pilot, "/reload")
        await until(app, pilot, "Reloaded context files")
        assert "f9" not in app._bindings.key_to_bindings


ASKING = """
    from textual.widgets import Input, Static

    def extension(api):
        @api.command("ask")
        async def ask(arguments, context):
            ui = context.ui
            answers = [
                await ui.select("Which boat?", ["Ada", "Grace"]),
                await ui.confirm("Launch?", "It may rain."),
                await ui.input("How many oars?", "two"),
                await ui.editor("Log book", "calm sea"),
            ]
            ui.notify(f"answers {answers}")

        @api.command("late")
        async def late(arguments, context):
            context.ui.notify(f"late {await context.ui.confirm('Still there?', timeout=0.05)}")

        @api.command("own")
        async def own(arguments, context):
            def make(done):
                field = Input(placeholder="an own widget")
                field.action_submit = lambda: done(field.value)
                return field
            value = await context.ui.custom(make, overlay=arguments == "over")
            context.ui.notify(f"own {value!r}")

        @api.command("around")
        async def around(arguments, context):
            ui = context.ui
            ui.set_widget("top", ["above the editor"])
            ui.set_widget("low", lambda: Static("below the editor"), placement="below_editor")
            ui.set_header(lambda: Static("a custom header"))
            ui.set_footer(lambda: Static("a custom footer"))
            ui.set_working("thinking hard", frames=["*"])
            ui.set_editor_text("typed for you")
            ui.paste("!")

        @api.command("nothing-around")
        async def nothing(arguments, context):
            ui = context.ui
            ui.set_widget("top", None)
            ui.set_widget("low", None)
            ui.set_header(None)
            ui.set_footer(None)
            ui.set_working(None)
            ui.notify(f"theme {ui.theme()} {ui.set_theme('bayou-light')} {ui.theme()} {ui.set_theme('none')}")
"""


async def test_questions_are_dialogs(home: Path) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/ask")
        await until(app, pilot, "Which boat?")
        await pilot.press("down", "enter")
        await until(app, pilot, "It may rain.")
        await pilot.press("y")
        await until(app, pilot, "How many oars?")
        await pilot.press("4", "enter")
        await until(app, pilot, "Log book")
        await pilot.press("enter")
        await until(app, pilot, "answers ['Grace', True, '4', 'calm sea']")


async def test_an_unanswered_question_disappears_after_its_timeout(home: Path) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/late")
        await until(app, pilot, "late False")
        async with app.settling(pilot):
            while len(app.screen_stack) > 1:
                await pilot.pause()


async def test_a_question_cancelled_before_it_is_drawn_is_not_shown(home: Path) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        asked = asyncio.ensure_future(app.page.screens.ask(ConfirmScreen("Still there?", "")))
        await asyncio.sleep(0)  # pushed, and not yet mounted
        assert len(app.screen_stack) == 2
        asked.cancel()
        await asyncio.wait([asked])
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("where", ["page", "over"])
async def test_a_custom_widget_is_shown_until_it_is_done(home: Path, where: str) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, f"/own {where}")
        await until(app, pilot, "an own widget")
        await pilot.press(*"hi", "enter")
        await until(app, pilot, "own 'hi'")
        await gone(app, pilot, "an own widget")
        assert app.editor.has_focus


async def test_escape_takes_an_overlay_away(home: Path) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/own over")
        await until(app, pilot, "an own widget")
        await pilot.press("escape")
        await until(app, pilot, "own None")


async def test_widgets_above_and_below_the_editor_are_shown(home: Path) -> None:
    app = make_app(home, say("x"), extension=ASKING)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/around")
        text = await until(app, pilot, "typed for you!")
        for part in ("above the editor", "below the editor", "a custom header", "a custom footer"):
            assert part in text
        assert "* thinking hard" in text
        await submit(app, pilot, "/nothing-around")
        text = await until(app, pilot, "theme bayou-dark True bayou-light False")
        for part in ("above the editor", "below the editor", "a custom header", "a custom footer"):
            assert part not in text


async def test_a_message_with_a_custom_widget_opens_it(home: Path) -> None:
    code = """
        from textual.widgets import Static

        def extension(api):
            api.message_renderer("chart", lambda message, expanded: Static("the chart itself"))

            @api.command("chart")
            async def chart(arguments, context):
                await api.send_message("chart", "numbers")
    """
    app = make_app(home, say("x"), extension=code)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/chart")
        await until(app, pilot, "enter show")
        await pilot.press("f6", "enter")
        await until(app, pilot, "the chart itself")
        await pilot.press("escape")
        await gone(app, pilot, "the chart itself")


async def test_trusting_the_project_brings_its_extensions_at_once(home: Path) -> None:
    project = home / "project" / ".bayou"
    (project / "extensions").mkdir(parents=True)
    (project / "extensions" / "theirs.py").write_text(
        "def extension(api):\n"
        "    @api.command('theirs')\n"
        "    async def run(arguments, context):\n"
        "        context.ui.notify('theirs runs')\n"
    )
    (project / "settings.json").write_text('{"interruptMode": "immediate"}')
    app = make_app(home, say("not a command"), extension="def extension(api):\n    pass\n")
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        assert app.session.state.interrupt_mode == "wait"
        await submit(app, pilot, "/trust")
        text = await until(app, pilot, "Trust this project?")
        assert "theirs.py" in text and "settings.json" in text
        await accept_trust(app, pilot)
        await until(app, pilot, "This folder is trusted")
        assert app.session.state.interrupt_mode == "immediate"
        await submit(app, pilot, "/theirs")
        await until(app, pilot, "theirs runs")
        await submit(app, pilot, "/trust")
        await until(app, pilot, "Trust this project?")
        await pilot.press("down", "enter")
        await until(app, pilot, "This folder is not trusted")
        assert app.session.state.interrupt_mode == "wait"
        assert app.connected_extensions and "theirs" not in app.connected_extensions.catalogue.commands()


async def test_settings_follow_their_file(home: Path) -> None:
    options = CommandLineOptions(no_session=True)  # a theme of the command line would count over the file's
    app = make_app(home, say("one"), say("two"), extension="def extension(api):\n    pass\n", options=options)
    file = home / ".bayou" / "agent" / "settings.json"
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        file.write_text('{"theme": "bayou-light", "steeringMode": "all", "nonsense": 1}')
        app.post_message(AppFocus())
        await until(app, pilot, "it is kept but has no effect")
        assert app.theme == "bayou-light"
        file.write_text('{"steeringMode": "one-at-a-time", "interruptMode": "immediate"}')
        await submit(app, pilot, "go")
        await until(app, pilot, "one")
        assert app.session.state.steering_mode == "one-at-a-time"
        assert app.session.state.interrupt_mode == "immediate"
