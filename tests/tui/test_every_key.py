"""Every action that a key does: its default keys are pressed where they are heard, and what they do is seen.

An action that is not told here fails the last test; those that need a terminal or a program of their own name the test
that presses their key.
"""

import importlib
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import force_setattr
from textual.app import App
from textual.events import Paste
from textual.pilot import Pilot

from app.providers.scripted import say
from app.tui.features.context.feature import CONTEXT_FEATURE
from app.tui.features.models.feature import MODELS_FEATURE
from app.tui.features.screen.feature import MESSAGE_QUEUE_FEATURE, RUN_KEYS_FEATURE
from app.tui.keys.keymap import textual_key_of_character
from tests.tui import test_every_key_of_screens, test_every_key_of_settings
from tests.tui import vi_key_cases as vi_keys_pressed
from tests.tui.keys_pressed import KEYS, keys
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor

# -- the editor: text with the cursor as a bar, before and after ---------------------------------------------

EDITOR: dict[str, tuple[str, str]] = {
    "tui.input.newLine": ("one| two", "one\n| two"),
    "tui.input.tab": ("read boa|", "read boat.txt |"),
    "tui.editor.cursorUp": ("one\ntwo|", "one|\ntwo"),
    "tui.editor.cursorDown": ("one|\ntwo", "one\ntwo|"),
    "tui.editor.historyPrevious": ("|", "older|"),
    "tui.editor.cursorLeft": ("one|", "on|e"),
    "tui.editor.cursorRight": ("on|e", "one|"),
    "tui.editor.cursorWordLeft": ("one two|", "one |two"),
    "tui.editor.cursorWordRight": ("one| two", "one two|"),
    "tui.editor.cursorLineStart": ("a\none|", "a\n|one"),
    "tui.editor.cursorLineEnd": ("o|ne\nb", "one|\nb"),
    "tui.editor.pageUp": ("\n" * 40 + "x|", "\n" * 33 + "|" + "\n" * 7 + "x"),
    "tui.editor.pageDown": ("|x" + "\n" * 40, "x" + "\n" * 7 + "|" + "\n" * 33),
    "tui.editor.selectLeft": ("one|", "on|e"),
    "tui.editor.selectRight": ("on|e", "one|"),
    "tui.editor.selectUp": ("one\ntwo|", "one|\ntwo"),
    "tui.editor.selectDown": ("one|\ntwo", "one\ntwo|"),
    "tui.editor.selectWordLeft": ("one two|", "one |two"),
    "tui.editor.selectWordRight": ("one| two", "one two|"),
    "tui.editor.selectLineStart": ("a\none|", "a\n|one"),
    "tui.editor.selectLineEnd": ("o|ne\nb", "one|\nb"),
    "tui.editor.transpose": ("on|e", "oen|"),
    "tui.editor.transposeWords": ("one two|", "two one|"),
    "tui.editor.deleteCharBackward": ("one👩‍🚀| two", "one| two"),
    "tui.editor.deleteCharForward": ("one|👩‍🚀 two", "one| two"),
    "tui.editor.deleteWordBackward": ("one two|", "one |"),
    "tui.editor.deleteWordForward": ("one| two", "one|"),
    "tui.editor.deleteToLineStart": ("a\none| two", "a\n| two"),
    "tui.editor.deleteToLineEnd": ("one| two\nb", "one|\nb"),
    "tui.editor.yank": ("one |", "one killed|"),
    "tui.input.submit": ("/hotkeys|", "|"),
    "app.message.followUp": ("one|", "one\n|"),  # with an agent at work: test_app
    "app.editor.external": ("one|", "one and more|"),
    "app.clipboard.paste": ("one |", "one pasted|"),
}


def put(app: ScriptedApp, text: str) -> None:
    before, _, after = text.partition("|")
    app.editor.set_text(before + after)
    app.editor.model.move_to((before.count("\n"), len(before.rpartition("\n")[2])))
    app.editor.update_after_edit_command()


def written(app: ScriptedApp) -> str:
    row, column = app.editor.model.cursor
    lines = list(app.editor.model.lines)
    lines[row] = lines[row][:column] + "|" + lines[row][column:]
    return "\n".join(lines)


