"""The transcript in the application: searching it, following links, trying again, jobs that end."""

from pathlib import Path

import pytest

from app.providers.scripted import call, fail, say
from app.tui.terminal.terminal_parts import open_link
from app.tui.transcript import message_blocks
from app.values.diagnostics import Diagnostic
from app.values.events import JobChanged, MessageEnd
from app.values.messages import CustomMessage
from app.values.wire import to_wire
from tests.agent.scripted_loop import echo
from tests.tui.scripted_app import make_app, submit, wait_for_runs
from tools.tool_result_values import Card, TextBlock
from widgets.transcript.transcript_blocks import CardState, CustomBlock, ToolCallBlock


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def test_ctrl_f_searches_with_every_key_and_n_goes_on(home: Path) -> None:
    app = make_app(home, say("\n\n".join(f"Paragraph {number} of words" for number in range(60))))
    async with app.run_test(size=(90, 24)) as pilot:
        app.editor.set_text("a draft")
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
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
        await wait_for_runs(app, pilot)
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
        await wait_for_runs(app, pilot)
        assert "✗" in app.screen_text
        assert "↻ alt+r retry" in app.screen_text
        await pilot.press("alt+r")
        await wait_for_runs(app, pilot, 2)
        assert "better" in app.screen_text


async def test_who_stops_the_wait_for_another_try_reads_what_went_wrong_and_can_try_again(home: Path) -> None:
    app = make_app(home, fail("overloaded", status=503), say("better"))
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "Retrying: 1 of 3" in app.screen_text)
        app.presenter.rebuild_transcript()  # as a change of the theme would
        await pilot.press("escape")
        await wait_for_runs(app, pilot)
        assert "✗ The server of scripted reported a problem." in app.screen_text
        assert "  Overloaded" in app.screen_text
        assert app.screen_text.count("retry") == 1
        assert "retry failed" not in app.screen_text
        assert "Retrying" not in app.screen_text
        await pilot.press("alt+r")
        await wait_for_runs(app, pilot, 2)
        assert "better" in app.screen_text
        assert "Overloaded" not in app.screen_text


async def test_how_often_it_was_tried_goes_with_the_failure(home: Path) -> None:
    app = make_app(home, *[fail("overloaded", status=503)] * 2, say("better"))
    app.session.settings.save_setting("retry.maxRetries", 1)
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "Retrying: 1 of 1" in app.screen_text)
        app.session.retry_countdown.retry_now()
        await wait_for_runs(app, pilot)
        assert "1 retry failed." in app.screen_text
        await pilot.press("alt+r")
        await wait_for_runs(app, pilot, 2)
        assert "retry failed" not in app.screen_text


async def test_at_the_blocks_the_border_says_what_the_keys_do(home: Path) -> None:
    app = make_app(home, say("An answer."))
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        await pilot.press("f6")
        await app.settling_until(pilot, lambda: "y copy · o expand · enter full screen" in app.screen_text)
        await pilot.press("escape")
        await app.settling_until(pilot, lambda: "y copy" not in app.screen_text)


async def test_only_the_last_answer_is_offered_to_be_tried_again(home: Path) -> None:
    """Whether it was tried again or passed over, and in a stored conversation as in a live one."""
    fails = [say("half", error="no", breaks_after=1), say("no more", error="the key is wrong")]
    app = make_app(home, *fails, say("fine"), say("fails at last", error="no"))
    async with app.run_test(size=(100, 40)) as pilot:
        await submit(app, pilot, "first")
        await wait_for_runs(app, pilot)
        assert app.screen_text.count("retry") == 1
        await pilot.press("alt+r")
        await wait_for_runs(app, pilot, 2)
        assert app.screen_text.count("retry") == 1
        assert "The answer broke off here. The next try is below." in app.screen_text
        await submit(app, pilot, "second")
        await wait_for_runs(app, pilot, 3)
        assert "retry" not in app.screen_text
        assert "The key is wrong" in app.screen_text
        live = app.screen_text
        app.presenter.rebuild_transcript()
        await pilot.pause()
        assert app.screen_text == live
        await submit(app, pilot, "third")
        await wait_for_runs(app, pilot, 4)
        assert app.screen_text.count("retry") == 1


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
        app.presenter.show_event(MessageEnd(message=message))
        await pilot.pause()
        assert ["◆", "job1", "make", "pending"] in [line.split() for line in app.screen_text.split("\n")]
        app.presenter.show_event(JobChanged(job_id="job1", title="make", state="delivered"))
        await pilot.pause()
        assert ["◆", "job1", "make", "delivered"] in [line.split() for line in app.screen_text.split("\n")]


def test_a_job_that_ended_with_its_session_is_not_pending(home: Path) -> None:
    message = CustomMessage(
        custom_type="background-result", content="x", details={"jobId": "job1", "state": "lost"}
    )
    block = message_blocks.custom_message_block("b", message, make_app(home).presenter.renderers)
    assert (block.label, block.card.summary) == ("stopped at the end of the session", "no result")
    assert block.state is CardState.ABORTED


def test_a_stored_job_was_told_of_if_an_answer_came_after_it(home: Path) -> None:
    app = make_app(home)
    message = CustomMessage(custom_type="background-result", content="x", details={"jobId": "job1"})
    block = message_blocks.custom_message_block("b", message, app.presenter.renderers)
    assert block.label == message_blocks.PENDING
    told = message_blocks.mark_job_delivered(block)
    assert isinstance(told, CustomBlock)
    assert told.label == message_blocks.DELIVERED


