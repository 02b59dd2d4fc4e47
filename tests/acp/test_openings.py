"""The first lines of editors, written after their public sources, are each answered, and a prompt does its work."""

import json
from pathlib import Path

import pytest

from tests.acp.peers import bayou

OPENINGS = Path(__file__).parent / "openings"


@pytest.mark.parametrize("editor", ["zed", "toad"])
async def test_first_requests_of_editors_are_answered(editor: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    lines = (OPENINGS / f"{editor}.jsonl").read_text().replace("CWD", str(tmp_path)).splitlines()
    answers = {}
    async with bayou() as client:
        for line in lines:
            session = answers.get("session/new", {}).get("sessionId", "")
            sent = json.loads(line.replace("SESSION", session))
            method, parameters = sent["method"], sent["params"]
            if "id" in sent:
                answers[method] = await client.call_with_id(sent["id"], method, **parameters)
            else:
                client.notify(method, **parameters)
        assert answers["session/prompt"] == {"stopReason": "end_turn"}
        assert "ahoy" in str(client.of("tool_call_update"))
        assert answers["session/new"]["modes"]["availableModes"]
        if editor == "zed":
            assert client.of("user_message_chunk")[0]["content"]["text"].startswith("run echo ahoy")
        assert await client.close() == 0
