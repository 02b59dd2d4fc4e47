"""Actions that lose the prompt cache warn once, with the cost if the price is known."""

import re
from pathlib import Path

import msgspec
import pytest

from app.providers.model_stream import RequestContext
from app.providers.scripted import ScriptedAnswer, say
from app.values.events import Notice
from app.values.models import Prices
from tests.agent.scripted_loop import echo
from tests.engine.scripted_session import ScriptedSession

LONG = "many words " * 600
PRICES = Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)
ACTIONS = ("model", "thinking", "tools", "compaction")
WORDS = {
    "model": "The new model has no prompt cache of this conversation",
    "thinking": "Changing the thinking level discards the prompt cache",
    "tools": "Changing the tools or the system prompt discards the prompt cache",
    "compaction": "Compaction discards the prompt cache",
}


def answer(context: RequestContext, count: int) -> ScriptedAnswer:
    return say(LONG)


async def talked(folder: Path, prices: Prices) -> ScriptedSession:
    """With three answers behind it, the last of which found its beginning in the cache."""
    harness = ScriptedSession(folder, *([answer] * 12), tools=[echo()])
    harness.script.model = msgspec.structs.replace(harness.script.model, cost=prices)
    session = harness.session
    harness.effective_settings.set("compaction.keepRecentTokens", 500)
    harness.choice.set_model(harness.script.model)
    for text in ("one", "two", "three"):
        await harness.prompt(text)
    usage = session.stats.last_usage
    assert usage is not None and usage.cache_read + usage.cache_write > 1_024
    return harness


async def act(harness: ScriptedSession, action: str) -> None:
    session, model = harness.session, harness.script.model
    match action:
        case "model":
            await session.models.use_model(msgspec.structs.replace(model, id="other"))
        case "thinking":
            await session.models.use_thinking_level("high" if session.state.thinking != "high" else "low")
        case "tools":
            session.tools.register_tool(echo("shout"), owner="test")
            await harness.prompt("four")
        case "compaction":
            await session.compaction.compact()


def told(harness: ScriptedSession) -> list[str]:
    return [event.text for event in harness.all(Notice) if "uncached tokens" in event.text]


@pytest.mark.parametrize("action", ACTIONS)
async def test_the_price_is_reported_when_it_is_known(tmp_path: Path, action: str) -> None:
    harness = await talked(tmp_path, PRICES)
    await act(harness, action)
    [text] = told(harness)
    assert text.startswith(WORDS[action])
    found = re.search(
        r"about ([\d,]+) uncached tokens, for about \$(\d+\.\d+) instead of \$(\d+\.\d+)\.", text
    )
    assert found is not None, text
    tokens = int(found[1].replace(",", ""))
    assert float(found[2]) == pytest.approx(tokens * 3.75 / 1_000_000, rel=0.06)
    assert float(found[3]) == pytest.approx(tokens * 0.3 / 1_000_000, rel=0.06)


@pytest.mark.parametrize("action", ACTIONS)
async def test_no_price_is_reported_when_none_is_known(tmp_path: Path, action: str) -> None:
    harness = await talked(tmp_path, Prices())
    await act(harness, action)
    [text] = told(harness)
    assert text.startswith(WORDS[action]) and text.endswith("uncached tokens.") and "$" not in text


async def test_it_is_reported_once_until_the_cache_is_used_again(tmp_path: Path) -> None:
    harness = await talked(tmp_path, PRICES)
    await act(harness, "thinking")
    await act(harness, "model")
    assert len(told(harness)) == 1
    await harness.prompt("four")
    await act(harness, "thinking")
    assert len(told(harness)) == 2
