"""A request too large for the model: compacted and sent again once, then told; the same behind every adapter."""

from pathlib import Path

import pytest

from app.engine.core.retry_policy import RetryPolicy
from app.providers.failure_kinds import classify_failure
from app.providers.scripted import say
from app.values.events import CompactionEnd, Notice
from tests.engine.scripted_session import ScriptedSession
from tests.providers.loopback import Loopback, Reply
from tests.providers.wire_formats import ANSWERS, KEY, model_for

TOO_LONG = Reply(
    status=400,
    headers={"Content-Type": "application/json"},
    body=b'{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
)


async def overflowing(api: str, server: Loopback, folder: Path) -> ScriptedSession:
    """A session with two turns behind it, whose model is then one that is asked over HTTP."""
    answers = [say("many words " * 300)] * 2 + [say("a summary")] * 2
    harness = ScriptedSession(
        folder, *answers, retry=RetryPolicy(is_enabled=False), classify=classify_failure
    )
    harness.effective_settings.set("compaction.keepRecentTokens", 500)
    harness.choice.credentials.set_command_line_key("local", KEY)
    await harness.prompt("one")
    await harness.prompt("two")
    scripted = {"api": "scripted", "baseUrl": "http://scripted.test", "models": [{"id": "script"}]}
    harness.choice.catalogue.add_provider("scripted", scripted, owner="test")
    harness.effective_settings.set("compaction.model", "scripted/script")
    harness.choice.set_model(model_for(api, server.url))
    return harness


@pytest.mark.parametrize("api", sorted(ANSWERS))
async def test_it_is_recovered_from_once(api: str, server: Loopback, tmp_path: Path) -> None:
    harness = await overflowing(api, server, tmp_path)
    server.reply(TOO_LONG, TOO_LONG)
    await harness.prompt("three")
    [end] = harness.all(CompactionEnd)
    assert end.reason == "overflow" and end.will_retry
    assert len(server.requests) == 2, "sent again once"
    assert len(server.requests[1].body) < len(server.requests[0].body)
    told = [notice.text for notice in harness.all(Notice) if notice.level == "error"]
    assert len(told) == 1 and told[0].startswith("Context overflow recovery failed after one")
    await harness.session.close()
