"""The end of a turn: told while it happens as it is when the session is read."""

import asyncio
import os
from pathlib import Path

import pytest

from app.agent.tool_results import (
    ABORTED_TOOL_RESULT_TEXT,
    DENIAL_REASON_DETAILS_KEY,
    SKIPPED_TOOL_RESULT_TEXT,
)
from app.providers.scripted import ScriptedAnswer, call, say
from app.tui.features.side.side_panel_sections import prompts_side_section
from app.tui.transcript.message_blocks import add_turn_end
from app.tui.transcript.turn_end import TurnEndCollector
from app.undo.change_records import (
    FILE_CHANGES_ENTRY_TYPE,
    FILE_RESTORE_ENTRY_TYPE,
    FileChangesData,
    FileRestoreData,
    FileWithoutStoredContent,
    RecordedFileChange,
    StoredFileState,
    file_data_to_entry_data,
)
from app.values.content import Text, ToolCall
from app.values.entries import CustomEntry, Entry, MessageEntry
from app.values.messages import AssistantMessage, ToolResultMessage, user_message
from app.values.usage import Cost, Usage
from tests.tui.scripted_app import ScriptedApp, make_app, submit, wait_for_runs
from tests.tui.test_approvals import asked, asking_app, wait
from widgets.transcript.block_expansion import BlockExtent
from widgets.transcript.leaves.block_leaves import draw_block
from widgets.transcript.leaves.block_texts import raw_text
from widgets.transcript.transcript_blocks import Block, CardState, ToolCallBlock, TurnEndBlock

