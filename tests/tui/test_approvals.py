"""A question of the gate at the full screen: what answers it, what never does, and what is shown."""

import asyncio
import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.providers.scripted import QueuedResponse, ScriptedModel, call, say
from app.resources.paths import BayouPaths, shipped_styles_dir
from app.tui.startup import TuiStartOptions
from app.values.content import text_of
from app.values.messages import ToolResultMessage
from tests.box.conftest import skip_below
from tests.support.clock import Clock
from tests.tui.scripted_app import ScriptedApp, submit, wait_for_runs
from tools.edits.dialects.line_anchors import format_anchored_row
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.input_guard import TYPING_PAUSE_SECONDS


def asking_app(home: Path, *responses: QueuedResponse, mode: str = "ask") -> ScriptedApp:
    """As a person sees it: questions are asked."""
    folder = home / "project"
    folder.mkdir(parents=True, exist_ok=True)
    paths = BayouPaths.from_env({"HOME": str(home)}, folder)
    assembled = assemble_session(
        CommandLineOptions(no_session=True, permissions=mode, approve=True), paths, {}, can_ask=True
    )
    script = ScriptedModel(responses)
    assembled.model_choice.set_model(script.register(assembled.registry))
    clock = Clock()
    app = ScriptedApp(
        assembled,
        opening=TuiStartOptions(),
        home=home,
        clock=clock,
        css_path=sorted(shipped_styles_dir().glob("*.tcss")),
    )
    app.time = clock
    app.animation_level = "none"
    app.note_events()
    return app


async def asked(app: ScriptedApp, pilot: Pilot[int]) -> None:
    """Until the bar stands there and has been painted."""
    await app.is_ready.wait()
    await submit(app, pilot, "go")
    await app.settling_until(pilot, lambda: app.approval_bar.asked is not None)
    await pilot.pause()
    await pilot.pause()


def wait(app: ScriptedApp, seconds: float = 1.0) -> None:
    """Time goes by; the program looks at its clock meanwhile."""
    for _ in range(round(seconds / 0.1)):
        app.time.now += 0.1
        app.approval_bar.arming.update_armed(app.time.now)


def result(app: ScriptedApp) -> str:
    return next(text_of(one.content) for one in app.session.messages if isinstance(one, ToolResultMessage))