@asynccontextmanager
async def page(home: Path) -> AsyncIterator[tuple[ScriptedApp, Pilot[int]]]:
    """A page with three prompts and answers longer than the screen, the last of which was stopped."""
    (home / "project").mkdir(parents=True)
    (home / "project" / "boat.txt").write_text("afloat")
    code = "```python\nprint(1)\n```\n\n" + "\n\n".join(f"paragraph {n}" for n in range(40))
    table = "| a | b |\n|---|---|\n| " + "wide " * 60 + " | x |\n"
    app = make_app(home, say(code), say(table), say("short"), say("again"))
    async with app.run_test(size=(100, 30)) as pilot:
        for number, text in enumerate(("first", "second", "third"), start=1):
            await submit(app, pilot, text)
            await wait_for_runs(app, pilot, number)
        yield app, pilot


async def test_the_editors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def paste(editor: PromptEditor, *rest: object) -> None:
        editor.insert("pasted")

    def edit(editor: PromptEditor, text: str, *rest: object, **more: object) -> None:
        editor.set_text(text + " and more")

    monkeypatch.setattr("app.tui.prompt.paste_and_editor.paste_clipboard", paste)
    monkeypatch.setattr("app.tui.prompt.paste_and_editor.edit_in_external_editor", edit)
    async with page(tmp_path) as (app, pilot):
        app.editor.history.replace([UnsentPrompt(text="older")])
        for action, (before, after) in EDITOR.items():
            for key in keys("the editor", action):
                put(app, before)
                app.editor.model.kill_ring.add_kill("killed", is_forward=True, joins=False)
                await pilot.press(key)
                await app.settling_until(pilot, lambda after=after: written(app) == after)
                while len(app.screen_stack) > 1:
                    await pilot.press("escape")
                    await pilot.pause()


async def test_those_of_vi(tmp_path: Path) -> None:
    async with page(tmp_path) as (app, pilot):
        app.editor.keyboard.vi.set_enabled(True)
        for action, (typed, before, after) in vi_keys_pressed.VI.items():
            app.editor.reset()
            put(app, before)
            await pilot.press("escape")
            put(app, before)
            assert keys("vi's normal and visual mode", action)[0] in (
                "ctrl+r",
                textual_key_of_character(typed[-1]),
            ) or any(
                textual_key_of_character(char) in keys("vi's normal and visual mode", action)
                for char in typed
            )
            await pilot.press(*("ctrl+r" if char == "\x12" else char for char in typed))
            assert written(app) == after, action


async def test_the_editors_that_take_more_than_one_key(tmp_path: Path) -> None:
    async with page(tmp_path) as (app, pilot):
        editor = app.editor

        async def becomes(text: str) -> None:
            await app.settling_until(pilot, lambda: written(app) == text)

        for key in keys("the editor", "tui.editor.jumpForward"):
            put(app, "|one two")
            await pilot.press(key, "t")
            await becomes("one |two")
        for key in keys("the editor", "tui.editor.jumpBackward"):
            put(app, "one two|")
            await pilot.press(key, "n")
            await becomes("o|ne two")
        for key in keys("the editor", "tui.editor.undo"):
            put(app, "|")
            await pilot.press("x", key)
            await becomes("|")
            for again in keys("the editor", "tui.editor.redo"):
                await pilot.press(again)
                await becomes("x|")
                await pilot.press(key)
        for key in keys("the editor", "tui.editor.yankPop"):
            put(app, "one two|")
            await pilot.press("ctrl+w", "left", "ctrl+w", "ctrl+y")
            before = editor.text
            await pilot.press(key)
            await app.settling_until(pilot, lambda before=before: editor.text != before)
        editor.history.replace([UnsentPrompt(text="older"), UnsentPrompt(text="newer")])
        for key in keys("the editor", "tui.editor.historyNext"):
            put(app, "draft|")
            await pilot.press("alt+p", "alt+p", key)
            await becomes("newer|")
        editor.reset(UnsentPrompt(text=""))
        for key in keys("the editor", "tui.editor.expandPaste"):
            editor.post_message(Paste("line\n" * 300))
            await app.settling_until(pilot, lambda: not editor.model.is_blank)
            assert editor.model.text.count("\n") < 5
            await pilot.press(key)
            await app.settling_until(pilot, lambda: editor.model.text.count("line\n") > 200)
        for key in keys("the editor", "tui.editor.historySearch"):
            await pilot.press(key)
            await app.settling_until(pilot, lambda: "Older prompts" in app.screen_text)
            await pilot.press("escape")
        for key in keys("the editor", "tui.editor.closeCompletion"):
            editor.reset(UnsentPrompt(text=""))
            await pilot.press("slash", "m")
            await app.settling_until(pilot, lambda: "/model" in app.screen_text)
            await pilot.press(key)
            await app.settling_until(pilot, lambda: "/model" not in app.screen_text)


