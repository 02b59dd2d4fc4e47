"""The tool `ask` in the real program: over RPC, and in a script without a user."""

import json
from pathlib import Path
from typing import Any

from tests.modes.processes import CALLS, lines_until, put, start
from tests.modes.test_print_and_json import bayou

CALL: tuple[str, dict[str, Any]] = (
    "ask",
    {"questions": [{"question": "Which oar?", "options": ["left", "right"]}, {"question": "Why?"}]},
)


async def test_a_client_answers_question_by_question(tmp_path: Path) -> None:
    process = await start(tmp_path, "-e", CALLS)
    put(process, type="prompt", message=json.dumps([CALL]))
    *_, asked = await lines_until(process, type="extension_ui_request", method="select")
    assert "Which oar?" in asked["title"] and asked["options"] == ["left", "right", "Other answer…"]
    put(process, type="extension_ui_response", id=asked["id"], value="Other answer…")
    *_, asked = await lines_until(process, type="extension_ui_request", method="input")
    put(process, type="extension_ui_response", id=asked["id"], value="both")
    *_, asked = await lines_until(process, type="extension_ui_request", method="input")
    assert "Why?" in asked["title"]
    put(process, type="extension_ui_response", id=asked["id"], value="x" * 1_000_000)
    *_, asked = await lines_until(process, type="extension_ui_request", method="input")
    assert "longer than 10,000 characters" in asked["title"]
    put(process, type="extension_ui_response", id=asked["id"], value="symmetry")
    *_, ended = await lines_until(process, type="tool_execution_end")
    assert ended["result"]["content"][0]["text"] == "Which oar?\n→ both\nWhy?\n→ symmetry"
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()


async def test_a_script_is_refused_in_words_that_the_model_can_act_on(tmp_path: Path) -> None:
    done = await bayou("-e", CALLS, "--mode", "json", "-p", json.dumps([CALL]), cwd=tmp_path)
    (ended,) = [line for line in done.lines if line["type"] == "tool_execution_end"]
    assert (
        ended["isError"] and "The user cannot be asked in this run" in ended["result"]["content"][0]["text"]
    )
    assert done.code == 0
