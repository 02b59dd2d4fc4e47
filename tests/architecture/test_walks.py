"""The way of a first prompt through the house stays short: who adds a room to it takes another away, or has nobody
asked who has nothing to say."""

import asyncio

from bench.walks import Walk, walked

MOST_ROOMS = 38


def test_a_first_prompt_goes_through_few_rooms_before_the_model_is_asked() -> None:
    walk = Walk(("app.engine.session", "prompt"), ("app.providers.registry", "stream"))
    asyncio.run(walked(walk))
    assert walk.modules[-1] == "app.providers.registry"
    assert len(walk.modules) <= MOST_ROOMS, walk.modules