# -- the page and the transcript: what is so after the key, and was not before --------------------------------


class Step(NamedTuple):
    action: str
    effect: Callable[[ScriptedApp], bool]
    before: tuple[str, ...] = ()
    """Keys that go before it."""


def opens(title: str) -> Callable[[ScriptedApp], bool]:
    return lambda app: title in app.screen_text and len(app.screen_stack) > 1


def tells(text: str) -> Callable[[ScriptedApp], bool]:
    return lambda app: text in app.transcript.painter.as_text()


PAGE = (
    Step("app.palette", opens("Actions")),
    Step("app.model.select", opens("Model")),
    Step("app.context.show", opens("Context")),
    Step("app.thinking.toggle", lambda app: app.transcript.column.expansion.thinking),
    Step("app.tools.expand", lambda app: bool(app.transcript.column.expansion.tools)),
    Step("app.tools.background", tells("No tool is running.")),
    Step("app.files.undo", tells("Nothing to undo on this branch")),
    Step("app.review.show", opens("Changed by the last prompt")),
    Step("app.plan.toggle", tells("Plan mode: nothing changes until you accept a plan.")),
    Step("app.queue.focus", tells("No messages are queued.")),
    Step("app.transcript.focus", lambda app: app.transcript.has_focus),
    Step("tui.altScreen.search", lambda app: app.page.search_bar.has_focus_within),
    Step("tui.altScreen.top", lambda app: app.transcript.scroll_offset.y == 0, ("ctrl+end",)),
    Step("tui.altScreen.bottom", lambda app: app.transcript.is_vertical_scroll_end, ("ctrl+home",)),
    Step("tui.altScreen.pageUp", lambda app: not app.transcript.is_vertical_scroll_end, ("ctrl+end",)),
    Step("tui.altScreen.pageDown", lambda app: app.transcript.scroll_offset.y > 0, ("ctrl+home",)),
    Step(
        "tui.altScreen.previousPrompt", lambda app: not app.transcript.is_vertical_scroll_end, ("ctrl+end",)
    ),
    Step("tui.altScreen.nextPrompt", lambda app: app.transcript.scroll_offset.y > 0, ("ctrl+home",)),
    Step("app.clear", lambda app: app.editor.model.is_blank, ("x",)),
    Step("app.retry", tells("nothing to retry")),
    Step("app.compaction.undo", tells("compact")),
    Step("app.interrupt", opens("Session tree"), ("escape",)),
)


async def back(app: App[Any], pilot: Pilot[int]) -> None:
    while len(app.screen_stack) > 1:
        await pilot.press("escape")
        await pilot.pause()


async def test_the_pages(tmp_path: Path) -> None:
    async with page(tmp_path) as (app, pilot):
        for step in PAGE:
            for key in keys("the main screen", step.action):
                await back(app, pilot)
                app.editor.focus()
                app.editor.reset(UnsentPrompt(text=""))
                app.transcript.open_all(thinking=False)
                app.transcript.open_all(tools=False)
                app.page.search_bar.display = False
                app.presenter.rebuild_transcript()
                await pilot.press(*step.before)
                await pilot.pause()
                assert not step.effect(app), f"{step.action} is so before {key}"
                await pilot.press(key)
                await app.settling_until(pilot, lambda step=step: step.effect(app))


async def test_those_of_the_page_without_a_key_are_in_the_palette(tmp_path: Path) -> None:
    unbound = [id_ for (place, id_), found in KEYS.items() if place == "the main screen" and not found]
    sessions = {"app.session.tree", "app.session.resume", "app.session.fork", "app.session.new"}
    assert set(unbound) == {*sessions, "app.files.redo"}
    shown = {"app.session.tree": "Session tree", "app.session.fork": "Fork"}
    async with page(tmp_path) as (app, pilot):
        for action, title in shown.items():
            app.action_act(action)
            await app.settling_until(pilot, lambda title=title: title in app.screen_text)
            await back(app, pilot)


