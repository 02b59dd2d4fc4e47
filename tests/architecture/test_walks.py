"""The ways of a first prompt and of a read through the house stay short: who adds a room to one takes another away, or
has nobody asked who has nothing to say."""

import asyncio

from app.providers.scripted import call
from bench.walks import Walk, walked

MOST_ROOMS = 38
MOST_CHANGES = 70
"""From one room to another."""


def test_a_first_prompt_goes_through_few_rooms_before_the_model_is_asked() -> None:
    walk = Walk(("app.engine.session", "prompt"), ("app.providers.registry", "stream"))
    asyncio.run(walked(walk))
    assert walk.modules[-1] == "app.providers.registry"
    assert len(walk.modules) <= MOST_ROOMS, walk.modules


def test_a_read_that_makes_a_map_goes_back_and_forth_seldom() -> None:
    walk = Walk(("app.agent.calls", "events"), ("app.agent.calls", "_end"))
    asyncio.run(walked(walk, call("read", path="long.py")))
    assert "app.agent.queues" in walk.modules, "the map is on its way"
    assert walk.changes <= MOST_CHANGES, walk.modules
