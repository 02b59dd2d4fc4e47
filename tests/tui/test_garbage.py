"""Garbage is looked for when a person has stopped typing, not while they type."""

import asyncio
import gc
import weakref

from app.tui.background_tasks import GarbageScheduler


class Knot:
    """Only the collector finds it: it holds itself."""

    def __init__(self) -> None:
        self.end = self


async def test_a_knot_is_untied_when_no_key_comes_any_more() -> None:
    untied = asyncio.Event()
    knot = Knot()
    weakref.finalize(knot, untied.set)
    gc.disable()  # nothing else shall find it
    try:
        garbage = GarbageScheduler(rest=0)
        del knot
        assert not untied.is_set()
        garbage.note_key_press()
        await asyncio.wait_for(untied.wait(), 20)
    finally:
        gc.enable()


async def test_keys_put_it_off() -> None:
    untied = asyncio.Event()
    knot = Knot()
    weakref.finalize(knot, untied.set)
    gc.disable()
    try:
        garbage = GarbageScheduler(rest=3600)
        del knot
        garbage.note_key_press()
        garbage.note_key_press()
        await asyncio.sleep(0)
        assert not untied.is_set()
    finally:
        gc.enable()
