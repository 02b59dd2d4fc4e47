"""Keys of one's own: read from a file, told in the table, changed there, and several in a row."""

import json
from pathlib import Path

import pytest

from app.engine.commands.command_table import COMMANDS
from app.providers.scripted import call, say
from app.tui.feature_register import ALL_SLASH_COMMANDS as SLASH_COMMANDS
from app.tui.feature_register import PAGE_KEYS
from app.tui.keys.keymap import keys_of, read_user_key_map, textual_key_spelling
from tests.agent.scripted_loop import BlockingTool
from tests.support.sessions import waiting_texts
from tests.tui.keys_pressed import PLACES, TABLE
from tests.tui.scripted_app import make_app, submit, wait_for_runs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write_keys(home: Path, keys: object) -> Path:
    file = home / ".bayou" / "agent" / "keybindings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(keys if isinstance(keys, str) else json.dumps(keys), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("pageUp", "pageup"),
        ("shift+ctrl+p", "ctrl+shift+p"),
        ("shift+l", "L"),
        ("L", "L"),
        ("ctrl+]", "ctrl+right_square_bracket"),
        ("Ctrl+K", "ctrl+k"),
        ("ctrl+x t", "ctrl+x t"),
        ("?", "question_mark"),
    ],
)
def test_keys_may_be_written_as_one_is_used_to(written: str, meant: str) -> None:
    assert textual_key_spelling(written) == meant


def test_every_action_has_an_id_and_words() -> None:
    for one in PLACES:
        for binding in one.bindings:
            assert binding.id and TABLE.action_description(binding), f"{one.title}: {binding}"


def test_session_commands_have_the_same_description_everywhere() -> None:
    by_slash = {
        row.session_command: row.help_text(lambda action, usual: usual)
        for row in SLASH_COMMANDS
        if row.session_command
    }
    bound = {binding.id: TABLE.action_description(binding) for binding in PLACES[0].bindings}
    by_key = {row.session_command: bound[row.id] for row in PAGE_KEYS if row.session_command}
    for verb, told in by_slash.items():
        words = COMMANDS[verb].words
        assert told[0].islower() and told[1:] == words[1:]
        assert by_key.get(verb, words) == words
    assert {"fork", "new_session", "undo_compaction"} <= by_slash.keys() & by_key.keys()


def test_a_key_row_has_either_a_description_or_a_command() -> None:
    for row in (*SLASH_COMMANDS, *PAGE_KEYS):
        assert bool(row.help) is not bool(row.session_command)


ANSWERS_OF_THE_DESK = ("app.review.allow", "app.review.always", "app.review.deny")
"""Keys that the review desk has only while it asks about a call; then they come before its others."""


def test_the_defaults_are_free_of_conflicts_in_one_place() -> None:
    for one in PLACES:
        owners: dict[str, str] = {}
        for binding in one.bindings:
            if binding.id in ANSWERS_OF_THE_DESK:
                continue
            for key in keys_of(binding, {}):
                assert owners.setdefault(key, binding.id or "") == binding.id, f"{one.title}: {key}"


async def test_a_key_of_ones_own_replaces_the_default(home: Path) -> None:
    write_keys(home, {"tui.input.submit": "ctrl+s", "tui.input.newLine": ["enter"]})
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text("one")
        await pilot.press("enter")
        assert app.editor.text == "one\n"
        await pilot.press("ctrl+s")
        await wait_for_runs(app, pilot)


async def test_a_chord_is_two_keys_and_says_how_it_goes_on(home: Path) -> None:
    write_keys(home, {"app.session.tree": "ctrl+x t", "app.model.select": ["ctrl+x m", "ctrl+l"]})
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "hello")
        await wait_for_runs(app, pilot)
        await pilot.press("ctrl+x")
        await pilot.pause()
        assert "ctrl+x … · t" in app.screen_text
        await pilot.press("t")
        await pilot.pause()
        assert "Session tree" in app.screen_text
        await pilot.press("escape", "ctrl+x", "m")
        await pilot.pause()
        assert "$ per 1M, in/out" in app.screen_text
        await pilot.press("escape", "ctrl+x", "escape")
        await pilot.pause()
        assert "ctrl+x …" not in app.screen_text
        assert app.editor.model.is_blank


async def test_a_broken_file_is_named_and_the_defaults_stay(home: Path) -> None:
    write_keys(home, '{"tui.input.submit": ')
    app = make_app(home, say("done"))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        words = "".join(app.screen_text.split())
        assert "keybindings.json" in words and "defaultkeysstay" in words
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)