CHANGE = file_data_to_entry_data(
    FileChangesData(
        call_id="c",
        tool="bash",
        changes=(RecordedFileChange(path="a", after=StoredFileState(hash="0" * 64)),),
    )
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def lines(app: ScriptedApp) -> list[str]:
    blocks = (item.block for item in app.transcript.column.items)
    return [told(block) for block in blocks if isinstance(block, TurnEndBlock)]


def told(block: TurnEndBlock) -> str:
    return raw_text(block).removeprefix(block.words).strip()


def ends(app: ScriptedApp) -> list[TurnEndBlock]:
    return [block for item in app.transcript.column.items if isinstance(block := item.block, TurnEndBlock)]


def order(app: ScriptedApp) -> list[str]:
    return [item.block.id for item in app.transcript.column.items]


async def test_behind_the_answer_and_the_same_when_it_is_read_again(home: Path) -> None:
    app = make_app(
        home,
        call("write", path="a.txt", content="1\n2\n") + call("write", path="b.txt", content="b\n"),
        call("write", path="a.txt", content="1\n"),
        say("done"),
        say("nothing this time"),
        call("bash", command="rm b.txt"),
        say("gone"),
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "make")
        await wait_for_runs(app, pilot)
        assert lines(app) == ["a.txt, b.txt +3 −1   alt+g review   alt+z undo"]
        assert isinstance(app.transcript.last_block, TurnEndBlock)
        await submit(app, pilot, "talk")
        await wait_for_runs(app, pilot, 2)
        await submit(app, pilot, "remove")
        await wait_for_runs(app, pilot, 3)
        assert [line.split("   ")[0] for line in lines(app)] == ["a.txt, b.txt +3 −1", "b.txt −1"]
        live = order(app)
        app.presenter.rebuild_transcript()
        assert [one for one in order(app) if "/" in one] == [one for one in live if "/" in one]
        await pilot.press("alt+g")
        await app.settling_until(pilot, lambda: "Changed by “remove”" in app.screen_text)
        assert "prompt 2 of 2" in app.screen_text
        await pilot.press("escape")


async def test_an_undo_marks_its_turn_and_gives_the_keys_to_the_turn_that_is_next(home: Path) -> None:
    app = make_app(
        home,
        call("write", path="a.txt", content="1\n"),
        say("one"),
        call("write", path="b.txt", content="2\n"),
        say("two"),
    )
    async with app.run_test(size=(100, 40)) as pilot:
        for number, prompt in enumerate(("first", "second"), 1):
            await submit(app, pilot, prompt)
            await wait_for_runs(app, pilot, number)
        assert lines(app) == ["a.txt +1", "b.txt +1   alt+g review   alt+z undo"]
        for step, expected in (
            ("undo", ["a.txt +1   alt+g review   alt+z undo", "b.txt +1   /redo reapply"]),
            ("redo", ["a.txt +1", "b.txt +1   alt+g review   alt+z undo"]),
            ("undo", ["a.txt +1   alt+g review   alt+z undo", "b.txt +1   /redo reapply"]),
        ):
            await submit(app, pilot, f"/{step}")
            await app.settling_until(pilot, lambda: "enter restore" in app.screen_text)
            await pilot.press("enter")
            await app.settling_until(pilot, lambda expected=expected: lines(app) == expected)
            assert [end.words for end in ends(app)] == ["Done", "Undone" if step == "undo" else "Done"]
            prompts = prompts_side_section(app.session.log.path_to())
            assert prompts is not None, "the side panel counts no undone changes"
            kept = () if step == "undo" else (("+1", "success"),)
            assert [row.figures for row in prompts.rows] == [(("+1", "success"),), kept]
        before = ends(app)
        app.presenter.rebuild_transcript()
        assert ends(app) == before


async def test_a_turn_says_that_a_job_still_runs_until_it_ends(home: Path) -> None:
    app = make_app(
        home,
        call("write", path="a.txt", content="1\n"),
        call("bash", command="cat fifo", background=True),
        say("started"),
        say("it ended"),
    )
    os.mkfifo(home / "project" / "fifo")
    app.session.permissions.rules.set_mode("full")
    async with app.run_test(size=(100, 40)) as pilot:
        await submit(app, pilot, "start")
        await wait_for_runs(app, pilot)
        assert [(end.words, end.waiting) for end in ends(app)] == [
            ("Answered", "1 job is still running: /jobs")
        ]
        await asyncio.to_thread((home / "project" / "fifo").write_text, "over\n")
        await app.settling_until(pilot, lambda: [end.waiting for end in ends(app)] == [""])
        assert ends(app)[0].words == "Done"


async def test_a_denied_call_says_so_once_with_your_reason_below_its_row(home: Path) -> None:
    app = asking_app(
        home,
        call("write", path="a.txt", content="1\n") + call("bash", command="touch denied"),
        say("as you wish"),
    )
    async with app.run_test(size=(100, 40)) as pilot:
        await asked(app, pilot)
        wait(app)
        await pilot.press("alt+a")
        await app.settling_until(pilot, lambda: "Run this command?" in app.screen_text)
        wait(app)
        app.editor.set_text("not today")
        await pilot.press("alt+x")
        await wait_for_runs(app, pilot)
        assert app.screen_text.count("denied ") == 1 and "│ You: not today" in app.screen_text
        assert [(end.words, end.doubt) for end in ends(app)] == [("Done", "")]
        assert not (home / "project" / "denied").exists()


async def test_a_denied_change_counts_no_lines(home: Path) -> None:
    app = asking_app(
        home, call("edit", path="a.txt", edits=[{"oldText": "1", "newText": "2"}]), say("as you wish")
    )
    (home / "project" / "a.txt").write_text("1\n")
    async with app.run_test(size=(100, 40)) as pilot:
        await asked(app, pilot)
        wait(app)
        await app.settling_until(pilot, lambda: "+1 −1  waiting" in app.screen_text)
        await pilot.press("alt+x")
        await wait_for_runs(app, pilot)
        assert "⊘ edit a.txt" in app.screen_text and " denied" in app.screen_text
        assert "+1" not in app.screen_text


async def test_what_waits_is_told_by_no_earlier_turn(home: Path) -> None:
    app = make_app(
        home,
        call("write", path="a.txt", content="1\n"),
        say("written"),
        call("bash", command="cat fifo", background=True),
        lambda context, count: say("started"),
    )
    os.mkfifo(home / "project" / "fifo")
    app.session.permissions.rules.set_mode("full")
    async with app.run_test(size=(100, 40)) as pilot:
        await submit(app, pilot, "write")
        await wait_for_runs(app, pilot)
        waiting: list[list[str]] = []
        app.session.subscribe(lambda event: waiting.append([end.waiting for end in ends(app)]))
        await submit(app, pilot, "start")
        await wait_for_runs(app, pilot, 2)
        assert not any(told[0] for told in waiting)
        assert [end.waiting for end in ends(app)] == ["", "1 job is still running: /jobs"]


async def test_a_run_that_is_stopped_tells_what_it_had_changed(home: Path) -> None:
    gate = asyncio.Event()
    app = make_app(
        home,
        call("write", path="a.txt", content="1\n"),
        ScriptedAnswer(blocks=say("thinking about it").blocks, gate=gate),
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "make")
        await app.settling_until(pilot, lambda: "thinking" in app.screen_text)
        assert lines(app) == []
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        assert [line.split("   ")[0] for line in lines(app)] == ["a.txt +1"]
        app.presenter.rebuild_transcript()
        assert [line.split("   ")[0] for line in lines(app)] == ["a.txt +1"]


async def test_a_run_that_is_stopped_in_a_call_is_stopped_and_not_done(home: Path) -> None:
    app = make_app(home, call("bash", command="echo begun; sleep 600"), say("gone on"))
    async with app.run_test(size=(100, 30)) as pilot:
        await submit(app, pilot, "wait")
        await app.settling_until(pilot, lambda: "│ begun" in app.screen_text)
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        ended = app.transcript.last_block
        assert isinstance(ended, TurnEndBlock) and ended.words.startswith("Stopped")
        card = app.transcript.column.items[-2].block
        assert isinstance(card, ToolCallBlock) and card.state is CardState.ABORTED
        app.presenter.rebuild_transcript()
        assert app.transcript.last_block == ended
        await submit(app, pilot, "go on")
        await wait_for_runs(app, pilot, 2)
        assert [
            block for item in app.transcript.column.items if isinstance(block := item.block, TurnEndBlock)
        ] == [ended]


@pytest.mark.parametrize(
    "result",
    [
        ToolResultMessage(
            tool_call_id="c", tool_name="bash", duration_ms=6_000, is_error=True, details={"aborted": True}
        ),
        ToolResultMessage(
            tool_call_id="c",
            tool_name="read",
            duration_ms=6_000,
            is_error=True,
            content=(Text(text=ABORTED_TOOL_RESULT_TEXT),),
        ),
    ],
)
def test_a_turn_that_ends_with_a_stopped_call_says_so_and_an_answer_after_it_ends_it(
    result: ToolResultMessage,
) -> None:
    ends = TurnEndCollector()
    asking = AssistantMessage(content=(ToolCall(id="c", name="bash", arguments={}),), model="m")
    assert (ends.turn_end_after(asking), ends.turn_end_after(result)) == (None, None)
    stopped = ends.unfinished_turn_end()
    assert stopped is not None and (stopped.words, stopped.state) == (
        "Stopped after 6 s",
        CardState.ABORTED,
    )
    assert (ends.turn_end_after(asking), ends.turn_end_after(result)) == (None, None)
    done = ends.turn_end_after(AssistantMessage(content=(), model="m"))
    assert done is not None and (done.words, done.state) == ("Done in 12 s", CardState.DONE)


def test_what_cannot_be_put_back_is_named_at_once() -> None:
    line = TurnEndCollector()
    for path in ("big.bin", "build/", "."):
        data = FileChangesData(
            call_id="c",
            tool="write",
            uncovered=(FileWithoutStoredContent(path=path, why="it is larger than 32 MB"),),
        )
        line.add_entry(
            CustomEntry(
                parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=file_data_to_entry_data(data)
            )
        )
    end = line.unfinished_turn_end()
    assert end is not None and end.warning == "cannot be undone: big.bin and 1 more"


def test_a_turn_tells_how_it_ended_and_how_long_answers_and_calls_took() -> None:
    ends = TurnEndCollector()
    asking = AssistantMessage(
        content=(ToolCall(id="c", name="ls", arguments={}),), model="m", duration_ms=2_000
    )
    assert ends.turn_end_after(asking) is None
    assert (
        ends.turn_end_after(ToolResultMessage(tool_call_id="c", tool_name="ls", duration_ms=61_000)) is None
    )
    done = ends.turn_end_after(AssistantMessage(content=(), model="m", duration_ms=9_000))
    assert done is not None and (done.words, done.doubt) == ("Done in 1 m 12 s", "")
    assert ends.turn_end_before(user_message("thanks")) is None
    assert ends.turn_end_after(AssistantMessage(content=(), model="m", duration_ms=400)) is None
    stopped = ends.turn_end_after(
        AssistantMessage(content=(), model="m", duration_ms=5_000, stop_reason="aborted")
    )
    assert stopped is None, "the answer itself tells"


def test_a_turn_whose_last_call_failed_is_not_done() -> None:
    ends = TurnEndCollector()
    asking = AssistantMessage(content=(ToolCall(id="c", name="bash", arguments={}),), model="m")
    for is_error in (True, False, True):
        result = ToolResultMessage(tool_call_id="c", tool_name="bash", duration_ms=3_000, is_error=is_error)
        assert (ends.turn_end_after(asking), ends.turn_end_after(result)) == (None, None)
    end = ends.turn_end_after(AssistantMessage(content=(), model="m"))
    assert end is not None
    assert (end.words, end.doubt) == ("Done in 9 s", "the last call failed")
    drawn = draw_block(end, BlockExtent.CLOSED)[0]
    assert (drawn.first, drawn.fill) == ("▲ ", "")
    assert raw_text(end) == "Done in 9 s, but the last call failed"


def test_skipped_and_denied_calls_are_no_failures() -> None:
    ends = TurnEndCollector()
    asking = AssistantMessage(content=(ToolCall(id="c", name="bash", arguments={}),), model="m")
    for details, text in (({}, SKIPPED_TOOL_RESULT_TEXT), ({DENIAL_REASON_DETAILS_KEY: ""}, "no")):
        result = ToolResultMessage(
            tool_call_id="c", tool_name="bash", content=(Text(text=text),), is_error=True, details=details
        )
        assert (ends.turn_end_after(asking), ends.turn_end_after(result)) == (None, None)
    end = ends.turn_end_after(AssistantMessage(content=(), model="m"))
    assert end is not None and end.is_blank and not draw_block(end, BlockExtent.CLOSED)


def test_a_turn_without_changes_ends_in_a_dim_line_with_its_tokens_and_cost() -> None:
    used = Usage(output=1_200, cost=Cost(total=0.046))
    end = TurnEndCollector().turn_end_after(
        AssistantMessage(content=(), model="m", duration_ms=14_000, usage=used)
    )
    assert end is not None and raw_text(end) == "Done in 14 s · ↓1.2k · $0.046"
    drawn = draw_block(end, BlockExtent.CLOSED)[0]
    assert (drawn.first, drawn.fill) == ("  ", "")
    assert {key for _, _, key in drawn.runs} == {"dim"}


def test_what_follows_without_a_prompt_belongs_to_the_same_end() -> None:
    ends, blocks = TurnEndCollector(), list[Block]()
    change = CustomEntry(parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=CHANGE)
    for message in (
        AssistantMessage(content=(), model="m", duration_ms=2_000),
        AssistantMessage(content=(), model="m", duration_ms=3_000),
    ):
        add_turn_end(blocks, ends.turn_end_after(message))
    assert [raw_text(block) for block in blocks] == ["", "Done in 5 s"]
    ends.add_entry(change)
    add_turn_end(blocks, ends.unfinished_turn_end())
    assert [raw_text(block) for block in blocks] == ["", "Done in 5 s   a"]
    assert ends.unfinished_turn_end() is None
    restored = FileRestoreData(
        id="r", target=None, changes=(RecordedFileChange(path="a", before=StoredFileState(hash="0" * 64)),)
    )
    ends.add_entry(
        CustomEntry(
            parent_id=None, custom_type=FILE_RESTORE_ENTRY_TYPE, data=file_data_to_entry_data(restored)
        )
    )
    ends.add_entry(change)
    again = ends.unfinished_turn_end()
    assert again is not None and again.replaces == ""


def test_untold_changes_are_shown_before_the_next_prompt() -> None:
    line = TurnEndCollector()
    entries: list[Entry] = [
        MessageEntry(parent_id=None, message=user_message("one")),
        CustomEntry(parent_id=None, custom_type=FILE_CHANGES_ENTRY_TYPE, data=CHANGE),
        MessageEntry(parent_id=None, message=user_message("two")),
    ]
    before = [
        index
        for index, entry in enumerate(entries)
        if (line.add_entry(entry), line.turn_end_before(entry))[1] is not None
    ]
    assert before == [2]
