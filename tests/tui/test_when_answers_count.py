"""What a question of the gate shows while plain keys do not answer it, and what becomes of such keys."""

from pathlib import Path

import pytest

from app.providers.scripted import call, say
from tests.tui.scripted_app import wait_for_runs
from tests.tui.test_approvals import asked, asking_app, result, wait


@pytest.mark.parametrize("key", ["1", "y", "a", "n", "d", "down"])
async def test_an_answer_key_that_comes_too_early_is_dropped_and_the_card_still_answers(
    tmp_path: Path, key: str
) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert "in a moment: enter choose" in app.screen_text
        await pilot.press(key, *([key] if key == "1" else []))
        await app.settling_until(pilot, lambda: "too early" in app.screen_text)
        assert app.editor.text == "" and app.approval_bar.asked is not None
        wait(app, 2)
        await app.settling_until(pilot, lambda: "  enter choose" in app.screen_text)
        await pilot.press("1")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists()


async def test_an_early_letter_is_the_beginning_of_a_text_that_follows_at_once(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        await pilot.press(*"and")
        assert app.editor.text == "and" and app.approval_bar.asked is not None
        await app.settling_until(pilot, lambda: "your text has the keys: f8 focus" in app.screen_text)


async def test_the_cursor_is_drawn_only_while_it_moves(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))

    def has_cursor() -> bool:
        return any(name == "current" for row in app.approval_bar.shown_rows for name, _ in row)

    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert not has_cursor()
        wait(app)
        await app.settling_until(pilot, has_cursor)
        await pilot.press("down")
        assert has_cursor()
        app.editor.set_text("no, not there")
        await app.settling_until(pilot, lambda: not has_cursor())
        app.editor.set_text("")
        wait(app)
        await app.settling_until(pilot, has_cursor)


async def test_escape_from_the_word_of_a_dangerous_command_goes_back_to_its_answers(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="git stash clear"), say("ok"), mode="full")
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("y")
        await app.settling_until(pilot, lambda: "type clear:" in app.screen_text)
        await pilot.press("c", "escape")
        await app.settling_until(pilot, lambda: app.focused is app.editor)
        wait(app)
        await app.settling_until(pilot, lambda: "enter choose" in app.screen_text)
        await pilot.press("y")
        await app.settling_until(pilot, lambda: "type clear:" in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: app.focused is app.editor)
        wait(app)
        await pilot.press("1")
        await wait_for_runs(app, pilot)
        assert "user denied it" in result(app)


async def test_every_letter_is_a_part_of_the_word_and_another_word_is_asked_for_again(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="git stash clear"), say("ok"), mode="full")
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("y")
        await app.settling_until(pilot, lambda: "type clear:" in app.screen_text)
        await pilot.press(*"node", "enter")
        await app.settling_until(pilot, lambda: 'not "node": enter after "clear"' in app.screen_text)
        assert app.editor.text == "" and app.approval_bar.has_focus and app.settled_count == 0
        await pilot.press(*"clear", "enter")
        await wait_for_runs(app, pilot)
        assert "user denied it" not in result(app)


async def test_a_low_terminal_shows_the_old_and_the_new_line_and_every_answer(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("write", path="a.txt", content="one\nthree\nfour\n"), say("ok"))
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\nfour\n")
    async with app.run_test(size=(40, 10)) as pilot:
        await asked(app, pilot)
        wait(app)
        await app.settling_until(pilot, lambda: "+ three" in app.screen_text)
        assert "- two" in app.screen_text and "› 1  Yes, once  y  a always · n no" in app.screen_text
