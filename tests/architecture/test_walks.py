"""A prompt, a read and an edit go through few modules: a module that is added to one of these ways replaces another, or
code waits for an event instead of being called each time."""

import asyncio

import pytest

from app.providers.scripted import ScriptedAnswer, call
from bench.walks import BATCH, LIMITS, QUESTION, REQUEST, Walk, edit, walked, walked_on_screen

MAX_MAP_CHANGES = 83
"""From one module to another."""


def test_a_first_prompt_goes_through_few_modules_before_the_request() -> None:
    walk = asyncio.run(walked(Walk(REQUEST)))
    modules = list(walk.loop.modules)
    assert modules[-1] == "app.providers.adapter_registry"
    most_modules, most_changes = LIMITS["first prompt to the request"]
    assert len(modules) <= most_modules, modules
    assert walk.loop.changes <= most_changes


def test_a_question_reaches_its_bar_through_few_modules() -> None:
    writes = [call("write", path="a.txt", content="a"), call("write", path="b.txt", content="b")]
    # Timers that run meanwhile on a busy machine are no part of the way: the shortest of three counts.
    walks = [
        asyncio.run(walked_on_screen(Walk(QUESTION, skip=1, has_frames=False), *writes)) for _ in range(3)
    ]
    assert all(walk.is_over for walk in walks)
    walk = min(walks, key=lambda walk: len(walk.loop.modules))
    most_modules, most_changes = LIMITS["question to the bar"]
    assert len(walk.loop.modules) <= most_modules, walk.loop.modules
    assert walk.loop.changes <= most_changes


def test_a_read_that_makes_a_map_seldom_goes_back_and_forth() -> None:
    walk = asyncio.run(walked(Walk(BATCH), call("read", path="long.py")))
    assert "app.agent.message_queues" in walk.loop.modules, "the map is on its way"
    assert walk.loop.changes <= MAX_MAP_CHANGES, walk.loop.modules


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("read of six lines", (call("read", path="short.py", offset=2), call("read", path="short.py"))),
        ("edit of one line", (edit(1), edit(2))),
    ],
)
def test_a_call_goes_through_few_modules(name: str, calls: tuple[ScriptedAnswer, ...]) -> None:
    count = asyncio.run(walked(Walk(BATCH, skip=1), *calls)).loop
    most_modules, most_changes = LIMITS[name]
    assert len(count.modules) <= most_modules, count.modules
    assert count.changes <= most_changes
