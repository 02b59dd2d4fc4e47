"""A question of the agent at the full screen: how its text and its call are shown."""

from pathlib import Path

from app.providers.scripted import call, say
from app.tui.features.mcp.form import FORM_KEY_GRACE_SECONDS
from tests.tui.scripted_app import submit, wait_for_runs
from tests.tui.test_approvals import asking_app
from widgets.screens.dialogs import QuestionScreen
from widgets.transcript.transcript_blocks import CardState, ToolCallBlock

QUESTION = {
    "question": "Keep `oars` in **fleet.py**?",
    "header": "Oars",
    "options": [{"label": "keep"}, {"label": "move"}],
}


async def test_a_question_draws_its_markdown_and_its_call_waits(tmp_path: Path) -> None:
    app = asking_app(tmp_path, call("ask", questions=[QUESTION]), say("ok"))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.is_ready.wait()
        await submit(app, pilot, "go")
        await app.settling_until(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await app.settling_until(pilot, lambda: "Keep oars in fleet.py?" in app.screen_text)
        block = app.transcript.last_block
        assert isinstance(block, ToolCallBlock) and block.state is CardState.ASKED
        app.time.now += 2 * FORM_KEY_GRACE_SECONDS
        await pilot.press("1")
        await wait_for_runs(app, pilot)
        assert "✓ ask" in app.screen_text
