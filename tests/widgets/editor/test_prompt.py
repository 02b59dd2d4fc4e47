"""The editor under the keys of a person."""

from pathlib import Path

import pytest
from textual import on
from textual.events import Paste
from textual.message import Message
from textual.widget import Widget

from tests.widgets.host import Host, screen_text
from tests.widgets.typing import type_text
from widgets.editor.prompt_chips import ImageAttachment, UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor


class EditorHost(Host):
    def __init__(self, **options: object) -> None:
        super().__init__(lambda: [PromptEditor(**options)])  # type: ignore[arg-type]
        self.told: list[Message] = []

    def on_mount(self) -> None:
        super().on_mount()
        self.editor.focus()

    @property
    def editor(self) -> PromptEditor:
        return self.query_one(PromptEditor)

    @on(PromptEditor.Submitted)
    @on(PromptEditor.FollowUp)
    def note(self, event: Message) -> None:
        self.told.append(event)

    def sent(self) -> list[tuple[str, str]]:
        return [(type(message).__name__, getattr(message, "text", "")) for message in self.told]


async def test_enter_sends_and_empties() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "hello there")
        await pilot.press("enter")
        assert app.sent() == [("Submitted", "hello there")]
        assert app.editor.text == ""


async def test_blank_prompts_are_not_sent() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "   ")
        await pilot.press("enter")
        assert app.sent() == []


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "ctrl+enter", "alt+shift+enter", "alt+enter"])
async def test_new_lines_by_their_keys(key: str) -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "a")
        await pilot.press(key)
        await type_text(pilot, "b")
        assert app.editor.text == "a\nb"


async def test_a_backslash_before_enter_is_a_new_line() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "a\\")
        await pilot.press("enter")
        await type_text(pilot, "b")
        assert app.editor.text == "a\nb"
        assert app.sent() == []


async def test_alt_enter_follows_up_while_the_agent_works() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.should_follow_up = lambda: True
        await type_text(pilot, "later")
        await pilot.press("alt+enter")
        assert app.sent() == [("FollowUp", "later")]


async def test_a_cleared_draft_comes_back_by_undo_and_by_up() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "long thoughts")
        assert app.editor.clear()
        await pilot.press("ctrl+underscore")
        assert app.editor.text == "long thoughts"
        app.editor.clear()
        await pilot.press("up")
        assert app.editor.text == "long thoughts"


async def test_up_walks_through_history_and_down_gives_the_draft_back() -> None:
    app = EditorHost(history=[UnsentPrompt(text="first"), UnsentPrompt(text="second")])
    async with app.run_test() as pilot:
        await type_text(pilot, "unsent")
        await pilot.press("up")
        assert app.editor.text == "unsent", "first to the line's start"
        await pilot.press("up")
        assert app.editor.text == "second"
        await pilot.press("up")
        assert app.editor.text == "first"
        await pilot.press("down", "down")
        assert app.editor.text == "unsent"


async def test_history_brings_attachments_back() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.attach_image(
            ImageAttachment(name="a.png", mime_type="image/png", byte_count=1200, width=8, height=9)
        )
        await type_text(pilot, " what is this")
        await pilot.press("enter", "up")
        assert app.editor.attachments[0].name == "a.png"
        assert app.editor.text == "[image #1] what is this"


async def test_it_grows_to_a_third_of_the_screen_and_tells_what_is_hidden() -> None:
    app = EditorHost()
    async with app.run_test(size=(40, 24)) as pilot:
        app.editor.set_text("\n".join(str(number) for number in range(20)))
        await pilot.pause()
        assert app.editor.size.height == 8
        assert "↑ 14 more" in screen_text(app)
        await pilot.press(*["up"] * 19)
        assert "↓ 14 more" in screen_text(app)


async def test_a_long_paste_is_a_chip_and_is_sent_in_full() -> None:
    app = EditorHost()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.paste("line\r\n" * 30)
        await pilot.pause()
        assert "[paste #1 +31 lines]" in screen_text(app)
        await pilot.press("enter")
        assert app.sent() == [("Submitted", ("line\n" * 30).strip())]


