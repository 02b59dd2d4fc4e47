"""An editor that an extension brings stands in for bayou's own, and goes when the extension goes."""

from pathlib import Path

from app.providers.scripted import say
from tests.tui.scripted_app import make_app
from tests.tui.test_extensions import gone, home, ready, submit, until

__all__ = ["home"]


OWN_EDITOR = """
    from textual.widgets import Input

    class Line(Input):
        def __init__(self, submit):
            super().__init__(placeholder="Say it in one line")
            self.sends = submit

        def on_input_submitted(self, event):
            self.value = ""
            self.sends("asked: " + event.value)

    def extension(api):
        @api.command("own")
        async def own(arguments, context):
            context.ui.set_editor(Line)

        @api.command("fill")
        async def fill(arguments, context):
            context.ui.set_editor_text("by hand")
            context.ui.notify("the editor has " + context.ui.editor_text())

        @api.command("usual")
        async def usual(arguments, context):
            context.ui.set_editor(None)
"""


async def test_an_extension_brings_its_own_editor(home: Path) -> None:
    app = make_app(home, say("x"), say("y"), extension=OWN_EDITOR)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/own")
        await until(app, pilot, "Say it in one line")
        await pilot.press(*"hello", "enter")
        await until(app, pilot, "asked: hello")
        assert not app.editor.display
        app.editor.focus()
        await pilot.press(*"again", "enter")
        await until(app, pilot, "asked: again")
        assert app.connected_extensions is not None
        await app.connected_extensions.catalogue.run_command("fill", "")
        await until(app, pilot, "the editor has by hand")
        await app.connected_extensions.catalogue.run_command("usual", "")
        await pilot.press(*"as ever")
        assert app.editor.display and app.editor.text == "as ever"


async def test_its_editor_goes_with_the_extension(home: Path) -> None:
    app = make_app(home, say("x"), extension=OWN_EDITOR)
    async with app.run_test(size=(120, 30)) as pilot:
        await ready(app, pilot)
        await submit(app, pilot, "/own")
        await until(app, pilot, "Say it in one line")
        assert app.connected_extensions is not None
        await app.connected_extensions.reload()
        await gone(app, pilot, "Say it in one line")
        await pilot.press(*"back")
        assert app.editor.text == "back"