async def test_models_and_thinking_go_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def note(value: object = None) -> None:
        asked.append(value)

    async with page(tmp_path) as (app, pilot):
        page_of = app.feature_register.page
        force_setattr(page_of(RUN_KEYS_FEATURE), "copy", lambda text, what: asked.append((text, what)))
        monkeypatch.setattr(type(page_of(MODELS_FEATURE)), "cycle_model", staticmethod(note))
        monkeypatch.setattr(type(page_of(MODELS_FEATURE)), "cycle_level", staticmethod(note))
        monkeypatch.setattr(type(page_of(CONTEXT_FEATURE)), "edit_compaction_summary", staticmethod(note))
        monkeypatch.setattr(
            type(page_of(MESSAGE_QUEUE_FEATURE)),
            "move_queue_to_editor",
            staticmethod(lambda: asked.append("taken back")),
        )
        told = {
            "app.model.cycleForward": 1,
            "app.model.cycleBackward": -1,
            "app.thinking.cycle": None,
            "app.compaction.preview": None,
            "app.message.copy": ("short", "the last answer, 1 line"),
            "app.message.dequeue": "taken back",
        }
        for action, value in told.items():
            for key in keys("the main screen", action):
                asked.clear()
                await pilot.press(key)
                await app.settling_until(pilot, lambda value=value: asked == [value])


BLOCKS = (
    Step("transcript.home", lambda app: app.transcript.scroll_offset.y == 0),
    Step("transcript.end", lambda app: app.transcript.is_vertical_scroll_end, ("g",)),
    Step("transcript.page-up", lambda app: not app.transcript.is_vertical_scroll_end, ("G",)),
    Step("transcript.page-down", lambda app: app.transcript.scroll_offset.y > 0, ("g",)),
    Step("transcript.previous-prompt", lambda app: not app.transcript.is_vertical_scroll_end, ("G",)),
    Step("transcript.next-prompt", lambda app: app.transcript.scroll_offset.y > 0, ("g",)),
    Step("transcript.full-screen", lambda app: len(app.screen_stack) > 1),
    Step("transcript.leave", lambda app: app.editor.has_focus),
)


async def test_the_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    async with page(tmp_path) as (app, pilot):
        monkeypatch.setattr(app.terminal.clipboard, "copy", lambda text, what: copied.append(text))
        transcript = app.transcript

        async def begin(*before: str) -> None:
            await back(app, pilot)
            transcript.focus()
            await pilot.press("G", *before)
            await pilot.pause()

        for step in BLOCKS:
            for key in keys("the transcript's blocks", step.action):
                await begin(*step.before)
                assert not step.effect(app), f"{step.action} is so before {key}"
                await pilot.press(key)
                await app.settling_until(pilot, lambda step=step: step.effect(app))
        for action, way in (("transcript.next-block", "k"), ("transcript.previous-block", "j")):
            for key in keys("the transcript's blocks", action):
                await begin("k", "k", way)
                at = transcript.keyboard.cursor
                await pilot.press(key)
                await app.settling_until(pilot, lambda at=at: transcript.keyboard.cursor != at)
        for action in ("transcript.copy-block", "transcript.copy-raw"):
            for key in keys("the transcript's blocks", action):
                await begin("k")
                copied.clear()
                await pilot.press(key)
                await app.settling_until(pilot, lambda: bool(copied))


# -- those that another test presses ---------------------------------------------------------------------------