async def test_a_chip_opens_in_place() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.paste("line\n" * 30)
        await pilot.press("alt+e")
        assert app.editor.model.text == "line\n" * 30
        await pilot.press("ctrl+underscore")
        assert len(app.editor.model.text) == 1


async def test_markup_and_escapes_are_only_text() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.paste("[/] [bold]x\x1b[2J[red")
        await pilot.pause()
        assert "[/] [bold]x[red" in screen_text(app)


async def test_a_dropped_picture_becomes_a_chip(tmp_path: Path) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20\x08\x02\0\0\0")
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.post_message(Paste(str(path)))
        await app.workers.wait_for_complete()
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert app.editor.attachments[0].width == 16
        assert app.editor.attachments[0].path == path


async def test_jumping_to_a_character() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "alpha beta")
        await pilot.press("home", "ctrl+right_square_bracket", "b")
        assert app.editor.model.cursor == (0, 6)
        await pilot.press("alt+ctrl+right_square_bracket", "a")
        assert app.editor.model.cursor == (0, 4)


async def test_keys_that_have_nothing_to_do_in_an_empty_editor_are_left_to_the_application() -> None:
    app = EditorHost()
    pressed: list[str] = []
    app.bind("ctrl+d", "quit_now")
    app.bind("ctrl+k", "palette")
    app.action_quit_now = lambda: pressed.append("quit")  # type: ignore[attr-defined]
    app.action_palette = lambda: pressed.append("palette")  # type: ignore[attr-defined]
    async with app.run_test() as pilot:
        await pilot.press("ctrl+d", "ctrl+k")
        assert pressed == ["quit", "palette"]
        await type_text(pilot, "x")
        await pilot.press("home", "ctrl+k")
        assert app.editor.text == ""
        assert pressed == ["quit", "palette"]


async def test_keys_can_be_remapped_and_unbound() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.set_keymap({"tui.input.submit": "ctrl+s", "tui.input.newLine": "enter"})
        await type_text(pilot, "a")
        await pilot.press("enter")
        await type_text(pilot, "b")
        await pilot.press("ctrl+s")
        assert app.sent() == [("Submitted", "a\nb")]


async def test_every_binding_has_an_id() -> None:
    from textual.binding import Binding

    ids = [binding.id for binding in PromptEditor.BINDINGS if isinstance(binding, Binding)]
    assert len(ids) == len(PromptEditor.BINDINGS)
    assert len(set(ids)) == len(ids)


async def test_the_terminal_cursor_is_asked_to_the_caret() -> None:
    app = EditorHost()
    async with app.run_test(size=(40, 20)) as pilot:
        await type_text(pilot, "漢a")
        await pilot.pause()
        region = app.editor.region
        assert app.cursor_position == (region.x + 2 + 3, region.y + 1)


@pytest.mark.parametrize("size", [(40, 10), (12, 5), (200, 60)])
async def test_any_size_of_terminal_shows_the_row_of_the_caret(size: tuple[int, int]) -> None:
    app = EditorHost()
    async with app.run_test(size=size) as pilot:
        await type_text(pilot, "some words that need to wrap at the end here")
        await pilot.pause()
        widget: Widget = app.editor
        assert widget.size.height >= 3
        assert "here" in screen_text(app)


async def test_a_click_puts_the_caret() -> None:
    app = EditorHost()
    async with app.run_test(size=(40, 20)) as pilot:
        await type_text(pilot, "hello world")
        await pilot.click(PromptEditor, offset=(2 + 4, 1))
        assert app.editor.model.cursor == (0, 4)


async def test_a_change_tells_the_draft_to_save() -> None:
    changes: list[str] = []

    class Noting(EditorHost):
        def on_prompt_editor_changed(self, event: PromptEditor.Changed) -> None:
            changes.append(event.draft.text)

    app = Noting()
    async with app.run_test() as pilot:
        await type_text(pilot, "ab")
        await pilot.press("left")
        await pilot.pause()
        assert changes == ["a", "ab"]


