"""A server asks in the middle of a call, and the full screen shows its form over the page."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.providers.scripted import ScriptedModel, call, say
from app.tui.features.mcp.form_screen import RequestedFormScreen
from app.values.content import text_of
from app.values.messages import ToolResultMessage
from tests.mcp.test_servers import FAULTY
from tests.support.screens import Screen
from widgets.screens.dialogs import TextInputDialog


async def test_a_form_is_shown_filled_in_and_sent(tmp_path: Path, monkeypatch: Any) -> None:
    screen = Screen(tmp_path, monkeypatch)
    agent = Path(os.environ["BAYOU_AGENT_DIR"])
    agent.mkdir(parents=True, exist_ok=True)
    entry = {"command": sys.executable, "args": [FAULTY], "exposure": "direct"}
    (agent / "mcp.json").write_text(json.dumps({"mcpServers": {"docs": entry}}))
    app = screen.app(script=ScriptedModel([call("mcp__docs__ask"), say("thanks")]), is_kept=True)
    async with app.run_test(size=(80, 24)) as pilot:
        asking = asyncio.ensure_future(app.session.prompt("hello"))
        await _until(
            pilot, lambda: isinstance(app.screen, RequestedFormScreen) and app.screen.row is not None
        )
        app.screen._armed_at = 0.0  # pyright: ignore[reportAttributeAccessIssue]  (time goes by)
        await pilot.press("enter")
        await _until(pilot, lambda: isinstance(app.screen, TextInputDialog))
        await pilot.press(*"Ada", "enter")
        await _until(
            pilot, lambda: isinstance(app.screen, RequestedFormScreen) and app.screen.row is not None
        )
        await pilot.press("s")
        await _until(pilot, lambda: not isinstance(app.screen, RequestedFormScreen))
        await asking
        await app.session.wait_until_idle()
        (result,) = [one for one in app.session.messages if isinstance(one, ToolResultMessage)]
        assert '"content": {"name": "Ada"}' in text_of(result.content)


async def _until(pilot: Any, is_so: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"it did not come to be: {pilot.app.screen}")