ELSEWHERE: dict[str, tuple[str, str]] = {
    "app.approval.once": ("test_approvals", '"alt+a"'),
    "app.approval.deny": ("test_approvals", '"alt+x"'),
    "app.approval.always": ("test_approvals", '"alt+w"'),
    "app.approval.whole": ("test_approvals", '"alt+v"'),
    "app.approval.enter": ("test_approvals", '"f8"'),
    "app.permissions.cycle": ("test_approvals", '"alt+m"'),
    "app.tree.files": ("tests.tui.pages.test_files_page", '"z"'),
    "app.exit": ("test_terminal:test_ctrl_d_leaves_and_the_terminal_is_given_back", "\\x04"),
    "app.suspend": ("test_terminal:test_it_steps_into_the_background_and_comes_back", "\\x1a"),
    "transcript.copy-code": ("tests.widgets.transcript.test_reading", '"c"'),
    "transcript.toggle-block": ("tests.widgets.transcript.test_reading", '"o"'),
    "transcript.branch": ("tests.widgets.transcript.test_reading", '"e"'),
    "transcript.retry": ("tests.widgets.transcript.test_reading", '"R"'),
    "transcript.definition": ("test_definitions", '"d"'),
    "transcript.uses": ("test_definitions", '"u"'),
    "app.map.uses": ("tests.tui.pages.test_map_page", '"ctrl+r"'),
    "app.map.open": ("tests.tui.pages.test_map_page", '"ctrl+o"'),
    "app.map.copy": ("tests.tui.pages.test_map_page", '"ctrl+y"'),
    "app.map.order": ("tests.tui.pages.test_map_page", '"tab"'),
    "app.map.mention": ("tests.tui.pages.test_map_page", '"ctrl+t"'),
    "app.map.unfold": ("tests.tui.pages.test_map_page", '"right"'),
    "app.map.fold": ("tests.tui.pages.test_map_page", '"left"'),
    "transcript.next-hit": ("tests.widgets.transcript.test_reading", '"n"'),
    "transcript.previous-hit": ("tests.widgets.transcript.test_reading", '"N"'),
    "transcript.scroll-left": ("tests.widgets.transcript.test_reading", '"h"'),
    "transcript.scroll-right": ("tests.widgets.transcript.test_reading", '"l"'),
    "search.next": ("test_transcript", '"down"'),
    "search.previous": ("test_transcript", '"up"'),
    "search.accept": ("test_app:test_the_transcript_is_searched_from_the_keyboard", '"enter"'),
    "search.cancel": ("test_app:test_the_transcript_is_searched_from_the_keyboard", '"escape"'),
    "app.side.toggle": ("tests.pictures.test_side", '"alt+i"'),
    "app.todos.fold": ("tests.pictures.test_todos", '"alt+l"'),
    "app.todos.cycle": ("tests.tui.pages.test_todos_page", '"space"'),
    "app.todos.edit": ("tests.tui.pages.test_todos_page", '"e"'),
    "app.todos.add": ("tests.tui.pages.test_todos_page", '"a"'),
    "app.todos.drop": ("tests.tui.pages.test_todos_page", '"d"'),
    "app.todos.clear": ("tests.tui.pages.test_todos_page", '"c"'),
    "app.goal.check": ("tests.tui.pages.test_goal", '"c"'),
    "app.goal.continue": ("tests.tui.pages.test_goal", '"g"'),
    "app.goal.clear": ("tests.tui.pages.test_goal", '"x"'),
    "app.plan.accept": ("tests.tui.pages.test_plans_page", '"y"'),
    "app.plan.edit": ("tests.tui.pages.test_plans_page", '"e"'),
    "app.plan.remark": ("tests.tui.pages.test_plans_page", '"r"'),
    "app.plan.stay": ("tests.tui.pages.test_plans_page", '"escape"'),
    "app.queue.down": ("test_keys:test_waiting_messages_are_reached_with_a_key", '"down"'),
    "app.queue.earlier": ("test_keys:test_waiting_messages_are_reached_with_a_key", '"shift+up"'),
    "app.queue.edit": ("test_keys:test_waiting_messages_are_reached_with_a_key", '"enter"'),
    "app.queue.remove": ("test_keys:test_waiting_messages_are_reached_with_a_key", '"delete"'),
    "app.queue.switch": ("test_keys:test_waiting_messages_are_reached_with_a_key", '"tab"'),
    "app.queue.leave": ("tests.widgets.status.test_status", '"escape"'),
    "app.trust.yes": ("tests.hostile.test_question", '"ctrl+y"'),
    "app.terminal.kill": ("test_pty:test_escape_ends_the_program_and_all_that_it_started", '"escape"'),
    "app.terminal.escape": ("test_pty:test_an_editor_is_resized_and_saves", '"f12"'),
}
"""The module, the test if it is one, and the key that it presses."""


_MODULES = (sys.modules[__name__], test_every_key_of_screens, test_every_key_of_settings, vi_keys_pressed)


def test_no_action_is_without_a_test() -> None:
    here = "".join(inspect.getsource(module) for module in _MODULES)
    for place, action in KEYS:
        if action in ELSEWHERE:
            name, _, test = ELSEWHERE[str(action)][0].partition(":")
            module = importlib.import_module(name if "." in name else f"tests.tui.{name}")
            source = inspect.getsource(getattr(module, test) if test else module)
            assert ELSEWHERE[str(action)][1] in source, f"{action}: no such key is pressed by {name}"
        else:
            is_told = f'"{action}"' in here or place in test_every_key_of_screens.ACTING
            is_told = is_told or str(action).replace("tui.select.", "") in ("up", "down", "first", "last")
            assert is_told, f"{place}: {action} has no test that presses its key"