async def test_five_megabytes_are_a_chip_and_come_out_whole() -> None:
    app = EditorHost()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.post_message(Paste("0123456789\x00abcdef\r\n" * 280_000))
        await pilot.pause()
        assert "[paste #1 +280,001 lines]" in screen_text(app)
        assert app.editor.text == "0123456789abcdef\n" * 280_000


async def test_ten_thousand_lines_open_in_place_and_can_be_walked() -> None:
    app = EditorHost()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.paste("\n".join(f"line {number}" for number in range(10_000)))
        app.editor.action_do("tui.editor.expandPaste")
        await pilot.press("ctrl+pageup", "x")
        assert "line 9994x" in screen_text(app) or "x" in app.editor.model.current_line
        assert len(app.editor.model.lines) == 10_000


@pytest.mark.parametrize(
    ("key", "text", "column"),
    [
        ("left", "one two three", 6),
        ("right", "one two three", 8),
        ("alt+left", "one two three", 4),
        ("ctrl+left", "one two three", 4),
        ("alt+b", "one two three", 4),
        ("alt+right", "one two three", 13),
        ("ctrl+right", "one two three", 13),
        ("alt+f", "one two three", 13),
        ("home", "one two three", 0),
        ("ctrl+a", "one two three", 0),
        ("up", "one two three", 0),
        ("end", "one two three", 13),
        ("ctrl+e", "one two three", 13),
        ("down", "one two three", 13),
        ("backspace", "one tw three", 6),
        ("ctrl+h", "one tw three", 6),
        ("delete", "one twothree", 7),
        ("ctrl+d", "one twothree", 7),
        ("ctrl+w", "one  three", 4),
        ("alt+backspace", "one  three", 4),
        ("alt+d", "one two", 7),
        ("alt+delete", "one two", 7),
        ("ctrl+u", " three", 0),
        ("ctrl+k", "one two", 7),
        ("ctrl+y", "one twokilled three", 13),
        ("ctrl+minus", "", 0),
    ],
)
async def test_each_key_of_the_editor(key: str, text: str, column: int) -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        app.editor.model.kill_ring.add_kill("killed", is_forward=True, joins=False)
        app.editor.insert("one two three")
        app.editor.model.move_to((0, 7))
        await pilot.press(key)
        assert app.editor.text == text
        assert app.editor.model.cursor == (0, column)


async def test_undo_and_redo_by_their_keys() -> None:
    app = EditorHost()
    async with app.run_test() as pilot:
        await type_text(pilot, "one two")
        await pilot.press("ctrl+underscore", "ctrl+underscore", "alt+underscore")
        assert app.editor.text == "one"


async def test_paging_and_walking_through_wrapped_rows_keeps_the_column() -> None:
    app = EditorHost()
    async with app.run_test(size=(20, 24)) as pilot:
        app.editor.set_text("a long line of words\nx\nanother long line here")
        await pilot.pause()
        app.editor.model.move_to((0, 5))
        app.editor.update_after_edit_command()
        await pilot.press("down", "down", "down")
        assert app.editor.model.cursor == (2, 5)
        await pilot.press("ctrl+pageup")
        assert app.editor.model.cursor[0] == 0


async def test_the_keys_that_only_ask() -> None:
    asked: list[str] = []

    class Asking(EditorHost):
        @on(PromptEditor.ExternalEditorRequested)
        @on(PromptEditor.ClipboardRequested)
        @on(PromptEditor.HistoryRequested)
        def ask(self, event: Message) -> None:
            asked.append(type(event).__name__)

    app = Asking(history=[UnsentPrompt(text="older")])
    async with app.run_test() as pilot:
        await pilot.press("ctrl+g", "ctrl+v", "ctrl+r")
        assert asked == ["ExternalEditorRequested", "ClipboardRequested", "HistoryRequested"]
