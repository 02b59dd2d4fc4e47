"""The full-screen face as a person uses it, key by key, over a scripted model."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.geometry import Size

from app.providers.scripted import call, fail, say, think
from app.values.events import ToolExecutionStart
from app.values.messages import BashExecutionMessage, UserMessage
from tests.agent.scripted_loop import BlockingTool, echo
from tests.support.idle import watch_paints
from tests.support.sessions import waiting_texts
from tests.support.sizes import resize
from tests.tui.scripted_app import make_app, submit, wait_for_runs
from widgets.textual_internals import LayoutUpdate


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_a_terminal_that_was_small_for_a_moment_is_painted_whole(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.is_ready.wait()
        await pilot.pause()
        painted: list[Any] = []
        watch_paints(app, lambda screen, update: painted.append(update))
        app.post_message(events.Resize(Size(100, 30), Size(100, 30)))  # the small size was never drawn
        await pilot.pause()
        assert any(isinstance(update, LayoutUpdate) for update in painted)


async def test_a_prompt_is_sent_streamed_and_shown(home: Path) -> None:
    app = make_app(home, think("let me see") + say("Hello **there**."))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "hi")
        await wait_for_runs(app, pilot)
        text = app.screen_text
        assert "hi" in text
        assert "Hello there." in text
        assert app.editor.model.is_blank


async def test_a_tool_call_is_a_card_with_its_result(home: Path) -> None:
    app = make_app(home, call("echo", text="x") + say("looking"), say("done"), tools=[echo()])
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        assert "✓ echo" in app.screen_text
        await pilot.press("ctrl+o")
        assert "echo: x" in app.screen_text


async def test_escape_aborts_and_gives_the_queue_back(home: Path) -> None:
    gate = BlockingTool("gate")
    app = make_app(home, call("gate"), say("never"), tools=[gate.tool])
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await gate.started.wait()
        await submit(app, pilot, "and then this")
        await pilot.pause()
        assert waiting_texts(app.session, "steering") == ("and then this",)
        assert "and then this" in app.screen_text
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        assert app.editor.text == "and then this"
        assert not app.session.is_running


async def test_alt_enter_follows_up(home: Path) -> None:
    gate = BlockingTool("gate")
    app = make_app(home, call("gate"), say("first"), say("second"), tools=[gate.tool])
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await gate.started.wait()
        await pilot.pause()
        app.editor.set_text("afterwards")
        await pilot.press("alt+enter")
        await pilot.pause()
        assert waiting_texts(app.session, "follow_up") == ("afterwards",)
        gate.go_on.set()
        await wait_for_runs(app, pilot)
        prompts = [m for m in app.session.messages if isinstance(m, UserMessage)]
        assert len(prompts) == 2
        app.editor.set_text("a line")
        await pilot.press("alt+enter", "b")
        assert app.editor.text == "a line\nb"
        assert not app.session.is_running


async def test_ctrl_d_quits_only_an_empty_editor(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("a", "left", "ctrl+d")
        assert app.editor.model.is_blank
        assert app.is_running
        await pilot.press("ctrl+d")
    assert app.return_code == 0


async def test_ctrl_c_clears_the_draft_and_undo_brings_it_back(home: Path) -> None:
    app = make_app(home, say("x"))
    app.clock = iter([10.0, 20.0, 30.0, 40.0]).__next__
    async with app.run_test(size=(100, 30)) as pilot:
        app.editor.set_text("precious")
        await pilot.press("ctrl+c")
        assert app.editor.model.is_blank
        await pilot.press("ctrl+underscore")
        assert app.editor.text == "precious"


async def test_ctrl_c_in_an_empty_editor_says_that_the_next_one_leaves(home: Path) -> None:
    app = make_app(home, say("x"))
    app.clock = iter([10.0, 20.0, 21.5]).__next__
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+c")
        assert "press ctrl+c again to quit" in app.screen_text
        await pilot.press("ctrl+c")
        assert app.is_running, "the first one was ten seconds ago"
        await pilot.press("ctrl+c")
    assert app.return_code == 0


async def test_what_was_just_said_is_not_said_twice(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(3):
            await submit(app, pilot, "/exprot")
            await app.settling_until(pilot, lambda: "no command /exprot" in app.screen_text)
            assert app.screen_text.count("no command /exprot") == 1
        await pilot.press("ctrl+b")
        await app.settling_until(pilot, lambda: "No tool is running" in app.screen_text)
        await submit(app, pilot, "/exprot")
        await app.settling_until(pilot, lambda: app.screen_text.count("no command /exprot") == 2)


async def test_a_command_that_was_stopped_has_not_failed(home: Path, tmp_path: Path) -> None:
    app = make_app(home, say("x"))
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, f"!echo begun; read line < {gate}")
        await app.settling_until(pilot, lambda: "│ begun" in app.screen_text)
        await pilot.press("ctrl+b")
        await app.settling_until(pilot, lambda: "cannot move to the background" in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: "stopped" in app.screen_text)
        assert "failed" not in app.screen_text


async def test_discarded_command_output_is_not_counted(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "!seq 1 5000")
        await app.settling_until(pilot, lambda: "over 1,990 more lines above" in app.screen_text)


async def test_an_unknown_slash_word_is_a_prompt_and_a_known_one_is_not(home: Path) -> None:
    app = make_app(home, say("fine"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "/name My work")
        await pilot.pause()
        assert app.session.log.name == "My work"
        assert app.session.messages == ()
        await submit(app, pilot, "/etc/hosts is what?")
        await wait_for_runs(app, pilot)
        assert any(isinstance(message, UserMessage) for message in app.session.messages)


async def test_shell_commands_stand_in_the_transcript(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "!echo from the shell")
        async with asyncio.timeout(10):
            while not app.session.messages:
                await app.something_happened()
        app.transcript.arriving.flush()
        await pilot.pause()
        assert "echo from the shell" in app.screen_text


async def test_a_command_with_two_marks_is_kept_from_the_model(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "!!echo for my eyes")
        async with asyncio.timeout(10):
            while not app.session.messages:
                await app.something_happened()
        (message,) = app.session.messages
        assert isinstance(message, BashExecutionMessage)
        assert (message.output, message.exclude_from_context) == ("for my eyes\n", True)


async def test_a_command_shows_its_output_while_it_runs(home: Path, tmp_path: Path) -> None:
    app = make_app(home, say("x"))
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, f"!seq 1 40; read line < {gate}; echo the end")
        async with asyncio.timeout(10):
            while "│ 40" not in app.screen_text:
                await pilot.pause(0.02)
        assert "more lines above" in app.screen_text
        assert "│ 20" not in app.screen_text
        await asyncio.to_thread(gate.write_text, "go\n")
        async with asyncio.timeout(10):
            while not app.session.messages:
                await app.something_happened()
        app.transcript.arriving.flush()
        await pilot.pause()
        assert app.screen_text.count("! seq 1 40") == 1
        assert "│ the end" in app.screen_text


async def test_a_failure_says_what_and_can_be_tried_again(home: Path) -> None:
    app = make_app(home, fail("the server fell over", status=400), say("better now"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        assert "The server fell over" in app.screen_text
        app.action_act("app.retry")
        await wait_for_runs(app, pilot, 2)
        assert "better now" in app.screen_text


async def test_the_elapsed_time_moves_only_while_a_tool_runs(home: Path) -> None:
    gate = BlockingTool("gate")
    app = make_app(home, call("gate"), say("ok"), tools=[gate.tool])
    started: list[bool] = []
    app.session.subscribe(
        lambda event: (
            started.append(app.status.is_elapsed_timer_running)
            if isinstance(event, ToolExecutionStart)
            else None
        )
    )
    async with app.run_test(size=(100, 30)) as pilot:
        assert not app.status.is_elapsed_timer_running
        await submit(app, pilot, "go")
        await gate.started.wait()
        await pilot.pause()
        assert app.status.is_elapsed_timer_running
        gate.go_on.set()
        await wait_for_runs(app, pilot)


async def test_a_tiny_terminal_is_survived(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(20, 5)) as pilot:
        await submit(app, pilot, "hi")
        await wait_for_runs(app, pilot)
        await resize(pilot, 100, 30)
        await pilot.pause()
        assert "hi" in app.screen_text


async def test_the_tree_opens_with_two_escapes_and_goes_back(home: Path) -> None:
    app = make_app(home, say("one"), say("two"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "first question")
        await wait_for_runs(app, pilot)
        await submit(app, pilot, "second question")
        await wait_for_runs(app, pilot, 2)
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "Session tree" in app.screen_text
        await pilot.press("up")
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter")
        async with asyncio.timeout(10):
            while len(app.session.messages) > 3:
                await app.something_happened()
        await pilot.pause()
        assert app.editor.text == "second question"


async def test_nothing_is_read_as_markup(home: Path) -> None:
    hostile = "[red]not red[/red] [/nope] \x1b]52;c;aGk=\x07 [@click=app.quit]x[/]"
    app = make_app(home, say(hostile))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, hostile)
        await wait_for_runs(app, pilot)
        await submit(app, pilot, f"/name {hostile}")
        await pilot.pause()
        assert "[red]not red[/red]" in app.screen_text
        assert "\x1b" not in app.screen_text


async def test_the_transcript_is_searched_from_the_keyboard(home: Path) -> None:
    app = make_app(home, say("a needle in hay, and another needle"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        await pilot.press("f3")
        await pilot.pause()
        await pilot.press(*"needle", "enter")
        await pilot.pause()
        assert "1 of 2" in app.screen_text
        await pilot.press("n")
        await pilot.pause()
        assert "2 of 2" in app.screen_text
        await pilot.press("escape", "escape")  # ends the search, then leaves the blocks
        await pilot.pause()
        assert app.editor.has_focus


async def test_a_search_that_is_given_up_leads_back_to_what_was_being_written(home: Path) -> None:
    app = make_app(home, say("hay"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        await pilot.press("f3", *"needle", "escape", *"on")
        await pilot.pause()
        assert app.editor.has_focus and app.editor.text == "on"


async def test_a_setting_is_changed_in_the_persons_own_file(home: Path) -> None:
    app = make_app(home, say("x"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "/settings")
        await pilot.pause()
        await pilot.press(*"interruptMode")
        await pilot.press("enter")
        await pilot.pause()
        assert app.session.state.interrupt_mode == "immediate"
        file = app.assembled.prompt.paths.settings_file
        assert '"interruptMode": "immediate"' in file.read_text()