def test_problems_of_the_keys_file_name_their_lines(home: Path) -> None:
    file = write_keys(
        home,
        {"no.such.action": "f1", "app.palette": 7, "app.model.select": "ctrl+t", "app.suspend": []},
    )
    found = read_user_key_map(file, PLACES)
    told = "\n".join(found.problems)
    assert "unknown action 'no.such.action'" in told
    assert "app.palette: give a key" in told
    assert "ctrl+t is assigned to both" in told and "app.thinking.toggle" in told
    assert found.conflict_by_action["app.model.select"] == "ctrl+t is also app.thinking.toggle"


async def test_the_table_of_keys_is_live_and_changes_them(home: Path) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(120, 40)) as pilot:
        await submit(app, pilot, "/hotkeys")
        await app.settling_until(pilot, lambda: "The main screen" in app.screen_text)
        assert "ctrl+k" in app.screen_text
        await pilot.press(*"choose a model", "enter")
        await pilot.pause()
        assert "New key for" in app.screen_text
        await pilot.press("f9")
        await pilot.pause()
        assert "f9" in app.screen_text
        written = json.loads((home / ".bayou" / "agent" / "keybindings.json").read_text())
        assert written == {"app.model.select": "f9"}
        await pilot.press("escape", "f9")
        await pilot.pause()
        assert "$ per 1M, in/out" in app.screen_text


async def test_the_palette_has_actions_and_commands_of_a_subject_together(home: Path) -> None:
    app = make_app(home)
    async with app.run_test():
        rows = app.action_table.palette_rows()
        groups = [row.group for row in rows]
        assert len(dict.fromkeys(groups)) == sum(a != b for a, b in zip(groups, ["", *groups], strict=False))
        model = {row.id: row.detail for row in rows if row.group == "Model"}
        assert model["app.model.select"] == "/model", "the action and its slash command are one row"
        assert "/model" not in model


async def test_the_palette_does_what_is_chosen(home: Path) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text("one two")
        await pilot.press("home", "right", "ctrl+k")  # in a written line the key kills to its end
        assert app.editor.text == "o"
        await pilot.press("ctrl+u", "ctrl+k")
        await pilot.pause()
        await pilot.press(*"yank the last", "enter")
        await pilot.pause()
        assert "o" in app.editor.text
        titles = [row.title for row in app.action_table.palette_rows()]
        assert "/model" not in titles and "Choose a model" in titles
        await pilot.press("ctrl+u")
        for searched, meant in (("go back", "/undo"), ("rewind", "/tree"), ("shortcuts", "/hotkeys")):
            await pilot.press("ctrl+k")
            await pilot.pause()
            await pilot.press(*searched)
            await app.settling_until(pilot, lambda meant=meant: meant in app.screen_text)
            await pilot.press("escape")
            await pilot.pause()
        assert len({row.id for row in app.action_table.key_rows()}) == len(app.action_table.key_rows())


async def test_waiting_messages_are_reached_with_a_key(home: Path) -> None:
    gate = BlockingTool("gate")
    app = make_app(home, call("gate"), say("never"), tools=[gate.tool])
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await gate.started.wait()
        for text in ("one", "two", "three"):
            await submit(app, pilot, text)
        await pilot.pause()
        await pilot.press("alt+q", "down", "shift+up")
        assert waiting_texts(app.session, "steering") == ("two", "one", "three")
        await pilot.press("delete")
        assert waiting_texts(app.session, "steering") == ("one", "three")
        await pilot.press("tab")
        await pilot.pause()
        assert len(waiting_texts(app.session, "follow_up")) == 1
        await pilot.press("enter")
        await pilot.pause()
        assert not app.editor.model.is_blank and app.editor.has_focus
        await pilot.press("ctrl+u", "escape")
        await wait_for_runs(app, pilot)


@pytest.mark.parametrize("command", ["/model", "/tree", "/settings"])
async def test_a_screen_over_the_page_takes_the_keys_of_the_page_away(home: Path, command: str) -> None:
    app = make_app(home, say("done"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "hello")
        await wait_for_runs(app, pilot)
        level = app.session.state.thinking
        await submit(app, pilot, command)
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 2)
        app.editor.set_text("a draft")
        await pilot.press("shift+tab", "ctrl+f")
        assert not app.page.search_bar.display
        assert app.session.state.thinking == level
        await pilot.press("ctrl+c")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.editor.text == "a draft"
