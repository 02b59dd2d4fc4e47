"""What drops the provider's prompt cache says so once, with what it costs where the price is known."""

import re
from pathlib import Path

import msgspec
import pytest

from app.providers.model_stream import Context
from app.providers.scripted import ScriptedAnswer, say
from app.values.events import Notice
from app.values.models import Prices
from tests.agent.stage import echo
from tests.engine.stage import Play

LONG = "many words " * 600
PRICES = Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)
ACTIONS = ("model", "thinking", "tools", "compaction")
WORDS = {
    "model": "The new model has no prompt cache of this conversation",
    "thinking": "Changing the thinking level discards the prompt cache",
    "tools": "Changing the tools or the system prompt discards the prompt cache",
    "compaction": "Compaction discards the prompt cache",
}


def answer(context: Context, count: int) -> ScriptedAnswer:
    return say(LONG)


async def talked(folder: Path, prices: Prices) -> Play:
    """With three answers behind it, the last of which found its beginning in the cache."""
    play = Play(folder, *([answer] * 12), tools=[echo()])
    play.script.model = msgspec.structs.replace(play.script.model, cost=prices)
    session = play.session
    play.effective_settings.set("compaction.keepRecentTokens", 500)
    play.choice.set(play.script.model)
    for text in ("one", "two", "three"):
        await play.prompt(text)
    usage = session.stats.last_usage
    assert usage is not None and usage.cache_read + usage.cache_write > 1_024
    return play


async def act(play: Play, action: str) -> None:
    session, model = play.session, play.script.model
    match action:
        case "model":
            await session.models.use(msgspec.structs.replace(model, id="other"))
        case "thinking":
            await session.models.use_thinking("high" if session.state.thinking != "high" else "low")
        case "tools":
            session.tools.register(echo("shout"), owner="test")
            await play.prompt("four")
        case "compaction":
            await session.compaction.run()


def told(play: Play) -> list[str]:
    return [event.text for event in play.all(Notice) if "uncached tokens" in event.text]


@pytest.mark.parametrize("action", ACTIONS)
async def test_the_price_is_told_when_it_is_known(tmp_path: Path, action: str) -> None:
    play = await talked(tmp_path, PRICES)
    await act(play, action)
    [text] = told(play)
    assert text.startswith(WORDS[action])
    found = re.search(
        r"about ([\d,]+) uncached tokens, for about \$(\d+\.\d+) instead of \$(\d+\.\d+)\.", text
    )
    assert found is not None, text
    tokens = int(found[1].replace(",", ""))
    assert float(found[2]) == pytest.approx(tokens * 3.75 / 1_000_000, rel=0.06)
    assert float(found[3]) == pytest.approx(tokens * 0.3 / 1_000_000, rel=0.06)


@pytest.mark.parametrize("action", ACTIONS)
async def test_no_price_is_told_when_none_is_known(tmp_path: Path, action: str) -> None:
    play = await talked(tmp_path, Prices())
    await act(play, action)
    [text] = told(play)
    assert text.startswith(WORDS[action]) and text.endswith("uncached tokens.") and "$" not in text


async def test_it_is_told_once_until_the_cache_is_used_again(tmp_path: Path) -> None:
    play = await talked(tmp_path, PRICES)
    await act(play, "thinking")
    await act(play, "model")
    assert len(told(play)) == 1
    await play.prompt("four")
    await act(play, "thinking")
    assert len(told(play)) == 2
