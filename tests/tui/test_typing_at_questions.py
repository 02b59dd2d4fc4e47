"""What a person types who wanted to stop, or was writing, answers no question."""

import random
from pathlib import Path

import pytest

from app.providers.scripted import call, say
from tests.tui.scripted_app import wait_for_runs
from tests.tui.test_approvals import asked, asking_app, wait
from widgets.status.approval_keys import ANSWER_KEY_HOLD_SECONDS
from widgets.status.input_guard import TYPING_PAUSE_SECONDS, QuestionInputGuard

WAYS_OUT = (
    ("a", "escape"),
    ("f8", "escape"),
    ("f8", "down", "up", "escape"),
    ("f8", "a", "escape"),
    ("alt+w", "escape"),
    ("f8", "v", "escape"),
    ("f8", "e", "escape"),
    ("f8", "click"),
)
TYPED = (*"yan123dåvwx ", "enter", "up", "down", "backspace", "tab")


async def test_no_plain_key_answers_after_escape_until_the_card_is_focused(tmp_path: Path) -> None:
    """A person who pressed Escape to stop goes on typing, with any pauses."""
    chance = random.Random(51)
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        for keys in (*WAYS_OUT, *WAYS_OUT[1:]):
            wait(app)
            for key in keys:
                await (pilot.click(app.editor) if key == "click" else pilot.press(key))
                await pilot.pause(ANSWER_KEY_HOLD_SECONDS + 0.05 if key == "a" else None)
                wait(app, chance.choice((0.0, 0.4, 1.0)))
            assert app.focused is app.editor, keys
            for key in chance.choices(TYPED, k=4):
                wait(app, chance.choice((0.0, 0.1, 0.4, 1.0)))
                if key == "enter" and app.editor.text.strip():
                    continue  # would be sent
                await pilot.press(key)
                await pilot.pause(ANSWER_KEY_HOLD_SECONDS + 0.02 if chance.random() < 0.3 else None)
                assert app.focused is app.editor and app.approval_bar.asked is not None, (keys, key)
            app.editor.set_text("")
        assert not (tmp_path / "project" / "there").exists()
        wait(app)
        await pilot.press("f8")
        await pilot.pause()
        await pilot.press("y")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists()


async def test_a_text_that_is_typed_at_a_question_says_that_it_is_queued(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        assert "enter queue" not in app.screen_text
        app.editor.set_text("leave the mast")
        await app.settling_until(pilot, lambda: "enter queue · the question is above" in app.screen_text)
        app.editor.set_text("")
        await app.settling_until(pilot, lambda: "esc stop" in app.screen_text)
        assert "enter queue" not in app.screen_text


async def test_no_letter_of_a_word_that_opened_the_details_answers(tmp_path: Path) -> None:
    """Slow typing: "dry" opens the details, where its last letter means yes."""
    app = asking_app(tmp_path, call("bash", command="touch there"), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("d")
        await app.settling_until(pilot, lambda: "y allow" in app.screen_text)
        wait(app)
        await pilot.press("y")
        for key in "rydrry":
            wait(app, 0.6)
            await pilot.press(key)
        assert app.approval_bar.asked is not None
        wait(app, TYPING_PAUSE_SECONDS + 0.1)
        await pilot.press("y")
        await wait_for_runs(app, pilot)
    assert (tmp_path / "project" / "there").exists()


KEYS = ["a", "x", "w", "v", "y", "1", "enter", "space", "tab", "up", "down", "paste", "click", "日"]


@pytest.mark.parametrize("rate", [1, 5, 20, 60])
def test_ten_thousand_questions_during_continuous_typing(rate: int) -> None:
    """By the clock alone: no key that comes in a stream finds a question that listens, but the slowest stream's, which
    is of keys that answer nothing; a user who waits and answers always answers it."""
    chance = random.Random(rate)
    answered_by_typing = answered_by_person = 0
    for _ in range(2_500):
        arming, now = QuestionInputGuard(), chance.uniform(0, 1)
        arming.note_shown(now)
        for _ in range(chance.randrange(1, 30)):
            now = _later(arming, now, chance.expovariate(rate))
            key = chance.choice(KEYS)
            arming.note_key_press(now)
            answered_by_typing += arming.was_armed and key.startswith(("ctrl+", "alt+", "f8"))
        now = _later(arming, now, 1.0)
        arming.note_key_press(now)
        answered_by_person += arming.was_armed
    assert answered_by_typing == 0
    assert answered_by_person == 2_500


def _later(arming: QuestionInputGuard, now: float, seconds: float) -> float:
    end = now + seconds
    while now < end:
        now = min(end, now + 0.1)
        arming.update_armed(now)
    return now


def test_keys_that_piled_up_while_the_program_stood_still_answer_nothing() -> None:
    arming = QuestionInputGuard()
    arming.note_shown(0.0)
    now = _later(arming, 0.0, 2.0)
    assert arming.is_armed(now)
    for _ in range(5):
        arming.note_key_press(now + 2.0)  # stopped for two seconds, then all of them at once
        assert not arming.was_armed


def test_a_key_that_is_held_down_answers_nothing() -> None:
    arming = QuestionInputGuard()
    now = 0.0
    arming.note_key_press(now)
    arming.note_shown(now)
    for _ in range(300):
        now = _later(arming, now, 0.033)
        arming.note_key_press(now)
        assert not arming.was_armed
