"""One block on a separate screen: drawn in full, with the keys of the transcript."""

from typing import Any

from textual import on
from textual.app import App
from textual.pilot import Pilot

from tests.widgets.host import Host, screen_text
from tools.tool_result_values import Card, CommandBlock, DiffBlock, TextBlock
from widgets.screens import block as page
from widgets.screens.block import BlockScreen
from widgets.transcript.transcript_blocks import (
    Block,
    CardState,
    FailureToShow,
    ReplyBlock,
    ReplyProse,
    ReplyState,
    ToolCallBlock,
)
from widgets.transcript.view import Transcript

SIZE = (70, 16)
NOTHING = object()


class BlockHost(Host):
    def __init__(self, *values: Block | None) -> None:
        self.values = list(values)
        self.copied: list[str] = []
        self.wanted: list[str] = []
        self.result: Any = NOTHING
        super().__init__(lambda: [], start=lambda app: self.open())

    def open(self) -> None:
        self.push_screen(BlockScreen("In full", self.current), self.close)

    def current(self) -> Block | None:
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]

    def close(self, result: Any) -> None:
        self.result = result

    @property
    def transcript(self) -> Transcript:
        assert isinstance(self.screen, BlockScreen)
        return self.screen.transcript

    @on(Transcript.CopyRequested)
    def keep_copy(self, message: Transcript.CopyRequested) -> None:
        self.copied.append(message.text)

    @on(Transcript.RetryRequested)
    def keep_retry(self, message: Transcript.RetryRequested) -> None:
        self.wanted.append(message.block_id)


def card(output: str, state: CardState = CardState.DONE) -> ToolCallBlock:
    blocks = (CommandBlock(command="make", output=output),)
    return ToolCallBlock(id="c", card=Card(title="bash", subject="make", blocks=blocks), state=state)


async def until(app: App[Any], pilot: Pilot[Any], words: str) -> None:
    for _ in range(200):
        if words in screen_text(app):
            return
        await pilot.pause(0.02)
    raise AssertionError(screen_text(app))


async def test_an_answer_is_drawn_and_can_be_copied_whole_or_its_code() -> None:
    source = "# Title\n\nSome **bold** words\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    app = BlockHost(ReplyBlock(id="r", parts=(ReplyProse(text=source),)))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        shown = screen_text(app)
        assert "**" not in shown
        assert "▌" not in shown  # nothing to tell blocks apart by
        assert "│" in shown or "─" in shown
        await pilot.press("c", "r")
        assert app.copied == ["x = 1", source]
        await pilot.press("escape")
        await pilot.pause()
        assert app.result is None


async def test_a_long_output_begins_at_its_top_and_is_not_cut() -> None:
    app = BlockHost(card("\n".join(f"line {number} of the output" for number in range(8_000))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "$ make" in screen_text(app)
        await pilot.press("down", "down", "down")
        assert "$ make" not in screen_text(app)
        await pilot.press("end")
        assert "line 7999 of the output" in screen_text(app)
        await pilot.press("home")
        assert "line 0 of the output" in screen_text(app)
        assert "more lines" not in app.transcript.column.items[0].text(app.transcript.column.expansion)


async def test_what_is_longer_than_a_page_can_be_says_what_is_left_out() -> None:
    app = BlockHost(card("\n".join(str(number) for number in range(60_000))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("home")
        assert "… 10,000 more lines above" in screen_text(app)


async def test_searching_is_inside_the_block() -> None:
    app = BlockHost(card("\n".join("needle" if number % 40 == 30 else "hay" for number in range(200))))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"needle")
        await pilot.pause()
        assert "1 of 5" in screen_text(app)
        await pilot.press("enter", "n")
        await pilot.pause()
        assert "2 of 5" in screen_text(app)
        await pilot.press("escape")
        assert app.result is NOTHING
        await pilot.press("q")
        await pilot.pause()
        assert app.result is None


async def test_what_goes_on_is_followed_until_it_ends(monkeypatch: Any) -> None:
    monkeypatch.setattr(page, "BLOCK_REFRESH_SECONDS", 0.01)
    lines = [f"line {number}" for number in range(60)]
    running = [card("\n".join(lines[:count]), CardState.RUNNING) for count in (20, 40)]
    app = BlockHost(*running, card("\n".join(lines)))
    async with app.run_test(size=SIZE) as pilot:
        await until(app, pilot, "line 59")
        assert app.transcript.viewport.is_following
        assert not page.is_block_in_progress(app.transcript.column.items[0].block)


async def test_a_block_that_is_gone_stays_as_it_was() -> None:
    app = BlockHost(card("something", CardState.RUNNING), None)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, BlockScreen)
        app.screen._refresh_block()
        await pilot.pause()
        assert "something" in screen_text(app)


async def test_a_diff_has_its_line_numbers_and_selecting_copies() -> None:
    diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two words\n+two things\n"
    changed = ToolCallBlock(id="e", card=Card(title="edit", blocks=(DiffBlock(path="a.py", diff=diff),)))
    app = BlockHost(changed)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert "@@" not in screen_text(app)
        await pilot.double_click(app.transcript, offset=(14, 2))
        await pilot.press("ctrl+c")
        assert app.copied
        assert app.result is NOTHING
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.result is None


async def test_trying_again_closes_the_screen_and_is_heard_by_the_page() -> None:
    failure = FailureToShow(message="The network is gone.", retry_key="Alt+R")
    app = BlockHost(ReplyBlock(id="r", state=ReplyState.ERROR, failure=failure))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("R")
        await pilot.pause()
        assert app.result is None
        assert len(app.wanted) == 1


def test_only_what_runs_goes_on() -> None:
    assert page.is_block_in_progress(card("", CardState.PENDING))
    assert page.is_block_in_progress(ReplyBlock(id="r", state=ReplyState.STREAMING))
    assert not page.is_block_in_progress(card("", CardState.FAILED))
    text = TextBlock(text="x")
    assert not page.is_block_in_progress(ToolCallBlock(id="c", card=Card(title="read", blocks=(text,))))
