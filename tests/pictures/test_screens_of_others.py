"""Screens that providers, programs and extensions open, and keys in a row, as `test_every_screen` has the rest."""

import asyncio
import json

from textual.widgets import Static

from app.providers.model_stream import Credential
from app.providers.scripted import ScriptedModel, call, say
from app.providers.signin.interface import SignInEntry, SignInUi
from app.tui.features.blocks.overlay import OverlayScreen
from tests.support.photographs import Photographs
from tests.support.screens import Screen
from widgets.emulator.terminal_view import TerminalScreen
from widgets.screens.dialogs import TextInputDialog, WaitingDialog
from widgets.screens.picker import PickerScreen

OWN_WIDGET = """
from textual.widgets import Static

def extension(api):
    @api.command("tides", description="the tides of today")
    async def tides(arguments, context):
        table = Static("Tides\\n\\n 06:12  high  3.4 m\\n 12:20  low   0.6 m\\n\\nesc closes", markup=False)
        await context.ui.custom(lambda done: table, overlay=True)
"""


class ByCode:
    """A provider whose code is never entered."""

    id, name, missing = "harbour", "Harbour", ""

    async def login(self, ui: SignInUi) -> SignInEntry:
        await ui.show_code("WDJB-MJHT", "https://harbour.example/device", 900)
        await asyncio.Event().wait()
        return {}

    def refresh(self, entry: SignInEntry) -> SignInEntry:
        return entry

    def credential(self, entry: SignInEntry) -> Credential:
        return Credential()


async def test_signing_in_and_out(screen: Screen, photographs: Photographs) -> None:
    app = screen.app("--offline", theme=photographs.theme)
    credentials = app.assembled.model_choice.credentials
    credentials.sign_ins["harbour"] = ByCode()
    async with photographs.of(app) as tour:
        await tour.say("/login harbour")
        await tour.until(lambda: isinstance(app.screen, TextInputDialog))
        await tour.press("enter")
        await tour.until(lambda: isinstance(app.screen, WaitingDialog))
        await tour.photograph("code")
        await tour.photograph_small("code")
        await tour.press("escape")
        assert len(app.screen_stack) == 1
        assert "harbour" not in credentials.stored_credential_kinds()
        await credentials.store_key("deepseek", "sk-1")
        await credentials.store_key("openai", "sk-2")
        await tour.say("/logout")
        await tour.until(lambda: isinstance(app.screen, PickerScreen))
        await tour.photograph("forget")
        await tour.press("enter")
        await tour.until("removed")
        await tour.photograph("forgotten")


async def test_a_program_that_needs_a_person(screen: Screen, photographs: Photographs) -> None:
    ask = "printf 'Name of the boat? '; read name; echo \"$name is afloat\""
    script = ScriptedModel([call("bash", command=ask, pty=True), say("It is afloat.")])
    app = screen.app(theme=photographs.theme, script=script)
    async with photographs.of(app) as tour:
        await tour.say("launch it")
        await tour.until(lambda: isinstance(app.screen, TerminalScreen))
        await tour.until("\nName of the boat?")  # the title has it, too
        await tour.press(*"Ada")
        await tour.until("boat? Ada")
        await tour.photograph("program")
        await tour.photograph_small("program")
        await tour.press("enter")
        await tour.idle()


async def test_an_extensions_own_widget(screen: Screen, photographs: Photographs) -> None:
    file = screen.home / ".bayou" / "agent" / "extensions" / "tides.py"
    file.parent.mkdir(parents=True)
    file.write_text(OWN_WIDGET, encoding="utf-8")
    app = screen.app("--offline", theme=photographs.theme, has_extensions=True)
    async with photographs.of(app) as tour:
        await app.is_ready.wait()
        await tour.say("/tides")
        await tour.until(lambda: isinstance(app.screen, OverlayScreen) and bool(app.screen.query(Static)))
        await tour.photograph("widget")
        await tour.press("escape")


async def test_keys_in_a_row(screen: Screen, photographs: Photographs) -> None:
    file = screen.home / ".bayou" / "agent" / "keybindings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"app.session.tree": "f9 t", "app.model.select": "f9 m"}), encoding="utf-8")
    async with photographs.of(screen.app("--offline", theme=photographs.theme)) as tour:
        await tour.press("f9")
        await tour.photograph("begun")
