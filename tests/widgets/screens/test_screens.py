"""The screens under the keys of a person: what each key does, and what comes back."""

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from app.tui.features.jobs.page import BackgroundJobsScreen
from app.tui.features.settings.screen import SettingsScreen
from app.tui.features.tree.screen import SessionTreeScreen
from tests.widgets.gallery import ACTIONS, HISTORY, entries, models, question, settings, themes, tree
from tests.widgets.host import Host, screen_text
from tests.widgets.typing import type_text
from widgets.editor.line_input import LineInput
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.lists.list_rows import ListRow
from widgets.screens.common_pickers import command_palette_screen, key_bindings_screen, prompt_history_screen
from widgets.screens.dialogs import ConfirmScreen, QuestionScreen, TextEditScreen, TextInputDialog
from widgets.screens.picker import PickerAction, PickerResult, PickerScreen, picker_bindings
from widgets.screens.preview_pane import make_preview_text
from widgets.screens.screen_parts import KeyHint, KeyHints, format_key_name

NOTHING = object()


class ScreenHost(Host):
    """Shows one screen and keeps what it gives back and what it asks."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.shown = screen
        self.result: Any = NOTHING
        self.asked: list[Any] = []
        super().__init__(lambda: [], start=lambda app: self._open())

    def _open(self) -> None:
        self.push_screen(self.shown, self._take)

    def _take(self, result: Any) -> None:
        self.result = result

    def on_picker_screen_action_requested(self, event: PickerScreen.ActionRequested) -> None:
        self.asked.append((event.action, event.row.id if event.row else None))

    def on_session_tree_screen_action_requested(self, event: SessionTreeScreen.ActionRequested) -> None:
        self.asked.append((event.action, event.entry_id, event.other_id))

    def on_settings_screen_changed(self, event: SettingsScreen.Changed) -> None:
        self.asked.append((event.key, event.value))


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


# -- picker --------------------------------------------------------------------------------------------------


async def test_a_picker_gives_the_row_back() -> None:
    app = ScreenHost(PickerScreen("Model", models()))
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "gpt mini")
        await press(pilot, "enter")
        assert isinstance(app.result, PickerResult)
        assert (app.result.row.id, app.result.action) == ("gpt-6-mini", "choose")


async def test_escape_gives_nothing() -> None:
    app = ScreenHost(PickerScreen("Model", models()))
    async with app.run_test() as pilot:
        await press(pilot, "escape")
        assert app.result is None


async def test_the_choice_in_force_is_where_one_begins() -> None:
    app = ScreenHost(PickerScreen("Model", models()))
    async with app.run_test() as pilot:
        await press(pilot, "down", "enter")
        assert app.result.row.id == models()[2].id


async def test_disabled_rows_are_not_chosen() -> None:
    app = ScreenHost(PickerScreen("Model", models(), query="llama"))
    async with app.run_test() as pilot:
        await press(pilot, "enter")
        assert app.result is NOTHING


async def test_actions_close_with_the_row_or_ask_and_stay() -> None:
    class WithActions(PickerScreen):
        ACTIONS = (
            PickerAction(id="save", keys="ctrl+s", label="save"),
            PickerAction(id="rename", keys="ctrl+r", label="rename", closes=False),
        )
        BINDINGS = picker_bindings(ACTIONS)

    app = ScreenHost(WithActions("Model", models()))
    async with app.run_test() as pilot:
        await press(pilot, "ctrl+r")
        assert app.asked == [("rename", "claude-opus-5")]
        assert app.result is NOTHING
        await press(pilot, "ctrl+s")
        assert app.result.action == "save"


async def test_rows_may_change_while_one_looks() -> None:
    screen = PickerScreen("Model", models())
    app = ScreenHost(screen)
    async with app.run_test() as pilot:
        await press(pilot, "down")
        current = screen.row
        screen.show_rows([ListRow(id="new", title="new"), *models()], note="found one more")
        await pilot.pause()
        assert screen.row == current
        assert "found one more" in screen_text(app)


async def test_a_broken_expression_is_named() -> None:
    app = ScreenHost(PickerScreen("Model", models()))
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "re:(")
        assert "not a regular expression" in screen_text(app)


async def test_the_filter_is_edited_with_the_editors_keys() -> None:
    app = ScreenHost(PickerScreen("Model", models()))
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "one two")
        await press(pilot, "ctrl+w", "ctrl+a", "ctrl+k", "ctrl+y")
        assert app.shown.query_one(LineInput).text == "one "


async def test_few_rows_are_chosen_by_number_and_the_filter_comes_with_a_letter() -> None:
    rows = [ListRow(id=name, title=name) for name in ("off", "low", "high")]
    app = ScreenHost(PickerScreen("Thinking", rows))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "type to filter" not in screen_text(app) and "3 high" in screen_text(app)
        await press(pilot, "9")
        assert app.result is NOTHING
        await press(pilot, "3")
        assert app.result.row == rows[2]

    app = ScreenHost(PickerScreen("Thinking", rows))
    async with app.run_test() as pilot:
        await type_text(pilot, "ow")
        assert "1 of 3" in screen_text(app) and "1 off" not in screen_text(app)
        await press(pilot, "enter")
        assert app.result.row == rows[1]


async def test_more_rows_than_digits_have_a_filter_at_once() -> None:
    app = ScreenHost(PickerScreen("Ten", [ListRow(id=str(at), title=f"row {at}") for at in range(10)]))
    async with app.run_test() as pilot:
        await press(pilot, "7")
        assert app.result is NOTHING and "1 of 10" in screen_text(app)


# -- tree ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "choice"),
    [
        (("enter",), ("go", "e11")),
        (("k", "enter"), ("go", "e10")),
        (("home", "f"), ("fork", "e0")),
        (("backspace", "c"), ("clone", "e10")),
        (("left_square_bracket", "m"), ("merge", "e9")),
        (("shift+up", "enter"), ("go", "e6")),
        (("shift+up", "shift+down", "enter"), ("go", "e9")),
        (("left", "enter"), ("go", "e9")),
        (("left", "left", "home", "end", "enter"), ("go", "e9")),
        (("left", "left", "right", "end", "enter"), ("go", "e11")),
        (("home", "full_stop", "enter"), ("go", "e11")),
        (("ctrl+u", "home", "j", "enter"), ("go", "e3")),
        (("ctrl+l", "enter"), ("go", "e4")),
    ],
)
async def test_keys_of_the_tree(keys: tuple[str, ...], choice: tuple[str, str]) -> None:
    app = ScreenHost(tree())
    async with app.run_test() as pilot:
        await pilot.pause()
        await press(pilot, *keys)
        assert app.asked == [(*choice, "")]
        await press(pilot, "escape")
        assert app.result is None


async def test_a_letter_that_is_no_key_begins_a_search() -> None:
    app = ScreenHost(tree())
    async with app.run_test() as pilot:
        await pilot.pause()
        await press(pilot, *"good")
        assert "1 of 12" in screen_text(app)
        await press(pilot, "enter", "enter")
        assert app.asked == [("go", "e4", "")]


async def test_a_search_in_the_tree_is_typed_and_left() -> None:
    app = ScreenHost(tree())
    async with app.run_test() as pilot:
        await press(pilot, "slash")
        await type_text(pilot, "good")
        assert "1 of 12" in screen_text(app)
        await press(pilot, "enter", "enter")
        assert app.asked == [("go", "e4", "")]


async def test_escape_ends_the_search_first() -> None:
    app = ScreenHost(tree())
    async with app.run_test() as pilot:
        await press(pilot, "slash")
        await type_text(pilot, "zzz")
        await press(pilot, "escape")
        assert "12 of 12" in screen_text(app)
        assert app.result is NOTHING


async def test_label_copy_and_compare_ask_and_stay() -> None:
    screen = tree()
    app = ScreenHost(screen)
    async with app.run_test() as pilot:
        await press(pilot, "L", "y", "d", "home", "d")
        assert app.asked == [("label", "e11", ""), ("copy", "e11", ""), ("compare", "e11", "e0")]
        labelled = [entry if entry.id != "e0" else models_label(entry) for entry in entries()]
        screen.show_entries(labelled)
        await pilot.pause()
        assert "[start]" in screen_text(app)


def models_label(entry: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(entry, label="start")


async def test_an_empty_tree_can_be_left() -> None:
    app = ScreenHost(SessionTreeScreen([]))
    async with app.run_test() as pilot:
        await press(pilot, "enter", "f", "left", "right", "shift+down", "backspace", "d", "escape")
        assert app.result is None


# -- settings ------------------------------------------------------------------------------------------------


async def test_settings_go_through_their_values() -> None:
    app = ScreenHost(SettingsScreen(settings()))
    async with app.run_test() as pilot:
        await press(pilot, "enter", "left", "delete")
        assert app.asked == [
            ("defaultThinkingLevel", "off"),
            ("defaultThinkingLevel", "medium"),
            ("defaultThinkingLevel", None),
        ]


async def test_a_number_is_typed_and_checked() -> None:
    app = ScreenHost(
        SettingsScreen(settings(), check=lambda key, text: "" if text.isdigit() else "type a whole number")
    )
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "maxRet")
        await press(pilot, "enter", "ctrl+u")
        await type_text(pilot, "many")
        await press(pilot, "enter")
        assert "type a whole number" in screen_text(app)
        await press(pilot, "ctrl+u", "7", "enter")
        assert app.asked == [("retry.maxRetries", "7")]


async def test_what_the_command_line_fixed_is_not_changed() -> None:
    app = ScreenHost(SettingsScreen(settings(), query="theme"))
    async with app.run_test() as pilot:
        await press(pilot, "enter", "delete", "right")
        assert app.asked == []


# -- dialogs -------------------------------------------------------------------------------------------------


async def test_a_question_is_answered_by_arrow_or_number() -> None:
    app = ScreenHost(question())
    async with app.run_test() as pilot:
        await press(pilot, "down", "enter")
        assert app.result.id == "always"
    app = ScreenHost(question())
    async with app.run_test() as pilot:
        await press(pilot, "3")
        assert app.result.id == "no"


async def test_keys_meant_for_the_editor_do_not_answer_a_question() -> None:
    now = [100.0]
    screen = QuestionScreen(
        "May this run?", "rm -rf /", [ListRow(id="yes", title="Yes")], grace=0.35, clock=lambda: now[0]
    )
    app = ScreenHost(screen)
    async with app.run_test() as pilot:
        await press(pilot, "1")
        now[0] += 0.3
        await press(pilot, "enter")
        now[0] += 0.3
        await press(pilot, "enter")
        assert app.result is NOTHING, "each key began the moment anew"
        now[0] += 0.4
        await press(pilot, "enter")
        assert app.result.id == "yes"


@pytest.mark.parametrize(
    ("key", "dangerous", "result"),
    [
        ("y", True, True),
        ("n", False, False),
        ("enter", True, False),
        ("enter", False, True),
        ("escape", False, None),
    ],
)
async def test_confirming(key: str, dangerous: bool, result: bool | None) -> None:
    app = ScreenHost(ConfirmScreen("Delete?", "[/] for good", is_dangerous=dangerous))
    async with app.run_test() as pilot:
        await press(pilot, key)
        assert app.result is result


async def test_a_secret_is_not_shown() -> None:
    app = ScreenHost(TextInputDialog("API key", is_secret=True))
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "sk-secret")
        assert "sk-secret" not in screen_text(app)
        await press(pilot, "enter")
        assert app.result == "sk-secret"


async def test_a_longer_text_may_have_lines() -> None:
    app = ScreenHost(TextEditScreen("Instructions", prefill="a"))
    async with app.run_test() as pilot:
        await press(pilot, "shift+enter", "b", "enter")
        assert app.result == "a\nb"


async def test_escape_leaves_a_longer_text() -> None:
    app = ScreenHost(TextEditScreen("Instructions", prefill="a"))
    async with app.run_test() as pilot:
        await press(pilot, "escape")
        assert app.result is None


# -- the others ----------------------------------------------------------------------------------------------


async def test_a_theme_shows_while_the_cursor_is_on_it_and_goes_with_escape() -> None:
    used: list[str] = []
    app = ScreenHost(themes(lambda name: used.append(name)))
    async with app.run_test() as pilot:
        await press(pilot, "down")
        assert used[-1] == "bayou-light"
        await press(pilot, "escape")
        assert used[-1] == "bayou-dark"


async def test_the_palette_finds_actions_by_what_they_do() -> None:
    app = ScreenHost(command_palette_screen(ACTIONS))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "ctrl+l" in screen_text(app)
        await type_text(pilot, "thinking")
        await press(pilot, "enter")
        assert app.result.row.id == "app.thinking.cycle"


async def test_the_keys_tell_conflicts_and_what_is_ones_own() -> None:
    app = ScreenHost(key_bindings_screen(ACTIONS))
    async with app.run_test(size=(120, 20)) as pilot:
        await pilot.pause()
        text = screen_text(app)
        assert "also app.page.down" in text
        assert "custom" in text
        assert "ctrl+]" in text


async def test_an_older_prompt_is_found() -> None:
    app = ScreenHost(prompt_history_screen(HISTORY))
    async with app.run_test() as pilot:
        await pilot.pause()
        await type_text(pilot, "slow")
        await press(pilot, "enter")
        assert HISTORY[int(app.result.row.id)].text == "why is it slow?"


async def test_a_prompt_that_was_sent_often_is_there_once() -> None:
    often = [UnsentPrompt(text=text) for text in ("again", "other", "again", "again")]
    app = ScreenHost(prompt_history_screen(often))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert screen_text(app).count("again") == 1


async def test_jobs_stay_live_while_one_looks() -> None:
    tail = "compiling…"
    screen = BackgroundJobsScreen(
        [ListRow(id="1", title="npm run build")], lambda row: make_preview_text("", tail)
    )
    app = ScreenHost(screen)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert "compiling…" in screen_text(app)
        tail = "built in 3 s"
        screen.show_jobs([ListRow(id="1", title="npm run build")])
        await pilot.pause()
        assert "built in 3 s" in screen_text(app)
        await press(pilot, "ctrl+x")
        assert app.asked == [("app.jobs.stop", "1")]


async def test_key_hints_drop_the_least_important_first() -> None:
    hints = KeyHints(
        [KeyHint("enter", "choose", 9), KeyHint("y", "copy it", 1), KeyHint("escape", "close", 8)]
    )
    assert [hint.label for hint in hints.fitting_key_hints(30)] == ["choose", "close"]
    assert [hint.label for hint in hints.fitting_key_hints(16)] == ["choose"]


def test_keys_are_named_as_people_read_them() -> None:
    assert format_key_name("ctrl+right_square_bracket") == "ctrl+]"
    assert format_key_name("L") == "shift+l"
    assert format_key_name("pagedown") == "pgdn"


async def test_every_binding_of_every_screen_has_an_id() -> None:
    from textual.binding import Binding

    for screen in (
        PickerScreen,
        SessionTreeScreen,
        SettingsScreen,
        QuestionScreen,
        ConfirmScreen,
        TextInputDialog,
    ):
        assert all(isinstance(binding, Binding) and binding.id for binding in screen.BINDINGS), screen
