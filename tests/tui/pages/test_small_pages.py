"""Pages that only show something or ask one question: extensions, blocks and symbols, keys and the palette."""

from pathlib import Path

from app.extensions.extension_registrations import ExtensionProblem, ExtensionStatus
from app.tui.features.blocks.page import TranscriptBlockPage
from app.tui.features.extensions.page import show_extensions
from app.tui.features.keys.page import KeysAndCommandsPage
from app.tui.features.keys.screens import SCREEN_BINDING_GROUPS
from app.tui.keys.action_table import ActionTable
from app.tui.keys.keymap import read_user_key_map
from tests.tui.keys_pressed import PAGE_KEYS
from tests.tui.pages.person import Person, at_the_keyboard
from tools.tool_result_values import Card, MapBlock, MapSymbol, TextBlock
from widgets.transcript.transcript_blocks import ToolCallBlock
from widgets.transcript.view import Transcript


async def test_extensions_are_told_with_what_they_have_and_what_is_wrong() -> None:
    wrong = ExtensionProblem(source="tides", event="load", text="no such module: moon")
    status = [
        ExtensionStatus(
            name="tides", path="/x/tides.py", origin="own", counts={"tools": 1}, problems=(wrong,)
        ),
        ExtensionStatus(name="todo", path="/x/todo.py", origin="bayou", counts={"hooks": 3}),
    ]
    async with at_the_keyboard(size=(120, 30)) as person, person.asked(show_extensions(status, person.ask)):
        assert "1 tool" in person.sees and "3 hooks" in person.sees and "1 problem" in person.sees
        assert "load: no such module: moon" in person.sees
        await person.press("escape")


class Block:
    """The page over a transcript with one card in it."""

    def __init__(self, person: Person, transcript: Transcript) -> None:
        self.own: list[str] = []
        """Blocks for which an extension has a widget."""
        transcript.add(
            ToolCallBlock(id="card", card=Card(title="read", blocks=(TextBlock(text="all of it"),)))
        )
        self.page = TranscriptBlockPage(
            transcript, person.ask, person.write, person.copy, cwd=Path("/p"), show_widget=self._show_widget
        )

    async def _show_widget(self, block_id: str) -> bool:
        return block_id in self.own


MAP = MapBlock(
    path="/p/boats/fleet.py",
    text="",
    symbols=(
        MapSymbol(label="class Boat", kind="class", first_line=5, last_line=9),
        MapSymbol(label="launch", kind="function", first_line=12, last_line=13),
    ),
)


async def test_a_block_opens_in_full_unless_it_has_a_custom_widget() -> None:
    transcript = Transcript()
    async with at_the_keyboard(transcript) as person:
        block = Block(person, transcript)
        async with person.asked(block.page.open("card")):
            await person.sees_soon("In full", "all of it")
            await person.press("escape")
        await block.page.open("gone")
        block.own.append("card")
        await block.page.open("card")
        assert len(person.terminal.screen_stack) == 1


async def test_a_symbol_of_a_map_becomes_a_request_or_a_place() -> None:
    transcript = Transcript()
    async with at_the_keyboard(transcript) as person:
        page = Block(person, transcript).page
        async with person.asked(page.choose_symbol(MAP)):
            await person.press(*"launch", "enter")
        assert person.written == ["read boats/fleet.py:12-13"]
        async with person.asked(page.choose_symbol(MAP)):
            await person.press("ctrl+y")
        assert person.copied == [("boats/fleet.py:5-9", "the symbol's location")]


class Keys:
    """The page of keys over a file of one's own."""

    def __init__(self, file: Path, person: Person, *, reports_alt_separately: bool = True) -> None:
        self.file = file
        self.done: list[str] = []
        self.table = ActionTable(
            PAGE_KEYS,
            lambda: [("tides", "the tides of today")],
            lambda: SCREEN_BINDING_GROUPS,
            {"tides": "[day]"},
            {"tides": "Sea"},
        )
        self.page = KeysAndCommandsPage(
            self.table,
            person.ask,
            person.write,
            keys_file=file,
            reload_keys=self._read,
            run_action=self._do,
            recent_actions=[],
            reports_alt_separately=lambda: reports_alt_separately,
        )

    def _read(self) -> None:
        self.table.user_keymap = read_user_key_map(self.file, self.table.binding_groups)

    async def _do(self, action: str) -> None:
        self.done.append(action)


async def test_an_action_gets_another_key_and_its_default_back(tmp_path: Path) -> None:
    async with at_the_keyboard(size=(120, 30)) as person:
        keys = Keys(tmp_path / "keybindings.json", person)
        async with person.asked(keys.page.show_keys()):
            await person.press(*"Choose a model", "enter")
            await person.press("f9")
            await person.sees_soon("now f9")
            assert keys.table.key_of("app.model.select") == "f9"
            await person.press("escape")
        assert '"app.model.select": "f9"' in keys.file.read_text()


async def test_an_action_and_its_slash_command_are_one_row_of_the_palette(tmp_path: Path) -> None:
    async with at_the_keyboard(size=(120, 30)) as person:
        keys = Keys(tmp_path / "keybindings.json", person)
        keys.table.slash_command_descriptions = lambda: [("model", "choose a model"), ("keys", "the same")]
        titles = [row.title for row in keys.table.palette_rows()]
        assert "/model" not in titles and "/keys" not in titles
        async with person.asked(keys.page.show_palette()):
            await person.press(*"/model")
            await person.sees_soon("1 of", "Choose a model", "/model", "ctrl+l")
            await person.press("escape", "escape")


async def test_the_list_of_keys_names_the_plain_key_where_alt_may_be_an_escape(tmp_path: Path) -> None:
    async with at_the_keyboard(size=(120, 30)) as person:
        for reports_alt_separately in (True, False):
            keys = Keys(tmp_path / "keybindings.json", person, reports_alt_separately=reports_alt_separately)
            async with person.asked(keys.page.show_keys()):
                await person.press(*"app.approval.once")
                assert (
                    "unclear in this terminal: press f8, then y" in person.sees
                ) is not reports_alt_separately
                await person.press("escape", "escape")


async def test_enter_in_a_palette_just_opened_does_not_leave(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        keys = Keys(tmp_path / "keybindings.json", person)
        async with person.asked(keys.page.show_palette()):
            await person.press("enter")
        assert keys.done != ["app.exit"] and keys.done != ["app.suspend"]


async def test_the_palette_does_an_action_or_begins_a_command(tmp_path: Path) -> None:
    async with at_the_keyboard() as person:
        keys = Keys(tmp_path / "keybindings.json", person)
        async with person.asked(keys.page.show_palette()):
            await person.press(*"Start a new session", "enter")
        async with person.asked(keys.page.show_palette()):
            assert "› Start a new session" in person.sees  # the last used one comes first
            await person.press(*"tides", "enter")
        async with person.asked(keys.page.show_commands()):
            assert "/tides" in person.sees and "[day]" in person.sees
            await person.press("enter")
        assert keys.done == ["app.session.new"] and person.written == ["/tides ", "/tides "]
