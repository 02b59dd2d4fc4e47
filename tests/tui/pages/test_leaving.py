"""Escape, Ctrl+C and Ctrl+D over a session and its editor; and the messages that wait above it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.providers.scripted import call, fail, say
from app.tui.features.screen.stop_and_exit_keys import (
    LEAVE_WARNING_SECONDS,
    MAX_DOUBLE_PRESS_SECONDS,
    StopAndExitKeys,
)
from app.tui.prompt.queued_messages import QueuedMessageActions
from tests.agent.scripted_loop import BlockingTool
from tests.engine.scripted_session import ScriptedSession
from tests.engine.test_runs import HOUR
from tests.support.sessions import waiting_texts
from tests.tui.pages.person import Person, at_the_keyboard
from widgets.editor.prompt_chips import UnsentPrompt
from widgets.editor.prompt_editor import PromptEditor
from widgets.status.queue import QueueView


class Desk:
    def __init__(
        self, harness: ScriptedSession, person: Person, editor: PromptEditor, view: QueueView
    ) -> None:
        self.person, self.editor, self.view = person, editor, view
        self.done: list[str] = []
        self.stops = True
        self.remembered: list[UnsentPrompt] = []
        self.queued = QueuedMessageActions(harness.session, view, editor, person.say)
        self.keys = StopAndExitKeys(
            harness.session,
            editor,
            take_back_queued=self.queued.move_queue_to_editor,
            on_second_escape=lambda: self.done.append("tree"),
            leave_app=lambda: self.done.append("left"),
            confirm_and_quit=lambda: self.done.append("asked"),
            show_temporary_text=lambda words, seconds: self.done.append(words),
            copy=person.copy,
            add_to_history=self.remembered.append,
            spawn=person.spawn,
            clock=person.clock,
            can_clear_key_stop=lambda: self.stops,
        )

    def clear(self) -> None:
        self.keys.copy_clear_or_leave("Ctrl+C", self.person.terminal.screen)


@contextlib.asynccontextmanager
async def at_the_desk(harness: ScriptedSession) -> AsyncIterator[Desk]:
    editor, view = PromptEditor(), QueueView()
    async with at_the_keyboard(view, editor) as person:
        yield Desk(harness, person, editor, view)


@pytest.fixture
async def working(tmp_path: Path) -> AsyncIterator[ScriptedSession]:
    """The agent is at a tool that does not end."""
    gate = BlockingTool("gate")
    harness = ScriptedSession(tmp_path, call("gate"), say("never"), tools=[gate.tool])
    await harness.session.prompt("go")
    await gate.started.wait()
    yield harness
    await harness.session.close()


async def test_escape_stops_the_run_and_gives_back_what_waits(working: ScriptedSession) -> None:
    async with at_the_desk(working) as desk:
        await working.session.queue("steering", "and this")
        desk.keys.stop_activity()
        await working.session.wait_until_idle()
        assert desk.editor.text == "and this" and working.session.state.queued_count == 0


async def test_ctrl_c_forgets_an_earlier_press_once_something_is_typed(tmp_path: Path) -> None:
    async with at_the_desk(ScriptedSession(tmp_path)) as desk:
        desk.clear()
        desk.editor.set_text("a thought")
        desk.keys.reset_double_press()
        desk.clear()
        assert desk.editor.text == "" and [draft.text for draft in desk.remembered] == ["a thought"]
        desk.person.clock.now += MAX_DOUBLE_PRESS_SECONDS
        desk.clear()
        assert "left" not in desk.done
        desk.clear()
        assert desk.done[-1] == "left"


async def test_ctrl_c_twice_at_work_stops_and_asks_once_more(working: ScriptedSession) -> None:
    async with at_the_desk(working) as desk:
        desk.clear()
        desk.clear()
        assert desk.done == ["stopped · Ctrl+C twice to quit", "press Ctrl+C again to quit"]
        await working.session.wait_until_idle()
        desk.clear()
        assert desk.done[-1] == "left"


async def test_where_ctrl_c_stops_nothing_leaving_at_work_is_a_question(working: ScriptedSession) -> None:
    async with at_the_desk(working) as desk:
        desk.stops = False
        desk.clear()
        desk.clear()
        assert desk.done == ["press Ctrl+C again to quit", "asked"] and working.session.is_running


async def test_ctrl_d_at_work_is_a_question(working: ScriptedSession) -> None:
    async with at_the_desk(working) as desk:
        desk.keys.leave_if_editor_empty()
        assert desk.done == ["asked"] and working.session.is_running
        await working.session.abort()
        await working.session.wait_until_idle()
        desk.keys.leave_if_editor_empty()
        assert desk.done == ["asked", "left"]


async def test_escape_gives_up_a_retry_that_waits(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, fail("overloaded"), retry=HOUR)
    await harness.session.prompt("go")
    await harness.until(lambda: harness.session.state.is_waiting_to_retry)
    async with at_the_desk(harness) as desk:
        desk.keys.stop_activity()
        await harness.session.wait_until_idle()
        assert desk.done == []


async def test_a_second_escape_soon_after_opens_the_tree(tmp_path: Path) -> None:
    async with at_the_desk(ScriptedSession(tmp_path)) as desk:
        desk.keys.stop_activity()
        desk.person.clock.now += MAX_DOUBLE_PRESS_SECONDS
        desk.keys.stop_activity()
        assert desk.done == []
        desk.keys.stop_activity()
        assert desk.done == ["tree"]


async def test_escape_leaves_a_command_that_is_being_written(tmp_path: Path) -> None:
    async with at_the_desk(ScriptedSession(tmp_path)) as desk:
        desk.editor.set_text("!rm -r")
        desk.keys.stop_activity()
        assert desk.editor.text == ""
        desk.editor.set_text("a long thought")
        desk.keys.stop_activity()
        assert desk.editor.text == "a long thought"


async def test_an_empty_editor_warns_before_the_second_key_leaves(tmp_path: Path) -> None:
    async with at_the_desk(ScriptedSession(tmp_path)) as desk:
        desk.clear()
        assert desk.done == ["press Ctrl+C again to quit"]
        desk.person.clock.now += LEAVE_WARNING_SECONDS
        desk.clear()
        assert desk.done == ["press Ctrl+C again to quit"] * 2
        desk.clear()
        assert desk.done[-1] == "left"


async def test_what_is_written_is_cleared_first_and_ctrl_d_never_leaves_it(tmp_path: Path) -> None:
    async with at_the_desk(ScriptedSession(tmp_path)) as desk:
        desk.editor.set_text("a long thought")
        desk.keys.leave_if_editor_empty()
        desk.clear()
        assert desk.editor.text == "" and desk.done == []
        assert [draft.text for draft in desk.remembered] == ["a long thought"]
        desk.keys.leave_if_editor_empty()
        assert desk.done == ["left"]


async def test_waiting_messages_are_moved_switched_edited_and_removed(working: ScriptedSession) -> None:
    session = working.session
    async with at_the_desk(working) as desk:
        desk.queued.focus_queue()
        assert desk.person.heard == ["No messages are queued."]
        for text in ("one", "two", "three"):
            await session.queue("steering", text)
        one, two, three = session.queues.queued_messages("steering")
        desk.queued.show_queue()
        assert [row.text for row in desk.view.rows] == ["one", "two", "three"]
        desk.queued.move_queued_message(two.id, -1)
        assert waiting_texts(session, "steering") == ("two", "one", "three")
        desk.queued.move_queued_message(two.id, -1)
        assert waiting_texts(session, "steering") == ("two", "one", "three")
        session.queues.move_to_other_queue(one.id)
        assert waiting_texts(session, "follow_up") == ("one",)
        session.queues.remove_message(three.id)
        desk.editor.set_text("a thought")
        desk.queued.edit_queued_message(two.id)
        assert desk.editor.text == "two\n\na thought" and waiting_texts(session, "steering") == ()