async def test_alt_a_lets_it_run_once_it_has_stood_there(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert "Run this command?" in app.screen_text and "touch there" in app.screen_text
        assert app.focused is app.editor
        await pilot.press("alt+v")
        await app.settling_until(
            pilot, lambda: "? bash" in app.screen_text and "command: touch" in app.screen_text
        )
        await pilot.press("escape")
        await pilot.press("alt+a")
        await pilot.pause()
        assert app.approval_bar.asked is not None, "it had just appeared"
        wait(app)
        await pilot.press("alt+a")
        await wait_for_runs(app, pilot)
        assert app.approval_bar.asked is None and not app.approval_bar.display
    assert (tmp_path / "project" / "there").exists()


async def test_a_card_that_waits_for_a_yes_does_not_look_as_if_it_ran(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there; read word < go"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        os.mkfifo(tmp_path / "project" / "go")
        await asked(app, pilot)
        wait(app, 9)
        app.presenter.update_elapsed_times()
        assert (
            app.screen_text.count("touch there") == 1
            and " 9 s" not in app.screen_text.split("Run this command?")[0]
        )
        assert "Waiting for your answer" in app.screen_text
        await pilot.press("alt+a")
        await app.settling_until(pilot, lambda: "● bash touch there" in app.screen_text)
        app.time.now += 2
        app.presenter.update_elapsed_times()
        await app.settling_until(
            pilot, lambda: "● bash touch there" in app.screen_text and " 2 s" in app.screen_text
        )
        await asyncio.to_thread((tmp_path / "project" / "go").write_text, "there\n")
        await wait_for_runs(app, pilot)
        assert "✓ bash touch there" in app.screen_text


async def test_a_call_behind_one_that_is_asked_about_is_shown_as_waiting(tmp_path: Path) -> None:
    both = call("bash", command="ls") + call("bash", command="touch there")
    app = asking_app(tmp_path, both, say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app, 9)
        app.presenter.update_elapsed_times()
        await pilot.pause()
        rows = [row.split() for row in app.screen_text.splitlines() if "waiting" in row]
        assert [row[1:3] for row in rows] == [["bash", "ls"], ["bash", "waiting"]]
        assert "9 s" not in app.screen_text.split("Run this command?")[0]
        await pilot.press("y")
        await wait_for_runs(app, pilot)
        assert "waiting" not in app.screen_text
    assert (tmp_path / "project" / "there").exists()


async def test_an_open_page_says_that_an_answer_is_needed(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        for command in ("/settings", "/context"):
            await submit(app, pilot, command)
            await app.settling_until(
                pilot, lambda: "Waiting for your answer: Run this command?" in app.screen_text
            )
            await pilot.press("escape")
            await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        wait(app)
        await pilot.press("d")
        await app.settling_until(pilot, lambda: "y allow" in app.screen_text)
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await wait_for_runs(app, pilot)
        assert len(app.screen_stack) == 1
    assert (tmp_path / "project" / "there").exists()


@pytest.mark.parametrize("key", ["d", "alt+v"])
@pytest.mark.parametrize("answer", ["y", "enter"])
async def test_the_answer_keys_work_after_a_look_at_the_details(
    tmp_path: Path, key: str, answer: str
) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press(key)
        await app.settling_until(pilot, lambda: "y allow" in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        await app.settling_until(pilot, lambda: "y  alt+a" in app.screen_text)
        assert "enter choose" in app.screen_text
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press(answer)
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists()


async def test_after_escape_the_stop_key_is_named_once(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("f8", "escape")
        await app.settling_until(pilot, lambda: "y  alt+a" not in app.screen_text)
        assert app.screen_text.count("esc stop") == 1


async def test_alt_x_sends_the_words_in_the_editor_as_the_reason(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        app.editor.set_text("put it elsewhere")
        wait(app)
        await pilot.press("alt+x")
        await wait_for_runs(app, pilot)
        assert app.editor.text == ""
        assert "put it elsewhere" in result(app)
    assert not (tmp_path / "project" / "there").exists()


async def test_a_no_with_a_reason_is_written_in_the_editor_and_reaches_the_model(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        for key in ("up", "down", "down", "down", "down", "enter"):
            await pilot.press(key)
        await app.settling_until(pilot, lambda: app.approval_bar.asks_reason)
        assert "Write below why" in app.screen_text and app.focused is app.editor
        await pilot.press("escape")
        assert "Yes, once" in app.screen_text and app.approval_bar.asked is not None
        for key in ("down", "enter"):
            await pilot.press(key)
        await app.settling_until(pilot, lambda: app.approval_bar.asks_reason)
        await pilot.press(*"y not", "enter")
        await wait_for_runs(app, pilot)
        assert "The user's words: y not" in result(app)
        assert "│ You: y not" in app.screen_text
        assert app.editor.text == "" and not (tmp_path / "project" / "there").exists()


async def test_in_the_bar_letters_answer_and_escape_goes_back(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("f8")
        await pilot.pause()
        assert app.focused is app.approval_bar
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused is app.editor and app.approval_bar.asked is not None
        wait(app)
        assert "esc stop" in app.screen_text and "y  alt+a" not in app.screen_text
        await pilot.press("f8")
        await pilot.pause()
        await pilot.press("y")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists()


async def test_a_rule_is_chosen_and_answers_the_next_one(tmp_path: Path) -> None:
    app = asking_app(
        tmp_path, call("bash", command="touch one"), call("bash", command="touch two"), say("ok")
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+w")
        await pilot.pause()
        assert "Always allow exactly `touch one`" in app.screen_text
        assert "Always allow `touch` with any arguments" in app.screen_text
        for key, scope in (("down", "session"), ("right", "project"), ("left", "session")):
            wait(app)
            await pilot.press(key)
            assert f"‹this {scope}›" in app.screen_text
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "one").exists() and (tmp_path / "project" / "two").exists()


async def test_a_place_the_sandbox_refused_is_asked_for_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_below("namespaces")
    monkeypatch.setattr("app.engine.sandbox.sandbox_places.temporary_folders", lambda: ("/var/tmp",))
    (tmp_path / "notes").mkdir()
    ask = {"allow": ["write ~/notes"], "reason": "the note belongs there"}
    app = asking_app(tmp_path, call("bash", command="make notes", **ask), say("ok"), mode="auto-edit")
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        assert "allow writing ~/notes" in app.screen_text and "the note belongs there" in app.screen_text
        wait(app)
        await pilot.press("alt+w")
        await pilot.pause()
        assert "› 1  Always allow writing ~/notes" in app.screen_text and "‹this project›" in app.screen_text


@pytest.mark.parametrize(
    ("command", "group", "host"),
    [
        ("npm install left-pad", "npm packages", "registry.npmjs.org"),
        ("apt-get download x", "debian packages", "deb.debian.org"),
        ("gem install rake", "ruby gems", "rubygems.org"),
    ],
)
async def test_a_group_of_hosts_is_whole_and_its_hosts_are_named_as_far_as_there_is_room(
    tmp_path: Path, command: str, group: str, host: str
) -> None:
    skip_below("namespaces")
    app = asking_app(tmp_path, call("bash", command=command), say("ok"), mode="auto-edit")
    async with app.run_test(size=(150, 30)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+w")
        for width in (60, 84, 100, 150):
            await pilot.resize_terminal(width, 30)
            await pilot.pause()
            row = next(line for line in app.screen_text.splitlines() if f"Always allow {group}" in line)
            _, _, hosts = row.partition(f"Always allow {group}")
            assert not hosts.strip(" ▐") or hosts.startswith(f" ({host}")
            assert "‹this project›" in app.screen_text
            assert width == 60 or host in app.screen_text


async def test_the_floor_wants_the_word_typed(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="git stash clear"), say("ok"), mode="full")
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+a")
        await pilot.pause()
        assert app.approval_bar.asked is not None
        wait(app)
        await pilot.press("f8")
        wait(app)
        await pilot.press("enter")
        assert app.approval_bar.asked is not None
        await pilot.press(*"clear", "enter")
        await wait_for_runs(app, pilot)
        assert "needs approval" not in result(app).casefold() and "user denied it" not in result(app)


async def test_all_of_a_change_is_shown_and_the_call_is_changed(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("write", path="a.txt", content="one\nthree\n"), say("ok"))
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+v")
        await app.settling_until(pilot, lambda: len(app.screen_stack) > 1 and "three" in app.screen_text)
        assert "two" in app.screen_text
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: len(app.screen_stack) == 1)
        wait(app)
        await pilot.press("f8")
        wait(app)
        await pilot.press("e")
        await app.settling_until(pilot, lambda: len(app.screen_stack) > 1)
        editor = app.screen.query_one("#editor")
        assert isinstance(editor, PromptEditor)
        editor.set_text('{"path": "b.txt", "content": "mine"}')
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: "b.txt" in app.screen_text)
        await pilot.pause()
        await pilot.pause()
        wait(app)
        await pilot.press("alt+a")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "b.txt").read_text() == "mine"
    assert (tmp_path / "project" / "a.txt").read_text() == "one\ntwo\n"


async def test_all_of_a_change_of_several_files_is_shown(tmp_path: Path) -> None:
    edits = [
        {"oldText": "two", "newText": "three"},
        {"path": "b.txt", "oldText": "old", "newText": "new"},
        {"path": "c.txt", "oldText": "not there", "newText": "at all"},
    ]
    app = asking_app(tmp_path, call("edit", path="a.txt", edits=edits), say("ok"))
    for name, text in (("a.txt", "one\ntwo\n"), ("b.txt", "old\n"), ("c.txt", "x\n")):
        (tmp_path / "project" / name).write_text(text)
    async with app.run_test(size=(100, 50)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+v")
        await app.settling_until(pilot, lambda: len(app.screen_stack) > 1 and "three" in app.screen_text)
        shown = app.screen_text
        for text in ("a.txt", "two", "three", "b.txt", "old", "new", "c.txt", "not there", "at all"):
            assert text in shown, text


async def test_a_change_by_anchors_is_shown_as_the_difference_that_it_makes(tmp_path: Path) -> None:
    changes = [{"path": "a.txt", "from": format_anchored_row(2, "two").partition("|")[0], "lines": ["three"]}]
    app = asking_app(tmp_path, call("edit", changes=changes), say("ok"))
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    async with app.run_test(size=(100, 50)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+v")
        await app.settling_until(pilot, lambda: len(app.screen_stack) > 1 and "three" in app.screen_text)
        assert "two" in app.screen_text and "one" in app.screen_text


async def test_an_abort_takes_the_question_away(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        assert app.approval_bar.asked is None
    assert not (tmp_path / "project" / "there").exists()


async def test_the_mode_is_cycled_and_shown(tmp_path: Path) -> None:
    app = asking_app(tmp_path, say("ok"))
    async with app.run_test(size=(120, 24)) as pilot:
        await app.is_ready.wait()
        seen = []
        before = app.transcript.last_block
        for _ in range(4):
            await pilot.press("alt+m")
            await pilot.pause()
            seen.append(app.session.permissions.rules.mode)
            assert f"Permission mode: {seen[-1]}" in app.screen_text
            assert app.transcript.last_block is before, "a change of mode is no part of the conversation"
        assert seen == ["auto-edit", "full", "read-only", "ask"]


async def test_continuous_typing_answers_no_question(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press(*"yes a x 1 2", "enter", "tab", "up", "down", "space", "left")
        await pilot.click(app.approval_bar)
        await pilot.press(*"a", "enter")
        assert app.approval_bar.asked is not None
        assert app.focused is not app.approval_bar
    assert not (tmp_path / "project" / "there").exists()


@pytest.mark.parametrize(
    ("keys", "runs"), [("y", True), ("1", True), ("enter", True), ("n", False), ("3", False)]
)
async def test_a_plain_key_answers_while_the_editor_is_empty(tmp_path: Path, keys: str, runs: bool) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press(keys)
        await wait_for_runs(app, pilot)
        assert app.editor.text == ""
    assert (tmp_path / "project" / "there").exists() is runs


async def test_arrows_choose_the_answer_without_a_pause_between_them(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("down", "down")
        assert "› 3  No" in app.screen_text
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
    assert not (tmp_path / "project" / "there").exists()


async def test_a_word_that_begins_like_an_answer_is_text(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press(*"you")
        assert app.editor.text == "you" and app.approval_bar.asked is not None
        await app.settling_until(pilot, lambda: "sends your text as the reason" in app.screen_text)
        app.editor.set_text("")
        wait(app)
        await pilot.press("a")
        await app.settling_until(pilot, lambda: "`touch` with any arguments" in app.screen_text)
        await pilot.press("d")
        await pilot.pause()
        assert app.editor.text == "ad" and app.focused is app.editor, "it was the beginning of a text"
    assert not (tmp_path / "project" / "there").exists()


async def test_a_key_before_the_question_is_visible_is_reported(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        for key in ("alt+a", "enter", "f8"):
            await pilot.press(key)
            await app.settling_until(pilot, lambda: "too early" in app.screen_text)
            wait(app, 2)
            await app.settling_until(pilot, lambda: "too early" not in app.screen_text)
            app.time.now -= 2
        assert app.approval_bar.asked is not None
    assert not (tmp_path / "project" / "there").exists()


@pytest.mark.parametrize(("text", "runs"), [("y", True), ("yes", True), ("No", False)])
async def test_a_typed_answer_is_offered_and_not_queued(tmp_path: Path, text: str, runs: bool) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        app.editor.set_text(text)
        await pilot.press("enter")
        await app.settling_until(pilot, lambda: app.editor.text == "")
        assert not app.session.state.queued_count and app.approval_bar.asked is not None
        wait(app)
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists() is runs


async def test_a_dangerous_command_says_why_and_enter_means_no(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="git stash clear && rm -rf build"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert "▲ DANGEROUS  Run this command?" in app.screen_text
        assert "› 1  No" in app.screen_text and 'type "clear" to confirm' in app.screen_text
        assert "▲ git stash clear" in app.screen_text
        wait(app)
        await pilot.press("enter")
        await wait_for_runs(app, pilot)
        assert "user denied it" in result(app)


@pytest.mark.parametrize(("height", "outer"), [(24, 0), (40, 1)])
async def test_a_reason_that_repeats_the_question_leaves_its_row_to_the_answers(
    tmp_path: Path, height: int, outer: int
) -> None:
    app = asking_app(tmp_path, call("write", path="a.txt", content="one\nthree\n"), say("ok"))
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    async with app.run_test(size=(80, height)) as pilot:
        await asked(app, pilot)
        await app.settling_until(pilot, lambda: "+ three" in app.screen_text)
        card = [row[1:].strip() for row in app.screen_text.splitlines() if row.startswith("▌")]
        assert "writes a.txt" not in card
        assert card[0].startswith("Change a.txt?")
        assert card[1 : 5 + outer] == [""] * outer + ["1   one", "2 - two", "2 + three", ""]
        assert card[5 + outer].startswith("› 1  Yes, once")
        assert card[9 + outer].startswith("in a moment: enter choose") and card[10 + outer :] == [""] * outer


async def test_the_change_itself_is_inside_the_question(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("write", path="a.txt", content="one\nthree\n"), say("ok"))
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\n")
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert "Change a.txt?" in app.screen_text
        await app.settling_until(pilot, lambda: "- two" in app.screen_text and "+ three" in app.screen_text)


async def test_the_text_of_a_new_file_is_inside_the_question(tmp_path: Path) -> None:
    content = "".join(f"note {number}\n" for number in range(1, 43))
    app = asking_app(tmp_path, call("write", path="notes/new.md", content=content), say("ok"))
    async with app.run_test(size=(80, 40)) as pilot:
        await asked(app, pilot)
        await app.settling_until(pilot, lambda: "Create notes/new.md?" in app.screen_text)
        for height, shown in ((24, 10), (40, 19), (60, 29)):  # up to half of the screen
            await pilot.resize_terminal(80, height)
            more = f"{42 - shown} more lines: alt+v shows all"
            await app.settling_until(pilot, lambda more=more: more in app.screen_text)
            card = app.screen_text.partition("Create notes/new.md?")[2]
            assert f"+ note {shown}\n" in card and f"+ note {shown + 1}\n" not in card


async def test_the_text_that_replaces_a_binary_file_is_inside_the_question(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("write", path="a.dat", content="plain\n"), say("ok"))
    (tmp_path / "project" / "a.dat").write_bytes(b"\0\1\2")
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        await app.settling_until(pilot, lambda: "+ plain" in app.screen_text.partition("Change a.dat?")[2])


def test_keys_that_text_consists_of_are_refused_for_answers(tmp_path: Path) -> None:
    from app.tui.feature_register import BINDINGS
    from app.tui.keys.keymap import make_key_binding_group, read_user_key_map

    file = tmp_path / "keybindings.json"
    file.write_text(
        '{"app.approval.once": "a", "app.approval.deny": ["enter"], "app.approval.enter": "ctrl+g"}'
    )
    keymap = read_user_key_map(file, [make_key_binding_group("page", BINDINGS)])
    assert keymap.keys_by_action == {"app.approval.enter": "ctrl+g"}
    assert len(keymap.problems) == 2
