"""The transcript in the application: searching it, following links, trying again, jobs that end."""

from pathlib import Path

import pytest

from app.providers.scripted import fail, say
from app.tui.links import open_link
from app.tui.transcript import replay
from app.values.events import JobChanged, MessageEnd
from app.values.messages import CustomMessage
from tests.tui.stage import make_app
from tests.tui.test_app import settled, submit
from tools.results import Card, TextBlock
from widgets.transcript.blocks import CardBlock, CardState, CustomBlock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_ctrl_f_searches_with_every_key_and_n_goes_on(home: Path) -> None:
    app = make_app(home, say("\n\n".join(f"Paragraph {number} of words" for number in range(60))))
    async with app.run_test(size=(90, 24)) as pilot:
        app.editor.set_text("a draft")
        await submit(app, pilot, "go")
        await settled(app, pilot)
        app.editor.set_text("a draft")
        await pilot.press("ctrl+f", *"Paragraph 1")
        assert "1 of 11" in app.screen_text
        assert "Paragraph 1 of words" in app.screen_text
        await pilot.press("down")
        assert "2 of 11" in app.screen_text
        await pilot.press("up", "enter", "n", "n")
        assert "3 of 11" in app.screen_text
        assert "Paragraph 11 of words" in app.screen_text
        await pilot.press("N")
        assert "2 of 11" in app.screen_text
        await pilot.press("escape")
        assert " find " not in app.screen_text
        await pilot.press("escape")
        assert app.editor.has_focus
        assert app.editor.text == "a draft"


async def test_escape_in_the_search_gives_the_place_and_the_draft_back(home: Path) -> None:
    app = make_app(home, say("\n\n".join(f"Paragraph {number}" for number in range(60))))
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await settled(app, pilot)
        await pilot.press("ctrl+f", *"graph 7")
        assert not app.transcript.viewport.is_following
        await pilot.press("x")
        assert "nothing found" in app.screen_text
        await pilot.press("backspace", "escape")
        assert app.transcript.viewport.is_following
        assert app.editor.has_focus
        assert " find " not in app.screen_text


async def test_a_failure_names_the_key_that_tries_again(home: Path) -> None:
    app = make_app(home, fail("no such model", status=404), say("better"))
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await settled(app, pilot)
        assert "✗" in app.screen_text
        assert "↻ alt+r tries again" in app.screen_text
        await pilot.press("alt+r")
        await settled(app, pilot, 2)
        assert "better" in app.screen_text


async def test_at_the_blocks_the_border_says_what_the_keys_do(home: Path) -> None:
    app = make_app(home, say("An answer."))
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await settled(app, pilot)
        await pilot.press("f6")
        await app.settling_until(pilot, lambda: "y copy · o open · enter whole" in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: "y copy" not in app.screen_text)


async def test_only_the_last_answer_is_offered_to_be_tried_again(home: Path) -> None:
    """Whether it was tried again or passed over, and in a stored conversation as in a live one."""
    fails = [say("half", error="no", breaks_after=1), say("no more", error="the key is wrong")]
    app = make_app(home, *fails, say("fine"), say("fails at last", error="no"))
    async with app.run_test(size=(100, 40)) as pilot:
        await submit(app, pilot, "first")
        await settled(app, pilot)
        assert app.screen_text.count("tries again") == 1
        await pilot.press("alt+r")
        await settled(app, pilot, 2)
        assert app.screen_text.count("tries again") == 1
        assert "⊘ aborted" in app.screen_text
        await submit(app, pilot, "second")
        await settled(app, pilot, 3)
        assert "tries again" not in app.screen_text
        assert "the key is wrong" in app.screen_text
        live = app.screen_text
        app.presenter.show_all()
        await pilot.pause()
        assert app.screen_text == live
        await submit(app, pilot, "third")
        await settled(app, pilot, 4)
        assert app.screen_text.count("tries again") == 1


def test_a_link_is_opened_here_and_copied_over_ssh() -> None:
    opened: list[str] = []
    copied: list[str] = []

    def copy(text: str, what: str) -> None:
        copied.append(text)

    open_link("https://a.b", opened.append, copy, {})
    open_link("file:///etc/passwd", opened.append, copy, {})
    open_link("https://c.d", opened.append, copy, {"SSH_CONNECTION": "1.2.3.4"})
    assert opened == ["https://a.b"]
    assert copied == ["file:///etc/passwd", "https://c.d"]


async def test_a_job_that_ended_is_pending_until_the_model_was_told(home: Path) -> None:
    app = make_app(home)
    async with app.run_test(size=(90, 24)) as pilot:
        message = CustomMessage(
            custom_type="background-result",
            content="Background job1 (make) has ended: done.",
            details={"jobId": "job1", "title": "make", "state": "done"},
        )
        app.presenter.show(MessageEnd(message=message))
        await pilot.pause()
        assert ["◆", "job1", "make", "pending"] in [line.split() for line in app.screen_text.split("\n")]
        app.presenter.show(JobChanged(job_id="job1", title="make", state="delivered"))
        await pilot.pause()
        assert ["◆", "job1", "make", "delivered"] in [line.split() for line in app.screen_text.split("\n")]


def test_a_stored_job_was_told_of_if_an_answer_came_after_it(home: Path) -> None:
    app = make_app(home)
    message = CustomMessage(custom_type="background-result", content="x", details={"jobId": "job1"})
    block = replay.custom_block("b", message, app.presenter.renderers)
    assert block.label == replay.PENDING
    told = replay.told(block)
    assert isinstance(told, CustomBlock)
    assert told.label == replay.DELIVERED


@pytest.mark.parametrize("theme", ["ansi", "bayou-dark", "bayou-light"])
async def test_without_colours_what_has_to_be_seen_is_reversed(
    home: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(home, say("# Title\n\n`code` and words\n\n```py\nx = 1\n```"), theme=theme)
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await settled(app, pilot)
        app.transcript.finder.search("words")
        await pilot.pause()
        cells = [
            segment.style
            for strip in app.transcript.painter.rows(0, app.transcript.size.height)
            for segment in strip
            if segment.text.strip() and segment.style is not None
        ]
        assert cells
        assert all(style.color is None or style.color.is_default for style in cells)
        assert any(style.reverse for style in cells)


async def test_the_whole_of_a_long_output_can_be_read(home: Path) -> None:
    app = make_app(home)
    text = "\n".join(f"line {number} of the output" for number in range(8_000))
    async with app.run_test(size=(90, 24)) as pilot:
        app.transcript.add(
            CardBlock(id="c", card=Card(title="read", blocks=(TextBlock(text=text),)), state=CardState.DONE)
        )
        await pilot.press("f6", "enter")
        await pilot.pause()
        assert "line 7999 of the output" not in app.screen_text
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()
        assert "line 7999 of the output" in app.screen_text
        await pilot.press("escape")
        await pilot.pause()
        assert app.transcript.has_focus