async def test_what_linters_newly_say_is_a_card_with_its_worst_in_sight(home: Path) -> None:
    found = [Diagnostic(path="a.py", line=line, text=f"bad {line}", source="ruff") for line in range(1, 6)]
    details = {"problems": to_wire(found), "total": 1_000}
    app = make_app(home)
    async with app.run_test(size=(90, 24)) as pilot:
        message = CustomMessage(custom_type="diagnostics", content="told", details=details, display=True)
        app.presenter.show_event(MessageEnd(message=message))
        await pilot.pause()
        rows = [line.strip() for line in app.screen_text.split("\n")]
        [head] = [row for row in rows if row.startswith("▲ diagnostics")]
        assert "1,000 new in 1 file" in head and head.endswith("ruff")
        assert "│ a.py:3: error: bad 3 [ruff]" in rows and not any("bad 4" in row for row in rows)


def test_diagnostics_of_another_program_are_drawn_as_a_card(home: Path) -> None:
    app = make_app(home)
    for details in (None, {"problems": "none"}, {"problems": [{"line": "x"}]}):
        message = CustomMessage(custom_type="diagnostics", content="told", details=details, display=True)
        block = message_blocks.custom_message_block("b", message, app.presenter.renderers)
        assert isinstance(block, CustomBlock) and block.card.title == "diagnostics"


@pytest.mark.parametrize("theme", ["ansi", "bayou-dark", "bayou-light"])
async def test_without_colours_what_has_to_be_seen_is_reversed(
    home: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(home, say("# Title\n\n`code` and words\n\n```py\nx = 1\n```"), theme=theme)
    async with app.run_test(size=(90, 24)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        app.transcript.finder.search("words")
        await pilot.pause()
        cells = [
            segment.style
            for strip in app.transcript.painter.visible_strips(0, app.transcript.size.height)
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
            ToolCallBlock(
                id="c", card=Card(title="read", blocks=(TextBlock(text=text),)), state=CardState.DONE
            )
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


async def test_ctrl_o_goes_from_lines_to_previews_to_all_and_all_is_paged(home: Path) -> None:
    thousand = "\n".join(f"line {number}" for number in range(1_000))
    app = make_app(home, call("echo", text=thousand), say("done"), tools=[echo()])
    async with app.run_test(size=(80, 30)) as pilot:
        await submit(app, pilot, "go")
        await wait_for_runs(app, pilot)
        transcript = app.transcript
        height = transcript.virtual_size.height
        assert "line 1" not in app.screen_text, "closed"
        await pilot.press("ctrl+o")
        preview = transcript.virtual_size.height
        assert "line 7" in app.screen_text and "line 8" not in app.screen_text
        assert height < preview <= height + 12
        await pilot.press("ctrl+o")
        assert preview + 150 < transcript.virtual_size.height < preview + 250, (
            "a page of it, not a thousand lines"
        )
        await pilot.press("ctrl+end")
        assert "more lines below" in app.screen_text
        await pilot.press("ctrl+o")
        assert transcript.virtual_size.height == height


async def test_the_last_lines_of_a_successful_command_are_on_the_page(tmp_path: Path) -> None:
    command = "seq 20; echo; echo 'No module named pytest'; echo"
    app = make_app(tmp_path, call("bash", command=command), say("All tests pass."))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "test it")
        await wait_for_runs(app, pilot)
        rows = [row.strip() for row in app.screen_text.splitlines()]
        at = rows.index("│ No module named pytest")
        assert rows[at - 2 : at] == ["│ 19", "│ 20"] and rows[at - 3].startswith("✓ bash seq 20")
        await pilot.press("ctrl+o")
        await app.settling_until(
            pilot, lambda: "16 more lines" in app.screen_text or "│ 18" in app.screen_text
        )


async def test_a_pipeline_that_hid_a_failure_is_marked_on_the_page(tmp_path: Path) -> None:
    app = make_app(tmp_path, call("bash", command="no-such-tests -q 2>&1 | tail -20"), say("All tests pass."))
    async with app.run_test(size=(80, 24)) as pilot:
        await submit(app, pilot, "test it")
        await wait_for_runs(app, pilot)
        rows = [" ".join(row.split()) for row in app.screen_text.split("\n")]
        assert "▲ bash no-such-tests -q 2>&1 | tail -20" in rows
        assert any(row.startswith("│ exit 0, but `no-such-tests -q` failed with 127") for row in rows)
        assert any("command not found" in row for row in rows)


async def test_a_cut_connection_says_so_and_what_happens_next(home: Path) -> None:
    cut = say("Half of", error="Connection error: host closed the connection (eof).", breaks_after=1)
    app = make_app(home, cut, cut)
    app.session.settings.save_setting("retry.maxRetries", 1)
    async with app.run_test(size=(110, 24)) as pilot:
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: "Retrying: 1 of 1" in app.screen_text)
        said = " ".join(app.screen_text.split())
        assert "was cut in the middle of the answer. Retrying: 1 of 1" in said
        assert "alt+r retry now · esc stop" in said
        await pilot.press("alt+r")
        await wait_for_runs(app, pilot)
        said = " ".join(app.screen_text.split())
        assert "✗ The connection to scripted was cut in the middle of the answer. 1 retry failed." in said
        assert "retry failed. Connection error: host closed the connection (eof). →" in said
